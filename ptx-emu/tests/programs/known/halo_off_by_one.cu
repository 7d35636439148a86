// A tile with a halo on both sides has room for one element of it only.
// launch: grid=2,1,1 block=64,1,1 args=iota:520,buffer:512
// expect: out of bounds: line 10, `st.shared.u32`, thread (1, 0, 0) of block (0, 0, 0): write of 4 bytes of shared memory at 0x104, which is right past the end of its 260 bytes
// result: 1[0] = 3

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ int tile[64 + 1];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t] = in[i];
    if (t < 2) tile[64 + t] = in[i + 64];
    __syncthreads();
    out[i] = tile[t] + tile[t + 1] + tile[t + 2];
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ int tile[64 + 2];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    tile[t] = in[i];
    if (t < 2) tile[64 + t] = in[i + 64];
    __syncthreads();
    out[i] = tile[t] + tile[t + 1] + tile[t + 2];
}
