/* What the stand-ins for NVIDIA's libraries and the program that calls them agree on. */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>
#include <stdio.h>

/* A handle of the stand-in: what its getters tell. */
struct handle {
    void *stream;
    int pointer_mode, math_mode, sm_count_target;
};

/* A description of a product or a matrix: attributes by their numbers, of so many bytes, 0 where there is none. */
struct described {
    uint64_t values[48];
    size_t bytes[48];
};

/* APPLY(f, a, b, c) is f(a), f(b), f(c). */
#define PARENS ()
#define EXPAND0(...) __VA_ARGS__
#define EXPAND1(...) EXPAND0(EXPAND0(EXPAND0(__VA_ARGS__)))
#define EXPAND2(...) EXPAND1(EXPAND1(EXPAND1(__VA_ARGS__)))
#define EXPAND(...) EXPAND2(EXPAND2(EXPAND2(EXPAND2(__VA_ARGS__))))
#define APPLY(f, ...) EXPAND(APPLY_EACH(f, __VA_ARGS__))
#define APPLY_EACH(f, x, ...) f(x) __VA_OPT__(, APPLY_AGAIN PARENS(f, __VA_ARGS__))
#define APPLY_AGAIN() APPLY_EACH

#define WORD(x) (uint64_t)(x)
#define SAY(what, name, ...) say(what, name, (uint64_t[]){APPLY(WORD, __VA_ARGS__)}, sizeof((uint64_t[]){APPLY(WORD, __VA_ARGS__)}) / 8)

/* A line with all arguments of a call. */
static inline void say(const char *what, const char *name, const uint64_t *words, size_t count) {
    printf("%s %s", what, name);
    for (size_t i = 0; i < count; i++) printf(" %llx", (unsigned long long)words[i]);
    printf("\n");
    fflush(stdout);
}

#define GEMM(I) \
    void *handle, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, I lda, const void *b, I ldb, const void *beta, void *c, I ldc
#define GEMM_ARGUMENTS handle, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
#define TYPED(I) \
    void *handle, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, int ma, I lda, const void *b, int mb, I ldb, \
        const void *beta, void *c, int mc, I ldc
#define TYPED_ARGUMENTS handle, ta, tb, m, n, k, alpha, a, ma, lda, b, mb, ldb, beta, c, mc, ldc
#define BATCHED(I) \
    void *handle, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, I lda, long long sa, const void *b, I ldb, \
        long long sb, const void *beta, void *c, I ldc, long long sc, I batch
#define BATCHED_ARGUMENTS handle, ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, batch
#define TYPED_BATCHED(I) \
    void *handle, int ta, int tb, I m, I n, I k, const void *alpha, const void *a, int ma, I lda, long long sa, const void *b, int mb, \
        I ldb, long long sb, const void *beta, void *c, int mc, I ldc, long long sc, I batch, int compute, int algorithm
#define TYPED_BATCHED_ARGUMENTS \
    handle, ta, tb, m, n, k, alpha, a, ma, lda, sa, b, mb, ldb, sb, beta, c, mc, ldc, sc, batch, compute, algorithm
#define POINTERS(I) GEMM(I), I batch
#define POINTERS_ARGUMENTS GEMM_ARGUMENTS, batch
#define TYPED_POINTERS(I) TYPED(I), I batch, int compute, int algorithm
#define TYPED_POINTERS_ARGUMENTS TYPED_ARGUMENTS, batch, compute, algorithm
#define MATMUL \
    void *handle, void *product, const void *alpha, const void *a, void *la, const void *b, void *lb, const void *beta, const void *c, \
        void *lc, void *d, void *ld, const void *algorithm, void *workspace, size_t bytes, void *stream
#define MATMUL_ARGUMENTS handle, product, alpha, a, la, b, lb, beta, c, lc, d, ld, algorithm, workspace, bytes, stream

int cublasSgemm_v2(GEMM(int));
int cublasSgemm_v2_64(GEMM(int64_t));
int cublasSgemmEx(TYPED(int));
int cublasGemmEx(TYPED(int), int compute, int algorithm);
int cublasGemmEx_64(TYPED(int64_t), int compute, int algorithm);
int cublasSgemmStridedBatched(BATCHED(int));
int cublasSgemmStridedBatched_64(BATCHED(int64_t));
int cublasGemmStridedBatchedEx(TYPED_BATCHED(int));
int cublasSgemmBatched(POINTERS(int));
int cublasSgemmBatched_64(POINTERS(int64_t));
int cublasGemmBatchedEx(TYPED_POINTERS(int));
int cublasGemmBatchedEx_64(TYPED_POINTERS(int64_t));
int cublasLtMatmul(MATMUL);
int cublasLtMatmulAlgoConfigSetAttribute(void *algorithm, int attribute, const void *value, size_t bytes);
int cublasSetWorkspace_v2(void *handle, void *workspace, size_t bytes);
int cublasSetStream_v2(void *handle, void *stream);
int cublasGetStream_v2(void *handle, void **stream);
int cublasGetPointerMode_v2(void *handle, int *mode);
int cublasGetMathMode(void *handle, int *mode);
int cublasGetSmCountTarget(void *handle, int *target);
int cublasCreate_v2(void **handle);
int cublasDestroy_v2(void *handle);
int cublasLtMatmulDescGetAttribute(void *of, int attribute, void *value, size_t bytes, size_t *written);
int cublasLtMatrixLayoutGetAttribute(void *of, int attribute, void *value, size_t bytes, size_t *written);

#endif
