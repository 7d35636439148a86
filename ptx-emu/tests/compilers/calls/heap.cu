// malloc and free of the device, printf and assert within functions that are called at run time. `nvcc -std=c++17 -rdc=true -ptx -arch=sm_90a heap.cu`
#include <cstdio>
#include <cassert>
struct Cell { int value; Cell *next; };
extern "C" __global__ void list(int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Cell *head = nullptr;
    for (int k = 0; k < i % n; k++) {
        Cell *cell = (Cell *)malloc(sizeof(Cell));
        cell->value = i + k;
        cell->next = head;
        head = cell;
    }
    int sum = 0;
    while (head) {
        sum += head->value;
        Cell *next = head->next;
        free(head);
        head = next;
    }
    out[i] = sum;
}
extern "C" __global__ void exhausted(int *out, size_t bytes) {
    void *p = malloc(bytes);
    out[threadIdx.x] = p == nullptr;
    free(p);
}
extern "C" __global__ void twice_freed() {
    int *p = (int *)malloc(4);
    free(p);
    free(p);
}
extern "C" __global__ void used_after(int *out) {
    int *p = (int *)malloc(8);
    free(p);
    out[0] = *(volatile int *)p;
}
extern "C" __global__ void past_end() {
    int *p = (int *)malloc(8);
    *(volatile int *)(p + 2) = 1;
}
__device__ __noinline__ int count(int n, int most) {
    assert(n <= most);
    printf("%d at %p\n", n, (void *)0);
    return n == 0 ? 0 : 1 + count(n - 1, most);
}
extern "C" __global__ void speaks(int *out, int n, int most) { out[0] = count(n, most); }
