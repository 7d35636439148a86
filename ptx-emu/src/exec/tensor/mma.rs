//! `mma` and `wmma.mma`: MMAs of a warp.

use std::ops::Range;

use half::f16;

use super::fragment::{
    MAX_WORDS, Matrix, elements, lines_in_registers, read_floats, read_halves, read_matrix, write_floats, write_halves,
    write_matrix,
};
use super::quads::quads;
use crate::counters::Count;
use crate::exec::state::{Fault, Grid, Origin, Site, Warp};
use crate::lanes::{ALL_LANES, Mask, Registers};
use crate::ops::float::fma64;
use crate::ops::tensor_core::{Columns, Format, MAX_DEPTH, ROWS, Row, WIDTH, multiply};
use crate::ops::warp_mma::{Float8, add_f16, add_f32, bits, chain_f64, fused_f16, integers};
use crate::program::fragment::Lines;
use crate::program::{Accumulator, Arithmetic, IntegerFormat, MmaShape, Pc, WarpMma};

/// Elements of k of the largest f64 and integer shapes.
const MAX_F64: usize = 16;
const MAX_INTEGERS: usize = 64;

impl Site {
    pub(crate) fn warp_mma(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        mma: &WarpMma,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        if mask != ALL_LANES {
            let at = Origin { warp: warp.number, lane: mask.trailing_zeros() as usize, pc };
            let what = format!("all lanes of a warp multiply together; the lanes {:#010x} do not", !mask);
            self.complain(grid, at, what);
        }
        mma.run(&mut warp.registers, mask);
        count.requests += 1;
        Ok(())
    }
}

impl WarpMma {
    fn run(&self, registers: &mut Registers, mask: Mask) {
        let MmaShape { m, n, .. } = self.shape;
        match self.arithmetic {
            Arithmetic::Fused { format, c: Accumulator::F16, d: Accumulator::F16, .. } => {
                let [a, b] = self.words(registers, 16).map(|lines| lines.map(|words| elements(format, &words)));
                let c = read_halves(registers, m, &self.c);
                let d = each(m, n, |row, column| {
                    f16::from_bits(fused_f16(format, &a[row], &b[column], c[row][column].to_bits()))
                });
                write_halves(registers, m, &self.d, &d, mask);
            }
            Arithmetic::Fused { format, depth, c, d } => {
                let [a, b] = self.words(registers, 8 * format.bytes());
                let mut acc = read_floats(registers, m, c, &self.c);
                for first in (0..self.shape.k).step_by(depth) {
                    let step = |words: &[u32; MAX_WORDS]| kept(elements(format, words), first..first + depth);
                    fused(registers.simd, self.shape, format, |row| step(&a[row]), |column| step(&b[column]), &mut acc);
                }
                write_floats(registers, m, d, &self.d, &acc, mask);
            }
            Arithmetic::Float8 { a, b, accumulator } => self.multiply_float8(registers, [a, b], accumulator, mask),
            Arithmetic::Double(round) => {
                let [a, b] = [(m, true), (n, false)].map(|(lines, is_first)| {
                    let slots = if is_first { &self.a } else { &self.b };
                    lines_in_registers::<f64, MAX_F64>(registers, Lines { lines, words: self.shape.k, is_first }, slots)
                });
                let (k, fma) = (self.shape.k, |a, b, c| fma64(round, a, b, c));
                let c = read_matrix::<f64>(registers, m, &self.c);
                let d = each(m, n, |row, column| chain_f64(&a[row][..k], &b[column][..k], c[row][column], fma));
                write_matrix(registers, m, &self.d, &d, mask);
            }
            Arithmetic::Integer { a: a_format, b: b_format, saturates } => {
                let [a, b] = self.words(registers, a_format.bits as usize);
                let (a, b) = (a.map(|words| widened(a_format, &words)), b.map(|words| widened(b_format, &words)));
                let c = read_matrix::<i32>(registers, m, &self.c);
                let d = each(m, n, |row, column| integers(&a[row], &b[column], c[row][column], saturates));
                write_matrix(registers, m, &self.d, &d, mask);
            }
            Arithmetic::Bits(product) => {
                let [a, b] = self.words(registers, 1);
                let words = self.shape.k / 32;
                let c = read_matrix::<i32>(registers, m, &self.c);
                let d = each(m, n, |row, column| bits(product, &a[row][..words], &b[column][..words], c[row][column]));
                write_matrix(registers, m, &self.d, &d, mask);
            }
            Arithmetic::Quads { a_by_columns, b_by_rows, c, d } => {
                quads(registers, self, [!a_by_columns, !b_by_rows], [c, d], mask);
            }
        }
    }

