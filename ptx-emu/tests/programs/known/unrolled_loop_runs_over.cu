// A grid-stride loop takes two elements in each turn and checks the first only.
// launch: grid=2,1,1 block=32,1,1 args=iota:800,buffer:4,u32:200
// expect: out of bounds: line 11, `ld.global.u32`, thread (8, 0, 0) of block (0, 0, 0): read of 4 bytes of global memory at 0x20000000320, which is right past the end of argument 1, 800 bytes at 0x20000000000
// result: 1[0] = 19900

extern "C" __global__ void bad(const int* in, int* out, int n) {
    int stride = gridDim.x * blockDim.x, sum = 0;
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * stride) {
        sum += in[i];
        sum += in[i + stride];
    }
    atomicAdd(out, sum);
}

extern "C" __global__ void good(const int* in, int* out, int n) {
    int stride = gridDim.x * blockDim.x, sum = 0;
#pragma unroll 1
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += 2 * stride) {
        sum += in[i];
        if (i + stride < n) sum += in[i + stride];
    }
    atomicAdd(out, sum);
}
