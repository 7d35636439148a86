// The host never copies the coefficients to constant memory, where they are zeros.
// launch: entry=line grid=1,1,1 block=32,1,1 args=iota:128,buffer:128
// good: const=slope:3 const=offset:8
// expect: warning: uninitialised: line 11, `ld.const.u32`, thread (0, 0, 0) of block (0, 0, 0): reads `slope`, a constant without an initial value that the launch has not set
// expect: warning: uninitialised: line 11, `ld.const.u32`, thread (0, 0, 0) of block (0, 0, 0): reads `offset`, a constant without an initial value that the launch has not set
// result: 1[2] = 14

__constant__ int slope, offset;

extern "C" __global__ void line(const int* in, int* out) {
    out[threadIdx.x] = slope * in[threadIdx.x] + offset;
}
