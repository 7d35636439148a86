// Calls through pointers: a table, virtual functions, a pointer that is passed on, and a pointer to no function. `nvcc -std=c++17 -rdc=true -ptx -arch=sm_90a pointers.cu`
typedef float (*Unary)(float);
__device__ __noinline__ float one_more(float x) { return x + 1; }
__device__ __noinline__ float twice(float x) { return x + x; }
__device__ __noinline__ float square(float x) { return x * x; }
__device__ Unary table[3] = {one_more, twice, square};

extern "C" __global__ void by_table(float *x, const int *which) {
    int i = threadIdx.x;
    x[i] = table[which[i]](x[i]);
}

struct Shape {
    float a;
    __device__ Shape(float a) : a(a) {}
    __device__ virtual float area() const = 0;
    __device__ virtual float scaled(float s) const { return area() * s; }
};
struct Square : Shape {
    __device__ Square(float a) : Shape(a) {}
    __device__ float area() const override { return a * a; }
};
struct Rectangle : Shape {
    float b;
    __device__ Rectangle(float a, float b) : Shape(a), b(b) {}
    __device__ float area() const override { return a * b; }
    __device__ float scaled(float s) const override { return a * b * s * 2; }
};

extern "C" __global__ void virtual_functions(float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Shape *shape;
    if (i % 3 == 0) shape = new Square(i);
    else shape = new Rectangle(i, 2);
    out[i] = shape->scaled(0.5f);
    delete shape;
}

__device__ __noinline__ int apply(int (*f)(int, int), int n, int x) { return n == 0 ? x : apply(f, n - 1, f(x, n)); }
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int mix(int a, int b) { return a * 5 ^ b; }
extern "C" __global__ void passed_on(int *out) {
    int i = threadIdx.x;
    out[i] = apply(i & 1 ? add : mix, i, 1);
}

__device__ __noinline__ float warp_sum(float x) {
    for (int d = 16; d > 0; d /= 2) x += __shfl_xor_sync(~0u, x, d);
    return x;
}
__device__ Unary collective[1] = {warp_sum};
extern "C" __global__ void together(float *x) { x[threadIdx.x] = collective[0](x[threadIdx.x]); }

extern "C" __global__ void nowhere(float *x, Unary f) { x[threadIdx.x] = f(x[threadIdx.x]); }
