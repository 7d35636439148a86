//! `printf` of a kernel, as nvcc compiles it: the arguments lie in local memory.

use ptx_emu::{GlobalMemory, Launch, Module};

const PRINTS: &str = "
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 func_retval0) vprintf
(
    .param .b64 vprintf_param_0,
    .param .b64 vprintf_param_1
)
;
.global .align 1 .b8 $format[22] = {116, 104, 114, 101, 97, 100, 32, 37, 100, 58, 32, 37, 46, 50, 102, 32, 37, 35, 120, 10};

.visible .entry k()
{
    .local .align 8 .b8 __local_depot0[24];
    .reg .b64 %SP;
    .reg .b64 %SPL;
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .f64 %fd<3>;
    .reg .b64 %rd<4>;

    mov.u64 %SPL, __local_depot0;
    cvta.local.u64 %SP, %SPL;
    mov.u32 %r1, %tid.x;
    setp.gt.u32 %p1, %r1, 2;
    @%p1 bra $done;
    add.u64 %rd1, %SP, 0;
    add.u64 %rd2, %SPL, 0;
    cvt.rn.f64.u32 %fd1, %r1;
    mul.f64 %fd2, %fd1, 0d3FF8000000000000;
    st.local.u32 [%rd2], %r1;
    st.local.f64 [%rd2+8], %fd2;
    st.local.u32 [%rd2+16], %r1;
    mov.u64 %rd3, $format;
    cvta.global.u64 %rd3, %rd3;
    {
    .param .b64 param0;
    st.param.b64 [param0+0], %rd3;
    .param .b64 param1;
    st.param.b64 [param1+0], %rd1;
    .param .b32 retval0;
    call.uni (retval0), vprintf, (param0, param1);
    ld.param.b32 %r2, [retval0+0];
    }
$done:
    ret;
}";

#[test]
fn what_a_kernel_prints_is_in_its_report() {
    let kernel = Module::parse(PRINTS).unwrap().kernel("k").unwrap();
    let report = kernel.launch(&mut GlobalMemory::default(), &Launch::new([1, 1, 1], [32, 1, 1])).unwrap();
    assert!(report.is_clean(), "{:?}", report.findings);
    assert_eq!(report.output, "thread 0: 0.00 0\nthread 1: 1.50 0x1\nthread 2: 3.00 0x2\n");
}
