/* C = A B in fp32 by cuBLASMp over P GPUs of this host, one process for each: the figures beside those of `host --gpus`.
 *
 *   gcc -O2 -std=gnu11 -I. -I<folder of cublasmp.h> cublasmp.c -o cublasmp -ldl -lpthread
 *   cublasmp P SIZE... [--output FILE] [--date YYYY-MM-DD] [--seconds LIMIT_PER_CONFIGURATION]
 *
 * All libraries are loaded at run time, in LD_LIBRARY_PATH. The parent touches no CUDA: it starts P processes, which run configuration after
 * configuration; where one fails or takes too long, it starts them again at the next. Each configuration is printed to stderr as it
 * ends, the best of a size to stdout and FILE.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cublasmp.h"

enum { MAX_RANKS = 16, MAX_CONFIGURATIONS = 64, WARM_UPS = 2, RUNS = 7, SAMPLES = 24, TABLE = 1 << 20 };

/* Blocks over a grid; or, as cuBLASMp's chapter on tensor parallelism has it: A and C in rows, B in columns, gathered beside products. */
enum { BLOCKS, GATHER };

typedef struct {
    int64_t n;
    int kind, rows, columns, algorithm;
    int64_t block;
} configuration_t;

typedef struct {
    pthread_barrier_t barrier;
    ncclUniqueId id;
    char device[128];
    int ready;          /* the ranks are set up */
    int next;           /* the configuration in work */
    double started;     /* when it began */
    double seconds[MAX_RANKS][RUNS];
    double wrong[MAX_RANKS];
    size_t workspace[MAX_RANKS];
    int failed[MAX_RANKS];
    char why[MAX_RANKS][160];
    double result[MAX_CONFIGURATIONS]; /* seconds; 0: none */
} shared_t;

static shared_t *shared;
static int rank, ranks;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void die(const char *format, ...) {
    va_list list;
    va_start(list, format);
    char text[512];
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    fprintf(stderr, "# rank %d: %s\n", rank, text);
    fflush(stderr);
    _exit(3);
}

/* CUDA and NCCL, by the few functions that are needed. */
#define CUDA_FUNCTIONS(X)                                             \
    X(cudaSetDevice, (int))                                           \
    X(cudaFree, (void *))                                             \
    X(cudaMalloc, (void **, size_t))                                  \
    X(cudaMemGetInfo, (size_t *, size_t *))                           \
    X(cudaMemcpy, (void *, const void *, size_t, int))                \
    X(cudaMemset, (void *, int, size_t))                              \
    X(cudaStreamCreate, (cudaStream_t *))                             \
    X(cudaStreamSynchronize, (cudaStream_t))                          \
    X(cudaDeviceSynchronize, (void))                                  \
    X(cudaEventCreate, (void **))                                     \
    X(cudaEventRecord, (void *, cudaStream_t))                        \
    X(cudaEventSynchronize, (void *))                                 \
    X(cudaEventElapsedTime, (float *, void *, void *))                \
    X(cudaGetLastError, (void))
#define NCCL_FUNCTIONS(X)                                             \
    X(ncclGetUniqueId, (ncclUniqueId *))                              \
    X(ncclGetVersion, (int *))                                        \
    X(ncclCommInitRank, (ncclComm_t *, int, ncclUniqueId, int))
#define DECLARE(name, arguments) static int(*p_##name) arguments;
CUDA_FUNCTIONS(DECLARE)
NCCL_FUNCTIONS(DECLARE)

#define MP_FUNCTIONS(X)                                                                                                       \
    X(cublasMpCreate) X(cublasMpGetVersion) X(cublasMpGridCreate) X(cublasMpMatrixDescriptorCreate)                            \
    X(cublasMpMatrixDescriptorDestroy) X(cublasMpMatmulDescriptorCreate) X(cublasMpMatmulDescriptorDestroy)                    \
    X(cublasMpMatmulDescriptorAttributeSet) X(cublasMpMatmul_bufferSize) X(cublasMpMatmul)
