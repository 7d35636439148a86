//! Asynchronous copies of an operand's k-tiles, `cp.async`, whatever its order, to (BK, PITCH) in shared memory.
//!
//! ```text
//!   k contiguous                 4 bytes per copy: a warp's are 8 along k of 4 rows   ┐
//!   rows contiguous              4 bytes per copy: adjacent lanes along the rows      ├──► (BK, PITCH)
//!   rows contiguous and aligned  16 bytes per copy                                    ┘
//! ```
//!
//! "Rows" are those of A or the columns of B: whatever is not k. A warp's copies of 4 bytes go to 32 banks: PITCH is ROWS + PAD, where
//! PAD is VEC.
//!
//! A thread copies along lines, which are contiguous in memory: from one copy to the next there, both addresses change by a constant,
//! which is part of the instruction. Only from a line to the next one is there an address to compute.

use crate::hardware::{VEC, WARP};
use crate::ptx::{compiler, cp_async, f32x4};
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

/// A thread's copies of a k-tile: `lines`, and in each `copies` of W adjacent values.
struct Lines<const W: u32> {
    lines: u32,
    copies: u32,
    /// Between lines: what is counted by the bound of lines, and bytes of shared memory.
    line_step: u32,
    line_bytes: u32,
    /// Between the copies of a line: elements in memory, and bytes of shared memory.
    copy_step: u32,
    copy_bytes: u32,
}

impl<const W: u32> Lines<W> {
    /// Issues the copies, zeros where a bound is reached: so much is left of lines, and in each line, from the first copy on. Lines are
    /// `ld` elements apart. Where the line behind the last one begins.
    ///
    /// # Safety
    /// As of [`OperandCopy::issue`].
    #[inline(always)]
    unsafe fn issue(self, mut source: *const f32, ld: usize, target: u32, lines_left: u32, left: u32) -> *const f32 {
        // The bound of lines, for each copy of a line. If it were not opaque, LLVM would test both bounds for each copy.
        const COPIES: u32 = 4;
        let bound: [u32; COPIES as usize] = core::array::from_fn(|copy| {
            let is_in_bounds = (copy as u32) * self.copy_step < left;
            compiler::opaque(if is_in_bounds { lines_left } else { 0 })
        });
        for line in 0..self.lines {
            for copy in 0..self.copies {
                // SAFETY: upheld by the caller (see `# Safety`).
                unsafe {
                    let source = source.wrapping_add((copy * self.copy_step) as usize);
                    let target = target + line * self.line_bytes + copy * self.copy_bytes;
                    cp_async::copy_or_zero::<W>(target, source, line * self.line_step < bound[copy as usize]);
                }
            }
            source = source.wrapping_add(ld);
        }
        source
    }
}

/// The copies of this thread: each [`issue`](Self::issue) is the next k-tile's.
pub(crate) struct OperandCopy<const ROWS: u32, const BK: u32, const PAD: u32, const THREADS: u32> {
    /// The first element of this thread's next copy, and elements from a line to its next one.
    source: *const f32,
    step: usize,
    /// The shared address of the first copy in stage 0.
    target: u32,
    /// The k in the k-tile of the first copy, and rows in bounds from its row on.
    k: u32,
    rows: u32,
    is_k_contiguous: bool,
    is_vectorized: bool,
}

impl<const ROWS: u32, const BK: u32, const PAD: u32, const THREADS: u32> OperandCopy<ROWS, BK, PAD, THREADS> {
    const PITCH: u32 = ROWS + PAD;
    /// Rows that all threads copy at once where k is contiguous; the others copy along k.
    const ROWS_AT_ONCE: u32 = THREADS / DEPTH;
    /// Lanes along the rows where these are contiguous, and the k that all threads copy at once, by 4 bytes and by 16.
    const LANES: u32 = if ROWS < WARP { ROWS } else { WARP };
    const K_AT_ONCE: u32 = THREADS / Self::LANES;
    const WIDE_LANES: u32 = ROWS / VEC;
    const WIDE_K_AT_ONCE: u32 = THREADS / Self::WIDE_LANES;

