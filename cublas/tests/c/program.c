/* Calls cuBLAS's functions, as an unmodified program does: `program CASE`. A case says what it calls, and what it found. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"

#define CHECK(call) do { int status_ = (call); if (status_) { printf("%s: status %d\n", #call, status_); exit(1); } } while (0)

/* The driver's functions, all of which return an int. */
typedef int (*any)();
static any driver(const char *name) {
    static void *library;
    if (!library) library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    any found = library ? (any)dlsym(library, name) : NULL;
    if (!found) { printf("no %s\n", name); exit(1); }
    return found;
}

static struct handle handle;
static uint64_t context;

static void start(void) {
    CHECK(((int (*)(unsigned))driver("cuInit"))(0));
    CHECK(((int (*)(uint64_t *, int))driver("cuDevicePrimaryCtxRetain"))(&context, 0));
    CHECK(((int (*)(uint64_t))driver("cuCtxSetCurrent"))(context));
}

static void unchanged_context(void) {
    uint64_t current = 0;
    CHECK(((int (*)(uint64_t *))driver("cuCtxGetCurrent"))(&current));
    if (current != context) printf("another context is current\n");
}

static char *allocate(size_t bytes) {
    uint64_t address;
    CHECK(((int (*)(uint64_t *, size_t))driver("cuMemAlloc_v2"))(&address, bytes));
    return (char *)address;
}

