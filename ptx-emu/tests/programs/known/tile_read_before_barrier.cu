// A tile is read before all threads have stored their element.
// Known from https://github.com/dirac-institute/kbmod/pull/108 and https://github.com/ORNL/HeCBench/issues/254
// launch: grid=1,1,1 block=64,1,1 args=iota:256,buffer:256
// expect: race: line 10, `st.shared.u32`, thread (32, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x80; nothing orders it after the read by thread (31, 0, 0) in line 11, `ld.shared.u32`
// expect: uninitialised: line 11, `ld.shared.u32`, thread (0, 0, 0) of block (0, 0, 0): reads 4 bytes of shared memory at 0xfc that was never written
// result: 1[0] = 63

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
