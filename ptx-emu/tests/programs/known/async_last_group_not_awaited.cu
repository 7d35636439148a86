// The last tile follows no other copy, so that a wait for all groups but one does not wait for it.
// launch: grid=1,1,1 block=64,1,1 args=iota:512,buffer:256
// expect: uninitialised: line 20, `ld.shared.u32`, thread (0, 0, 0) of block (0, 0, 0): reads 4 bytes of shared memory at 0x1fc that was never written
// result: 1[0] = 190

#include <cuda_pipeline_primitives.h>

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tiles[0][t], &in[t], 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&tiles[1][t], &in[64 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    int sum = tiles[0][63 - t];
    __pipeline_wait_prior(1);
    __syncthreads();
    out[t] = sum + tiles[1][63 - t];
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&tiles[0][t], &in[t], 4);
    __pipeline_commit();
    __pipeline_memcpy_async(&tiles[1][t], &in[64 + t], 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    int sum = tiles[0][63 - t];
    __pipeline_wait_prior(0);
    __syncthreads();
    out[t] = sum + tiles[1][63 - t];
}
