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

/// The same as [`sync`], and whether it is so for any of the threads: `bar.red.or`.
///
/// # Safety
/// As of [`sync`].
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn any(number: u32, threads: u32, is_so: bool) -> bool {
    let any: u32;
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe {
        core::arch::asm!(
            "{{ .reg .pred is; setp.ne.b32 is, {}, 0; bar.red.or.pred is, {}, {}, is; selp.b32 {}, 1, 0, is; }}",
            in(reg32) u32::from(is_so), in(reg32) number, in(reg32) threads, out(reg32) any
        );
    }
    any != 0
}
