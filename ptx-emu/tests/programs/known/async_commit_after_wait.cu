// Copies are committed after the wait that should count them, so it waits for one group too few.
// Known from https://github.com/csarofeen/pytorch/pull/2457
// launch: grid=1,1,1 block=64,1,1 args=iota:1024,buffer:256
// expect: race: line 15, `cp.async.ca.shared.global`, thread (0, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x0; nothing orders it after the read by thread (63, 0, 0) in line 23, `ld.shared.u32`
// expect: race: line 19, `cp.async.ca.shared.global`, thread (0, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x0; nothing orders it after the write by thread (0, 0, 0) in line 15, `cp.async.ca.shared.global`
// expect: race: line 19, `cp.async.ca.shared.global`, thread (0, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x100; nothing orders it after the read by thread (63, 0, 0) in line 23, `ld.shared.u32`
// expect: uninitialised: line 23, `ld.shared.u32`, thread (32, 0, 0) of block (0, 0, 0): reads 4 bytes of shared memory at 0x7c that was never written
// result: 1[0] = 636

#include <cuda_pipeline_primitives.h>

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x, sum = 0;
    __pipeline_memcpy_async(&tiles[0][t], &in[t], 4);
    __pipeline_commit();
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        if (k < 3) __pipeline_memcpy_async(&tiles[(k + 1) % 2][t], &in[(k + 1) * 64 + t], 4);
        __pipeline_wait_prior(1);
        __pipeline_commit();
        __syncthreads();
        sum += tiles[k % 2][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x, sum = 0;
    __pipeline_memcpy_async(&tiles[0][t], &in[t], 4);
    __pipeline_commit();
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        if (k < 3) __pipeline_memcpy_async(&tiles[(k + 1) % 2][t], &in[(k + 1) * 64 + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += tiles[k % 2][63 - t];
        __syncthreads();
    }
    out[t] = sum;
}
