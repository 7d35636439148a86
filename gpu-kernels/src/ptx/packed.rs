//! Two f32 in one 64-bit register, for devices of compute capability 10.0 and later. PTX ISA 8.6, "Floating Point
//! Instructions: fma", type `.f32x2`; "Data Movement and Conversion Instructions: mov", packing.

use cuda_std::gpu_only;

/// Two f32.
#[derive(Clone, Copy)]
#[cfg_attr(not(target_arch = "nvptx64"), allow(dead_code))] // used on the GPU only
pub(crate) struct F32x2(u64);

impl F32x2 {
    /// Two zeros.
    pub const ZERO: Self = Self(0);

    /// The two, the first in the lower half.
    #[gpu_only]
    #[inline(always)]
    pub fn new(first: f32, second: f32) -> Self {
        let pair;
        // SAFETY: changes no more than its output.
        unsafe {
            core::arch::asm!(
                "mov.b64 {}, {{{}, {}}};",
                lateout(reg64) pair,
                in(reg32) first,
                in(reg32) second,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        Self(pair)
    }

    /// The two as values of their own.
    #[gpu_only]
    #[inline(always)]
    pub fn get(self) -> [f32; 2] {
        let (first, second);
        // SAFETY: changes no more than its outputs.
        unsafe {
            core::arch::asm!(
                "mov.b64 {{{}, {}}}, {};",
                lateout(reg32) first,
                lateout(reg32) second,
                in(reg64) self.0,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        [first, second]
    }

    /// Two fused multiply-adds, `self * a + b`, each rounded once.
    #[gpu_only]
    #[inline(always)]
    pub fn mul_add(self, a: Self, b: Self) -> Self {
        let sum;
        // SAFETY: changes no more than its output.
        unsafe {
            core::arch::asm!(
                "fma.rn.f32x2 {}, {}, {}, {};",
                lateout(reg64) sum,
                in(reg64) self.0,
                in(reg64) a.0,
                in(reg64) b.0,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        Self(sum)
    }
}
