// A shuffle by all lanes is executed by half of them.
// Known from https://github.com/uzh-rpg/vilib/pull/5
// launch: grid=1,1,1 block=32,1,1 args=iota:128,buffer:128
// expect: barrier: line 10, `shfl.sync.down.b32`, thread (0, 0, 0) of block (0, 0, 0): its mask 0xffffffff names lane 16, but thread (16, 0, 0) waits in line 12
// result: 1[0] = 8

extern "C" __global__ void bad(const int* in, int* out) {
    int i = threadIdx.x, value = in[i];
    if (i < 16) {
        value += __shfl_down_sync(0xffffffff, value, 8, 16);
    } else {
        value -= __shfl_down_sync(0xffffffff, value, 4, 16);
    }
    out[i] = value;
}

extern "C" __global__ void good(const int* in, int* out) {
    int i = threadIdx.x, value = in[i];
    if (i < 16) {
        value += __shfl_down_sync(0x0000ffff, value, 8, 16);
    } else {
        value -= __shfl_down_sync(0xffff0000, value, 4, 16);
    }
    out[i] = value;
}