#define DECLARE_MP(name) static __typeof__(name) *p_##name;
MP_FUNCTIONS(DECLARE_MP)

static void *(*nvshmem_malloc_)(size_t);
static void (*nvshmem_free_)(void *);
static int (*nvshmem_status_)(void);

static void *open_library(const char *name) {
    void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) die("%s", dlerror());
    return library;
}

static void *find(void *library, const char *name) {
    void *symbol = dlsym(library, name);
    if (symbol == NULL) die("%s", dlerror());
    return symbol;
}

#define CUDA(call)                                            \
    do {                                                      \
        int status_ = p_##call;                               \
        if (status_ != 0) die("%s: CUDA error %d", #call, status_); \
    } while (0)
#define NCCL(call)                                            \
    do {                                                      \
        int status_ = p_##call;                               \
        if (status_ != 0) die("%s: NCCL error %d", #call, status_); \
    } while (0)
#define MP(call)                                              \
    do {                                                      \
        int status_ = (int)p_##call;                          \
        if (status_ != 0) die("%.40s: cuBLASMp status %d", #call, status_); \
    } while (0)

static void meet(void) { pthread_barrier_wait(&shared->barrier); }

/* Any rank's no is the no of all. */
static int all(int yes, const char *why) {
    shared->failed[rank] = !yes;
    if (!yes) snprintf(shared->why[rank], sizeof shared->why[rank], "%s", why);
    meet();
    int good = 1;
    for (int i = 0; i < ranks; i++) good &= !shared->failed[i];
    meet();
    return good;
}

/* Elements: column j of a matrix is a piece of a random table, which begins where the column's number says. */
static float *tables[2];

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static const float *column(int which, int64_t j) { return tables[which] + mix(((uint64_t)which << 40) + j) % TABLE; }

static void make_tables(int64_t rows) {
    for (int which = 0; which < 2; which++) {
        tables[which] = malloc((TABLE + rows) * sizeof(float));
        for (int64_t i = 0; i < TABLE + rows; i++)
            tables[which][i] = (float)(mix(((uint64_t)(which + 2) << 50) + i) >> 40) / 16777216.0f - 0.5f;
    }
}

typedef struct {
    int64_t m, n, mb, nb;
    int p, q, r, c; /* the grid, and where in it this process is */
    int64_t rows, columns;
} layout_t;

static int64_t count(int64_t n, int64_t block, int at, int of) {
    int64_t sum = 0;
    for (int64_t b = at; b * block < n; b += of) sum += n - b * block < block ? n - b * block : block;
    return sum;
}

static layout_t layout(int64_t m, int64_t n, int64_t mb, int64_t nb, int p, int q) {
    /* Grids are by columns. */
    layout_t l = {m, n, mb, nb, p, q, rank % p, rank / p, 0, 0};
    l.rows = count(m, mb, l.r, p);
    l.columns = count(n, nb, l.c, q);
    return l;
}

static int64_t global(int64_t local, int64_t block, int at, int of) { return (local / block * of + at) * block + local % block; }

static void fill(const layout_t *l, int which, void *device) {
    size_t size = (size_t)l->rows * l->columns;
    float *host = malloc(size * sizeof(float));
    if (host == NULL) die("no memory");
    for (int64_t j = 0; j < l->columns; j++) {
        const float *from = column(which, global(j, l->nb, l->c, l->q));
        for (int64_t i = 0; i < l->rows; i += l->mb) {
            int64_t part = l->rows - i < l->mb ? l->rows - i : l->mb;
            memcpy(host + j * l->rows + i, from + global(i, l->mb, l->r, l->p), part * sizeof(float));
        }
    }
    CUDA(cudaMemcpy(device, host, size * sizeof(float), 1));
    free(host);
}

/* The largest difference of a few elements from float64, over the root of n. */
static double wrong(const layout_t *l, int64_t n, const float *device) {
    double worst = 0;
    for (int s = 0; s < SAMPLES; s++) {
        int64_t i = mix(1000 + 2 * s) % l->rows, j = mix(1001 + 2 * s) % l->columns;
        if (s == 0) i = j = 0;
        if (s == 1) i = l->rows - 1, j = l->columns - 1;
        int64_t gi = global(i, l->mb, l->r, l->p), gj = global(j, l->nb, l->c, l->q);
        const float *b = column(1, gj);
        double sum = 0;
        for (int64_t k = 0; k < n; k++) sum += (double)column(0, k)[gi] * b[k];
        float got;
        CUDA(cudaMemcpy(&got, device + j * l->rows + i, sizeof got, 2));
        double difference = got > sum ? got - sum : sum - got;
        if (!(difference <= worst)) worst = difference;
    }
    double root = 1;
    while (root * root < n) root *= 1.01;
    return worst / root;
}

static cudaStream_t stream;
static ncclComm_t communicator;
static cublasMpHandle_t handle;

typedef struct { int p, q, layout; cublasMpGrid_t grid; } grid_t;
static grid_t grids[16];
static int grid_count;

/* Made once each, in the same order on all ranks. */
static cublasMpGrid_t grid(int p, int q) {
    for (int i = 0; i < grid_count; i++)
        if (grids[i].p == p && grids[i].q == q) return grids[i].grid;
    grid_t *made = &grids[grid_count++];
    made->p = p, made->q = q;
    /* With one row or one column both orders are the same. */
    cublasMpGridLayout_t order = p == 1 ? CUBLASMP_GRID_LAYOUT_ROW_MAJOR : CUBLASMP_GRID_LAYOUT_COL_MAJOR;
    MP(cublasMpGridCreate(p, q, order, communicator, &made->grid));
    return made->grid;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static int symmetric(void) { return nvshmem_malloc_ != NULL && nvshmem_status_ != NULL && nvshmem_status_() > 0; }

/* Seconds: the median over the runs of the slowest rank; 0 where it could not run. */
static double measure(const configuration_t *t, char *note, size_t room) {
    int64_t n = t->n;
    layout_t a, b, c;
    if (t->kind == BLOCKS) {
        a = b = c = layout(n, n, t->block, t->block, t->rows, t->columns);
    } else {
        a = layout(n, n, n / ranks, n, ranks, 1);
        b = layout(n, n, n, n / ranks, 1, ranks);
        c = layout(n, n, n / ranks, n / ranks, ranks, 1);
    }
    size_t need = (a.rows * a.columns + b.rows * b.columns + c.rows * c.columns) * sizeof(float), free_, total;
    CUDA(cudaMemGetInfo(&free_, &total));
    if (!all(need + need / 2 + ((size_t)2 << 30) < free_, "does not fit")) {
        snprintf(note, room, "does not fit");
        return 0;
    }
    float *da, *db, *dc;
    /* B in symmetric memory is gathered without a copy of its own: "To improve performance, allocate B using nvshmem_malloc." */
    int b_symmetric = t->kind == GATHER && symmetric();
    CUDA(cudaMalloc((void **)&da, a.rows * a.columns * sizeof(float)));
    db = b_symmetric ? nvshmem_malloc_(b.rows * b.columns * sizeof(float)) : NULL;
    if (b_symmetric && !all(db != NULL, "nvshmem_malloc")) die("nvshmem_malloc of B failed");
    if (db == NULL) CUDA(cudaMalloc((void **)&db, b.rows * b.columns * sizeof(float)));
    CUDA(cudaMalloc((void **)&dc, c.rows * c.columns * sizeof(float)));
    fill(&a, 0, da);
    fill(&b, 1, db);
    /* No NaN: 0.7 may multiply what it finds by beta = 0. */
    CUDA(cudaMemset(dc, 0, c.rows * c.columns * sizeof(float)));

    cublasMpMatrixDescriptor_t desc_a, desc_b, desc_c;
    MP(cublasMpMatrixDescriptorCreate(a.m, a.n, a.mb, a.nb, 0, 0, a.rows, CUDA_R_32F, grid(a.p, a.q), &desc_a));
    MP(cublasMpMatrixDescriptorCreate(b.m, b.n, b.mb, b.nb, 0, 0, b.rows, CUDA_R_32F, grid(b.p, b.q), &desc_b));
    MP(cublasMpMatrixDescriptorCreate(c.m, c.n, c.mb, c.nb, 0, 0, c.rows, CUDA_R_32F, grid(c.p, c.q), &desc_c));
    cublasMpMatmulDescriptor_t matmul;
    MP(cublasMpMatmulDescriptorCreate(&matmul, CUBLAS_COMPUTE_32F));
    cublasOperation_t none = CUBLAS_OP_N;
    cublasMpMatmulAlgoType_t algorithm = (cublasMpMatmulAlgoType_t)t->algorithm;
    MP(cublasMpMatmulDescriptorAttributeSet(matmul, CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_TRANSA, &none, sizeof none));
    MP(cublasMpMatmulDescriptorAttributeSet(matmul, CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_TRANSB, &none, sizeof none));
    MP(cublasMpMatmulDescriptorAttributeSet(matmul, CUBLASMP_MATMUL_DESCRIPTOR_ATTRIBUTE_ALGO_TYPE, &algorithm, sizeof algorithm));

    float alpha = 1, beta = 0;
    size_t on_device = 0, on_host = 0;
    int status = p_cublasMpMatmul_bufferSize(handle, matmul, n, n, n, &alpha, da, 1, 1, desc_a, db, 1, 1, desc_b, &beta, dc, 1, 1,
                                             desc_c, dc, 1, 1, desc_c, &on_device, &on_host);
    char why[96];
    snprintf(why, sizeof why, "cublasMpMatmul_bufferSize: status %d", status);
    void *work = NULL, *host_work = NULL;
    double seconds = 0;
    int work_symmetric = 0;
    if (!all(status == 0, why)) {
        snprintf(note, room, "%s", why);
        goto end;
    }
    /* Symmetric memory has one size on all ranks. */
    shared->workspace[rank] = on_device;
    meet();
    size_t largest = 0;
    for (int i = 0; i < ranks; i++)
        if (shared->workspace[i] > largest) largest = shared->workspace[i];
    meet();
    if (largest > 0) {
        work_symmetric = symmetric();
        if (work_symmetric) {
            work = nvshmem_malloc_(largest);
            if (!all(work != NULL, "nvshmem_malloc of the workspace")) work = NULL, work_symmetric = 0;
        }
        if (!work_symmetric) {
            int failed = p_cudaMalloc(&work, largest);
            if (!all(failed == 0, "no room for the workspace")) die("no room for a workspace of %zu bytes", largest);
        }
    }
    host_work = malloc(on_host + 64);
    void *first, *last;
    CUDA(cudaEventCreate(&first));
    CUDA(cudaEventCreate(&last));
    int warm_ups = n >= 32768 ? 1 : WARM_UPS, runs = n >= 32768 ? 3 : RUNS;
    for (int run = 0; run < warm_ups + runs; run++) {
        CUDA(cudaDeviceSynchronize());
        meet();
        double begin = now();
        CUDA(cudaEventRecord(first, stream));
        status = p_cublasMpMatmul(handle, matmul, n, n, n, &alpha, da, 1, 1, desc_a, db, 1, 1, desc_b, &beta, dc, 1, 1, desc_c, dc, 1, 1,
                                  desc_c, work, on_device, host_work, on_host);
        if (status != 0) die("cublasMpMatmul: status %d", status);
        CUDA(cudaEventRecord(last, stream));
        CUDA(cudaEventSynchronize(last));
        CUDA(cudaStreamSynchronize(stream));
        double wall = now() - begin;
        float ms = 0;
        CUDA(cudaEventElapsedTime(&ms, first, last));
        /* Events say less than there is where the library works in streams of its own. */
        double events = ms * 1e-3;
        if (run >= warm_ups) shared->seconds[rank][run - warm_ups] = wall - events > 2e-4 + 0.02 * wall ? wall : events;
    }
    CUDA(cudaDeviceSynchronize());
    shared->wrong[rank] = wrong(&c, n, dc);
    meet();
    double slowest[RUNS] = {0}, worst = 0;
    for (int i = 0; i < ranks; i++) {
        for (int run = 0; run < runs; run++)
            if (shared->seconds[i][run] > slowest[run]) slowest[run] = shared->seconds[i][run];
        if (!(shared->wrong[i] <= worst)) worst = shared->wrong[i];
    }
    meet();
    qsort(slowest, runs, sizeof slowest[0], by_size);
    seconds = slowest[runs / 2];
    /* Products below a quarter, in f32: TF32 would be at 1e-4. */
    int right = worst < 4e-6;
    snprintf(note, room, "%.1f TFLOPS, %.3f ms, error/sqrt(n) %.1e %s, workspace %.0f MB%s", 2.0 * n * n * n / seconds * 1e-12, seconds * 1e3,
             worst, right ? "right" : "WRONG", on_device / 1e6, work_symmetric ? " symmetric" : "");
    if (!right) seconds = 0;
end:
    p_cublasMpMatmulDescriptorDestroy(matmul);
    p_cublasMpMatrixDescriptorDestroy(desc_a);
    p_cublasMpMatrixDescriptorDestroy(desc_b);
    p_cublasMpMatrixDescriptorDestroy(desc_c);
    free(host_work);
    p_cudaFree(da);
    p_cudaFree(dc);
    if (b_symmetric) nvshmem_free_(db);
    else p_cudaFree(db);
    if (work_symmetric) nvshmem_free_(work);
    else if (work != NULL) p_cudaFree(work);
    p_cudaGetLastError();
    return seconds;
}

static const char *describe(const configuration_t *t) {
    static char text[96];
    const char *names[] = {"default", "split p2p", "", "atomic p2p", "", "no overlap"};
    if (t->kind == BLOCKS)
        snprintf(text, sizeof text, "%lld, grid %dx%d, blocks of %lld", (long long)t->n, t->rows, t->columns, (long long)t->block);
    else
        snprintf(text, sizeof text, "%lld, B gathered, algorithm %s", (long long)t->n, names[t->algorithm]);
    return text;
}

static void work(const configuration_t *list, int configurations, int64_t largest) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    void *cuda = open_library("libcuda.so.1");
    void *runtime = open_library("libcudart.so.13");
    void *nccl = open_library("libnccl.so.2");
    void *mp = open_library("libcublasmp.so.0");
    void *shmem = dlopen("libnvshmem_host.so.3", RTLD_NOW | RTLD_GLOBAL);
#define LOAD_CUDA(name, arguments) p_##name = find(runtime, #name);
#define LOAD_NCCL(name, arguments) p_##name = find(nccl, #name);
#define LOAD_MP(name) p_##name = (__typeof__(p_##name))find(mp, #name);
    CUDA_FUNCTIONS(LOAD_CUDA)
    NCCL_FUNCTIONS(LOAD_NCCL)
    MP_FUNCTIONS(LOAD_MP)
    if (shmem != NULL && getenv("CUBLASMP_DISABLE_NVSHMEM") == NULL) {
        nvshmem_malloc_ = (void *(*)(size_t))dlsym(shmem, "nvshmem_malloc");
        nvshmem_free_ = (void (*)(void *))dlsym(shmem, "nvshmem_free");
        nvshmem_status_ = (int (*)(void))dlsym(shmem, "nvshmemx_init_status");
        if (nvshmem_status_ == NULL) nvshmem_status_ = (int (*)(void))dlsym(shmem, "nvshmemid_init_status");
    }
    make_tables(largest);
    CUDA(cudaSetDevice(rank));
    CUDA(cudaFree(NULL));
    int (*get_name)(char *, int, int) = find(cuda, "cuDeviceGetName");
    if (rank == 0) {
        get_name(shared->device, sizeof shared->device, 0);
        NCCL(ncclGetUniqueId(&shared->id));
    }
    meet();
    NCCL(ncclCommInitRank(&communicator, ranks, shared->id, rank));
    CUDA(cudaStreamCreate(&stream));
    MP(cublasMpCreate(&handle, stream));
    int version = 0, nccl_version = 0;
    p_cublasMpGetVersion(&version);
    p_ncclGetVersion(&nccl_version);
    grid(ranks, 1);
    grid(1, ranks);
    meet();
    if (rank == 0) {
        fprintf(stderr, "# %d x %s, cuBLASMp %d, NCCL %d, NVSHMEM %s\n", ranks, shared->device, version, nccl_version,
                symmetric() ? "on" : "off");
        fflush(stderr);
        shared->ready = 1;
    }
    for (int i = shared->next; i < configurations; i++) {
        meet();
        if (rank == 0) shared->started = now(), shared->next = i;
        meet();
        char note[256] = "";
        double seconds = measure(&list[i], note, sizeof note);
        if (rank == 0) {
            fprintf(stderr, "# %s: %s\n", describe(&list[i]), note);
            fflush(stderr);
            shared->result[i] = seconds;
        }
    }
    meet();
    if (rank == 0) shared->next = configurations;
    /* Nothing is taken down: the process ends. */
    _exit(0);
}

static pid_t children[MAX_RANKS];

static volatile sig_atomic_t asked;

static void ask(int sign) { asked = sign; }

static void stop(void) {
    for (int i = 0; i < ranks; i++)
        if (children[i] > 0) kill(children[i], SIGKILL);
}

static void write_sizes(int next);

/* Whether all ended well. */
static int group(const configuration_t *todo, int configurations, int64_t largest, double limit) {
    pthread_barrierattr_t attribute;
    pthread_barrierattr_init(&attribute);
    pthread_barrierattr_setpshared(&attribute, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attribute, ranks);
    shared->ready = 0;
    shared->started = now() + 15; /* to start takes longer */
    memset(children, 0, sizeof children);
    fflush(NULL);
    for (int i = 0; i < ranks; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            signal(SIGTERM, SIG_DFL);
            signal(SIGINT, SIG_DFL);
            rank = i;
            work(todo, configurations, largest);
        }
        if (children[i] < 0) {
            perror("fork");
            stop();
            return 0;
        }
    }
    int good = 1, left = ranks;
    while (left > 0) {
        int status;
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended > 0) {
            for (int i = 0; i < ranks; i++)
                if (children[i] == ended) {
                    children[i] = 0;
                    left--;
                    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                        if (WIFSIGNALED(status) && good) fprintf(stderr, "# rank %d: signal %d\n", i, WTERMSIG(status));
                        if (good) usleep(300000); /* others may have something to say */
                        good = 0;
                        stop();
                    }
                }
        } else {
            if (good && now() - shared->started > limit) {
                fprintf(stderr, "# no end after %.0f s\n", limit);
                good = 0;
                stop();
            }
            if (asked && good) good = 0, stop();
            write_sizes(shared->next);
            usleep(20000);
        }
    }
    return good;
}

