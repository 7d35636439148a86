// Kernels for `nvcc -ptx -arch=sm_90 textures.cu`: see textures.ptx.
#include <cuda_runtime.h>

// The image at half its size: each texel the mean of four, by the linear filter.
extern "C" __global__ void halve(cudaTextureObject_t image, float4* out, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = tex2D<float4>(image, 2 * x + 1.0f, 2 * y + 1.0f);
}

// One dimension by index, another one and three by coordinates.
extern "C" __global__ void look_up(cudaTextureObject_t table, cudaTextureObject_t line, cudaTextureObject_t volume, int* indices,
                                   float* values) {
    int i = threadIdx.x;
    indices[i] = tex1Dfetch<int>(table, i - 1);
    values[i] = tex1D<float>(line, 0.25f * i) + tex3D<float>(volume, i % 2, i / 2 % 2, i / 4);
}

// A surface, transposed into another one.
extern "C" __global__ void transpose(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    int x = threadIdx.x, y = threadIdx.y;
    uchar4 texel = surf2Dread<uchar4>(from, 4 * x, y, cudaBoundaryModeClamp);
    surf2Dwrite(texel, to, 4 * y, x, cudaBoundaryModeZero);
}
