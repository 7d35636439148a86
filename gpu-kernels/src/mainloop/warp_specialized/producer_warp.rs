//! Blocks whose producer is one warp, behind the consumers.

use super::boxes::Loads;
use super::{OF_LAUNCH, Ring, Stage};
use crate::Ab;
use crate::hardware::VEC;
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::{barrier, compiler, f32x4, lanes, wgmma};
use core::ops::Range;
use cuda_std::prelude::*;

/// The named barrier of the consumers.
const CONSUMERS: u32 = 1;

/// Has the first thread behind so many consumers fetch the tensor maps ahead of their use.
#[inline(always)]
pub(crate) fn prefetch(maps: Ab<*const TensorMap>, consumer_threads: u32) {
    if thread::thread_idx_x() == consumer_threads {
        maps.map(tensor::prefetch);
    }
}

/// Loads each of these k-tiles, as soon as a stage is empty. After the `IS_LAST` tile it waits for the blocks that share stages.
///
/// # Safety
/// The producer warp calls it, with loads that lie in a stage; each block that shares it issues its part. Where there is no last tile, no block
/// ends before its cluster.
#[inline(always)]
pub(crate) unsafe fn produce<const IS_LAST: bool>(ring: &mut Ring<OF_LAUNCH>, k_tiles: Range<u32>, loads: Loads) {
    let Loads { boxes: Ab { a, b }, a_bytes, depth } = loads;
    let mut k_tile = k_tiles.start;
    let is_elected = lanes::elect();
    while is_elected && k_tile < k_tiles.end {
        // SAFETY: this is the producer thread; the boxes are in the stage, which is empty.
        unsafe {
            let stage = ring.producer_acquire_for(a.bytes + b.bytes);
            a.load(stage.address, k_tile * depth, stage);
            b.load(stage.address + a_bytes, k_tile * depth, stage);
        }
        k_tile = compiler::opaque(k_tile + 1); // or LLVM would unroll the loop
    }
    if IS_LAST && is_elected {
        // SAFETY: this is the producer thread.
        unsafe { ring.producer_tail() };
    }
    // SAFETY: the whole warp is here.
    unsafe { warp::sync_warp(u32::MAX) }; // barriers want it converged
}

/// Zeroes what of each stage nobody loads, if there is such: MMAs read it, for no element of C.
///
/// # Safety
/// The consumers call it before the first k-tile, and are so many threads.
#[inline(always)]
pub(crate) unsafe fn zero_rest(ring: &Ring<OF_LAUNCH>, Loads { boxes, a_bytes, .. }: Loads, consumer_threads: u32) {
    let rest = Ab { a: boxes.a.bytes..a_bytes, b: a_bytes + boxes.b.bytes..ring.stage_bytes };
    if rest.a.is_empty() & rest.b.is_empty() {
        return;
    }
    let stages = shared::dynamic_shared_mem::<f32>();
    for rest in rest.into_array() {
        let mut byte = rest.start + thread::thread_idx_x() * VEC * 4;
        while byte < rest.end {
            let (mut at, end) = (byte, byte + ring.stages * ring.stage_bytes);
            while at < end {
                // SAFETY: a vector of a stage, and nobody else stores it.
                unsafe { f32x4::store(stages.wrapping_add((at / 4) as usize), [0.0; VEC as usize]) }
                at = compiler::opaque(at + ring.stage_bytes); // or LLVM would unroll the loop
            }
            byte = compiler::opaque(byte + consumer_threads * VEC * 4);
        }
    }
    wgmma::fence_operands();
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { sync_consumers(consumer_threads) }
}

/// Has `issue` issue the MMAs of each stage of so many k-tiles, which is told whether there were some before, and waits for all of them.
/// Those of a k-tile are issued before those of the one before it complete, and execute while `meanwhile` is called. Where there are several
/// slices, they take stages in turn, and these k-tiles are this one's.
///
/// # Safety
/// Every consumer thread calls it, and as many k-tiles are produced; `issue` neither commits nor waits.
#[inline(always)]
pub(crate) unsafe fn consume<const SLICES: u32>(
    ring: &mut Ring<OF_LAUNCH>,
    k_tiles: u32,
    mut issue: impl FnMut(Stage, bool),
    mut meanwhile: impl FnMut(u32),
) {
    let (mut is_first, mut left) = (true, k_tiles);
    while left > 0 {
        // SAFETY: a stage is full when it is read, and released when its MMAs are complete.
        unsafe {
            for _ in 1..SLICES {
                if !is_first {
                    ring.skip_one();
                }
            }
            let stage = ring.consumer_wait();
            wgmma::fence();
            issue(stage, !is_first);
            wgmma::commit_group();
            wgmma::wait_group::<1>();
            if !is_first {
                ring.consumer_release_ago(1 + SLICES);
            }
        }
        meanwhile(k_tiles - left);
        is_first = false;
        left = compiler::opaque(left - 1); // or LLVM would unroll the loop
    }
    wgmma::wait_group::<0>(); // before loops' ends meet, or ptxas would serialise the MMAs
}

/// Waits until all consumers are here, which are so many threads.
///
/// # Safety
/// The consumers call it.
#[inline(always)]
pub(crate) unsafe fn sync_consumers(consumer_threads: u32) {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe { barrier::sync(CONSUMERS, consumer_threads) }
}
