// Kernels whose counters follow from their source: `nvcc -std=c++17 -ptx -arch=sm_90 -lineinfo kernels.cu`, see `counters.rs`.

constexpr int TILE = 32, ROWS = 8;

// A square matrix, in blocks of 32x8 threads with a tile of 32x32 each.
extern "C" __global__ void transpose_naive(const float* in, float* out, int n) {
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS) out[x * n + y + j] = in[(y + j) * n + x];
}

template <int PADDING>
__device__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[TILE][TILE + PADDING];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
#pragma unroll
    for (int j = 0; j < TILE; j += ROWS) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void transpose_tile(const float* in, float* out, int n) { transpose<0>(in, out, n); }

extern "C" __global__ void transpose_padded(const float* in, float* out, int n) { transpose<1>(in, out, n); }

// Blocks of 256 threads, one element each.
extern "C" __global__ void reduce(const float* in, float* out) {
    __shared__ float sums[8];
    float sum = in[blockIdx.x * 256 + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = threadIdx.x < 8 ? sums[threadIdx.x] : 0;
    for (int offset = 4; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    if (threadIdx.x == 0) atomicAdd(out, sum);
}

// Blocks of 256 threads, four bytes each: 256 bins.
extern "C" __global__ void histogram(const unsigned* in, unsigned* bins) {
    __shared__ unsigned counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    unsigned bytes = in[blockIdx.x * 256 + threadIdx.x];
#pragma unroll
    for (int i = 0; i < 4; i++) atomicAdd(&counts[bytes >> 8 * i & 255], 1);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
}
