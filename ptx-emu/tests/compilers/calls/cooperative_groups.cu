// Cooperative groups: blocks that wait for each other, and tiles of several warps, which use shared memory that the driver reserves. `nvcc -std=c++17 -rdc=true -ptx -arch=sm_90a cooperative_groups.cu`
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

extern "C" __global__ void grid_sync(int *data, int n) {
    cg::grid_group grid = cg::this_grid();
    int i = grid.thread_rank();
    for (int round = 0; round < 3; round++) {
        int next = data[(i + 1) % n];
        grid.sync();
        data[i] = next + 1;
        grid.sync();
    }
}

extern "C" __global__ void tiles(int *data) {
    __shared__ cg::block_tile_memory<256> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    int *own = data + blockIdx.x * blockDim.x + threadIdx.x;
    *own = cg::reduce(tile, *own, cg::plus<int>()) + tile.meta_group_rank();
}
