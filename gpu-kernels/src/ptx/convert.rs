//! Conversions between kinds of floating-point numbers. PTX ISA, "Data Movement and Conversion Instructions: cvt".

use cuda_std::gpu_only;

/// Two f32 as f16, rounded to the nearest, the first in the lower half.
#[gpu_only]
#[inline(always)]
pub(crate) fn f16x2(first: f32, second: f32) -> u32 {
    let pair;
    // SAFETY: changes no more than its output.
    unsafe {
        core::arch::asm!(
            "cvt.rn.f16x2.f32 {}, {}, {};",
            lateout(reg32) pair, in(reg32) second, in(reg32) first,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    pair
}

/// As [`f16x2`], as bf16.
#[gpu_only]
#[inline(always)]
pub(crate) fn bf16x2(first: f32, second: f32) -> u32 {
    let pair;
    // SAFETY: changes no more than its output.
    unsafe {
        core::arch::asm!(
            "cvt.rn.bf16x2.f32 {}, {}, {};",
            lateout(reg32) pair, in(reg32) second, in(reg32) first,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    pair
}

/// The f32 of the f16 in the lower half.
#[gpu_only]
#[inline(always)]
pub(crate) fn from_f16(bits: u32) -> f32 {
    let value;
    // SAFETY: changes no more than its output.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b16 half; cvt.u16.u32 half, {}; cvt.f32.f16 {}, half; }}",
            in(reg32) bits, lateout(reg32) value,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    value
}

/// The f32 of both f16 of a word, that in the lower half first.
#[gpu_only]
#[inline(always)]
pub(crate) fn from_f16x2(word: u32) -> [f32; 2] {
    let (low, high);
    // SAFETY: changes no more than its outputs.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b16 first, second; mov.b32 {{first, second}}, {};",
            "cvt.f32.f16 {}, first; cvt.f32.f16 {}, second; }}",
            in(reg32) word, out(reg32) low, out(reg32) high,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    [low, high]
}

/// The nearest TF32, of two the one further from zero: an f32 whose last 13 bits are zeros.
#[gpu_only]
#[inline(always)]
pub(crate) fn tf32(value: f32) -> f32 {
    let rounded: u32;
    // SAFETY: changes no more than its output.
    unsafe {
        core::arch::asm!(
            "cvt.rna.tf32.f32 {}, {};",
            lateout(reg32) rounded, in(reg32) value,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    f32::from_bits(rounded & !0x1fff)
}