static FILE *output;

static void write_line(const char *way, int64_t n, double seconds, const char *date) {
    char line[512];
    snprintf(line, sizeof line, "{\"device\": \"%s\", \"gpus\": %d, \"way\": \"%s\", \"size\": %lld, \"tflops\": %.4g, \"date\": \"%s\"}",
             shared->device, ranks, way, (long long)n, 2.0 * n * n * n / seconds * 1e-12, date);
    puts(line);
    fflush(stdout);
    if (output != NULL) {
        fprintf(output, "%s\n", line);
        fflush(output);
    }
}

static void write_size(int s);
static int64_t sizes[16];
static int size_count, starts[17], written, any;
static configuration_t list[MAX_CONFIGURATIONS];
static char date[16];

/* Each size once, when all of its configurations are behind. */
static void write_sizes(int next) {
    for (; written < size_count && starts[written + 1] <= next; written++) write_size(written);
}

static void write_size(int s) {
    double best[2] = {0, 0};
    for (int i = starts[s]; i < starts[s + 1]; i++) {
        double seconds = shared->result[i], *kept = &best[list[i].kind];
        if (seconds > 0 && (*kept == 0 || seconds < *kept)) *kept = seconds;
    }
    if (best[BLOCKS] > 0) write_line("cuBLASMp 0.7.0, block-cyclic", sizes[s], best[BLOCKS], date), any = 1;
    if (best[GATHER] > 0) write_line("cuBLASMp 0.7.0, B gathered in panels", sizes[s], best[GATHER], date), any = 1;
}

