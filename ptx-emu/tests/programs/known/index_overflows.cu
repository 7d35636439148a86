// The product in an index overflows 32 bits before it is divided.
// Known from https://github.com/microsoft/onnxruntime/issues/28107
// launch: grid=1,1,1 block=32,1,1 args=iota:240000,buffer:128,u32:60000,u32:50000
// expect: out of bounds: line 9, `ld.global.u32`, thread (0, 0, 0) of block (0, 0, 0): read of 4 bytes of global memory at 0x1fffffdafd0, which is in no allocation
// result: 1[1] = 48000

extern "C" __global__ void bad(const int* in, int* out, int wide, int narrow) {
    int x = 40000 + (int)threadIdx.x - 1;
    out[threadIdx.x] = in[x * wide / narrow];
}

extern "C" __global__ void good(const int* in, int* out, int wide, int narrow) {
    int x = 40000 + (int)threadIdx.x - 1;
    out[threadIdx.x] = in[(long long)x * wide / narrow];
}
