//! A product as it was called for: the problem, and where its matrices are.

use sgemm::cuda::{CUdeviceptr, CUstream};
use sgemm::{AccuracyClass, Layout, Problem};

use crate::abi::{Enum, OP_C, OP_N, OP_T};
use crate::reason::Reason;

/// A product that may be computed here.
pub struct Call {
    pub problem: Problem,
    pub alpha: f32,
    pub beta: f32,
    pub a: CUdeviceptr,
    pub b: CUdeviceptr,
    pub c: CUdeviceptr,
    /// Where D is another matrix than C.
    pub d: Option<CUdeviceptr>,
    pub bias: Option<CUdeviceptr>,
    pub stream: CUstream,
    pub workspace: Workspace,
}

/// Memory that the program gave for the call: an address, and bytes from there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Workspace {
    pub address: CUdeviceptr,
    pub bytes: u64,
}

/// A matrix as cuBLAS describes it: by columns, with a leading dimension, and elements to the next one of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Stored {
    pub address: CUdeviceptr,
    pub ld: i64,
    pub stride: i64,
}

/// A number that must not be negative.
pub fn count(value: i64) -> Result<usize, Reason> {
    usize::try_from(value).map_err(|_| Reason::Invalid)
}

/// A matrix that is stored by columns, read as `op` says; `rows` and `columns` are those of what is read.
pub fn layout(op: Enum, [rows, columns]: [usize; 2], ld: i64) -> Result<Layout, Reason> {
    let stored_rows = match op {
        OP_N => rows,
        OP_T | OP_C => columns,
        _ => return Err(Reason::Invalid),
    };
    let ld = count(ld)?;
    if ld < stored_rows.max(1) {
        return Err(Reason::Invalid);
    }
    let stored = Layout::column_major(ld);
    Ok(if op == OP_N { stored } else { stored.transposed() })
}

/// What kernels may rely on of an address of f32.
pub fn alignment(address: CUdeviceptr) -> usize {
    if address.is_multiple_of(16) { 16 } else { size_of::<f32>() }
}

/// C = alpha\*op(A)\*op(B) + beta\*C as a problem, once or for each of a batch.
pub fn problem(
    class: AccuracyClass,
    ops: [Enum; 2],
    sizes: [i64; 3],
    [a, b, c]: [&Stored; 3],
    batch: i64,
) -> Result<Problem, Reason> {
    let [m, n, k] = [count(sizes[0])?, count(sizes[1])?, count(sizes[2])?];
    let layouts = [layout(ops[0], [m, k], a.ld)?, layout(ops[1], [k, n], b.ld)?, layout(OP_N, [m, n], c.ld)?];
    let problem = Problem::new(m, n, k)
        .with_layouts(layouts[0], layouts[1], layouts[2])
        .with_accuracy(class)
        .with_alignment(alignment(a.address), alignment(b.address));
    let problem = match count(batch)? {
        1 => problem,
        batch => problem.with_batch(batch, [count(a.stride)?, count(b.stride)?, count(c.stride)?]),
    };
    // There is nothing to multiply, and cuBLAS may have errors to say.
    if problem.is_empty() || k == 0 { Err(Reason::Invalid) } else { Ok(problem) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLASS: AccuracyClass = AccuracyClass::Fp32Strict;

    fn stored(address: CUdeviceptr, ld: i64) -> Stored {
        Stored { address, ld, stride: 0 }
    }

    #[test]
    fn ops_are_layouts() {
        let (a, b, c) = (stored(0x1000, 20), stored(0x2004, 31), stored(0x3000, 12));
        let found = problem(CLASS, [OP_T, OP_N], [10, 9, 20], [&a, &b, &c], 1).unwrap();
        let expected = Problem::new(10, 9, 20)
            .with_layouts(Layout::row_major(20), Layout::column_major(31), Layout::column_major(12))
            .with_alignment(16, 4);
        assert_eq!(found, expected);
    }

    #[test]
    fn what_cublas_refuses_is_none() {
        let (a, b, c) = (stored(0, 10), stored(0, 20), stored(0, 10));
        let of = |ops, sizes, batch| problem(CLASS, ops, sizes, [&a, &b, &c], batch).unwrap_err();
        let ops = [OP_N, OP_N];
        assert!(problem(CLASS, ops, [10, 9, 20], [&a, &b, &c], 1).is_ok());
        for (ops, sizes, batch) in [
            (ops, [-1, 9, 20], 1),
            (ops, [11, 9, 20], 1),
            (ops, [10, 9, 21], 1),
            (ops, [10, 9, 0], 1),
            (ops, [10, 0, 20], 1),
            (ops, [10, 9, 20], 0),
            (ops, [10, 9, 20], -1),
            ([OP_T, OP_N], [10, 9, 20], 1),
            ([3, OP_N], [10, 9, 20], 1),
        ] {
            assert_eq!(of(ops, sizes, batch), Reason::Invalid, "{ops:?} {sizes:?} {batch}");
        }
    }
}
