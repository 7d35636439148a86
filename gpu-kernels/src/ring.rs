//! What the tensor-core steps share: one thread has the copy engine fill a ring of stages, two warpgroups multiply what is in
//! them, and both go from tile to tile.
//!
//! ```text
//!   warpgroup 0 ──► copy engine ──► stage 0 │ stage 1 │ ...   ── full ──►  warpgroups 1 and 2: 64 rows of products each
//!        ▲                                                                       │
//!        └─────────────────────────────── empty ─────────────────────────────────┘
//! ```
//!
//! Registers go where they are needed: the first warpgroup gives its own away, the others hold the sums.

use crate::ptx::mbarrier::Mbarrier;
use crate::ptx::tensor::{self, TensorMap};
use crate::ptx::wgmma::{self, ATOM_BYTES, WARPGROUP};
use crate::ptx::{cluster, compiler, wgmma::ROWS};
use crate::tile::WARP;
use crate::{persistent_tile, persistent_tiles};
use cuda_std::prelude::*;

/// Warpgroups that multiply.
pub(crate) const CONSUMERS: u32 = 2;
/// Threads of a block.
pub(crate) const THREADS: u32 = (1 + CONSUMERS) * WARPGROUP;
/// Rows of products of a block.
pub(crate) const BLOCK_ROWS: u32 = CONSUMERS * ROWS;

/// Registers of a thread that feeds, and of one that multiplies: together, all that a multiprocessor has.
const FEEDS: u32 = 40;
const MULTIPLIES: u32 = 232;

/// A ring of stages, in a cluster of so many blocks.
pub(crate) struct Ring<const CLUSTER: u32> {
    /// Where the stages are.
    address: u32,
    stages: u32,
    /// Bytes of a stage.
    bytes: u32,
    /// Ends a phase when a stage has all its bytes.
    full: Mbarrier,
    /// Ends a phase when all warps that multiply, of all blocks of the cluster, have read a stage.
    empty: Mbarrier,
    index: u32,
    parity: u32,
}

/// A stage to be filled or read.
#[derive(Clone, Copy)]
pub(crate) struct Stage {
    index: u32,
    /// Where it is in shared memory.
    pub address: u32,
}

impl Stage {
    /// What it consists of from that byte on.
    #[inline(always)]
    pub fn words(self, byte: u32) -> *const f32 {
        let smem = shared::dynamic_shared_mem::<f32>();
        // SAFETY: into shared memory.
        let start = unsafe { shared::address(smem) };
        smem.wrapping_add(((self.address - start + byte) / 4) as usize)
    }
}

impl<const CLUSTER: u32> Ring<CLUSTER> {
    /// Makes the barriers.
    ///
    /// # Safety
    /// Every thread of the cluster calls it once, with [`smem_bytes`] of dynamic shared memory.
    #[inline(always)]
    pub unsafe fn start(stages: u32, bytes: u32) -> Self {
        let smem = shared::dynamic_shared_mem::<u8>();
        // SAFETY: the barriers lie behind the stages, at a multiple of 8 bytes; one thread makes them, and all wait.
        unsafe {
            let full = Mbarrier::at(smem.wrapping_add((stages * bytes) as usize).cast());
            let empty = full.add(stages);
            if thread::thread_idx_x() == 0 {
                for stage in 0..stages {
                    full.add(stage).init(1);
                    empty.add(stage).init(CONSUMERS * WARPGROUP / WARP * CLUSTER);
                }
                cluster::fence_barrier_init();
            }
            cluster::sync(); // the barriers of all blocks are made
            Self { address: shared::address(smem), stages, bytes, full, empty, index: 0, parity: 0 }
        }
    }

    /// Waits for a free stage, and announces its bytes at the barrier that the copies are to count at.
    ///
    /// # Safety
    /// The thread that feeds calls it, and has a stage's bytes copied there.
    #[inline(always)]
    pub unsafe fn fill(&mut self) -> (Stage, Mbarrier) {
        let (stage, parity) = self.step();
        // SAFETY: the barriers were made.
        unsafe {
            self.empty.add(stage.index).wait(parity ^ 1); // the first time around, nobody has to leave
            self.full.add(stage.index).arrive_and_expect(self.bytes);
        }
        (stage, self.full.add(stage.index))
    }

