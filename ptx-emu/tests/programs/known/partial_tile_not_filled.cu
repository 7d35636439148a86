// Threads beyond the last element leave their part of the tile as it is, and the sum reads the whole tile.
// Known from https://github.com/tile-ai/tilelang/issues/1604 and https://github.com/NVIDIA/cuda-samples/issues/411
// launch: grid=1,1,1 block=64,1,1 args=iota:240,buffer:256,u32:60
// expect: uninitialised: line 13, `ld.shared.u32`, thread (32, 0, 0) of block (0, 0, 0): reads 4 bytes of shared memory at 0xf0 that was never written
// result: 1[0] = 1770

extern "C" __global__ void bad(const int* in, int* out, int n) {
    __shared__ int tile[64];
    int i = threadIdx.x, sum = 0;
    if (i < n) tile[i] = in[i];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 64; k++) sum += tile[k];
    out[i] = sum;
}

extern "C" __global__ void good(const int* in, int* out, int n) {
    __shared__ int tile[64];
    int i = threadIdx.x, sum = 0;
    tile[i] = i < n ? in[i] : 0;
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 64; k++) sum += tile[k];
    out[i] = sum;
}