static float *drawn(size_t count, unsigned seed) {
    float *values = malloc(count * 4);
    for (size_t i = 0; i < count; i++) values[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / (1 << 23) - 1.0f;
    return values;
}

static char *on_device(const float *values, size_t count, size_t offset) {
    char *address = allocate(count * 4 + offset) + offset;
    CHECK(((int (*)(void *, const void *, size_t))driver("cuMemcpyHtoD_v2"))(address, values, count * 4));
    return address;
}

/* Matrices by columns, with gaps, and what is computed of them. */
struct product {
    int ta, tb, m, n, k, lda, ldb, ldc, batch;
    float alpha, beta;
    size_t offset;
    float *host[3], *bias;
    char *device[3], *device_bias;
};

static void prepare(struct product *p) {
    p->lda = (p->ta ? p->k : p->m) + 3, p->ldb = (p->tb ? p->n : p->k) + 1, p->ldc = p->m + 2;
    size_t counts[3] = {(size_t)p->lda * (p->ta ? p->m : p->k), (size_t)p->ldb * (p->tb ? p->k : p->n), (size_t)p->ldc * p->n};
    for (int i = 0; i < 3; i++) {
        p->host[i] = drawn(counts[i] * p->batch, 7 + i);
        if (i == 2 && p->beta == 0.0f) for (size_t j = 0; j < counts[2] * p->batch; j++) p->host[2][j] = NAN;
        p->device[i] = on_device(p->host[i], counts[i] * p->batch, p->offset);
    }
    p->bias = drawn(p->m, 11), p->device_bias = on_device(p->bias, p->m, 0);
}

/* Whether the device's C is that of f64, within the bound of f32, and its gaps as they were. `times` calls were made. */
static int is_right(const struct product *p, int relu, int has_bias, int times) {
    size_t one = (size_t)p->ldc * p->n;
    float *found = malloc(one * p->batch * 4);
    CHECK(((int (*)(void *, const void *, size_t))driver("cuMemcpyDtoH_v2"))(found, p->device[2], one * p->batch * 4));
    for (int b = 0; b < p->batch; b++)
        for (int j = 0; j < p->n; j++)
            for (int i = 0; i < p->ldc; i++) {
                size_t at = b * one + (size_t)j * p->ldc + i;
                float old = p->host[2][at];
                if (i >= p->m) {
                    if (memcmp(&found[at], &old, 4)) return printf("a gap was written\n"), 0;
                    continue;
                }
                double sum = 0.0, size = 0.0;
                const float *a = p->host[0] + b * (size_t)p->lda * (p->ta ? p->m : p->k);
                const float *of_b = p->host[1] + b * (size_t)p->ldb * (p->tb ? p->k : p->n);
                for (int l = 0; l < p->k; l++) {
                    double x = p->ta ? a[(size_t)i * p->lda + l] : a[(size_t)l * p->lda + i];
                    double y = p->tb ? of_b[(size_t)l * p->ldb + j] : of_b[(size_t)j * p->ldb + l];
                    sum += x * y, size += fabs(x * y);
                }
                double value = p->beta == 0.0f ? 0.0 : old, bound = fabs(value);
                for (int t = 0; t < times; t++) {
                    value = p->alpha * sum + (p->beta == 0.0f ? 0.0 : p->beta * value) + (has_bias ? p->bias[i] : 0.0);
                    bound = fabs(p->alpha) * size + (p->beta == 0.0f ? 0.0 : fabs(p->beta) * bound) + (has_bias ? fabs(p->bias[i]) : 0.0);
                    if (relu && value < 0.0) value = 0.0;
                }
                if (!(fabs(found[at] - value) <= (p->k + 4) * times * ldexp(bound, -23)))
                    return printf("C[%d][%d] of %d is %g, not %g\n", i, j, b, found[at], value), 0;
            }
    free(found);
    return 1;
}

/* A call whose arguments are said first. */
#define TRY(name, ...) do { SAY("called", #name, __VA_ARGS__); CHECK(name(__VA_ARGS__)); } while (0)

static void verdict(const char *name, int right) {
    unchanged_context();
    printf("%s %s\n", right ? "right" : "wrong", name);
}

static void set(struct described *of, int attribute, uint64_t value, size_t bytes) {
    of->values[attribute] = value, of->bytes[attribute] = bytes;
}

static void describe_matrix(struct described *of, int rows, int columns, int ld, int batch, int64_t stride) {
    memset(of, 0, sizeof *of);
    set(of, 0, 0, 4), set(of, 1, 0, 4), set(of, 2, rows, 8), set(of, 3, columns, 8), set(of, 4, ld, 8), set(of, 5, batch, 4), set(of, 6, stride, 8);
}

static struct described product_of, a_of, b_of, c_of;
static char lt, algorithm[64];

static void describe(const struct product *p, int epilogue) {
    memset(&product_of, 0, sizeof product_of);
    set(&product_of, 0, 68, 4), set(&product_of, 1, 0, 4), set(&product_of, 2, 0, 4), set(&product_of, 3, p->ta, 4), set(&product_of, 4, p->tb, 4);
    set(&product_of, 5, 0, 4), set(&product_of, 6, 2, 4), set(&product_of, 7, epilogue, 4), set(&product_of, 8, (uint64_t)p->device_bias, 8);
    set(&product_of, 10, 0, 8), set(&product_of, 15, 0, 4), set(&product_of, 26, (uint32_t)-1, 4);
    describe_matrix(&a_of, p->ta ? p->k : p->m, p->ta ? p->m : p->k, p->lda, p->batch, (int64_t)p->lda * (p->ta ? p->m : p->k));
    describe_matrix(&b_of, p->tb ? p->n : p->k, p->tb ? p->k : p->n, p->ldb, p->batch, (int64_t)p->ldb * (p->tb ? p->k : p->n));
    describe_matrix(&c_of, p->m, p->n, p->ldc, p->batch, (int64_t)p->ldc * p->n);
}

#define OF(p) &handle, p.ta, p.tb, p.m, p.n, p.k, &p.alpha, p.device[0]
#define GEMM_OF(p) OF(p), p.lda, p.device[1], p.ldb, &p.beta, p.device[2], p.ldc
#define TYPED_OF(p, type) OF(p), type, p.lda, p.device[1], type, p.ldb, &p.beta, p.device[2], type, p.ldc
#define MATMUL_OF(p) \
    &lt, &product_of, &p.alpha, p.device[0], &a_of, p.device[1], &b_of, &p.beta, p.device[2], &c_of, p.device[2], &c_of, algorithm, NULL, (size_t)0, NULL

static struct product of_sizes(int ta, int tb, int m, int n, int k) {
    return (struct product){.ta = ta, .tb = tb, .m = m, .n = n, .k = k, .batch = 1, .alpha = 1.0f};
}

/* Calls that are computed, in every layout and by every function. */
static void products(void) {
    start();
    for (int op = 0; op < 4; op++) {
        struct product p = of_sizes(op & 1, op >> 1, 70, 50, 40);
        p.alpha = 1.5f, p.beta = op == 2 ? 0.0f : -0.5f, p.offset = op == 3 ? 4 : 0;
        prepare(&p);
        CHECK(cublasSgemm_v2(GEMM_OF(p)));
        verdict("cublasSgemm_v2", is_right(&p, 0, 0, 1));
        CHECK(cublasSgemm_v2_64(GEMM_OF(p)));
        verdict("cublasSgemm_v2_64", is_right(&p, 0, 0, 2));
        CHECK(cublasSgemmEx(TYPED_OF(p, 0)));
        CHECK(cublasGemmEx(TYPED_OF(p, 0), 68, -1));
        CHECK(cublasGemmEx_64(TYPED_OF(p, 0), 68, 99));
        verdict("cublasGemmEx", is_right(&p, 0, 0, 5));
    }
    /* One launch has all of the batch. */
    struct product b = of_sizes(0, 0, 64, 48, 32);
    b.batch = 3;
    prepare(&b);
    long long sa = (long long)b.lda * b.k, sb = (long long)b.ldb * b.n, sc = (long long)b.ldc * b.n;
#define BATCHED_OF OF(b), b.lda, sa, b.device[1], b.ldb, sb, &b.beta, b.device[2], b.ldc, sc, b.batch
    CHECK(cublasSgemmStridedBatched(BATCHED_OF));
    verdict("cublasSgemmStridedBatched", is_right(&b, 0, 0, 1));
    CHECK(cublasSgemmStridedBatched_64(BATCHED_OF));
    CHECK(cublasGemmStridedBatchedEx(OF(b), 0, b.lda, sa, b.device[1], 0, b.ldb, sb, &b.beta, b.device[2], 0, b.ldc, sc, b.batch, 68, -1));
    verdict("cublasGemmStridedBatchedEx", is_right(&b, 0, 0, 3));
    static const int epilogues[] = {1, 2, 4, 6};
    for (int i = 0; i < 4; i++) {
        struct product p = of_sizes(1, 0, 60, 36, 44);
        prepare(&p), describe(&p, epilogues[i]);
        CHECK(cublasLtMatmul(MATMUL_OF(p)));
        verdict("cublasLtMatmul", is_right(&p, epilogues[i] & 2, epilogues[i] & 4, 1));
    }
    struct product p = of_sizes(0, 0, 30, 20, 16);
    prepare(&p);
    void *stream;
    CHECK(((int (*)(void **, unsigned))driver("cuStreamCreate"))(&stream, 1));
    TRY(cublasSetStream_v2, &handle, stream);
    CHECK(cublasSgemm_v2(GEMM_OF(p)));
    CHECK(((int (*)(void *))driver("cuStreamSynchronize"))(stream));
    verdict("in a stream", is_right(&p, 0, 0, 1));
}

/* Calls that are not: what reaches the library must be what was called. */
static void forwarded(void) {
    start();
    struct product p = of_sizes(0, 1, 8, 6, 4);
    p.batch = 2;
    prepare(&p);
    TRY(cublasGemmEx, TYPED_OF(p, 2), 68, -1);
    TRY(cublasGemmEx, TYPED_OF(p, 0), 77, -1);
    TRY(cublasGemmEx, TYPED_OF(p, 0), 69, -1);
    TRY(cublasGemmEx_64, TYPED_OF(p, 0), 68, 5);
    TRY(cublasSgemmEx, TYPED_OF(p, 14));
    TRY(cublasSgemm_v2, &handle, 0, 0, -1, 6, 4, &p.alpha, p.device[0], 8, p.device[1], 4, &p.beta, p.device[2], 8);
    TRY(cublasSgemm_v2, &handle, 0, 0, 8, 6, 0, &p.alpha, p.device[0], 8, p.device[1], 4, &p.beta, p.device[2], 8);
    TRY(cublasSgemm_v2, &handle, 0, 0, 8, 6, 4, &p.alpha, p.device[0], 7, p.device[1], 4, &p.beta, p.device[2], 8);
    TRY(cublasSgemm_v2, &handle, 9, 0, 8, 6, 4, &p.alpha, p.device[0], 8, p.device[1], 4, &p.beta, p.device[2], 8);
    TRY(cublasSgemm_v2, NULL, 0, 0, 8, 6, 4, &p.alpha, p.device[0], 8, p.device[1], 4, &p.beta, p.device[2], 8);
    TRY(cublasSgemm_v2_64, &handle, 0, 0, 1LL << 40, 6, 4, &p.alpha, p.device[0], 1LL << 40, p.device[1], 4, &p.beta, p.device[2], 1LL << 40);
    TRY(cublasSgemm_v2, &handle, 0, 0, 8, 6, 4, &p.alpha, p.device[0] + 1, 8, p.device[1], 4, &p.beta, p.device[2] + 2, 8);
    TRY(cublasSgemmStridedBatched, OF(p), p.lda, 0, p.device[1], p.ldb, 0, &p.beta, p.device[2], p.ldc, 0, 2);
    TRY(cublasSgemmStridedBatched, OF(p), p.lda, -64, p.device[1], p.ldb, 0, &p.beta, p.device[2], p.ldc, 64, 2);
    TRY(cublasGemmStridedBatchedEx, OF(p), 2, p.lda, 64, p.device[1], 2, p.ldb, 64, &p.beta, p.device[2], 2, p.ldc, 64, 2, 68, 99);
    struct handle asking[] = {{NULL, 1, 0, 0}, {NULL, 0, 2, 0}, {NULL, 0, 3, 0}, {NULL, 0, 1, 0}, {NULL, 0, 4, 0}, {NULL, 0, 0, 16}};
    for (size_t i = 0; i < sizeof asking / sizeof *asking; i++) {
        handle = asking[i];
        TRY(cublasSgemm_v2, GEMM_OF(p));
    }
    p.batch = 1;
    static const struct { int attribute; uint64_t value; size_t bytes; } others[] = {
        {0, 77, 4}, {0, 69, 4}, {1, 1, 4}, {2, 1, 4}, {5, 1, 4}, {7, 36, 4}, {7, 130, 4}, {15, 8, 4}, {17, 0x1000, 8}, {27, 2, 4},
        {36, 0x1000, 8}, {39, 1, 8}, {40, 1, 8}, {41, 8, 4},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        describe(&p, 1), set(&product_of, others[i].attribute, others[i].value, others[i].bytes);
        TRY(cublasLtMatmul, MATMUL_OF(p));
    }
    describe(&p, 1), set(&a_of, 0, 2, 4);
    TRY(cublasLtMatmul, MATMUL_OF(p));
    describe(&p, 1), set(&b_of, 1, 2, 4);
    TRY(cublasLtMatmul, MATMUL_OF(p));
    describe(&p, 1), set(&c_of, 2, 9, 8);
    TRY(cublasLtMatmul, MATMUL_OF(p));
    describe(&p, 4), set(&product_of, 26, 14, 4);
    TRY(cublasLtMatmul, MATMUL_OF(p));
    /* C and D at one address, in layouts that differ. */
    describe(&p, 1);
    struct described by_rows = c_of;
    set(&by_rows, 1, 1, 4), p.beta = 1.0f;
    TRY(cublasLtMatmul, &lt, &product_of, &p.alpha, p.device[0], &a_of, p.device[1], &b_of, &p.beta, p.device[2], &c_of, p.device[2], &by_rows,
        algorithm, NULL, (size_t)0, NULL);
    p.beta = 0.0f;
    /* An algorithm that the program configured, and a copy of it. */
    int tile = 7;
    char copy[64];
    TRY(cublasLtMatmulAlgoConfigSetAttribute, algorithm, 1, &tile, sizeof tile);
    memcpy(copy, algorithm, sizeof copy), memset(algorithm, 0, sizeof algorithm);
    TRY(cublasLtMatmul, &lt, &product_of, &p.alpha, p.device[0], &a_of, p.device[1], &b_of, &p.beta, p.device[2], &c_of, p.device[2], &c_of,
        copy, NULL, (size_t)0, NULL);
    /* Arrays of pointers are the device's to read. */
    handle = (struct handle){NULL, 0, 0, 0};
    TRY(cublasSgemmBatched, GEMM_OF(p), 2);
    TRY(cublasSgemmBatched_64, GEMM_OF(p), 2);
    TRY(cublasGemmBatchedEx, TYPED_OF(p, 0), 2, 68, -1);
    TRY(cublasGemmBatchedEx_64, TYPED_OF(p, 2), 2, 68, -1);
    unchanged_context();
}

/* One product. */
static void plain(void) {
    start();
    struct product p = of_sizes(0, 0, 40, 40, 40);
    prepare(&p);
    CHECK(cublasSgemm_v2(GEMM_OF(p)));
    verdict("plain", is_right(&p, 0, 0, 1));
}

/* What cuBLAS itself calls is cuBLAS's. */
static void nested(void) {
    start();
    struct product p = of_sizes(0, 0, 8, 8, 8);
    prepare(&p), describe(&p, 1);
    void *words[] = {MATMUL_OF(p)};
    memcpy(dlsym(RTLD_DEFAULT, "inner"), words, sizeof words);
    handle.math_mode = 2;
    TRY(cublasSgemm_v2, GEMM_OF(p));
}

#define APART_OF(p, bytes) \
    &lt, &product_of, &p.alpha, p.device[0], &a_of, p.device[1], &b_of, &p.beta, p.device[2], &c_of, apart, &c_of, algorithm, workspace, (size_t)bytes, stream

/* A graph has what was planned before; what was not is cuBLAS's, and so is what needs memory that nobody gave. */
static void captured(void) {
    start();
    struct product p = of_sizes(0, 0, 40, 30, 20), other = of_sizes(0, 0, 41, 30, 20), sums = of_sizes(1, 1, 60, 50, 40);
    p.beta = sums.beta = 1.0f;
    prepare(&p), prepare(&other), prepare(&sums), describe(&sums, 2);
    void *stream, *graph, *instance;
    char *workspace = allocate(1 << 20), *apart = on_device(sums.host[2], (size_t)sums.ldc * sums.n, 0);
    CHECK(((int (*)(void **, unsigned))driver("cuStreamCreate"))(&stream, 1));
    TRY(cublasSetStream_v2, &handle, stream);
    CHECK(cublasSgemm_v2(GEMM_OF(p)));
    CHECK(cublasLtMatmul(APART_OF(sums, 0)));
    CHECK(((int (*)(void *, unsigned))driver("cuStreamBeginCapture_v2"))(stream, 0));
    CHECK(cublasSgemm_v2(GEMM_OF(p)));
    TRY(cublasSgemm_v2, GEMM_OF(other));
    TRY(cublasLtMatmul, APART_OF(sums, 0));
    CHECK(cublasLtMatmul(APART_OF(sums, 1 << 20)));
    CHECK(((int (*)(void *, void **))driver("cuStreamEndCapture"))(stream, &graph));
    CHECK(((int (*)(void **, void *, unsigned long long))driver("cuGraphInstantiateWithFlags"))(&instance, graph, 0));
    for (int i = 0; i < 2; i++) CHECK(((int (*)(void *, void *))driver("cuGraphLaunch"))(instance, stream));
    CHECK(((int (*)(void *))driver("cuStreamSynchronize"))(stream));
    sums.device[2] = apart;
    verdict("captured", is_right(&p, 0, 0, 3) && is_right(&sums, 1, 0, 1));
}

/* Memory beside the program's: none where it may take none, until the handle is given some. So long a sum of so few elements is split
   into parts that are kept there. */
static void limited(void) {
    start();
    struct product p = of_sizes(0, 0, 8, 96, 16384);
    char *workspace = allocate(1 << 20);
    prepare(&p);
    TRY(cublasSgemm_v2, GEMM_OF(p));
    TRY(cublasSetWorkspace_v2, &handle, workspace, (size_t)(1 << 20));
    CHECK(cublasSgemm_v2(GEMM_OF(p)));
    verdict("with a workspace", is_right(&p, 0, 0, 1));
    TRY(cublasSetStream_v2, &handle, NULL);
    TRY(cublasSgemm_v2, GEMM_OF(p));
}

/* A product whose best plan has no room, and what takes its place: loaded by a call that is refused, and queued where nothing runs. */
static void frugal(void) {
    start();
    struct product p = of_sizes(0, 0, 1024, 1024, 1024);
    prepare(&p);
    void *stream, *graph;
    CHECK(((int (*)(void **, unsigned))driver("cuStreamCreate"))(&stream, 1));
    TRY(cublasSetStream_v2, &handle, stream);
    p.device[2] += 2;
    TRY(cublasSgemm_v2, GEMM_OF(p));
    p.device[2] -= 2;
    CHECK(((int (*)(void *, unsigned))driver("cuStreamBeginCapture_v2"))(stream, 0));
    CHECK(cublasSgemm_v2(GEMM_OF(p)));
    CHECK(((int (*)(void *, void **))driver("cuStreamEndCapture"))(stream, &graph));
}

/* Threads with a handle and a stream each, which plan and launch the same shapes at once. */
static void *thread(void *verdicts) {
    CHECK(((int (*)(uint64_t))driver("cuCtxSetCurrent"))(context));
    struct handle own = {NULL, 0, 0, 0};
    CHECK(((int (*)(void **, unsigned))driver("cuStreamCreate"))(&own.stream, 1));
    for (int round = 0; round < 3; round++) {
        struct product p = of_sizes(round & 1, 0, 40 + round, 30, 20);
        prepare(&p);
        CHECK(cublasSgemm_v2(&own, p.ta, p.tb, p.m, p.n, p.k, &p.alpha, p.device[0], p.lda, p.device[1], p.ldb, &p.beta, p.device[2], p.ldc));
        CHECK(((int (*)(void *))driver("cuStreamSynchronize"))(own.stream));
        *(int *)verdicts += is_right(&p, 0, 0, 1);
    }
    return NULL;
}

static void threads(void) {
    start();
    driver("cuStreamSynchronize");
    pthread_t all[4];
    int verdicts[4] = {0};
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&all[i], NULL, thread, &verdicts[i]));
    for (int i = 0; i < 4; i++) CHECK(pthread_join(all[i], NULL));
    for (int i = 0; i < 4; i++) verdict("in a thread", verdicts[i] == 3);
}

