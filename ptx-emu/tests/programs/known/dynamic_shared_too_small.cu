// Two arrays lie in dynamic shared memory, and the launch asks for the bytes of one.
// launch: entry=reverse grid=1,1,1 block=64,1,1 dynamic=256 args=iota:256,buffer:256
// good: dynamic=512
// expect: out of bounds: line 12, `st.shared.u32`, thread (0, 0, 0) of block (0, 0, 0): write of 4 bytes of shared memory at 0x100, which is right past the end of its 256 bytes
// result: 1[0] = 63

extern __shared__ int tiles[];

extern "C" __global__ void reverse(const int* in, int* out) {
    int *a = tiles, *b = tiles + 64, t = threadIdx.x;
    a[t] = in[t];
    b[t] = 2 * in[t];
    __syncthreads();
    out[t] = b[63 - t] - a[63 - t];
}
