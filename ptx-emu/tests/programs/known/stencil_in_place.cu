// A stencil writes to the array that other blocks read their neighbours from.
// launch: grid=4,1,1 block=32,1,1 args=iota:512,iota:512
// expect: race: line 9, `ld.global.u32`, thread (0, 0, 0) of block (1, 0, 0): 4 bytes of global memory at 0x2000000007c, argument 1, byte 124; nothing orders it after the write by thread (31, 0, 0) of block (0, 0, 0) in line 12, `st.global.u32`
// expect: race: line 12, `st.global.u32`, thread (0, 0, 0) of block (1, 0, 0): 4 bytes of global memory at 0x20000000080, argument 1, byte 128; nothing orders it after the read by thread (31, 0, 0) of block (0, 0, 0) in line 10, `ld.global.u32`
// result: 1[33] = 66

extern "C" __global__ void bad(int* in, int*) {
    int i = blockIdx.x * 32 + threadIdx.x;
    int left = i > 0 ? in[i - 1] : 0;
    int right = i < 127 ? in[i + 1] : 0;
    __syncthreads();
    in[i] = left + right;
}

extern "C" __global__ void good(int* in, int* out) {
    int i = blockIdx.x * 32 + threadIdx.x;
    int left = i > 0 ? in[i - 1] : 0;
    int right = i < 127 ? in[i + 1] : 0;
    out[i] = left + right;
}
