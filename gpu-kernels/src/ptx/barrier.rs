//! Named barriers, of some of a block's threads. PTX ISA, "bar".

use cuda_std::gpu_only;

/// Arrives, and waits until `threads` threads have arrived: `bar.sync`.
///
/// # Safety
/// Whole warps call it, and all others name the same number of threads.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn sync(number: u32, threads: u32) {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { core::arch::asm!("bar.sync {}, {};", in(reg32) number, in(reg32) threads) }
}

/// Arrives without waiting: `bar.arrive`.
///
/// # Safety
/// As of [`sync`].
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn arrive(number: u32, threads: u32) {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { core::arch::asm!("bar.arrive {}, {};", in(reg32) number, in(reg32) threads) }
}
