//! Nothing but orders to the compiler: no instruction comes out of these.

use cuda_std::gpu_only;

/// A place in the code that no load is moved across: the compiler would move one to where its value is needed.
#[gpu_only]
#[inline(always)]
pub(crate) fn keep_loads_above() {
    // SAFETY: nothing is done.
    unsafe { core::arch::asm!("") }
}

/// The same value, of which the compiler does not know that it is the same each time: it would compute addresses once, before
/// a loop, and keep them in registers all along.
#[gpu_only]
#[inline(always)]
pub(crate) fn anew(value: u32) -> u32 {
    let same: u32;
    // SAFETY: a move.
    unsafe { core::arch::asm!("mov.b32 {}, {};", out(reg32) same, in(reg32) value) }
    same
}

/// A value that was loaded: the load is not moved to where its value is needed.
#[inline(always)]
pub(crate) fn loaded(value: i32) -> i32 {
    anew(value.cast_unsigned()).cast_signed()
}
