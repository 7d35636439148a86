// Rows are read as wide as their leading dimension, although the last one ends where its elements end.
// Known from https://github.com/ggml-org/llama.cpp/issues/23539 and https://github.com/leimao/CUDA-GEMM-Optimization/issues/2
// launch: grid=1,1,1 block=16,1,1 args=iota:568,buffer:64,u32:10,u32:16
// expect: out of bounds: line 12, `ld.global.u32`, thread (8, 0, 0) of block (0, 0, 0): read of 4 bytes of global memory at 0x20000000238, which is right past the end of argument 1, 568 bytes at 0x20000000000
// result: 1[0] = 45

extern "C" __global__ void bad(const int* a, int* sums, int cols, int lda) {
    int row = threadIdx.x, sum = 0;
    if (row >= 9) return;
#pragma unroll 1
    for (int col = 0; col < lda; col++) {
        int value = a[row * lda + col];
        sum += col < cols ? value : 0;
    }
    sums[row] = sum;
}

extern "C" __global__ void good(const int* a, int* sums, int cols, int lda) {
    int row = threadIdx.x, sum = 0;
    if (row >= 9) return;
#pragma unroll 1
    for (int col = 0; col < cols; col++) {
        sum += a[row * lda + col];
    }
    sums[row] = sum;
}
