// A block sets a flag after its results, with no fence between: another block sees the flag, but not the results.
// Known from https://github.com/NVIDIA/Fuser/pull/2391 and https://github.com/kokkos/kokkos/issues/2681
// launch: grid=2,1,1 block=32,1,1 args=buffer:128,buffer:4,buffer:128
// expect: race: line 19, `ld.global.u32`, thread (0, 0, 0) of block (1, 0, 0): 4 bytes of global memory at 0x20000000000, argument 1, byte 0; nothing orders it after the write by thread (0, 0, 0) of block (0, 0, 0) in line 10, `st.global.u32`
// result: 2[5] = 5

extern "C" __global__ void bad(int* partial, int* flag, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        partial[t] = t;
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) {
            while (atomicAdd(flag, 0) == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = partial[t];
    }
}

extern "C" __global__ void good(int* partial, int* flag, int* out) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        partial[t] = t;
        __threadfence();
        __syncthreads();
        if (t == 0) atomicExch(flag, 1);
    } else {
        if (t == 0) {
            while (atomicAdd(flag, 0) == 0) {}
            __threadfence();
        }
        __syncthreads();
        out[t] = partial[t];
    }
}
