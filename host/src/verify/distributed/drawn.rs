//! Random matrices of which any element can be had alone.

use gpu_kernels::Element;
use rayon::prelude::*;

use super::Part;
use crate::verify::element;
use crate::verify::matrix::GUARD;
use crate::{Error, Matrix, Operands, Problem};

/// The operands of a problem, drawn from its seed: uniform in [-1, 1), and rounded to what they are made of. The same seed gives the same
/// elements, however they are distributed; others than [`Operands::random`], which draws one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Drawn {
    problem: Problem,
    key: u64,
}

/// What is drawn.
#[derive(Debug, Clone, Copy)]
enum Of {
    A,
    B,
    C,
    /// The vectors of Freivalds' check.
    X,
}

/// Bits of a row's or column's number: sizes are below 2^31.
const INDEX_BITS: u32 = 31;

impl Drawn {
    /// Those of the problem.
    #[must_use]
    pub fn new(problem: &Problem) -> Self {
        Self { problem: *problem, key: mix(problem.seed) }
    }

    /// The problem.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// An element of A.
    #[must_use]
    pub fn a(&self, row: usize, column: usize) -> f32 {
        self.element(Of::A, self.problem.input, row, column)
    }

    /// An element of B.
    #[must_use]
    pub fn b(&self, row: usize, column: usize) -> f32 {
        self.element(Of::B, self.problem.input, row, column)
    }

    /// An element of C as it is before: NaN where beta is 0, since BLAS does not read it then.
    #[must_use]
    pub fn c(&self, row: usize, column: usize) -> f32 {
        if self.problem.reads_c() { self.element(Of::C, self.problem.output, row, column) } else { f32::NAN }
    }

    /// Element `index` of a vector of numbers whose magnitudes are from 1/2 to 1: two of them for each `index`.
    pub(super) fn x(&self, index: usize) -> [f64; 2] {
        [0, 1].map(|which| {
            let bits = self.bits(Of::X, which, index);
            let magnitude = 0.5 + 0.5 * (bits >> 11) as f64 / (1_u64 << 53) as f64;
            if bits & 1 == 0 { magnitude } else { -magnitude }
        })
    }

    /// The matrices of a rank, guard bands around each.
    ///
    /// # Errors
    /// [`Error::OutOfHostMemory`].
    pub fn operands(&self, part: &Part) -> Result<Operands, Error> {
        Ok(Operands {
            a: matrix(self.problem.input, &part.a, |row, column| self.a(row, column))?,
            b: matrix(self.problem.input, &part.b, |row, column| self.b(row, column))?,
            c: matrix(self.problem.output, &part.c, |row, column| self.c(row, column))?,
        })
    }

    fn element(&self, of: Of, element: Element, row: usize, column: usize) -> f32 {
        // 24 bits, as f32 has.
        let bits = self.bits(of, row, column) >> 40;
        element::round(element, bits as f32 / (1 << 23) as f32 - 1.0)
    }

    /// Bits that depend on the seed, and on each of the arguments.
    fn bits(&self, of: Of, row: usize, column: usize) -> u64 {
        let place = (of as u64) << (2 * INDEX_BITS) | (row as u64) << INDEX_BITS | column as u64;
        mix(self.key ^ place)
    }
}

/// splitmix64: every bit of the argument changes half of the bits.
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A matrix of these rows and columns of the whole.
fn matrix(
    element: Element,
    [rows, columns]: &[Vec<usize>; 2],
    drawn: impl Fn(usize, usize) -> f32 + Sync,
) -> Result<Matrix, Error> {
    // Of parts of matrices whose sizes are u32.
    let (height, width) = (rows.len() as u32, columns.len() as u32);
    let ld = width.max(1);
    let mut matrix = Matrix::new(element, height, width, ld)?;
    let interior = &mut matrix.as_mut_slice()[GUARD..][..rows.len() * ld as usize];
    interior.par_chunks_mut(ld as usize).zip(rows).for_each(|(line, row)| {
        line.iter_mut().zip(columns).for_each(|(element, column)| *element = drawn(*row, *column));
    });
    Ok(matrix)
}
