// The mbarrier expects the bytes of two tiles, but one is copied: all wait for ever.
// launch: grid=1,1,1 block=64,1,1 args=iota:256,buffer:256
// expect: deadlock: line 17, `mbarrier.try_wait.parity.shared::cta.b64`, thread (0, 0, 0) of block (0, 0, 0): no thread can proceed: 64 threads in line 17
// result: 1[0] = 63

__device__ void load_bulk(unsigned barrier, int* tile, const int* in) {
    unsigned to = __cvta_generic_to_shared(tile);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(to), "l"(__cvta_generic_to_global(in)), "r"(barrier) : "memory");
}

__device__ void expect(unsigned barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ bool is_done(unsigned barrier) {
    unsigned done;
    asm volatile("{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}" : "=r"(done) : "r"(barrier) : "memory");
    return done;
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
    if (threadIdx.x == 0) {
        expect(full, 2 * sizeof tile);
        load_bulk(full, tile, in);
    }
    while (!is_done(full)) {}
    out[threadIdx.x] = tile[63 - threadIdx.x];
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ alignas(128) int tile[64];
    __shared__ unsigned long long barrier;
    unsigned full = init(&barrier);
    if (threadIdx.x == 0) {
        expect(full, sizeof tile);
        load_bulk(full, tile, in);
    }
    while (!is_done(full)) {}
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
