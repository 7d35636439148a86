//! Flags in global memory, by which the blocks of a launch synchronise. PTX ISA, "Memory Consistency Model", "ld", "st".

use cuda_std::gpu_only;

/// Sets a flag, after everything that this thread wrote or that it knows others to have written: `st.release.gpu`.
///
/// # Safety
/// `flag` is an element that blocks use for nothing else.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn store_release(flag: *mut u32, value: u32) {
    // SAFETY: an element, upheld by the caller.
    unsafe { core::arch::asm!("st.release.gpu.global.u32 [{}], {};", in(reg64) flag, in(reg32) value) }
}

/// Waits until a flag is set; what was written before that is then there: `ld.acquire.gpu`, again and again.
///
/// # Safety
/// `flag` is an element that blocks use for nothing else, and a block sets it that does not wait for this one.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn wait_acquire(flag: *const u32) {
    loop {
        let value: u32;
        // SAFETY: an element, upheld by the caller.
        unsafe { core::arch::asm!("ld.acquire.gpu.global.u32 {}, [{}];", out(reg32) value, in(reg64) flag) }
        if value != 0 {
            return;
        }
    }
}