    /// The words of the rows of A, and of the columns of B.
    fn words(&self, registers: &Registers, bits: usize) -> [[[u32; MAX_WORDS]; 2 * ROWS]; 2] {
        let words = self.shape.k * bits / 32;
        let lines = |lines, is_first, slots: &[_]| {
            lines_in_registers::<u32, MAX_WORDS>(registers, Lines { lines, words, is_first }, slots)
        };
        [lines(self.shape.m, true, &self.a), lines(self.shape.n, false, &self.b)]
    }

    fn multiply_float8(&self, registers: &mut Registers, formats: [Float8; 2], accumulator: Accumulator, mask: Mask) {
        let MmaShape { m, n, .. } = self.shape;
        let [a, b] = self.words(registers, 8);
        // The lower bytes of each half of a word: the elements whose k mod 4 is 0 or 1, or 2 or 3.
        let half = |format: Float8, words: &[u32; MAX_WORDS], upper: u32| {
            let byte = |k: usize| (words[k / 2] >> (16 * upper + 8 * (k as u32 % 2))) as u8;
            std::array::from_fn::<u32, MAX_DEPTH, _>(|k| format.to_f16(byte(k)).into())
        };
        let halves = [0, 1].map(|upper| {
            (a.map(|words| half(formats[0], &words, upper)), b.map(|words| half(formats[1], &words, upper)))
        });
        if accumulator == Accumulator::F16 {
            let c = read_halves(registers, m, &self.c);
            let d = each(m, n, |row, column| {
                let sum = halves.iter().fold(0, |sum, (a, b)| fused_f16(Format::F16, &a[row], &b[column], sum));
                f16::from_bits(add_f16(sum, c[row][column].to_bits()))
            });
            return write_halves(registers, m, &self.d, &d, mask);
        }
        let mut acc = Matrix::<f32>::default();
        for (a, b) in &halves {
            fused(registers.simd, self.shape, Format::F16, |row| a[row], |column| b[column], &mut acc);
        }
        let c = read_matrix::<f32>(registers, m, &self.c);
        let d = each(m, n, |row, column| add_f32(c[row][column], acc[row][column]));
        write_matrix(registers, m, &self.d, &d, mask);
    }
}

/// The matrix of the results of `f` by row and column.
fn each<T: Copy + Default>(m: usize, n: usize, mut f: impl FnMut(usize, usize) -> T) -> Matrix<T> {
    let mut matrix = Matrix::<T>::default();
    for (row, results) in matrix.iter_mut().take(m).enumerate() {
        results.iter_mut().take(n).enumerate().for_each(|(column, result)| *result = f(row, column));
    }
    matrix
}

/// The elements of that range of k; 0 for the others.
fn kept(mut line: [u32; MAX_DEPTH], range: Range<usize>) -> [u32; MAX_DEPTH] {
    line.iter_mut().enumerate().for_each(|(k, element)| *element *= u32::from(range.contains(&k)));
    line
}

/// One fused sum for each accumulator, of the elements of each row and of each column.
fn fused(
    simd: pulp::Arch,
    shape: MmaShape,
    format: Format,
    a: impl Fn(usize) -> [u32; MAX_DEPTH],
    b: impl Fn(usize) -> [u32; MAX_DEPTH],
    acc: &mut Matrix<f32>,
) {
    let mut by_k = [[0; WIDTH]; MAX_DEPTH];
    for column in 0..shape.n {
        by_k.iter_mut().zip(b(column)).for_each(|(columns, element)| columns[column] = element);
    }
    let columns = Columns::new(simd, format, &by_k);
    for (group, acc) in acc.as_chunks_mut::<ROWS>().0.iter_mut().enumerate().take(shape.m.div_ceil(ROWS)) {
        let rows = std::array::from_fn(|row| Row::new(format, &a(ROWS * group + row), false));
        multiply(simd, format, &rows, &columns, acc);
    }
}

/// The integers of a line.
fn widened(format: IntegerFormat, words: &[u32; MAX_WORDS]) -> [i16; MAX_INTEGERS] {
    let IntegerFormat { bits, is_signed } = format;
    let each_word = (32 / bits) as usize;
    std::array::from_fn(|k| {
        let Some(word) = words.get(k / each_word) else { return 0 };
        let shifted = word << (32 - bits - bits * (k % each_word) as u32);
        if is_signed { (shifted as i32 >> (32 - bits)) as i16 } else { (shifted >> (32 - bits)) as i16 }
    })
}
