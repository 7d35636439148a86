/* In the place of libcublas.so.13: it says with which arguments it was called, and computes nothing. */
#include "calls.h"

/* A product that cublasSgemm_v2 hands to cublasLtMatmul, as NVIDIA's library does with some. */
void *inner[16];

int cublasSgemm_v2(GEMM(int)) {
    SAY("reached", "cublasSgemm_v2", GEMM_ARGUMENTS);
    if (inner[0] == NULL) return 0;
    return cublasLtMatmul(inner[0], inner[1], inner[2], inner[3], inner[4], inner[5], inner[6], inner[7], inner[8], inner[9], inner[10],
                          inner[11], inner[12], inner[13], (size_t)inner[14], inner[15]);
}

int cublasSgemm_v2_64(GEMM(int64_t)) { return SAY("reached", "cublasSgemm_v2_64", GEMM_ARGUMENTS), 0; }
int cublasSgemmEx(TYPED(int)) { return SAY("reached", "cublasSgemmEx", TYPED_ARGUMENTS), 0; }
int cublasGemmEx(TYPED(int), int compute, int algorithm) {
    return SAY("reached", "cublasGemmEx", TYPED_ARGUMENTS, compute, algorithm), 0;
}
int cublasGemmEx_64(TYPED(int64_t), int compute, int algorithm) {
    return SAY("reached", "cublasGemmEx_64", TYPED_ARGUMENTS, compute, algorithm), 0;
}
int cublasSgemmStridedBatched(BATCHED(int)) { return SAY("reached", "cublasSgemmStridedBatched", BATCHED_ARGUMENTS), 0; }
int cublasSgemmStridedBatched_64(BATCHED(int64_t)) { return SAY("reached", "cublasSgemmStridedBatched_64", BATCHED_ARGUMENTS), 0; }
int cublasGemmStridedBatchedEx(TYPED_BATCHED(int)) {
    return SAY("reached", "cublasGemmStridedBatchedEx", TYPED_BATCHED_ARGUMENTS), 0;
}

int cublasSgemmBatched(POINTERS(int)) { return SAY("reached", "cublasSgemmBatched", POINTERS_ARGUMENTS), 0; }
int cublasSgemmBatched_64(POINTERS(int64_t)) { return SAY("reached", "cublasSgemmBatched_64", POINTERS_ARGUMENTS), 0; }
int cublasGemmBatchedEx(TYPED_POINTERS(int)) { return SAY("reached", "cublasGemmBatchedEx", TYPED_POINTERS_ARGUMENTS), 0; }
int cublasGemmBatchedEx_64(TYPED_POINTERS(int64_t)) { return SAY("reached", "cublasGemmBatchedEx_64", TYPED_POINTERS_ARGUMENTS), 0; }

int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes) {
    return SAY("reached", "cublasSetWorkspace_v2", handle, workspace, bytes), 0;
}
int cublasCreate_v2(void **handle) {
    static struct handle only;
    return *handle = &only, 0;
}
int cublasSetMathMode(void *handle, int mode) { return ((struct handle *)handle)->math_mode = mode, 0; }
int cublasDestroy_v2(void *handle) { return handle == NULL; }

int cublasSetStream_v2(void *handle, void *stream) {
    ((struct handle *)handle)->stream = stream;
    return SAY("reached", "cublasSetStream_v2", handle, stream), 0;
}
int cublasGetStream_v2(void *handle, void **stream) { return *stream = ((struct handle *)handle)->stream, 0; }
int cublasGetPointerMode_v2(void *handle, int *mode) { return *mode = ((struct handle *)handle)->pointer_mode, 0; }
int cublasGetMathMode(void *handle, int *mode) { return *mode = ((struct handle *)handle)->math_mode, 0; }
int cublasGetSmCountTarget(void *handle, int *target) { return *target = ((struct handle *)handle)->sm_count_target, 0; }
