// One block resets the counter to which all blocks add: nothing puts the reset before the additions.
// Known from https://github.com/gunrock/gunrock/issues/829
// launch: grid=4,1,1 block=32,1,1 args=buffer:4
// expect: race: line 10, `atom.global.add.u32`, thread (0, 0, 0) of block (1, 0, 0): 4 bytes of global memory at 0x20000000000, argument 1, byte 0; nothing orders it after the write by thread (0, 0, 0) of block (0, 0, 0) in line 8, `st.global.u32`
// result: 0[0] = 128

extern "C" __global__ void bad(int* count) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *count = 0;
    __syncthreads();
    atomicAdd(count, 1);
}

// The counter is zero when the kernel begins.
extern "C" __global__ void good(int* count) {
    atomicAdd(count, 1);
}
