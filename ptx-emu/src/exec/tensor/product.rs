//! The MMA of rows of A and columns of B: what instructions compute alike, wherever their operands come from.

use std::ops::Range;

use half::f16;

use super::fragment::{
    MAX_COLUMNS, MAX_K, MAX_SPARSE, Matrix, read_floats, read_halves, read_matrix, write_floats, write_halves,
    write_matrix,
};
use super::sparse::Selection;
use crate::lanes::{Lane, Mask, Registers, Slot};
use crate::ops::tensor_core::{Columns, Format, MAX_DEPTH, ROWS, Row, WIDTH, multiply};
use crate::ops::warp_mma::{Float8, add_f16, add_f32, bits, fused_f16, integers};
use crate::program::{Accumulator, Arithmetic, MmaShape};

/// Elements of 8 bits that are summed at once.
pub(super) const NARROW_DEPTH: usize = 32;

/// An MMA, but for A and B.
pub(super) struct Product<'a> {
    pub arithmetic: Arithmetic,
    /// Its k is the number of products of each sum; of single bits, that of words.
    pub shape: MmaShape,
    pub selection: Option<&'a Selection>,
    /// Zeros if there are none.
    pub c: Option<&'a [Slot]>,
    pub d: &'a [Slot],
    pub mask: Mask,
}

/// Elements of a row or column, each in the lowest bits of a word.
type Line = [u32; MAX_K];

