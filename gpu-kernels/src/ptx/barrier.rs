//! Barriers with numbers, at which some of a block's threads meet. PTX ISA, "bar".

use cuda_std::gpu_only;

/// Waits until `threads` threads have come to the barrier or arrived at it: `bar.sync`.
///
/// # Safety
/// Whole warps call it, and all others that come there name the same number.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn sync(number: u32, threads: u32) {
    // SAFETY: by the caller's promise.
    unsafe { core::arch::asm!("bar.sync {}, {};", in(reg32) number, in(reg32) threads) }
}

/// Arrives at the barrier, and goes on: `bar.arrive`.
///
/// # Safety
/// As of [`sync`].
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn arrive(number: u32, threads: u32) {
    // SAFETY: by the caller's promise.
    unsafe { core::arch::asm!("bar.arrive {}, {};", in(reg32) number, in(reg32) threads) }
}
