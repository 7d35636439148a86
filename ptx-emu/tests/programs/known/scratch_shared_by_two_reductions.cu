// A second reduction writes to the shared memory of the first while threads still read that one's result.
// Known from https://github.com/NVIDIA/Fuser/pull/489 and https://github.com/NVIDIA/cccl/pull/2699
// launch: grid=1,1,1 block=64,1,1 args=iota:256,buffer:256
// expect: race: line 25, `st.shared.u32`, thread (32, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x4; nothing orders it after the read by thread (33, 0, 0) in line 24, `ld.shared.u32`
// expect: race: line 25, `st.shared.u32`, thread (0, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x0; nothing orders it after the read by thread (1, 0, 0) in line 24, `ld.shared.u32`
// result: 1[0] = 2079

__device__ int warp_max(int value) {
    for (int offset = 16; offset > 0; offset /= 2) value = max(value, __shfl_xor_sync(~0u, value, offset));
    return value;
}

__device__ int warp_sum(int value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    return value;
}

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ int scratch[2];
    int value = in[threadIdx.x], warp = threadIdx.x / 32;
    int largest = warp_max(value), sum = warp_sum(value);
    if (threadIdx.x % 32 == 0) scratch[warp] = largest;
    __syncthreads();
    largest = max(scratch[0], scratch[1]);
    if (threadIdx.x % 32 == 0) scratch[warp] = sum;
    __syncthreads();
    out[threadIdx.x] = largest + scratch[0] + scratch[1];
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ int scratch[2];
    int value = in[threadIdx.x], warp = threadIdx.x / 32;
    int largest = warp_max(value), sum = warp_sum(value);
    if (threadIdx.x % 32 == 0) scratch[warp] = largest;
    __syncthreads();
    largest = max(scratch[0], scratch[1]);
    __syncthreads();
    if (threadIdx.x % 32 == 0) scratch[warp] = sum;
    __syncthreads();
    out[threadIdx.x] = largest + scratch[0] + scratch[1];
}
