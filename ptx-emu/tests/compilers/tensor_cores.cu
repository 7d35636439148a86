// Kernels for `nvcc -ptx -arch=sm_90 tensor_cores.cu`: see tensor_cores.ptx.
#include <mma.h>
using namespace nvcuda;

// C = A B, by tiles of 16 x 16 of C, one to a warp. A and B go through shared memory. All sizes are multiples of 16.
extern "C" __global__ void wmma_f16(const half* a, const half* b, float* c, int n, int k) {
    __shared__ half a_smem[16 * 24], b_smem[16 * 24];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
    wmma::fill_fragment(acc, 0.0f);
    int row = 16 * blockIdx.y, column = 16 * blockIdx.x;
    for (int step = 0; step < k; step += 16) {
        for (int i = threadIdx.x; i < 256; i += 32) {
            a_smem[i / 16 * 24 + i % 16] = a[(row + i / 16) * k + step + i % 16];
            b_smem[i / 16 * 24 + i % 16] = b[(step + i / 16) * n + column + i % 16];
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_frag;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_frag;
        wmma::load_matrix_sync(a_frag, a_smem, 24);
        wmma::load_matrix_sync(b_frag, b_smem, 24);
        wmma::mma_sync(acc, a_frag, b_frag, acc);
        __syncthreads();
    }
    for (int i = 0; i < acc.num_elements; i++) acc.x[i] *= 0.5f;
    wmma::store_matrix_sync(c + row * n + column, acc, n, wmma::mem_row_major);
}

// One product of bytes, B by columns.
extern "C" __global__ void wmma_s8(const signed char* a, const signed char* b, int* c) {
    wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::col_major> a_frag;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> b_frag;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> acc;
    wmma::fill_fragment(acc, 1);
    wmma::load_matrix_sync(a_frag, a, 32);
    wmma::load_matrix_sync(b_frag, b, 16);
    wmma::mma_sync(acc, a_frag, b_frag, acc);
    wmma::store_matrix_sync(c, acc, 32, wmma::mem_col_major);
}
