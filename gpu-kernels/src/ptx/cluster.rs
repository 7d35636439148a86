//! Blocks of a cluster. PTX ISA, "barrier.cluster", "mapa", "%cluster_ctarank".

use cuda_std::gpu_only;

/// The block's rank in its cluster.
#[gpu_only]
#[inline(always)]
pub(crate) fn rank() -> u32 {
    let rank: u32;
    // SAFETY: reads a special register.
    unsafe { core::arch::asm!("mov.u32 {}, %cluster_ctarank;", out(reg32) rank, options(pure, nomem)) }
    rank
}

/// Waits until every thread of the cluster is here: `barrier.cluster`.
#[gpu_only]
#[inline(always)]
pub(crate) fn sync() {
    // SAFETY: a barrier; a breach of its rule, that every thread reaches it, hangs the kernel.
    unsafe { core::arch::asm!("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;") }
}

/// Makes barriers that this thread has made known to the other blocks: `fence.mbarrier_init`.
#[gpu_only]
#[inline(always)]
pub(crate) fn fence_barrier_init() {
    // SAFETY: a fence.
    unsafe { core::arch::asm!("fence.mbarrier_init.release.cluster;") }
}

/// A value in the shared memory of another block: `mapa`, `ld.shared::cluster`.
///
/// # Safety
/// It is there, and that block neither changes it meanwhile nor ends.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load(address: u32, rank: u32) -> f32 {
    let value: f32;
    // SAFETY: there, by the caller's promise.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {}, {};",
            "ld.shared::cluster.f32 {}, [remote]; }}",
            in(reg32) address, in(reg32) rank, out(reg32) value
        )
    }
    value
}
