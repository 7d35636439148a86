//! A problem as kernels see it: with a row-major D.

use gpu_kernels::{Ab, BiasPer, MAX_SIZE, Operand, Step};

use super::stored::Stored;
use super::{Buffer, Passes, Place};
use crate::Error;
use crate::problem::{Order, Problem, View};

/// D = A\*B with D row-major. Where the caller's D is column-major, this is the transpose of his problem: A and B change places.
///
/// A vector is both. Then D is a column if that makes A row-major: a product of contiguous rows and a vector has one form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Oriented {
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    pub(crate) operands: Ab<Stored>,
    /// What the addresses of all problems of the batch are multiples of, in bytes.
    pub(crate) alignments: Ab<u64>,
    /// Of C: elements from a row to the next, and from a column to the next.
    pub(super) c_strides: [u64; 2],
    pub(crate) ldd: u64,
    pub(super) bias: Option<BiasPer>,
}

impl Oriented {
    /// Of a problem that is valid.
    pub(crate) fn new(problem: &Problem) -> Result<Self, Error> {
        let [a, b, c, d] = problem.views();
        let (order, ldd) = d.layout.order(d.name, d.rows, d.columns)?;
        let is_stored = |view: View, order| Ok((view.layout.order(view.name, view.rows, view.columns)?.0) == order);
        let (is_swapped, ldd) = if d.columns == 1 && is_stored(a, Order::RowMajor)? {
            (false, if d.rows > 1 { d.layout.row_stride } else { 1 })
        } else if d.rows == 1 && is_stored(b, Order::ColumnMajor)? {
            (true, if d.columns > 1 { d.layout.column_stride } else { 1 })
        } else {
            (order == Order::ColumnMajor, ldd)
        };
        let (a_alignment, b_alignment) = (problem.alignment.a, problem.alignment.b);
        let sources = [(a, Buffer::A, a_alignment), (b, Buffer::B, b_alignment)];
        let [first, second] = if is_swapped { [sources[1], sources[0]] } else { sources };
        let count = problem.batch.count;
        let c_strides = [c.layout.row_stride, c.layout.column_stride].map(|stride| stride as u64);
        let [m, n, k] = problem.sizes().map(|size| size as u32);
        let turned = |per| match per {
            BiasPer::Row => BiasPer::Column,
            BiasPer::Column => BiasPer::Row,
        };
        Ok(Self {
            m: if is_swapped { n } else { m },
            n: if is_swapped { m } else { n },
            k,
            operands: Ab { a: stored(first.0, first.1, is_swapped)?, b: stored(second.0, second.1, is_swapped)? },
            alignments: Ab { a: alignment(first.0, first.2, count), b: alignment(second.0, second.2, count) },
            c_strides: if is_swapped { [c_strides[1], c_strides[0]] } else { c_strides },
            ldd: if problem.is_empty() { 1 } else { ldd.max(1) as u64 },
            bias: problem.epilogue.bias.map(|per| if is_swapped { turned(per) } else { per }),
        })
    }

    /// What each operand needs before a step's kernel reads it.
    pub(crate) fn passes(&self, step: &Step) -> Ab<Passes> {
        let operands = Ab { a: (Operand::A, self.operands.a), b: (Operand::B, self.operands.b) };
        operands
            .zip(self.alignments)
            .map(|((operand, stored), alignment)| Passes::new(step, operand, stored, alignment))
    }

    /// Whether a step's kernel stores D itself, in rows that it can count.
    pub(crate) fn is_direct(&self, problem: &Problem, step: &Step) -> bool {
        problem.is_direct(step) && self.ldd <= MAX_SIZE.into()
    }

    /// Whether one launch of a step's kernel has all problems of the batch: it takes several, stores D itself, and reads no operand that is
    /// rewritten for each of them.
    pub(crate) fn has_batch_in_launch(&self, problem: &Problem, step: &Step) -> bool {
        let is_read_as_it_is = || {
            let operands = self.passes(step).zip(self.matrices(problem));
            operands.into_array().iter().all(|(passes, count)| passes.count() == 0 || *count <= 1)
        };
        step.is_planned() && self.is_direct(problem, step) && is_read_as_it_is()
    }

    /// How many matrices of the batch each operand is: one where all problems share it, none where k is 0 and none is read.
    pub(crate) fn matrices(&self, problem: &Problem) -> Ab<usize> {
        self.batch_strides(problem).map(|stride| match stride {
            _ if self.k == 0 => 0,
            0 => 1,
            _ => problem.batch.count,
        })
    }

    /// Elements from one problem's operands to the next one's; 0 where there is one problem, and where all share the operand.
    pub(super) fn batch_strides(&self, problem: &Problem) -> Ab<u64> {
        let of = |stored: Stored| {
            let batch = problem.batch;
            let stride = if stored.place.buffer == Buffer::A { batch.a } else { batch.b };
            if batch.count > 1 { stride as u64 } else { 0 }
        };
        self.operands.map(of)
    }
}

/// The memory of a matrix, row by row.
fn stored(view: View, buffer: Buffer, is_swapped: bool) -> Result<Stored, Error> {
    let (order, ld) = view.layout.order(view.name, view.rows, view.columns)?;
    let (rows, columns) = match order {
        Order::RowMajor => (view.rows, view.columns),
        Order::ColumnMajor => (view.columns, view.rows),
    };
    // Of a single row, or of none, the leading dimension may be any number.
    let ld = if rows > 1 && columns > 0 { ld } else { columns };
    Ok(Stored {
        place: Place::start(buffer),
        rows: rows as u32,
        columns: columns as u32,
        ld: ld.max(1) as u64,
        element: view.element,
        transposed: (order == Order::ColumnMajor) != is_swapped,
    })
}

fn alignment(view: View, bytes: usize, count: usize) -> u64 {
    let stride_bytes = view.batch_stride.saturating_mul(view.element.bytes() as usize);
    let of_stride = if count > 1 && stride_bytes > 0 { 1 << stride_bytes.trailing_zeros() } else { u64::MAX };
    (bytes as u64).min(of_stride)
}
