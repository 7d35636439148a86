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

#[cfg(feature = "device")]
mod fragments;
#[cfg(feature = "device")]
mod load;
pub(crate) mod reduction;
#[cfg(feature = "device")]
pub(crate) mod row;
pub(crate) mod staged_rows;

#[cfg(feature = "device")]
pub(crate) use fragments::Fragments;
#[cfg(feature = "device")]
pub(crate) use load::Load;

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

/// Loads of the vectors that a thread has in flight.
const STAGED: u32 = 8;

/// Values of `few` vectors in shared memory: a chunk of each, and what all threads load at once.
pub(crate) const fn vector_values(few: u32) -> u32 {
    let (chunks, at_once) = (few * CHUNK, THREADS * STAGED);
    if chunks > at_once { chunks } else { at_once }
}

/// What one block computes: some rows of the matrix, and some of k.
#[cfg(feature = "device")]
#[derive(Clone)]
pub(crate) struct Share<I> {
    /// (rows, k)
    pub matrix: Strided<I>,
    /// (few, k)
    pub vectors: Strided<I>,
    /// Rows of the matrix from the block's first one on; the block has [`ROWS`] at most.
    pub rows: u32,
    /// Vectors from the block's first one on.
    pub few: u32,
    /// From a multiple of [`BK`] on.
    pub k: core::ops::Range<u32>,
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
