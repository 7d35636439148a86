//! Asynchronous copies of an operand's k-tiles, `cp.async`, whatever its order, to (BK, PITCH) in shared memory.
//!
//! ```text
//!   k contiguous                 4 bytes per copy: a warp's are 8 along k of 4 rows    ┐
//!   rows contiguous              4 bytes per copy: ROWS_AT_ONCE rows of one k or more  ├──► (BK, PITCH)
//!   rows contiguous and aligned  16 bytes per copy                                     ┘
//! ```
//!
//! "Rows" are those of A or the columns of B: whatever is not k. A warp's copies of 4 bytes go to 32 banks: PITCH is ROWS + PAD, where
//! PAD is VEC.
//!
//! In every order, a thread has the same k of each k-tile, and its rows are ROWS_AT_ONCE apart. So the code has no branches, and FMAs
//! beside it hide its latencies: it is short, but a predicate or an address is known many cycles after its instruction.

use core::marker::PhantomData;

use crate::hardware::{VEC, WARP};
use crate::ptx::{cp_async, f32x4};
use cuda_std::prelude::*;

/// Values along k that a warp copies at once where k is contiguous, and rows of these.
const DEPTH: u32 = 8;
const ACROSS: u32 = WARP / DEPTH;

/// An operand, and where in it a block begins.
#[derive(Clone, Copy)]
pub(crate) struct Source {
    pub matrix: *const f32,
    pub ld: usize,
    pub is_k_contiguous: bool,
    /// Rows in all.
    pub rows: u32,
    /// The first row of the block's tile, and the first k of its first k-tile.
    pub row: u32,
    pub k: u32,
}

impl Source {
    /// Whether a tile of so many rows is copied 16 bytes at a time. It begins at a multiple of VEC rows.
    #[inline(always)]
    pub fn is_wide(self, rows: u32) -> bool {
        let left = self.rows - self.row;
        let is_whole = (left >= rows) | left.is_multiple_of(VEC);
        !self.is_k_contiguous & is_whole & f32x4::aligned(self.matrix, self.ld)
    }
}

/// What is known of an operand's order when a mainloop is compiled: copies of the other orders are left out.
pub(crate) trait Order {
    /// Whether there may be copies of 4 bytes, and of 16.
    const IS_NARROW: bool;
    const IS_WIDE: bool;
}

/// Nothing: both stand side by side, under a predicate.
pub(crate) struct AnyOrder;

impl Order for AnyOrder {
    const IS_NARROW: bool = true;
    const IS_WIDE: bool = true;
}

/// 4 bytes per copy.
pub(crate) struct Narrow;

impl Order for Narrow {
    const IS_NARROW: bool = true;
    const IS_WIDE: bool = false;
}

/// 16 bytes per copy.
pub(crate) struct Wide;

impl Order for Wide {
    const IS_NARROW: bool = false;
    const IS_WIDE: bool = true;
}

/// The copies of this thread: each [`issue`](Self::issue) is the next k-tile's.
pub(crate) struct OperandCopy<O, const ROWS: u32, const BK: u32, const PAD: u32, const THREADS: u32> {
    /// The first element of this thread's next copy; elements from there to its next row, and to the k-tile behind it.
    source: *const f32,
    row_step: usize,
    tile_step: usize,
    /// The shared address of the first copy in stage 0.
    target: u32,
    /// Its k in the k-tile, and copies whose rows are in bounds.
    k: u32,
    in_bounds: u32,
    is_narrow: bool,
    is_wide: bool,
    order: PhantomData<O>,
}

