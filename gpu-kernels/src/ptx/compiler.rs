//! Constraints on the compiler, which emit no instruction.

use cuda_std::gpu_only;

/// A barrier to the compiler: LLVM would sink a load to the use of its value.
#[gpu_only]
#[inline(always)]
pub(crate) fn keep_loads_above() {
    // SAFETY: nothing is done.
    unsafe { core::arch::asm!("") }
}

/// The same value, opaque to the compiler. It cannot hoist what is computed from it out of a loop, which would keep addresses in
/// registers throughout.
#[gpu_only]
#[inline(always)]
pub(crate) fn opaque(value: u32) -> u32 {
    let same: u32;
    // SAFETY: a move.
    unsafe { core::arch::asm!("mov.b32 {}, {};", out(reg32) same, in(reg32) value) }
    same
}

/// Pins a load where it stands: LLVM would sink it to the use of its value.
#[inline(always)]
pub(crate) fn pin_load(value: i32) -> i32 {
    opaque(value.cast_unsigned()).cast_signed()
}
