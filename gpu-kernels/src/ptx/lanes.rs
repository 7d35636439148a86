//! Communication of the lanes of a converged warp. PTX ISA, "shfl.sync", "vote.sync".

use cuda_std::gpu_only;

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