    /// Where k is contiguous.
    const ALONG_K: Lines<1> = Lines {
        lines: ROWS / Self::ROWS_AT_ONCE,
        copies: BK / DEPTH,
        line_step: Self::ROWS_AT_ONCE,
        line_bytes: Self::ROWS_AT_ONCE * 4,
        copy_step: DEPTH,
        copy_bytes: DEPTH * Self::PITCH * 4,
    };
    /// Where rows are.
    const ALONG_ROWS: Lines<1> = Lines {
        lines: BK / Self::K_AT_ONCE,
        copies: ROWS / Self::LANES,
        line_step: Self::K_AT_ONCE,
        line_bytes: Self::K_AT_ONCE * Self::PITCH * 4,
        copy_step: Self::LANES,
        copy_bytes: Self::LANES * 4,
    };
    /// Where rows are, and aligned.
    const WIDE: Lines<VEC> = Lines {
        lines: BK / Self::WIDE_K_AT_ONCE,
        copies: 1,
        line_step: Self::WIDE_K_AT_ONCE,
        line_bytes: Self::WIDE_K_AT_ONCE * Self::PITCH * 4,
        copy_step: ROWS,
        copy_bytes: ROWS * 4,
    };

    /// Before the first k-tile, for stages at that shared address.
    #[inline(always)]
    pub fn new(from: Source, stages: u32) -> Self {
        const {
            assert!(ROWS.is_multiple_of(Self::ROWS_AT_ONCE) && BK.is_multiple_of(DEPTH), "equal shares");
            assert!(ROWS.is_multiple_of(Self::LANES) && BK.is_multiple_of(Self::K_AT_ONCE), "equal shares");
            assert!(
                THREADS.is_multiple_of(Self::WIDE_LANES) && BK.is_multiple_of(Self::WIDE_K_AT_ONCE),
                "equal shares"
            );
        }
        let tid = thread::thread_idx_x();
        let Source { matrix, ld, is_k_contiguous, .. } = from;
        let left = from.rows - from.row;
        let is_whole = (left >= ROWS) | left.is_multiple_of(VEC);
        // A tile begins at a multiple of VEC rows.
        let is_vectorized = !is_k_contiguous & is_whole & f32x4::aligned(matrix, ld);
        let (row, k, lines) = if is_k_contiguous {
            let (warp, lane) = (tid / WARP, tid % WARP);
            (warp * ACROSS + lane / DEPTH, lane % DEPTH, Self::ROWS_AT_ONCE)
        } else if is_vectorized {
            (tid % Self::WIDE_LANES * VEC, tid / Self::WIDE_LANES, Self::WIDE_K_AT_ONCE)
        } else {
            (tid % Self::LANES, tid / Self::LANES, Self::K_AT_ONCE)
        };
        let (outer, inner) = if is_k_contiguous { (from.row + row, from.k + k) } else { (from.k + k, from.row + row) };
        Self {
            source: matrix.wrapping_add(outer as usize * ld + inner as usize),
            step: ld * lines as usize,
            target: stages + (k * Self::PITCH + row) * 4,
            k,
            rows: left.saturating_sub(row),
            is_k_contiguous,
            is_vectorized,
        }
    }

    /// Issues this thread's copies of the next k-tile to the stage at that offset in bytes; of k, so much is left from the k-tile's
    /// first on. Zeros replace what is out of bounds.
    ///
    /// # Safety
    /// No thread accesses the stage before the copies are waited for.
    #[inline(always)]
    pub unsafe fn issue(&mut self, k_left: u32, stage: u32) {
        let Self { source, step, rows, .. } = *self;
        let target = self.target + stage;
        let k_left = k_left.saturating_sub(self.k);
        // SAFETY: the stage is free, upheld by the caller; a source is read only if it is in bounds.
        self.source = unsafe {
            if self.is_k_contiguous {
                Self::ALONG_K.issue(source, step, target, rows, k_left);
                source.wrapping_add(BK as usize)
            } else if self.is_vectorized {
                Self::WIDE.issue(source, step, target, k_left, rows)
            } else {
                Self::ALONG_ROWS.issue(source, step, target, k_left, rows)
            }
        };
    }
}
