//! MMAs of a warp, with all operands in registers. PTX ISA, "Warp-level Matrix Instructions: mma".
//!
//! The accumulators of a warp are 16 x 8. Lane 4g + t holds those of rows g and g + 8 in columns 2t and 2t + 1. The operands are as
//! [`matrix`](super::matrix) loads them: of A (16, 16), the matrices of 8 x 8 elements above each other, those of the second half of k last;
//! of B (8, 16), by column, those of either half of k.

use cuda_std::gpu_only;
use half::{bf16, f16};

/// A type of elements that these MMAs take.
pub(crate) trait WarpMma {
    /// acc += A*B.
    ///
    /// # Safety
    /// All lanes are here.
    unsafe fn mma(acc: &mut [f32; 4], a: [u32; 4], b: [u32; 2]);
}

/// The implementation for a type, by its kind of MMA.
macro_rules! warp_mma {
    ($type:ty, $kind:literal) => {
        impl WarpMma for $type {
            #[gpu_only]
            #[inline(always)]
            unsafe fn mma(acc: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
                let [mut c0, mut c1, mut c2, mut c3] = *acc;
                // SAFETY: registers alone, of the whole warp, upheld by the caller.
                unsafe {
                    core::arch::asm!(
                        concat!("mma.sync.aligned.m16n8k16.row.col.f32.", $kind, ".", $kind, ".f32 "),
                        "{{{c0}, {c1}, {c2}, {c3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}};",
                        c0 = inout(reg32) c0, c1 = inout(reg32) c1, c2 = inout(reg32) c2, c3 = inout(reg32) c3,
                        a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2], a3 = in(reg32) a[3],
                        b0 = in(reg32) b[0], b1 = in(reg32) b[1],
                    );
                }
                *acc = [c0, c1, c2, c3];
            }
        }
    };
}

/// acc += A*B of f32, truncated to TF32, 8 deep: of A (16, 8), lane 4g + t has rows g and g + 8 of column t, then those of column t + 4; of B
/// (8, 8), column g of rows t and t + 4.
///
/// # Safety
/// All lanes are here.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn tf32(acc: &mut [f32; 4], a: [u32; 4], b: [u32; 2]) {
    let [mut c0, mut c1, mut c2, mut c3] = *acc;
    // SAFETY: registers alone, of the whole warp, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{{c0}, {c1}, {c2}, {c3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}};",
            c0 = inout(reg32) c0, c1 = inout(reg32) c1, c2 = inout(reg32) c2, c3 = inout(reg32) c3,
            a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2], a3 = in(reg32) a[3],
            b0 = in(reg32) b[0], b1 = in(reg32) b[1],
        );
    }
    *acc = [c0, c1, c2, c3];
}

warp_mma!(f16, "f16");
warp_mma!(bf16, "bf16");
