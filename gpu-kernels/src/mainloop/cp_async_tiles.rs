//! Asynchronous copies of k-tiles of A and B, `cp.async`, to stages in shared memory; A is transposed on the way.
//!
//! ```text
//!   A (BM, BK) ── 4 bytes per copy ────────► (BK, A_PITCH) ┐
//!                                                          ├ a stage
//!   B (BK, BN) ── 16 bytes per copy, or 4 ──► (BK, BN)     ┘
//! ```
//!
//! Of A, a warp copies 8 values of each of 4 rows at once, to 32 banks; of B it copies adjacent values of one row.

use crate::Coord;
use crate::gemm::Gemm;
use crate::hardware::{VEC, WARP};
use crate::ptx::{cp_async, f32x4};
use cuda_std::prelude::*;

/// Columns of A that a warp copies at once.
const A_COLS: u32 = 8;

/// The copies of this thread: each [`issue`](Self::issue) is the next k-tile's.
pub(crate) struct KTileCopy<'g, const BM: u32, const BN: u32, const BK: u32, const A_PITCH: u32, const THREADS: u32> {
    g: &'g Gemm,
    is_full_tile: bool,
    /// Whether a copy of B has 16 bytes.
    is_vectorized: bool,
    a_gmem: *const f32,
    b_gmem: *const f32,
    /// The shared address of the stages.
    stages: u32,
}

impl<'g, const BM: u32, const BN: u32, const BK: u32, const A_PITCH: u32, const THREADS: u32>
    KTileCopy<'g, BM, BN, BK, A_PITCH, THREADS>
{
    const STAGE_BYTES: u32 = BK * (A_PITCH + BN) * 4;

    /// Before the first k-tile; `is_full_tile` if BM rows of A and BN columns of B are in bounds.
    ///
    /// # Safety
    /// `stages` points to shared memory.
    #[inline(always)]
    pub unsafe fn new(g: &'g Gemm, is_full_tile: bool, stages: *mut f32) -> Self {
        const { assert!((BM * BK).is_multiple_of(THREADS) && (BK * BN).is_multiple_of(THREADS * VEC), "equal shares") };
        // SAFETY: shared memory, upheld by the caller.
        let stages = unsafe { shared::address(stages) };
        let is_vectorized = is_full_tile & f32x4::aligned(g.b, g.ldb);
        let (a, b) = Self::coords(if is_vectorized { VEC } else { 1 });
        // One k-tile before the first: `issue` advances first, since the copies before may not have read their addresses.
        let a_gmem = g.a(a.row, a.col).wrapping_sub(BK as usize);
        let b_gmem = g.b(b.row, b.col).wrapping_sub(BK as usize * g.ldb);
        Self { g, is_full_tile, is_vectorized, a_gmem, b_gmem, stages }
    }

    /// Issues this thread's copies of the next k-tile, which begins at `p`, as one group. Zeros replace what is out of bounds.
    /// Not `inline(always)`: LLVM would inline it before it simplifies it, unroll the prologue and hoist fewer addresses.
    ///
    /// # Safety
    /// No thread accesses the stage before the group is waited for.
    #[inline]
    pub unsafe fn issue(&mut self, p: u32, stage: u32) {
        self.a_gmem = self.a_gmem.wrapping_add(BK as usize);
        self.b_gmem = self.b_gmem.wrapping_add(BK as usize * self.g.ldb);
        let (g, a, b, target) = (self.g, self.a_gmem, self.b_gmem, self.stages + stage * Self::STAGE_BYTES);
        // SAFETY: the stage is free, upheld by the caller; rows and columns are in bounds, or checked.
        unsafe {
            if self.is_vectorized {
                Self::copy::<VEC, false>(g, p, a, b, target);
            } else if self.is_full_tile {
                Self::copy::<1, false>(g, p, a, b, target);
            } else {
                Self::copy::<1, true>(g, p, a, b, target);
            }
        }
        cp_async::commit_group();
    }

    /// Issues the copies from `a_gmem` and `b_gmem`, W adjacent values of B each.
    ///
    /// # Safety
    /// As of [`issue`](Self::issue), at its shared address. Without BOUNDS_CHECKED, BM rows of A and BN columns of B are in
    /// bounds; if W is VEC, the rows of B are aligned to 16 bytes.
    #[inline(always)]
    unsafe fn copy<const W: u32, const BOUNDS_CHECKED: bool>(
        g: &Gemm,
        p: u32,
        a_gmem: *const f32,
        b_gmem: *const f32,
        target: u32,
    ) {
        let (a, b) = Self::coords(W);
        for i in (0..BM).step_by((THREADS / A_COLS) as usize) {
            for d in (0..BK).step_by(A_COLS as usize) {
                let is_in_bounds = (!BOUNDS_CHECKED | (a.row + i < g.m)) & (p + a.col + d < g.k);
                let target = target + ((a.col + d) * A_PITCH + a.row + i) * 4;
                let source = a_gmem.wrapping_add(i as usize * g.lda + d as usize);
                // SAFETY: the target is in (BK, A_PITCH) of the stage; the source is read only if it is in bounds.
                unsafe { cp_async::copy_or_zero::<1>(target, source, is_in_bounds) };
            }
        }
        for d in (0..BK).step_by((THREADS / WARP) as usize) {
            for j in (0..BN).step_by((WARP * W) as usize) {
                let is_in_bounds = (!BOUNDS_CHECKED | (b.col + j < g.n)) & (p + b.row + d < g.k);
                let target = target + (BK * A_PITCH + (b.row + d) * BN + b.col + j) * 4;
                let source = b_gmem.wrapping_add(d as usize * g.ldb + j as usize);
                // SAFETY: the target is in (BK, BN) of the stage; the source is aligned, and read only if it is in bounds.
                unsafe { cp_async::copy_or_zero::<W>(target, source, is_in_bounds) };
            }
        }
    }

    /// The first elements of A (BM, BK) and of B (BK, BN) that this thread copies, `width` values of B at once.
    #[inline(always)]
    fn coords(width: u32) -> (Coord, Coord) {
        let tid = thread::thread_idx_x();
        (Coord { row: tid / A_COLS, col: tid % A_COLS }, Coord { row: tid / WARP, col: tid % WARP * width })
    }
}
