//! Launches that overlap: programmatic dependent launch. PTX ISA, "griddepcontrol".

use cuda_std::gpu_only;

/// Waits until the launch before this one has ended and its stores are visible, then lets the launch behind this one begin:
/// `griddepcontrol.wait`, `griddepcontrol.launch_dependents`. In this order, whatever stands before the launch that is waited for
/// has ended, too. Every thread of every kernel but [`crate::Prepass::waits_last`] does it before it accesses global memory, so that a
/// kernel may be launched before the one ahead of it has ended. On a target without these instructions, launches do not overlap, and there is nothing to do.
#[gpu_only]
#[inline(always)]
pub(crate) fn wait_then_launch_dependents() {
    // SAFETY: a wait for memory, and a hint.
    #[cfg(target_feature = "sm_90")]
    unsafe {
        core::arch::asm!("griddepcontrol.wait;", "griddepcontrol.launch_dependents;");
    }
}

/// Lets the launch behind this one begin, of a kernel that [`wait`]s at its end: [`crate::Prepass::waits_last`].
#[gpu_only]
#[inline(always)]
pub(crate) fn launch_dependents() {
    // SAFETY: a hint.
    #[cfg(target_feature = "sm_90")]
    unsafe {
        core::arch::asm!("griddepcontrol.launch_dependents;");
    }
}

/// Waits until the launch before this one has ended and its stores are visible.
#[gpu_only]
#[inline(always)]
pub(crate) fn wait() {
    // SAFETY: a wait for memory.
    #[cfg(target_feature = "sm_90")]
    unsafe {
        core::arch::asm!("griddepcontrol.wait;");
    }
}
