// Of two buffers, the next tile goes to the one that is being read.
// launch: grid=1,1,1 block=64,1,1 args=iota:1024,buffer:256
// expect: race: line 14, `st.shared.u32`, thread (0, 0, 0) of block (0, 0, 0): 4 bytes of shared memory at 0x0; nothing orders it after the read by thread (63, 0, 0) in line 15, `ld.shared.u32`
// expect: uninitialised: line 15, `ld.shared.u32`, thread (0, 0, 0) of block (0, 0, 0): reads 4 bytes of shared memory at 0x1fc that was never written
// result: 1[0] = 636

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x, sum = 0;
    tiles[0][t] = in[t];
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        __syncthreads();
        if (k < 3) tiles[k % 2][t] = in[(k + 1) * 64 + t];
        sum += tiles[k % 2][63 - t];
    }
    out[t] = sum;
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ int tiles[2][64];
    int t = threadIdx.x, sum = 0;
    tiles[0][t] = in[t];
#pragma unroll 1
    for (int k = 0; k < 4; k++) {
        __syncthreads();
        if (k < 3) tiles[(k + 1) % 2][t] = in[(k + 1) * 64 + t];
        sum += tiles[k % 2][63 - t];
    }
    out[t] = sum;
}
