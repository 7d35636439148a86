// Kernels for `nvcc -std=c++17 -ptx -arch=sm_90 kernels.cu`: see nvcc.ptx.
#include <stdint.h>

__device__ int counter = 3;

extern "C" __global__ void reduce_shfl(const float* x, float* y, int n) { float s = 0; for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i]; for (int o = 16; o; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o); __shared__ float w[32]; if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = s; __syncthreads(); if (threadIdx.x < 32) { s = threadIdx.x < blockDim.x / 32 ? w[threadIdx.x] : 0; for (int o = 16; o; o >>= 1) s += __shfl_down_sync(0xffffffff, s, o); if (!threadIdx.x) atomicAdd(y, s); } }

extern "C" __global__ void histogram(const uint8_t* x, unsigned* h, int n) { __shared__ unsigned s[256]; for (int i = threadIdx.x; i < 256; i += blockDim.x) s[i] = 0; __syncthreads(); for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[x[i]], 1u); __syncthreads(); for (int i = threadIdx.x; i < 256; i += blockDim.x) if (s[i]) atomicAdd(&h[i], s[i]); }

extern "C" __global__ void local_array(const int* a, int* c, int n) { int buf[64]; int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; for (int j = 0; j < 64; j++) buf[j] = a[(i + j) % n]; int s = 0; for (int j = 0; j < 64; j++) s += buf[(j * 7 + a[i]) & 63] * j; c[i] = s; }

extern "C" __global__ void switcher(const int* a, int* c, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; int v = a[i]; switch (v & 15) { case 0: v = v * 3; break; case 1: v = v / 7; break; case 2: v = v % 11; break; case 3: v = __popc(v); break; case 4: v = __clz(v); break; case 5: v = __brev(v); break; case 6: v = __ffs(v); break; case 7: v = min(v, 3); break; case 8: v ^= 0x55; break; case 9: v = v << 3; break; case 10: v = v >> 2; break; case 11: v = __byte_perm(v, i, 0x3210 + v % 4); break; default: v = -v; } c[i] = v; }

extern "C" __global__ void dyn(float* x, int n) { extern __shared__ float4 s[]; int i = threadIdx.x; s[i] = ((float4*)x)[blockIdx.x * blockDim.x + i]; __syncthreads(); float4 v = s[blockDim.x - 1 - i]; ((float4*)x)[blockIdx.x * blockDim.x + i] = v; if (i == 0) atomicAdd(&counter, n); }

extern "C" __global__ void __launch_bounds__(256) votes(const int* a, unsigned* c) { int i = blockIdx.x * blockDim.x + threadIdx.x; unsigned b = __ballot_sync(~0u, a[i] > 0); unsigned m = __match_any_sync(~0u, a[i] & 3); int all = __all_sync(~0u, a[i] < 100); c[i] = b ^ m ^ all ^ __reduce_add_sync(~0u, (unsigned)a[i]) ^ __activemask(); }
