// The consumer waits for the first phase in each turn, which has passed: it reads before the second copy is there.
// Known from https://github.com/NVIDIA/cutlass/issues/2404
// launch: grid=1,1,1 block=64,1,1 args=iota:512,buffer:256
// expect: race: line 11, `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`, thread (0, 0, 0) of block (0, 0, 0): 16 bytes of shared memory at 0x0; nothing orders it after the read by thread (63, 0, 0) in line 39, `ld.shared.u32`
// expect: deadlock: line 17, `mbarrier.try_wait.parity.shared::cta.b64`, thread (0, 0, 0) of block (0, 0, 0): no thread can proceed: 32 threads in line 17; 32 threads in line 40 at barrier 0, where 32 of 64 have arrived
// result: 1[0] = 190

__device__ void load_bulk(unsigned barrier, int* tile, const int* in) {
    unsigned to = __cvta_generic_to_shared(tile);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" ::"r"(barrier) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(to), "l"(__cvta_generic_to_global(in)), "r"(barrier) : "memory");
}

__device__ void wait(unsigned barrier, unsigned parity) {
    unsigned done = 0;
    while (!done) {
        asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    }
}

__device__ unsigned init(unsigned long long* barrier) {
    unsigned address = __cvta_generic_to_shared(barrier);
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;" ::"r"(address) : "memory");
    }
    __syncthreads();
    return address;
}

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ alignas(128) int tile[64];
    __shared__ unsigned long long barrier;
    unsigned full = init(&barrier);
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < 2; k++) {
        if (threadIdx.x == 0) load_bulk(full, tile, in + 64 * k);
        wait(full, 0);
        sum += tile[63 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ alignas(128) int tile[64];
    __shared__ unsigned long long barrier;
    unsigned full = init(&barrier);
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < 2; k++) {
        if (threadIdx.x == 0) load_bulk(full, tile, in + 64 * k);
        wait(full, k % 2);
        sum += tile[63 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
