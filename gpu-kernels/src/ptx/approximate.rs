//! Approximate functions of the special function unit; subnormal numbers count as zeros. PTX ISA, "Floating Point Instructions:
//! ex2.approx.ftz.f32, rcp.approx.ftz.f32".

use cuda_std::gpu_only;

/// 2^x, within 2 ulp.
#[gpu_only]
#[inline(always)]
pub(crate) fn exp2(x: f32) -> f32 {
    let power;
    // SAFETY: changes no more than its output.
    unsafe {
        core::arch::asm!(
            "ex2.approx.ftz.f32 {}, {};",
            lateout(reg32) power, in(reg32) x,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    power
}

/// 1/x, within 1 ulp.
#[gpu_only]
#[inline(always)]
pub(crate) fn reciprocal(x: f32) -> f32 {
    let quotient;
    // SAFETY: changes no more than its output.
    unsafe {
        core::arch::asm!(
            "rcp.approx.ftz.f32 {}, {};",
            lateout(reg32) quotient, in(reg32) x,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    quotient
}
