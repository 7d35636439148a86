//! Matrices: `ldmatrix`, `stmatrix`, `mma`, `wgmma`.

use super::memory::AddressExpr;
use crate::lanes::{Condition, Slot};
use crate::ops::tensor_core::Format;
use crate::types::Space;

/// `ldmatrix`, `stmatrix`: 8 x 8 matrices of 16-bit elements; each lane holds two adjacent elements of each.
pub(crate) struct Matrices {
    pub is_store: bool,
    pub space: Space,
    /// Row addresses: lanes 0 to 7 hold those of the first matrix, and so on.
    pub address: AddressExpr,
    /// One for each matrix.
    pub registers: Box<[Slot]>,
    pub transposed: bool,
}

/// `mma`: D = A B + C of a warp, with 16 rows, 8 columns and one k-step of 16-bit elements.
pub(crate) struct WarpMma {
    pub format: Format,
    pub d: Box<[Slot]>,
    pub a: Box<[Slot]>,
    pub b: Box<[Slot]>,
    pub c: Box<[Slot]>,
}

/// A `wgmma` instruction.
pub(crate) enum Wgmma {
    /// `wgmma.fence`: orders register accesses.
    Fence,
    Mma(Mma),
    /// `wgmma.commit_group`.
    Commit,
    /// `wgmma.wait_group`: all groups but the last that many.
    Wait(u32),
}

/// `wgmma.mma_async`: D = A B + D, or D = A B, with 64 rows.
pub(crate) struct Mma {
    pub format: Format,
    pub columns: u32,
    /// Four registers per eight columns.
    pub d: Box<[Slot]>,
    pub a: MmaOperand,
    /// B: its descriptor, and whether elements are contiguous along the columns instead of along k.
    pub b: Slot,
    pub b_is_transposed: bool,
    /// PTX `scale-d`: whether D is added.
    pub accumulate: Condition,
    /// `scale-a` times `scale-b` is -1.
    pub negate: bool,
}

/// The A operand.
pub(crate) enum MmaOperand {
    Registers(Box<[Slot]>),
    /// As `Mma::b` and `Mma::b_is_transposed`.
    Shared {
        descriptor: Slot,
        is_transposed: bool,
    },
}
