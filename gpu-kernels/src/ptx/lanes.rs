//! Communication of the lanes of a converged warp. PTX ISA, "shfl.sync", "vote.sync".

use crate::hardware::WARP;
use cuda_std::{gpu_only, thread};

/// The warp's index in the block. The assembler knows that it is the same for all lanes, which of the thread's index it does not: what
/// depends on it stays in uniform registers, and so do the operands of `wgmma` in a branch that it decides.
#[inline(always)]
pub(crate) fn warp_index() -> u32 {
    // SAFETY: all lanes are here, as everywhere outside of branches.
    unsafe { shuffle(thread::thread_idx_x() / WARP, 0) }
}

/// The value of that lane: `shfl.sync.idx`.
///
/// # Safety
/// All lanes are here.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn shuffle(value: u32, lane: u32) -> u32 {
    let its: u32;
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe {
        core::arch::asm!("shfl.sync.idx.b32 {}, {}, {}, 31, -1;", out(reg32) its, in(reg32) value, in(reg32) lane);
    }
    its
}

/// Whether it is so for all lanes: `vote.sync.all`.
///
/// # Safety
/// All lanes are here.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn all(is_so: bool) -> bool {
    let all: u32;
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe {
        core::arch::asm!(
            "{{ .reg .pred is; setp.ne.b32 is, {}, 0; vote.sync.all.pred is, is, -1; selp.b32 {}, 1, 0, is; }}",
            in(reg32) u32::from(is_so), out(reg32) all
        );
    }
    all != 0
}

/// For which lanes it is so, a bit each: `vote.sync.ballot`.
///
/// # Safety
/// All lanes are here.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn ballot(is_so: bool) -> u32 {
    let those: u32;
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe {
        core::arch::asm!(
            "{{ .reg .pred is; setp.ne.b32 is, {}, 0; vote.sync.ballot.b32 {}, is, -1; }}",
            in(reg32) u32::from(is_so), out(reg32) those
        );
    }
    those
}

/// The bits that any lane's word has: `redux.sync.or`.
///
/// # Safety
/// All lanes are here.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn any_bits(word: u32) -> u32 {
    let any: u32;
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { core::arch::asm!("redux.sync.or.b32 {}, {}, -1;", out(reg32) any, in(reg32) word) }
    any
}

/// The least and the largest of all lanes' numbers: `redux.sync.min`, `redux.sync.max`.
///
/// # Safety
/// All lanes are here.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn extremes([low, high]: [i32; 2]) -> [i32; 2] {
    let (least, largest): (i32, i32);
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe {
        core::arch::asm!(
            "redux.sync.min.s32 {}, {}, -1; redux.sync.max.s32 {}, {}, -1;",
            out(reg32) least, in(reg32) low, out(reg32) largest, in(reg32) high
        );
    }
    [least, largest]
}

/// Whether this is the one lane of the warp, all of which are here, that is to do something alone: `elect.sync`. The assembler knows that
/// it is one, and that the operands of its TMA loads are therefore uniform; of a comparison of indices it does not.
#[gpu_only]
#[inline(always)]
pub(crate) fn elect() -> bool {
    let is_elected: u32;
    // SAFETY: every lane is here.
    unsafe {
        core::arch::asm!(
            "{{ .reg .pred elected; elect.sync _|elected, 0xffffffff; selp.b32 {}, 1, 0, elected; }}",
            out(reg32) is_elected
        );
    }
    is_elected != 0
}
