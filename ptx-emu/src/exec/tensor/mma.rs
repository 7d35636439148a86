//! `mma` and `wmma.mma`: MMAs of a warp.

use std::ops::Range;

use super::fragment::{
    MAX_LINES, MAX_WORDS, Matrix, elements, lines_in_registers, read_floats, read_matrix, word_bits, write_floats,
    write_matrix,
};
use super::product::{Product, fused};
use super::quads::quads;
use super::sparse::Selection;
use crate::counters::Count;
use crate::exec::state::{Fault, Grid, Origin, Site, Warp};
use crate::lanes::{ALL_LANES, Mask, Registers};
use crate::ops::float::fma64;
use crate::ops::tensor_core::MAX_DEPTH;
use crate::ops::warp_mma::chain_f64;
use crate::program::fragment::Lines;
use crate::program::{Accumulator, Arithmetic, MmaShape, Pc, WarpMma};

/// Elements of k of the largest f64 shape.
const MAX_F64: usize = 16;

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
        let of_a = |sparse| self.selection(grid, warp, (pc, mask), mma.arithmetic, mma.shape, sparse);
        let selection = mma.sparse.as_ref().map(of_a);
        mma.run(&mut warp.registers, selection.as_ref(), mask);
        count.requests += 1;
        Ok(())
    }
}

impl WarpMma {
    fn run(&self, registers: &mut Registers, selection: Option<&Selection>, mask: Mask) {
        let MmaShape { m, n, .. } = self.shape;
        match self.arithmetic {
            // What most kernels use.
            Arithmetic::Fused { formats, depth, c, d: d @ Accumulator::F32 } if selection.is_none() => {
                let [a, b] = self.words::<MAX_WORDS>(registers, 8 * formats[0].bytes());
                let mut acc = read_floats(registers, m, c, &self.c);
                for first in (0..self.shape.k).step_by(depth) {
                    let step = |words| kept(elements(8 * formats[0].bytes(), words), first..first + depth);
                    fused(registers.simd, formats, 0..m, |row| step(&a[row]), |column| step(&b[column]), &mut acc);
                }
                write_floats(registers, m, d, &self.d, &acc, mask);
            }
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
            Arithmetic::Quads { a_by_columns, b_by_rows, c, d } => {
                quads(registers, self, [!a_by_columns, !b_by_rows], [c, d], mask);
            }
            arithmetic => {
                let bits = arithmetic.element_bits();
                let [a, b] = self.words::<{ 2 * MAX_WORDS }>(registers, bits);
                let in_word = word_bits(bits);
                let k = self.shape.depth(selection.is_some()) * bits / in_word;
                let shape = MmaShape { k, ..self.shape };
                let (a, b) = (a.map(|words| elements(in_word, &words)), b.map(|words| elements(in_word, &words)));
                let c = Some(&*self.c);
                Product { arithmetic, shape, selection, c, d: &self.d, mask }.run(registers, &a, &b);
            }
        }
    }

    /// The words of the rows of A, and of the columns of B.
    fn words<const WORDS: usize>(&self, registers: &Registers, bits: usize) -> [[[u32; WORDS]; MAX_LINES]; 2] {
        let lines = |lines, is_first, k, slots: &[_]| {
            lines_in_registers::<u32, WORDS>(registers, Lines { lines, words: k * bits / 32, is_first }, slots)
        };
        let MmaShape { m, n, k } = self.shape;
        [lines(m, true, self.shape.depth(self.sparse.is_some()), &self.a), lines(n, false, k, &self.b)]
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
