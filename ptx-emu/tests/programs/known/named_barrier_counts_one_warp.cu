// A producer and two consumers meet at a named barrier, but the producer counts itself and one of them.
// launch: grid=1,1,1 block=96,1,1 args=iota:128,buffer:256
// expect: barrier: line 13, `bar.sync`, thread (32, 0, 0) of block (0, 0, 0): barrier 1 expects 96 threads here, but 64 threads in line 11
// result: 1[32] = 31

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    if (t < 32) {
        tile[t] = in[t];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 96;" ::: "memory");
        out[t - 32] = tile[31 - t % 32];
    }
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ int tile[32];
    int t = threadIdx.x;
    if (t < 32) {
        tile[t] = in[t];
        asm volatile("bar.arrive 1, 96;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 96;" ::: "memory");
        out[t - 32] = tile[31 - t % 32];
    }
}
