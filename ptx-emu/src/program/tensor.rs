//! Matrices: `ldmatrix`, `stmatrix`, `movmatrix`, `mma`, `wmma`, `wgmma`.

use super::memory::Access;
use super::memory::AddressExpr;
use super::sparse::Sparse;
use crate::lanes::{Condition, LANES, Slot};
use crate::ops::tensor_core::Format;
use crate::ops::warp_mma::{BitProduct, Float8};
use crate::types::Space;

use rustc_apfloat::Round;

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

/// `mma`, `wmma.mma`: D = A B + C of a warp. Fragments are where `fragment` says.
pub(crate) struct WarpMma {
    pub arithmetic: Arithmetic,
    pub sparse: Option<Sparse>,
    pub shape: MmaShape,
    pub d: Box<[Slot]>,
    pub a: Box<[Slot]>,
    pub b: Box<[Slot]>,
    pub c: Box<[Slot]>,
}

/// Rows and columns of D, and the elements of k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MmaShape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}

impl MmaShape {
    /// The elements of a row of A, of which a sparse one has half.
    pub(crate) const fn depth(self, is_sparse: bool) -> usize {
        if is_sparse { self.k / 2 } else { self.k }
    }
}

/// What an MMA computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Arithmetic {
    /// Fused sums of `depth` products each, of elements of A and of B.
    Fused {
        formats: [Format; 2],
        depth: usize,
        c: Accumulator,
        d: Accumulator,
    },
    /// Of a warp: converted to f16.
    Float8 {
        a: Float8,
        b: Float8,
        accumulator: Accumulator,
    },
    Double(Round),
    Integer {
        a: IntegerFormat,
        b: IntegerFormat,
        saturates: bool,
    },
    Bits(BitProduct),
    /// `m8n8k4` of f16: each quarter of a warp has matrices of its own.
    Quads {
        a_by_columns: bool,
        b_by_rows: bool,
        c: Accumulator,
        d: Accumulator,
    },
}

/// The floating-point type of C or D. Two f16 take a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Accumulator {
    F16,
    F32,
}

/// An integer of 4 or 8 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IntegerFormat {
    pub bits: u32,
    pub is_signed: bool,
}

impl IntegerFormat {
    /// The integer in the lowest bits of a word.
    pub(crate) const fn widen(self, word: u32) -> i16 {
        let shifted = word << (32 - self.bits);
        if self.is_signed { (shifted as i32 >> (32 - self.bits)) as i16 } else { (shifted >> (32 - self.bits)) as i16 }
    }
}

impl Arithmetic {
    /// Bits of an element of A or B.
    pub(crate) const fn element_bits(self) -> usize {
        match self {
            Self::Fused { formats: [format, _], .. } => 8 * format.bytes(),
            Self::Float8 { .. } => 8,
            Self::Double(_) => 64,
            Self::Integer { a, .. } => a.bits as usize,
            Self::Bits(_) => 1,
            Self::Quads { .. } => 16,
        }
    }
}

/// Moves a warp's fragments.
pub(crate) enum Fragments {
    /// `wmma.load`, `wmma.store`.
    Access(FragmentAccess),
    /// `movmatrix`.
    Transpose(Transpose),
}

/// Transposes an 8 x 8 matrix of 16-bit elements, two adjacent ones of a row in each lane.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Transpose {
    pub from: Slot,
    pub to: Slot,
}

/// A matrix in memory whose rows, or columns, are `stride` elements apart.
pub(crate) struct FragmentAccess {
    pub is_store: bool,
    pub space: Space,
    pub address: AddressExpr,
    /// In elements; of consecutive rows or columns if none is given.
    pub stride: Stride,
    /// Bits of an element.
    pub bits: u32,
    pub pieces: Box<[Piece]>,
    /// Registers of a fragment that repeat others: from, to.
    pub copies: Box<[(Slot, Slot)]>,
}

/// The distance of rows or columns.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stride {
    Register(Slot),
    Constant(u32),
}

/// One access of each lane.
pub(crate) struct Piece {
    /// Its registers; the address is that of the matrix.
    pub access: Access,
    /// By lane: the row (or column) that it is in, and the element there.
    pub places: [(u16, u16); LANES],
    /// Before a store, or after a load: memory has the block transposed.
    pub transposed: Option<Transpose>,
    /// Bits by which the loaded value is shifted in its register, and added to what is there.
    pub shift: u32,
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
    pub arithmetic: Arithmetic,
    pub sparse: Option<Sparse>,
    /// Its k is that of B.
    pub shape: MmaShape,
    /// Four registers per eight columns, or two of two f16 each.
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
