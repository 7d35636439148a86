// Functions that call themselves: Fibonacci numbers, a tree that is walked, quicksort, and two that call each other. `nvcc -std=c++17 -rdc=true -ptx -arch=sm_90a recursion.cu`
struct Node { int value, left, right; };

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void fib(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = fibonacci(i % 13);
}

__device__ __noinline__ long long walk(const Node *nodes, int at, int depth) {
    if (at < 0) return 0;
    long long left = walk(nodes, nodes[at].left, depth + 1);
    long long right = walk(nodes, nodes[at].right, depth + 1);
    return left + right + (long long)nodes[at].value * depth;
}

extern "C" __global__ void tree(const Node *nodes, long long *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = walk(nodes, i, 1);
}

__device__ __noinline__ void sort(int *a, int low, int high) {
    if (low >= high) return;
    int pivot = a[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) {
            int t = a[i];
            a[i++] = a[j];
            a[j--] = t;
        }
    }
    sort(a, low, j);
    sort(a, i, high);
}

extern "C" __global__ void quicksort(int *data, int length) {
    sort(data + (blockIdx.x * blockDim.x + threadIdx.x) * length, 0, length - 1);
}

struct Pair { double sum; int count; char odd; };
__device__ Pair odd(int n);
__device__ __noinline__ Pair even(int n) {
    if (n == 0) return Pair{0.5, 0, 0};
    Pair p = odd(n - 1);
    return Pair{p.sum + n, p.count + 1, (char)(p.odd ^ 1)};
}
__device__ __noinline__ Pair odd(int n) {
    if (n == 0) return Pair{0.25, 0, 1};
    int on_stack[4];
    for (int i = 0; i < 4; i++) on_stack[(i + n) & 3] = n * i;
    Pair p = even(n - 1);
    return Pair{p.sum + on_stack[n & 3], p.count + 2, p.odd};
}

extern "C" __global__ void mutual(double *sums, int *counts) {
    int i = threadIdx.x;
    Pair p = even(i);
    sums[i] = p.sum;
    counts[i] = p.count * 2 + p.odd;
}

__device__ __noinline__ int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1) * 3 % 7; }
extern "C" __global__ void depth(int *out, int n) { out[threadIdx.x] = deep(n); }
