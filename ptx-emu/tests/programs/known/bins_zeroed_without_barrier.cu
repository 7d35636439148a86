// A histogram's bins in shared memory are counted in before all of them are zero.
// Known from https://github.com/alicevision/popsift/pull/82 and https://github.com/hidet-org/hidet/pull/325
// launch: grid=1,1,1 block=64,1,1 args=iota:256,buffer:256
// expect: uninitialised: line 12, `atom.shared.add.u32`, thread (7, 0, 0) of block (0, 0, 0): reads 4 bytes of shared memory at 0x8c that was never written
// expect: race: line 12, `atom.shared.add.u32`, thread (1, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x14; nothing orders it after the write by thread (5, 0, 0) in line 11, `st.shared.u32`
// result: 1[0] = 1

extern "C" __global__ void bad(const int* in, int* bins) {
    __shared__ int counts[64];
    int t = threadIdx.x;
    counts[t] = 0;
    atomicAdd(&counts[in[t] * 5 % 64], 1);
    __syncthreads();
    bins[t] = counts[t];
}

extern "C" __global__ void good(const int* in, int* bins) {
    __shared__ int counts[64];
    int t = threadIdx.x;
    counts[t] = 0;
    __syncthreads();
    atomicAdd(&counts[in[t] * 5 % 64], 1);
    __syncthreads();
    bins[t] = counts[t];
}
