// Groups of 16 lanes reduce, all with the mask of the lower group: the upper lanes are not in theirs.
// Known from https://github.com/sgl-project/sglang/pull/9620
// launch: grid=1,1,1 block=32,1,1 args=iota:128,buffer:128
// expect: barrier: line 11, `shfl.sync.bfly.b32`, thread (16, 0, 0) of block (0, 0, 0): its mask 0x0000ffff does not name its own lane, 16
// result: 1[16] = 376

extern "C" __global__ void bad(const int* in, int* out) {
    int sum = in[threadIdx.x];
#pragma unroll 1
    for (int offset = 8; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffff, sum, offset, 16);
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void good(const int* in, int* out) {
    unsigned mask = threadIdx.x < 16 ? 0xffff : 0xffff0000;
    int sum = in[threadIdx.x];
#pragma unroll 1
    for (int offset = 8; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(mask, sum, offset, 16);
    }
    out[threadIdx.x] = sum;
}
