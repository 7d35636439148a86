//! Copies from global to shared memory that go on in the background. PTX ISA, "Data Movement and Conversion Instructions:
//! Asynchronous copy: cp.async".
//!
//! A thread's copies since its last [`commit_group`] are a group. They are done when [`wait_group`] says so, and for the
//! block's other threads after the barrier behind it.

use cuda_std::gpu_only;

/// Starts to copy N contiguous f32 to shared memory, 1 or 4, or to put zeros there: PTX ISA, "cp.async", with 0 bytes of
/// the source. Four go past the L1.
///
/// # Safety
/// `target` has N f32 in shared memory, which nobody reads or writes until the copy is waited for. If `is_inside`, those
/// at the source are in bounds of a buffer in global memory that nobody writes meanwhile. Both are at multiples of their bytes.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn copy_or_zero<const N: u32>(target: u32, source: *const f32, is_inside: bool) {
    const { assert!(N == 1 || N == 4, "4 or 16 bytes") };
    let bytes = u32::from(is_inside) * N * 4;
    // SAFETY: inside a buffer or not read, aligned and exclusive, upheld by the caller.
    unsafe {
        if N == 4 {
            core::arch::asm!(
                "cp.async.cg.shared.global [{}], [{}], 16, {};",
                in(reg32) target,
                in(reg64) source,
                in(reg32) bytes,
                options(nostack, preserves_flags)
            );
        } else {
            core::arch::asm!(
                "cp.async.ca.shared.global [{}], [{}], 4, {};",
                in(reg32) target,
                in(reg64) source,
                in(reg32) bytes,
                options(nostack, preserves_flags)
            );
        }
    }
}

/// Starts to copy a word to shared memory.
///
/// # Safety
/// As of [`copy_or_zero`], of one f32 that is in bounds.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn copy_word(target: u32, source: *const u16) {
    // SAFETY: inside a buffer, aligned and exclusive, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "cp.async.ca.shared.global [{}], [{}], 4;",
            in(reg32) target,
            in(reg64) source,
            options(nostack, preserves_flags)
        );
    }
}

/// Starts to copy 16 bytes to shared memory, or to put zeros there, through the L1: for what other blocks of the SM copy, too.
///
/// # Safety
/// As of [`copy_or_zero`] of four f32.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn copy_shared_or_zero(target: u32, source: *const u16, is_inside: bool) {
    // SAFETY: inside a buffer or not read, aligned and exclusive, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "cp.async.ca.shared.global [{}], [{}], 16, {};",
            in(reg32) target,
            in(reg64) source,
            in(reg32) u32::from(is_inside) * 16,
            options(nostack, preserves_flags)
        );
    }
}

/// Starts to copy the first `bytes` of N words to shared memory, 1 or 4, and zeros for the rest, if `is_wanted`. Four go past the L1, and bring
/// their whole line to the L2.
///
/// # Safety
/// As of [`copy_or_zero`], of those bytes. The source is at a multiple of N words even if none is read.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn copy_first<const N: u32>(target: u32, source: *const u16, bytes: u32, is_wanted: bool) {
    const { assert!(N == 1 || N == 4, "4 or 16 bytes") };
    // SAFETY: inside a buffer or not read, aligned and exclusive, upheld by the caller.
    unsafe {
        if N == 4 {
            core::arch::asm!(
                "{{ .reg .pred wanted; setp.ne.u32 wanted, {}, 0; @wanted cp.async.cg.shared.global.L2::128B [{}], [{}], 16, {}; }}",
                in(reg32) u32::from(is_wanted),
                in(reg32) target,
                in(reg64) source,
                in(reg32) bytes,
                options(nostack, preserves_flags)
            );
        } else {
            core::arch::asm!(
                "{{ .reg .pred wanted; setp.ne.u32 wanted, {}, 0; @wanted cp.async.ca.shared.global [{}], [{}], 4, {}; }}",
                in(reg32) u32::from(is_wanted),
                in(reg32) target,
                in(reg64) source,
                in(reg32) bytes,
                options(nostack, preserves_flags)
            );
        }
    }
}

/// Closes this thread's group. PTX ISA, "cp.async.commit_group".
#[gpu_only]
#[inline(always)]
pub(crate) fn commit_group() {
    // SAFETY: changes nothing but what later waits mean.
    unsafe { core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags)) }
}

/// Waits until of this thread's groups all but the last N are done. PTX ISA, "cp.async.wait_group".
#[gpu_only]
#[inline(always)]
pub(crate) fn wait_group<const N: u32>() {
    // SAFETY: waits, and has no preconditions.
    unsafe { core::arch::asm!("cp.async.wait_group {};", const N, options(nostack, preserves_flags)) }
}

/// Waits until this thread's copies of the next of so many stages are complete, where each stage is a group and all but one are under way.
#[inline(always)]
pub(crate) fn wait_for_stage<const STAGES: u32>() {
    match STAGES {
        2 => wait_group::<0>(),
        3 => wait_group::<1>(),
        4 => wait_group::<2>(),
        6 => wait_group::<4>(),
        _ => unreachable!(),
    }
}

/// Waits until this thread's groups are complete but for the last so many.
#[inline(always)]
pub(crate) fn wait_for_all_but(groups: u32) {
    match groups {
        0 => wait_group::<0>(),
        1 => wait_group::<1>(),
        2 => wait_group::<2>(),
        3 => wait_group::<3>(),
        _ => unreachable!(),
    }
}
