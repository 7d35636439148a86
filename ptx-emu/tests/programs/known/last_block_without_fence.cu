// The block that finishes last adds up the partial sums of the others, which no fence puts before their tickets.
// Known from https://github.com/kokkos/kokkos/issues/398
// launch: grid=4,1,1 block=32,1,1 args=iota:512,buffer:16,buffer:4,buffer:4
// expect: race: line 19, `ld.global.u32`, thread (0, 0, 0) of block (3, 0, 0): 4 bytes of global memory at 0x20000100200, argument 2, byte 0; nothing orders it after the write by thread (0, 0, 0) of block (0, 0, 0) in line 15, `st.global.u32`
// result: 3[0] = 8128

__device__ int warp_sum(int value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
    return value;
}

extern "C" __global__ void bad(const int* in, int* partial, unsigned* tickets, int* out) {
    int sum = warp_sum(in[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x > 0) return;
    partial[blockIdx.x] = sum;
    if (atomicInc(tickets, gridDim.x) == gridDim.x - 1) {
        sum = 0;
#pragma unroll 1
        for (int i = 0; i < gridDim.x; i++) sum += partial[i];
        *out = sum;
    }
}

extern "C" __global__ void good(const int* in, int* partial, unsigned* tickets, int* out) {
    int sum = warp_sum(in[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x > 0) return;
    partial[blockIdx.x] = sum;
    __threadfence();
    if (atomicInc(tickets, gridDim.x) == gridDim.x - 1) {
        __threadfence();
        sum = 0;
#pragma unroll 1
        for (int i = 0; i < gridDim.x; i++) sum += partial[i];
        *out = sum;
    }
}
