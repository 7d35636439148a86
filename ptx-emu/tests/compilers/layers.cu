// Kernels for `nvcc -ptx -arch=sm_90 layers.cu`: see layers.ptx.
#include <cuda_runtime.h>

// Layered textures: thread (x, y, layer) has what lies between texels of its layer.
extern "C" __global__ void sample_layers(cudaTextureObject_t lines, cudaTextureObject_t images, float* of_lines, float2* of_images) {
    int x = threadIdx.x, y = threadIdx.y, layer = threadIdx.z;
    int at = (layer * blockDim.y + y) * blockDim.x + x;
    of_images[at] = tex2DLayered<float2>(images, x + 1.0f, y + 0.75f, layer);
    if (y == 0) of_lines[layer * blockDim.x + x] = tex1DLayered<float>(lines, x + 0.5f, layer);
}

// Cubes: a direction for each thread.
extern "C" __global__ void look_around(cudaTextureObject_t cube, cudaTextureObject_t cubes, const float3* directions, int* of_cube,
                                       int* of_cubes) {
    int i = threadIdx.x;
    float3 to = directions[i];
    of_cube[i] = texCubemap<int>(cube, to.x, to.y, to.z);
    of_cubes[i] = texCubemapLayered<int>(cubes, to.x, to.y, to.z, i % 2);
}

// The four texels around a place.
extern "C" __global__ void gather(cudaTextureObject_t image, const float2* places, int4* texels) {
    int i = threadIdx.x;
    texels[i] = tex2Dgather<int4>(image, places[i].x, places[i].y, 1);
}

// Layers of surfaces in the opposite order; of the cubes, faces.
extern "C" __global__ void reverse_layers(cudaSurfaceObject_t lines, cudaSurfaceObject_t turned, cudaSurfaceObject_t images,
                                          cudaSurfaceObject_t cube, int layers) {
    int x = threadIdx.x, y = threadIdx.y, layer = threadIdx.z;
    if (y == 0) surf1DLayeredwrite(surf1DLayeredread<short>(lines, 2 * x, layer), turned, 2 * x, layers - 1 - layer);
    surfCubemapwrite(surf2DLayeredread<uint2>(images, 8 * x, y, layer), cube, 8 * x, y, layers - 1 - layer);
}
