//! Blocks of a cluster. PTX ISA, "barrier.cluster", "mapa", "%cluster_ctarank", "%cluster_nctaid", "%clusterid".

use crate::Splits;
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

/// The number of the cluster in the grid, along z. Not `pure`: it is read wherever it is asked for, and no register holds it in between.
#[gpu_only]
#[inline(always)]
pub(crate) fn id_z() -> u32 {
    let id: u32;
    // SAFETY: reads a special register.
    unsafe { core::arch::asm!("mov.u32 {}, %clusterid.z;", out(reg32) id) }
    id
}

/// The block's place in its cluster along x, y and z. Not `pure`, likewise.
#[gpu_only]
#[inline(always)]
pub(crate) fn place() -> [u32; 3] {
    let (x, y, z);
    // SAFETY: reads special registers.
    unsafe {
        core::arch::asm!(
            "mov.u32 {}, %cluster_ctaid.x; mov.u32 {}, %cluster_ctaid.y; mov.u32 {}, %cluster_ctaid.z;",
            out(reg32) x, out(reg32) y, out(reg32) z
        );
    }
    [x, y, z]
}

/// Blocks of the cluster along x and y. Not `pure`, likewise.
#[gpu_only]
#[inline(always)]
pub(crate) fn blocks_xy() -> [u32; 2] {
    let (x, y);
    // SAFETY: reads special registers.
    unsafe {
        core::arch::asm!(
            "mov.u32 {}, %cluster_nctaid.x; mov.u32 {}, %cluster_nctaid.y;", out(reg32) x, out(reg32) y
        );
    }
    [x, y]
}

/// Blocks of the cluster along z: 1 where none was asked for. Not `pure`, likewise.
#[gpu_only]
#[inline(always)]
pub(crate) fn blocks_z() -> u32 {
    let blocks: u32;
    // SAFETY: reads a special register.
    unsafe { core::arch::asm!("mov.u32 {}, %cluster_nctaid.z;", out(reg32) blocks) }
    blocks
}

/// Waits until every thread of the cluster is here: `barrier.cluster`.
#[gpu_only]
#[inline(always)]
pub(crate) fn sync() {
    // SAFETY: a barrier; a breach of its rule, that every thread reaches it, hangs the kernel.
    unsafe { core::arch::asm!("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;") }
}

/// Arrives without releasing what the thread wrote, nor waiting for what it loads: values from other blocks are used before, or the blocks may end
/// under way. [`wait`] is its next cluster barrier.
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

/// The sum of what the first so many blocks of the cluster have at that shared address, in the order of rank.
///
/// # Safety
/// As of [`load`]; so the sum is used before this thread arrives at the barrier behind which a block may end.
#[inline(always)]
pub(crate) unsafe fn sum(address: u32, blocks: u32) -> f32 {
    let parts: [f32; Splits::MAX_CLUSTER as usize] = core::array::from_fn(|rank| {
        let rank = rank as u32;
        // SAFETY: upheld by the caller (see `# Safety`). -0 changes no sum.
        if rank < blocks { unsafe { load(address, rank) } } else { -0.0 }
    });
    parts.into_iter().fold(-0.0, |sum, part| sum + part)
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

/// Four contiguous values in the shared memory of another block; -0, which changes no sum, where the cluster has no such block.
///
/// # Safety
/// As of [`load`], the first at a multiple of 16 bytes.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load_4(address: u32, rank: u32, blocks: u32) -> [f32; VEC as usize] {
    let (x, y, z, w);
    // SAFETY: there, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "{{ .reg .pred exists; .reg .b32 remote; setp.lt.u32 exists, {rank}, {blocks};",
            "mov.b32 {x}, 0x80000000; mov.b32 {y}, 0x80000000; mov.b32 {z}, 0x80000000; mov.b32 {w}, 0x80000000;",
            "@exists mapa.shared::cluster.u32 remote, {address}, {rank};",
            "@exists ld.shared::cluster.v4.f32 {{{x}, {y}, {z}, {w}}}, [remote]; }}",
            address = in(reg32) address,
            rank = in(reg32) rank,
            blocks = in(reg32) blocks,
            x = out(reg32) x,
            y = out(reg32) y,
            z = out(reg32) z,
            w = out(reg32) w,
        )
    }
    [x, y, z, w]
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
