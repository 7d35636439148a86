// Rows are read as float4, but their length is no multiple of four elements.
// Known from https://github.com/lightseekorg/tokenspeed/pull/683
// launch: grid=2,1,1 block=2,1,1 args=iota:80,buffer:16,u32:10
// expect: misaligned: line 9, `ld.global.v4.u32`, thread (0, 0, 0) of block (1, 0, 0): read of 16 bytes of global memory at 0x20000000028, argument 1, byte 40, which is not a multiple of 16
// result: 1[2] = 46

extern "C" __global__ void bad(const int* in, int* out, int cols) {
    const int4* row = reinterpret_cast<const int4*>(in + blockIdx.x * cols);
    int4 v = row[threadIdx.x];
    out[blockIdx.x * 2 + threadIdx.x] = v.x + v.y + v.z + v.w;
}

extern "C" __global__ void good(const int* in, int* out, int cols) {
    const int2* row = reinterpret_cast<const int2*>(in + blockIdx.x * cols);
    int2 v = row[2 * threadIdx.x], w = row[2 * threadIdx.x + 1];
    out[blockIdx.x * 2 + threadIdx.x] = v.x + v.y + w.x + w.y;
}