impl<O: Order, const ROWS: u32, const BK: u32, const PAD: u32, const THREADS: u32>
    OperandCopy<O, ROWS, BK, PAD, THREADS>
{
    const PITCH: u32 = ROWS + PAD;
    /// Rows that all threads copy at once, by 4 bytes.
    const ROWS_AT_ONCE: u32 = THREADS / BK;
    /// A thread's copies of a k-tile, of 4 bytes and of 16.
    const COPIES: u32 = ROWS / Self::ROWS_AT_ONCE;
    const WIDE_COPIES: u32 = Self::COPIES.div_ceil(VEC);

    /// Before the first k-tile, for stages at that shared address.
    #[inline(always)]
    pub fn new(from: Source, stages: u32) -> Self {
        const {
            assert!(THREADS.is_multiple_of(BK) && ROWS.is_multiple_of(Self::ROWS_AT_ONCE), "equal shares");
            assert!(BK.is_multiple_of(DEPTH) && (THREADS / WARP).is_multiple_of(BK / DEPTH), "warps along k");
            assert!(Self::ROWS_AT_ONCE <= WARP && Self::ROWS_AT_ONCE.is_multiple_of(ACROSS), "rows of a warp");
        }
        let (warp, lane) = (thread::thread_idx_x() / WARP, thread::thread_idx_x() % WARP);
        let Source { matrix, ld, is_k_contiguous, .. } = from;
        let is_wide = O::IS_WIDE && (!O::IS_NARROW || from.is_wide(ROWS));
        let (row, k) = if is_k_contiguous {
            let warps = const { BK / DEPTH };
            (warp / warps * ACROSS + lane / DEPTH, warp % warps * DEPTH + lane % DEPTH)
        } else {
            // The k of a warp are so far apart that its rows of each go to other banks.
            let warps = const { Self::ROWS_AT_ONCE / ACROSS };
            let k = lane / Self::ROWS_AT_ONCE * warps + warp % warps + warp / warps * DEPTH;
            (lane % Self::ROWS_AT_ONCE * if is_wide { VEC } else { 1 }, k)
        };
        let rows = (from.rows - from.row).saturating_sub(row);
        let rows_at_once = Self::ROWS_AT_ONCE * if is_wide { VEC } else { 1 };
        let (outer, inner) = if is_k_contiguous { (from.row + row, from.k + k) } else { (from.k + k, from.row + row) };
        let (row_stride, k_stride) = if is_k_contiguous { (ld, 1) } else { (1, ld) };
        Self {
            source: matrix.wrapping_add(outer as usize * ld + inner as usize),
            row_step: Self::ROWS_AT_ONCE as usize * row_stride,
            tile_step: BK as usize * k_stride,
            target: stages + (k * Self::PITCH + row) * 4,
            k,
            in_bounds: rows.div_ceil(rows_at_once),
            is_narrow: !is_wide,
            is_wide: is_wide & (row < ROWS),
            order: PhantomData,
        }
    }

    /// Issues this thread's copies of the next k-tile to the stage at that offset in bytes; of k, so much is left from the k-tile's
    /// first on. Zeros replace what is out of bounds.
    ///
    /// # Safety
    /// No thread accesses the stage before the copies are waited for.
    #[inline(always)]
    pub unsafe fn issue(&mut self, k_left: u32, stage: u32) {
        let in_bounds = if self.k < k_left { self.in_bounds } else { 0 };
        let target = self.target + stage;
        let mut source = self.source;
        for copy in 0..Self::COPIES {
            // SAFETY: upheld by the caller; a source is read only if it is in bounds.
            unsafe {
                if O::IS_WIDE && copy < Self::WIDE_COPIES {
                    let rows = copy * Self::ROWS_AT_ONCE * VEC;
                    let bytes = if copy < in_bounds { VEC * 4 } else { 0 };
                    let source = self.source.wrapping_add(rows as usize);
                    cp_async::copy_first::<VEC>(target + rows * 4, source.cast(), bytes, self.is_wide);
                }
                if O::IS_NARROW {
                    let rows = copy * Self::ROWS_AT_ONCE;
                    let bytes = if copy < in_bounds { 4 } else { 0 };
                    cp_async::copy_first::<1>(target + rows * 4, source.cast(), bytes, self.is_narrow);
                }
            }
            source = source.wrapping_add(self.row_step);
        }
        self.source = self.source.wrapping_add(self.tile_step);
    }
}