impl Product<'_> {
    /// Single bits are 32 to a word.
    pub(super) fn run(&self, registers: &mut Registers, a: &[Line], b: &[[u32; MAX_SPARSE]]) {
        let MmaShape { m, k, .. } = self.shape;
        match self.arithmetic {
            Arithmetic::Fused { formats, c: Accumulator::F16, d: Accumulator::F16, .. } => {
                let c = self.c.map_or_else(Matrix::<f16>::default, |c| read_halves(registers, m, c));
                let d = self.each(b, |row, column, b| {
                    f16::from_bits(fused_f16(formats, &a[row][..k], &b[..k], c[row][column].to_bits()))
                });
                write_halves(registers, m, self.d, &d, self.mask);
            }
            Arithmetic::Fused { formats, c, d, .. } => {
                let mut acc = self.c.map_or_else(Matrix::default, |slots| read_floats(registers, m, c, slots));
                if formats[0].depth() == NARROW_DEPTH {
                    self.fused::<NARROW_DEPTH>(registers.simd, formats, a, b, &mut acc);
                } else {
                    self.fused::<MAX_DEPTH>(registers.simd, formats, a, b, &mut acc);
                }
                write_floats(registers, m, d, self.d, &acc, self.mask);
            }
            Arithmetic::Float8 { a: a_format, b: b_format, accumulator } => {
                self.float8(registers, [a_format, b_format], accumulator, a, b);
            }
            Arithmetic::Integer { a: a_format, b: b_format, saturates } => {
                let a: Vec<[i16; MAX_K]> = a.iter().map(|line| line.map(|word| a_format.widen(word))).collect();
                let c = self.c_or_zeros::<i32>(registers);
                let d = self.each(b, |row, column, b| {
                    let b = b.map(|word| b_format.widen(word));
                    integers(&a[row][..k], &b[..k], c[row][column], saturates)
                });
                write_matrix(registers, m, self.d, &d, self.mask);
            }
            Arithmetic::Bits(product) => {
                let c = self.c_or_zeros::<i32>(registers);
                let d = self.each(b, |row, column, b| bits(product, &a[row][..k], &b[..k], c[row][column]));
                write_matrix(registers, m, self.d, &d, self.mask);
            }
            // Of their own fragments.
            Arithmetic::Double(_) | Arithmetic::Quads { .. } => {}
        }
    }

    /// fp8 as a warp multiplies it: elements whose index mod 4 is 0 or 1 first, then the others; C is added last.
    fn float8(
        &self,
        registers: &mut Registers,
        formats: [Float8; 2],
        accumulator: Accumulator,
        a: &[Line],
        b: &[[u32; MAX_SPARSE]],
    ) {
        let m = self.shape.m;
        let half = |format: Float8, line: &Line, upper: usize| {
            std::array::from_fn::<u32, MAX_DEPTH, _>(|k| {
                format.to_f16(line[k / 2 * 4 + 2 * upper + k % 2] as u8).into()
            })
        };
        if accumulator == Accumulator::F16 {
            let c = read_halves(registers, m, self.c.unwrap_or_default());
            let d = self.each(b, |row, column, b| {
                let sum = [0, 1].into_iter().fold(0, |sum, upper| {
                    fused_f16([Format::F16; 2], &half(formats[0], &a[row], upper), &half(formats[1], b, upper), sum)
                });
                f16::from_bits(add_f16(sum, c[row][column].to_bits()))
            });
            return write_halves(registers, m, self.d, &d, self.mask);
        }
        let mut acc = Matrix::<f32>::default();
        for upper in [0, 1] {
            self.each_row(b, |rows, b| {
                let of_a = |row: usize| half(formats[0], &a[row], upper);
                fused(
                    registers.simd,
                    [Format::F16; 2],
                    rows,
                    of_a,
                    |column| half(formats[1], &b[column], upper),
                    &mut acc,
                );
            });
        }
        let c = self.c_or_zeros::<f32>(registers);
        let d = self.each(b, |row, column, _| add_f32(c[row][column], acc[row][column]));
        write_matrix(registers, m, self.d, &d, self.mask);
    }

    /// One fused sum for each accumulator.
    fn fused<const DEPTH: usize>(
        &self,
        simd: pulp::Arch,
        formats: [Format; 2],
        a: &[Line],
        b: &[[u32; MAX_SPARSE]],
        acc: &mut Matrix<f32>,
    ) {
        let first = |line: &Line| std::array::from_fn::<u32, DEPTH, _>(|k| if k < self.shape.k { line[k] } else { 0 });
        self.each_row(b, |rows, b| fused(simd, formats, rows, |row| first(&a[row]), |column| first(&b[column]), acc));
    }

    fn c_or_zeros<T: Lane>(&self, registers: &Registers) -> Matrix<T> {
        read_matrix(registers, self.shape.m, self.c.unwrap_or_default())
    }

    /// Calls `f` with rows and the columns that they are multiplied with: of a sparse A, each row has its own.
    fn each_row(&self, b: &[[u32; MAX_SPARSE]], mut f: impl FnMut(Range<usize>, &[Line; MAX_COLUMNS])) {
        let mut columns = [[0; MAX_K]; MAX_COLUMNS];
        match self.selection {
            None => {
                columns.iter_mut().zip(b).for_each(|(column, b)| column.copy_from_slice(&b[..MAX_K]));
                f(0..self.shape.m, &columns);
            }
            Some(selection) => {
                for row in 0..self.shape.m {
                    columns.iter_mut().zip(b).for_each(|(column, b)| *column = selection.of_column(row, b));
                    f(row..row + 1, &columns);
                }
            }
        }
    }

    /// The matrix of the results of `f` by row, column and the column's elements.
    fn each<T: Copy + Default>(
        &self,
        b: &[[u32; MAX_SPARSE]],
        mut f: impl FnMut(usize, usize, &Line) -> T,
    ) -> Matrix<T> {
        let mut matrix = Matrix::<T>::default();
        self.each_row(b, |rows, b| {
            for row in rows {
                let results = matrix[row].iter_mut().zip(b).enumerate().take(self.shape.n);
                results.for_each(|(column, (result, b))| *result = f(row, column, b));
            }
        });
        matrix
    }
}

/// One fused sum for each accumulator of these rows, of the elements of each row and of each column.
pub(super) fn fused<const DEPTH: usize>(
    simd: pulp::Arch,
    [a_format, b_format]: [Format; 2],
    rows: Range<usize>,
    a: impl Fn(usize) -> [u32; DEPTH],
    b: impl Fn(usize) -> [u32; DEPTH],
    acc: &mut Matrix<f32>,
) {
    let mut by_k = [[0; WIDTH]; DEPTH];
    for column in 0..WIDTH {
        by_k.iter_mut().zip(b(column)).for_each(|(columns, element)| columns[column] = element);
    }
    let columns = Columns::new(simd, b_format, &by_k);
    for first in rows.clone().step_by(ROWS) {
        let count = ROWS.min(rows.end - first);
        let mut lines = [Row::new(a_format, &[0; DEPTH], false); ROWS];
        lines[..count].iter_mut().zip(first..).for_each(|(line, row)| *line = Row::new(a_format, &a(row), false));
        multiply(simd, a_format, &lines[..count], &columns, &mut acc[first..first + count]);
    }
}