/* The device is reset, and a program goes on with a new handle: at the address of the former one, which had a workspace. */
static void reset(void) {
    for (int round = 0; round < 3; round++) {
        void *created;
        start();
        CHECK(cublasCreate_v2(&created));
        struct product p = of_sizes(0, 0, 128, 64, 4096);
        prepare(&p);
        char *workspace = round == 0 ? allocate(1 << 20) : NULL;
        if (workspace) TRY(cublasSetWorkspace_v2, created, workspace, (size_t)(1 << 20));
        CHECK(cublasSgemm_v2(created, 0, 0, p.m, p.n, p.k, &p.alpha, p.device[0], p.lda, p.device[1], p.ldb, &p.beta, p.device[2], p.ldc));
        CHECK(((int (*)(void))driver("cuCtxSynchronize"))());
        verdict("in a new context", is_right(&p, 0, 0, 1));
        CHECK(((int (*)(int))driver("cuDevicePrimaryCtxReset_v2"))(0));
    }
}

static void forks(void) {
    plain();
    struct product p = of_sizes(0, 0, 40, 40, 40);
    pid_t child = fork();
    if (child == 0) {
        TRY(cublasSgemm_v2, GEMM_OF(p));
        exit(0);
    }
    int status = 1;
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

/* No call at all: threads, and libraries that are loaded. */
static void silent(void) {
    char line[512];
    FILE *file = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, file)) if (strstr(line, "libcuda.so")) printf("the driver is loaded\n");
    fclose(file);
    file = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, file)) if (strncmp(line, "Threads:", 8) == 0) printf("threads %d\n", atoi(line + 8));
    fclose(file);
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "";
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(name, "products") == 0) products();
    else if (strcmp(name, "forwarded") == 0) forwarded();
    else if (strcmp(name, "plain") == 0) plain();
    else if (strcmp(name, "nested") == 0) nested();
    else if (strcmp(name, "captured") == 0) captured();
    else if (strcmp(name, "limited") == 0) limited();
    else if (strcmp(name, "frugal") == 0) frugal();
    else if (strcmp(name, "threads") == 0) threads();
    else if (strcmp(name, "reset") == 0) reset();
    else if (strcmp(name, "forks") == 0) forks();
    else if (strcmp(name, "silent") == 0) silent();
    else return 2;
    return 0;
}
