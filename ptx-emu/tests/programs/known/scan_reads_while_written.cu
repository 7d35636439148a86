// Each step of a scan reads a neighbour's element that may already be the next step's.
// Known from https://github.com/modular/mojo-gpu-puzzles/issues/26
// launch: grid=1,1,1 block=64,1,1 args=iota:256,buffer:256
// expect: race: line 15, `st.shared.u32`, thread (32, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x80; nothing orders it after the read by thread (33, 0, 0) in line 15, `ld.shared.u32`
// expect: race: line 15, `st.shared.u32`, thread (31, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x7c; nothing orders it after the read by thread (32, 0, 0) in line 15, `ld.shared.u32`
// result: 1[63] = 2016

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ int sums[64];
    int t = threadIdx.x;
    sums[t] = in[t];
    __syncthreads();
#pragma unroll 1
    for (int offset = 1; offset < 64; offset *= 2) {
        if (t >= offset) sums[t] += sums[t - offset];
        __syncthreads();
    }
    out[t] = sums[t];
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ int sums[64];
    int t = threadIdx.x;
    sums[t] = in[t];
    __syncthreads();
#pragma unroll 1
    for (int offset = 1; offset < 64; offset *= 2) {
        int sum = sums[t] + (t >= offset ? sums[t - offset] : 0);
        __syncthreads();
        sums[t] = sum;
        __syncthreads();
    }
    out[t] = sums[t];
}
