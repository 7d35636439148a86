//! Blocks of a cluster. PTX ISA, "barrier.cluster", "mapa", "%cluster_ctarank".

use crate::hardware::VEC;
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

/// Blocks of the cluster along z.
#[gpu_only]
#[inline(always)]
pub(crate) fn blocks_z() -> u32 {
    let blocks: u32;
    // SAFETY: reads a special register.
    unsafe { core::arch::asm!("mov.u32 {}, %cluster_nctaid.z;", out(reg32) blocks, options(pure, nomem)) }
    blocks
}

/// Waits until every thread of the cluster is here: `barrier.cluster`.
#[gpu_only]
#[inline(always)]
pub(crate) fn sync() {
    // SAFETY: a barrier; a breach of its rule, that every thread reaches it, hangs the kernel.
    unsafe { core::arch::asm!("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;") }
}

/// Arrives without releasing what the thread wrote; [`wait`] is its next cluster barrier.
#[gpu_only]
#[inline(always)]
pub(crate) fn arrive_relaxed() {
    // SAFETY: as of `sync`.
    unsafe { core::arch::asm!("barrier.cluster.arrive.relaxed.aligned;") }
}

/// Waits until every thread of the cluster has begun: from then on the shared memory of all blocks is there.
#[gpu_only]
#[inline(always)]
pub(crate) fn wait() {
    // SAFETY: as of `sync`.
    unsafe { core::arch::asm!("barrier.cluster.wait.aligned;") }
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
    // SAFETY: there, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {}, {};",
            "ld.shared::cluster.f32 {}, [remote]; }}",
            in(reg32) address, in(reg32) rank, out(reg32) value
        )
    }
    value
}

/// Stores a value in the shared memory of another block: `mapa`, `st.shared::cluster`.
///
/// # Safety
/// There is room for it there, that block has begun and does not end, and nobody else touches it meanwhile.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn store(address: u32, rank: u32, value: f32) {
    // SAFETY: there, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {}, {};",
            "st.shared::cluster.f32 [remote], {}; }}",
            in(reg32) address,
            in(reg32) rank,
            in(reg32) value,
        )
    }
}

/// Stores four contiguous values in the shared memory of another block: `mapa`, `st.shared::cluster`.
///
/// # Safety
/// There is room for them there, the first at a multiple of 16 bytes, that block has begun and does not end, and nobody else
/// touches it meanwhile.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn store_4(address: u32, rank: u32, [x, y, z, w]: [f32; VEC as usize]) {
    // SAFETY: there, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "{{ .reg .b32 remote; mapa.shared::cluster.u32 remote, {}, {};",
            "st.shared::cluster.v4.f32 [remote], {{{}, {}, {}, {}}}; }}",
            in(reg32) address,
            in(reg32) rank,
            in(reg32) x,
            in(reg32) y,
            in(reg32) z,
            in(reg32) w,
        )
    }
}
