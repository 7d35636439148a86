/* What a call costs the host: cuBLAS's, libsgemm_cublas.so's, and the driver's own for a launch.
 *
 *     gcc -O2 -o overhead overhead.c -ldl
 *     LD_LIBRARY_PATH=... ./overhead [/path/to/libsgemm_cublas.so [batches]]
 *
 * Without the library first, then by itself again with it preloaded: a line of JSON for each kind of call, with the median and the least of
 * all batches, in nanoseconds a call. libcublas.so.13 or .12 and the driver are found by the loader; no header of CUDA is needed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Calls of a batch: fewer than the driver queues before it waits. */
enum { CALLS = 200, MOST_BATCHES = 10000, N = 64 };

/* cublasMath_t */
enum { DEFAULT_MATH = 0, TF32_MATH = 3 };

typedef uint64_t address;
typedef int sgemm(void *, int, int, int, int, int, const float *, address, int, address, int, const float *, address, int);

static struct {
    int (*cuInit)(unsigned);
    int (*cuDeviceGet)(int *, int);
    int (*cuDevicePrimaryCtxRetain)(void **, int);
    int (*cuCtxSetCurrent)(void *);
    int (*cuCtxSynchronize)(void);
    int (*cuMemAlloc_v2)(address *, size_t);
    int (*cuMemsetD8_v2)(address, unsigned char, size_t);
    int (*cuMemsetD8Async)(address, unsigned char, size_t, void *);
    int (*cuModuleLoadData)(void **, const void *);
    int (*cuModuleGetFunction)(void **, void *, const char *);
    int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
    int (*cublasCreate_v2)(void **);
    int (*cublasSetMathMode)(void *, int);
    sgemm *cublasSgemm_v2;
} f;

static void *handle, *function;
static address a, b, c;
static int batches = 300;

static void require(int status, const char *what) {
    if (status != 0) {
        fprintf(stderr, "overhead: %s: status %d\n", what, status);
        exit(1);
    }
}

/* A library by one of its names, for all of the process. */
static void open_library(const char *names[]) {
    for (size_t i = 0; names[i]; i++)
        if (dlopen(names[i], RTLD_NOW | RTLD_GLOBAL)) return;
    fprintf(stderr, "overhead: %s: set LD_LIBRARY_PATH to its folder\n", dlerror());
    exit(1);
}

/* A function as a program finds it that is linked with its library: that of a preloaded one first. */
static void *find(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found) {
        fprintf(stderr, "overhead: there is no %s\n", name);
        exit(1);
    }
    return found;
}

#define FIND(name) *(void **)&f.name = find(#name)

static void start(void) {
    open_library((const char *[]){"libcuda.so.1", NULL});
    open_library((const char *[]){"libcublas.so.13", "libcublas.so.12", NULL});
    FIND(cuInit), FIND(cuDeviceGet), FIND(cuDevicePrimaryCtxRetain), FIND(cuCtxSetCurrent), FIND(cuCtxSynchronize);
    FIND(cuMemAlloc_v2), FIND(cuMemsetD8_v2), FIND(cuMemsetD8Async), FIND(cuModuleLoadData), FIND(cuModuleGetFunction);
    FIND(cuLaunchKernel), FIND(cublasCreate_v2), FIND(cublasSetMathMode), FIND(cublasSgemm_v2);
    int device;
    void *context, *module;
    require(f.cuInit(0), "cuInit");
    require(f.cuDeviceGet(&device, 0), "cuDeviceGet");
    require(f.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    require(f.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    address *places[] = {&a, &b, &c};
    for (int i = 0; i < 3; i++) {
        require(f.cuMemAlloc_v2(places[i], N * N * sizeof(float)), "cuMemAlloc");
        require(f.cuMemsetD8_v2(*places[i], 0, N * N * sizeof(float)), "cuMemsetD8");
    }
    const char *ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry nothing() { ret; }\n";
    require(f.cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    require(f.cuModuleGetFunction(&function, module, "nothing"), "cuModuleGetFunction");
    require(f.cublasCreate_v2(&handle), "cublasCreate");
}

static int multiply(int m) {
    const float one = 1, zero = 0;
    return f.cublasSgemm_v2(handle, 0, 0, m, N, N, &one, a, N, b, N, &zero, c, N);
}

static int product(void) { return multiply(N); }
static int nothing_to_compute(void) { return multiply(0); }
static int empty_kernel(void) { return f.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL); }
static int fill(void) { return f.cuMemsetD8Async(c, 0, N, NULL); }

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int compare(const void *x, const void *y) {
    double difference = *(const double *)x - *(const double *)y;
    return (difference > 0) - (difference < 0);
}

static void measure(const char *way, const char *what, int math, int (*call)(void)) {
    static double ns[MOST_BATCHES];
    require(f.cublasSetMathMode(handle, math), "cublasSetMathMode");
    for (int i = 0; i < CALLS; i++) require(call(), what);
    for (int batch = 0; batch < batches; batch++) {
        require(f.cuCtxSynchronize(), what);
        double began = now_ns();
        for (int i = 0; i < CALLS; i++) call();
        ns[batch] = (now_ns() - began) / CALLS;
    }
    require(f.cuCtxSynchronize(), what);
    qsort(ns, batches, sizeof *ns, compare);
    printf("{\"way\": \"%s\", \"what\": \"%s\", \"median_ns\": %.1f, \"least_ns\": %.1f, \"batches\": %d, \"calls\": %d}\n", way, what,
           ns[batches / 2], ns[0], batches, CALLS);
}

int main(int count, char **arguments) {
    const char *library = count > 1 ? arguments[1] : "";
    if (count > 2) batches = atoi(arguments[2]);
    if (batches < 1 || batches > MOST_BATCHES || (*library && access(library, R_OK) != 0)) {
        fprintf(stderr, "overhead: give a libsgemm_cublas.so that is there, and 1 to %d batches\n", MOST_BATCHES);
        return 2;
    }
    start();
    Dl_info found = {0};
    dladdr(*(void **)&f.cublasSgemm_v2, &found);
    int is_preloaded = found.dli_fname && strstr(found.dli_fname, "sgemm_cublas") != NULL;
    const char *way = is_preloaded ? "preloaded" : "cublas";
    measure(way, "nothing to compute, forwarded", DEFAULT_MATH, nothing_to_compute);
    measure(way, "64 x 64 x 64 in TF32, forwarded", TF32_MATH, product);
    measure(way, "64 x 64 x 64 in f32, intercepted", DEFAULT_MATH, product);
    measure(way, "cuLaunchKernel of nothing", DEFAULT_MATH, empty_kernel);
    measure(way, "cuMemsetD8Async", DEFAULT_MATH, fill);
    fflush(stdout);
    if (!*library || is_preloaded) return 0;
    setenv("LD_PRELOAD", library, 1);
    execv("/proc/self/exe", arguments);
    perror("overhead");
    return 1;
}
