//! TMA loads: boxes of a matrix, through a tensor map. PTX ISA, "cp.async.bulk.tensor".

use super::mbarrier::Mbarrier;
use crate::TENSOR_MAP_BYTES;
use cuda_std::gpu_only;

/// A tensor map that the host made. A kernel takes it by value (`&TensorMap`), so it lies in parameter memory.
#[repr(C, align(64))]
pub struct TensorMap([u8; TENSOR_MAP_BYTES]);

/// Fetches a tensor map ahead of its use: `prefetch.tensormap`. It may be done before the kernel waits for another one.
#[gpu_only]
#[inline(always)]
pub(crate) fn prefetch(map: *const TensorMap) {
    // SAFETY: a hint.
    unsafe { core::arch::asm!("prefetch.tensormap [{}];", in(reg64) map) }
}

/// Issues a load of the box at (`row`, `column`) to the shared address `target`; the barrier counts the bytes. Elements out
/// of bounds are zero.
///
/// # Safety
/// The map's box fits at `target`, which is a multiple of 128 bytes; the bytes are announced at the barrier.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load(target: u32, map: *const TensorMap, row: u32, column: u32, barrier: Mbarrier) {
    // SAFETY: inside shared memory, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}}}], [{}];",
            in(reg32) target, in(reg64) map, in(reg32) column, in(reg32) row, in(reg32) barrier.address()
        )
    }
}

/// [`load`] through a map of a batch of matrices, of which `index` is one.
///
/// # Safety
/// As [`load`].
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load_of_batch(
    target: u32,
    map: *const TensorMap,
    index: u32,
    row: u32,
    column: u32,
    barrier: Mbarrier,
) {
    // SAFETY: inside shared memory, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{}], [{}, {{{}, {}, {}}}], [{}];",
            in(reg32) target, in(reg64) map, in(reg32) column, in(reg32) row, in(reg32) index, in(reg32) barrier.address()
        )
    }
}

/// [`load_of_batch`] to the same place in each block of the cluster whose bit is set in `blocks`, and to its barrier.
///
/// # Safety
/// As [`load`], in each of these blocks.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load_of_batch_multicast(
    target: u32,
    map: *const TensorMap,
    index: u32,
    row: u32,
    column: u32,
    barrier: Mbarrier,
    blocks: u16,
) {
    // SAFETY: inside the shared memory of each block, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [{}], [{}, {{{}, {}, {}}}], [{}], {};",
            in(reg32) target, in(reg64) map, in(reg32) column, in(reg32) row, in(reg32) index, in(reg32) barrier.address(), in(reg16) blocks
        )
    }
}

/// [`load`] to the same place in each block of the cluster whose bit is set in `blocks`, and to its barrier.
///
/// # Safety
/// As [`load`], in each of these blocks.
#[gpu_only]
#[inline(always)]
pub(crate) unsafe fn load_multicast(
    target: u32,
    map: *const TensorMap,
    row: u32,
    column: u32,
    barrier: Mbarrier,
    blocks: u16,
) {
    // SAFETY: inside the shared memory of each block, upheld by the caller.
    unsafe {
        core::arch::asm!(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [{}], [{}, {{{}, {}}}], [{}], {};",
            in(reg32) target, in(reg64) map, in(reg32) column, in(reg32) row, in(reg32) barrier.address(), in(reg16) blocks
        )
    }
}