    /// Waits until the next stage is full.
    ///
    /// # Safety
    /// Every thread of a warpgroup that multiplies calls it, for each stage that is filled.
    #[inline(always)]
    pub unsafe fn take(&mut self) -> Stage {
        let (stage, parity) = self.step();
        // SAFETY: the barriers were made.
        unsafe { self.full.add(stage.index).wait(parity) };
        stage
    }

    /// Leaves a stage, of which nothing is read any more.
    ///
    /// # Safety
    /// Every thread that took it calls it, and is done with it.
    #[inline(always)]
    pub unsafe fn release(&self, stage: Stage) {
        // SAFETY: the barriers were made, and no block ends before its cluster.
        unsafe {
            if warp::lane_id() < CLUSTER {
                let empty = self.empty.add(stage.index);
                if CLUSTER == 1 { empty.arrive() } else { empty.arrive_at(warp::lane_id()) }
            }
        }
    }

    /// Leaves the stage before, if there is one.
    ///
    /// # Safety
    /// As of [`release`](Self::release).
    #[inline(always)]
    pub unsafe fn release_before(&self, stage: Option<Stage>) {
        if let Some(stage) = stage {
            // SAFETY: by the caller's promise.
            unsafe { self.release(stage) }
        }
    }

    #[inline(always)]
    fn step(&mut self) -> (Stage, u32) {
        let (index, parity) = (self.index, self.parity);
        self.index += 1;
        if self.index == self.stages {
            (self.index, self.parity) = (0, parity ^ 1);
        }
        (Stage { index, address: compiler::anew(self.address + index * self.bytes) }, parity)
    }
}

/// Dynamic shared memory of a ring of `stages` of so many bytes.
pub(crate) const fn smem_bytes(stages: u32, bytes: u32) -> u32 {
    assert!(bytes.is_multiple_of(ATOM_BYTES), "swizzled rows come eight at a time");
    stages * (bytes + 16)
}

/// Whether this thread's warpgroup feeds the others.
#[inline(always)]
pub(crate) fn feeds() -> bool {
    thread::thread_idx_x() < WARPGROUP
}

/// Gives registers of this warpgroup, which feeds, to the others. The assembler wants to see that at the start of its branch.
#[inline(always)]
pub(crate) fn give_registers() {
    wgmma::give_registers::<FEEDS>();
}

/// Takes registers for this warpgroup, which multiplies.
#[inline(always)]
pub(crate) fn take_registers() {
    wgmma::take_registers::<MULTIPLIES>();
}

/// The number of this thread's warpgroup among those that multiply.
#[inline(always)]
pub(crate) fn consumer() -> u32 {
    thread::thread_idx_x() / WARPGROUP - 1
}

/// The row and column of each of this block's tiles, of `rows` x `columns` of `bm` rows.
#[inline(always)]
pub(crate) fn tiles<const CLUSTER: u32>(rows: u32, columns: u32, bm: u32) -> impl Iterator<Item = [u32; 2]> {
    numbers::<CLUSTER>(rows, columns).map(move |number| persistent_tile(number, [rows, columns], bm, CLUSTER))
}

/// The numbers of these tiles: who needs to know late which tile it is finds out by [`persistent_tile`].
#[inline(always)]
pub(crate) fn numbers<const CLUSTER: u32>(rows: u32, columns: u32) -> impl Iterator<Item = u32> {
    let mut next = thread::block_idx_x();
    core::iter::from_fn(move || {
        let number = (next < persistent_tiles(rows, columns, CLUSTER)).then_some(next);
        next += thread::grid_dim_x();
        number
    })
}

/// The end of a kernel: no block copies to this one any more, nor arrives at its barriers.
///
/// # Safety
/// Every thread of the cluster calls it, having left the tiles behind.
#[inline(always)]
pub(crate) unsafe fn finish() {
    // SAFETY: all lanes are here, of the warp of which one has fed, too.
    unsafe { warp::sync_warp(u32::MAX) };
    cluster::sync();
}

/// Has the copy engine bring the box at (`row`, `col`) to that place in every block of the cluster.
///
/// # Safety
/// As [`tensor::multicast`].
#[inline(always)]
pub(crate) unsafe fn bring<const CLUSTER: u32>(
    target: u32,
    map: *const TensorMap,
    [row, col]: [u32; 2],
    full: Mbarrier,
) {
    // SAFETY: by the caller's promise.
    unsafe {
        if CLUSTER == 1 {
            tensor::copy(target, map, row, col, full);
        } else {
            tensor::multicast(target, map, row, col, full, (1 << CLUSTER) - 1);
        }
    }
}
