//! A matrix times up to FEW vectors, with k in any number of splits: each element of the matrix is loaded once, to registers.
//!
//! ```text
//!                 k, 4 in a fragment                   groups of threads share k,
//!             ┌────┬────┬────┬────┬─ ─ ┐               bundles the rows: 16 x 16,
//!   matrix    │    │    │    │    │    │ 4 rows        or 1 x 256 where there are
//!             ├────┼────┼────┼────┼─ ─ ┤ in a          four rows at most
//!   (rows, k) │    │    │    │    │    │ fragment
//!             └────┴────┴────┴────┴─ ─ ┘
//!             ┌────────────────────────┐
//!   vectors   │                        │ FEW           in shared memory, as f32
//!             └────────────────────────┘
//! ```
//!
//! So it is where rows are contiguous along k. Where they are adjacent, a thread has as many as 16 bytes are, or a word:
//! with several vectors a word, since 16 bytes would need too many accumulators.

#[cfg(feature = "device")]
mod adjacent_rows;
#[cfg(feature = "device")]
mod fragments;
#[cfg(feature = "device")]
mod load;
#[cfg(feature = "device")]
mod placement;
pub(crate) mod reduction;
#[cfg(feature = "device")]
pub(crate) mod row;
#[cfg(feature = "device")]
mod shifted_row;
pub(crate) mod staged_rows;
#[cfg(feature = "device")]
mod vectors;

#[cfg(feature = "device")]
pub(crate) use load::Load;
#[cfg(feature = "device")]
use {adjacent_rows::AdjacentRows, fragments::Fragments, placement::Placement};

/// Threads of a block.
pub(crate) const THREADS: u32 = 256;
/// Rows, and depth, of a thread's fragment of the matrix.
pub(crate) const SIDE: u32 = 4;
/// Rows of the matrix in a block.
pub(crate) const ROWS: u32 = 64;
/// Depth of the fragments of a block with so many rows.
pub(crate) const BK: u32 = THREADS / (ROWS / SIDE) * SIDE;
/// Depth of the vectors that are in shared memory at once: a multiple of what the threads of a block load of any matrix.
const CHUNK: u32 = THREADS * SIDE;

/// f32 values between the partial sums of all threads of one row of their bundles and of the next: adjacent rows start in other banks.
const PITCH: u32 = THREADS + 8;

/// What one block computes: some rows of the matrix, and some of k.
#[cfg(feature = "device")]
#[derive(Clone)]
pub(crate) struct Share<I> {
    /// (rows, k)
    pub matrix: Strided<I>,
    /// (few, k)
    pub vectors: Strided<I>,
    /// Rows of the matrix, at least 1 and [`ROWS`] at most.
    pub rows: u32,
    /// Vectors from the block's first one on.
    pub few: u32,
    /// From a multiple of [`BK`] on.
    pub k: core::ops::Range<u32>,
}

#[cfg(feature = "device")]
impl<I> Share<I> {
    /// Whether each row begins `count` elements behind the one before, where that many are a vector: their lines are aligned and whole.
    #[inline(always)]
    fn has_adjacent(&self, count: u32) -> bool {
        let Self { matrix, rows, .. } = self;
        let is_aligned = matrix.start.addr().is_multiple_of(count as usize * size_of::<I>());
        is_aligned & matrix.along_k.is_multiple_of(count) & rows.is_multiple_of(count)
    }
}

/// Publishes the sums of the products of each thread's part of the matrix and the vectors. [`reduction::reduce`] makes of them the sums of
/// the block.
///
/// # Safety
/// Every thread of the block calls it; `smem` has [`reduction::smem_bytes`]; what is in bounds of the share may be read.
#[cfg(feature = "device")]
#[inline(always)]
pub(crate) unsafe fn publish_sums<I: Load, const FEW: usize>(share: Share<I>, smem: *mut f32) -> Placement {
    // SAFETY: upheld by the caller (see `# Safety`).
    unsafe {
        if share.matrix.along_k == 1 {
            Fragments::new(share).publish::<FEW>(smem)
        } else if FEW == 1 && share.has_adjacent(SIDE * I::PER_WORD) {
            AdjacentRows::<I, 4, 4>::new(&share).publish::<FEW>(smem)
        } else if FEW == 1 {
            AdjacentRows::<I, 1, 16>::new(&share).publish::<FEW>(smem)
        } else {
            AdjacentRows::<I, 1, 8>::new(&share).publish::<FEW>(smem)
        }
    }
}

/// A matrix of which k is one dimension.
#[cfg(feature = "device")]
#[derive(Clone, Copy)]
pub(crate) struct Strided<I> {
    pub start: *const I,
    /// Elements from one p of k to the next.
    pub along_k: u32,
    /// Elements from one row to the next.
    pub across: u32,
}

#[cfg(feature = "device")]
impl<I> Strided<I> {
    /// The address of an element, which may be out of bounds; an access may not.
    #[inline(always)]
    pub fn at(&self, row: u32, p: u32) -> *const I {
        self.start.wrapping_add(row as usize * self.across as usize).wrapping_add(p as usize * self.along_k as usize)
    }

    /// Whether vectors of [`SIDE`] elements that begin at multiples of it are aligned to their size, where it is `ld` elements from one
    /// line of them to the next.
    #[inline(always)]
    pub fn is_aligned(&self, ld: u32) -> bool {
        self.start.addr().is_multiple_of(SIDE as usize * size_of::<I>()) && ld.is_multiple_of(SIDE)
    }
}
