// __syncthreads() does not wait for asynchronous copies.
// launch: grid=1,1,1 block=64,1,1 args=iota:256,buffer:256
// expect: uninitialised: line 13, `ld.shared.u32`, thread (32, 0, 0) of block (0, 0, 0): reads 4 bytes of shared memory at 0x7c that was never written
// result: 1[0] = 63

#include <cuda_pipeline_primitives.h>

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ int tile[64];
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ int tile[64];
    __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
