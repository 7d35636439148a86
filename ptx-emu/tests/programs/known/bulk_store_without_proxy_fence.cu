// A bulk copy reads through the async proxy what threads have stored, without a fence between the proxies.
// Known from https://github.com/MoonshotAI/FlashKDA/issues/24 and https://github.com/NVIDIA/Fuser/issues/4814
// launch: grid=1,1,1 block=64,1,1 args=iota:256,buffer:256
// expect: race: line 9, `cp.async.bulk.global.shared::cta.bulk_group`, thread (0, 0, 0) of block (0, 0, 0): 16 bytes of shared memory at 0x0; no `fence.proxy.async` follows the write by thread (0, 0, 0) of block (0, 0, 0) in line 15, `st.shared.u32`
// result: 1[63] = 63

__device__ void store_bulk(int* out, const int* tile) {
    unsigned from = __cvta_generic_to_shared(tile);
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(__cvta_generic_to_global(out)), "r"(from) : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
}

extern "C" __global__ void bad(const int* in, int* out) {
    __shared__ alignas(128) int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) store_bulk(out, tile);
}

extern "C" __global__ void good(const int* in, int* out) {
    __shared__ alignas(128) int tile[64];
    tile[threadIdx.x] = in[threadIdx.x];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) store_bulk(out, tile);
}
