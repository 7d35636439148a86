// The last steps of a reduction rely on lanes in lockstep, without __syncwarp().
// Known from https://github.com/brucefan1983/GPUMD/issues/36 and https://github.com/numba/numba/issues/2589
// launch: grid=1,1,1 block=32,1,1 args=iota:128,buffer:4
// expect: race: line 16, `ld.shared.u32`, thread (0, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x20; nothing orders it after the write by thread (8, 0, 0) in line 17, `st.shared.u32`
// expect: race: line 17, `st.shared.u32`, thread (16, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x40; nothing orders it after the read by thread (0, 0, 0) in line 16, `ld.shared.u32`
// result: 1[0] = 496

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ int sums[64];
    int i = threadIdx.x;
    sums[i] = in[i];
    sums[i + 32] = 0;
    __syncwarp();
#pragma unroll 1
    for (int offset = 16; offset > 0; offset /= 2) {
        int sum = sums[i] + sums[i + offset];
        sums[i] = sum;
    }
    if (i == 0) *out = sums[0];
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ int sums[64];
    int i = threadIdx.x;
    sums[i] = in[i];
    sums[i + 32] = 0;
    __syncwarp();
#pragma unroll 1
    for (int offset = 16; offset > 0; offset /= 2) {
        int sum = sums[i] + sums[i + offset];
        __syncwarp();
        sums[i] = sum;
        __syncwarp();
    }
    if (i == 0) *out = sums[0];
}
