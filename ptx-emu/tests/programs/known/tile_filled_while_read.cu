// A loop fills its tile anew while slower threads still read it: the barrier at the loop's end is missing.
// Known from https://github.com/csarofeen/pytorch/issues/380 and https://github.com/ORNL/HeCBench/issues/253
// launch: grid=1,1,1 block=64,1,1 args=iota:1024,buffer:256
// expect: race: line 14, `ld.shared.u32`, thread (0, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0xfc; nothing orders it after the write by thread (63, 0, 0) in line 12, `st.shared.u32`
// result: 1[0] = 636

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ int tile[64];
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < 256; k += 64) {
        tile[threadIdx.x] = in[k + threadIdx.x];
        __syncthreads();
        sum += tile[63 - threadIdx.x];
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ int tile[64];
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < 256; k += 64) {
        tile[threadIdx.x] = in[k + threadIdx.x];
        __syncthreads();
        sum += tile[63 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
