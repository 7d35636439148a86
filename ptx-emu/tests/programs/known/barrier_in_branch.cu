// __syncthreads() in a branch that not all threads of a warp take: the others arrive at the next one.
// Known from https://github.com/dealii/dealii/pull/8337 and https://github.com/acts-project/acts/pull/307
// launch: grid=1,1,1 block=64,1,1 args=iota:256,buffer:256,u32:40
// expect: barrier: line 13, `bar.sync`, thread (32, 0, 0) of block (0, 0, 0): only part of the warp reaches this barrier; thread (40, 0, 0) waits in line 16
// expect: barrier: line 16, `bar.sync`, thread (40, 0, 0) of block (0, 0, 0): only part of the warp reaches this barrier; thread (32, 0, 0) waits in line 13
// result: 1[0] = 39

extern "C" __global__ void bad(const int* in, int* out, int n) {
    __shared__ int tile[64];
    int i = threadIdx.x;
    if (i < n) {
        tile[i] = in[i];
        __syncthreads();
        out[i] = tile[n - 1 - i];
    }
    __syncthreads();
    if (i == 0) out[63] = tile[0];
}

extern "C" __global__ void good(const int* in, int* out, int n) {
    __shared__ int tile[64];
    int i = threadIdx.x;
    if (i < n) tile[i] = in[i];
    __syncthreads();
    if (i < n) out[i] = tile[n - 1 - i];
    if (i == 0) out[63] = tile[0];
}