int main(int argc, char **argv) {
    double limit = 30;
    time_t today = time(NULL);
    strftime(date, sizeof date, "%Y-%m-%d", localtime(&today));
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--output") == 0 && i + 1 < argc) {
            output = fopen(argv[++i], "a");
            if (output == NULL) return perror(argv[i]), 2;
        } else if (strcmp(argv[i], "--date") == 0 && i + 1 < argc) {
            snprintf(date, sizeof date, "%s", argv[++i]);
        } else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc) {
            limit = atof(argv[++i]);
        } else if (ranks == 0) {
            ranks = atoi(argv[i]);
        } else if (size_count < 16) {
            sizes[size_count++] = atoll(argv[i]);
        }
    }
    if (ranks < 2 || ranks > MAX_RANKS || size_count == 0) {
        fprintf(stderr, "usage: cublasmp P SIZE... [--output FILE] [--date YYYY-MM-DD] [--seconds LIMIT]\n");
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return perror("mmap"), 2;
    signal(SIGTERM, ask);
    signal(SIGINT, ask);

    int configurations = 0;
    int64_t largest = 0;
    for (int s = 0; s < size_count; s++) {
        int64_t n = sizes[s];
        starts[s] = configurations;
        if (n > largest) largest = n;
        int shapes[3][2] = {{ranks, 1}, {1, ranks}, {2, ranks / 2}};
        int grid_kinds = ranks >= 4 && ranks % 2 == 0 ? 3 : 2;
        for (int g = 0; g < grid_kinds; g++) {
            int p = shapes[g][0], q = shapes[g][1], most = p > q ? p : q;
            int64_t blocks[2] = {n / most, 1024};
            for (int b = 0; b < 2; b++) {
                if (blocks[b] * most > n || n % (blocks[b] * most) != 0 || (b == 1 && blocks[1] == blocks[0])) continue;
                if (configurations < MAX_CONFIGURATIONS) list[configurations++] = (configuration_t){n, BLOCKS, p, q, 0, blocks[b]};
            }
        }
        int algorithms[2] = {CUBLASMP_MATMUL_ALGO_TYPE_SPLIT_P2P, CUBLASMP_MATMUL_ALGO_TYPE_NO_OVERLAP};
        for (int a = 0; a < 2 && n % ranks == 0; a++)
            if (configurations < MAX_CONFIGURATIONS) list[configurations++] = (configuration_t){n, GATHER, ranks, 1, algorithms[a], 0};
    }
    starts[size_count] = configurations;

    int starts_failed = 0;
    while (shared->next < configurations) {
        if (group(list, configurations, largest, limit) || asked) break;
        if (!shared->ready) {
            starts_failed++;
            if (getenv("CUBLASMP_DISABLE_NVSHMEM") != NULL || starts_failed > 2) {
                fprintf(stderr, "# it does not start\n");
                break;
            }
            if (starts_failed == 1 && getenv("NVSHMEM_REMOTE_TRANSPORT") != NULL) {
                fprintf(stderr, "# it does not start: again without NVSHMEM_REMOTE_TRANSPORT\n");
                unsetenv("NVSHMEM_REMOTE_TRANSPORT");
                continue;
            }
            fprintf(stderr, "# it does not start: again without NVSHMEM\n");
            setenv("CUBLASMP_DISABLE_NVSHMEM", "1", 1);
        } else {
            fprintf(stderr, "# %s: failed\n", describe(&list[shared->next]));
            shared->next++;
        }
    }
    /* A size that was cut short has no best: what was measured of it is in stderr. */
    write_sizes(shared->next);
    return any ? 0 : 1;
}
