//! Register fragments of `mma` and `wgmma`: see `program::fragment`. PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16" and the
//! sections after it.

use half::f16;

use crate::lanes::{LANES, Lane, Mask, Registers, Slot};
use crate::ops::tensor_core::{Accumulators, ROWS, WIDTH};
use crate::ops::warp_mma::to_f16;
use crate::program::Accumulator;
use crate::program::fragment::{Lines, accumulator};

/// Rows of A or columns of B at most, and words of each.
pub(crate) const MAX_LINES: usize = 32;
pub(crate) const MAX_WORDS: usize = 8;

/// Elements of a row of A at most; and of a column of B, which has twice as many where A is sparse.
pub(crate) const MAX_K: usize = 64;
pub(crate) const MAX_SPARSE: usize = 2 * MAX_K;

/// Columns of D at most.
pub(crate) const MAX_COLUMNS: usize = 16;

/// Elements of C or D, by row.
pub(crate) type Matrix<T> = [[T; MAX_COLUMNS]; MAX_LINES];

/// The words of each row of A, or column of B.
pub(crate) fn lines_in_registers<T: Lane, const WORDS: usize>(
    registers: &Registers,
    lines: Lines,
    slots: &[Slot],
) -> [[T; WORDS]; MAX_LINES] {
    let mut words = [[T::default(); WORDS]; MAX_LINES];
    for (register, slot) in slots.iter().take(lines.registers()).enumerate() {
        let values: [T; LANES] = registers.read(*slot);
        for (lane, value) in values.into_iter().enumerate() {
            let (line, word) = lines.place(register, lane);
            words[line][word] = value;
        }
    }
    words
}

/// Bits of what is multiplied at once: an element, or 32 single bits.
pub(crate) const fn word_bits(element_bits: usize) -> usize {
    if element_bits == 1 { 32 } else { element_bits }
}

/// The elements of a line's words, of `bits` each.
pub(crate) fn elements<const WORDS: usize, const COUNT: usize>(bits: usize, words: &[u32; WORDS]) -> [u32; COUNT] {
    let each = 32 / bits;
    let kept = u32::MAX >> (32 - bits);
    std::array::from_fn(|k| words.get(k / each).map_or(0, |word| word >> (bits * (k % each)) & kept))
}

/// The warp's 16 rows of A.
pub(crate) fn rows_in_registers<const DEPTH: usize>(
    registers: &Registers,
    bits: usize,
    slots: &[Slot],
) -> [[u32; DEPTH]; ROWS] {
    let lines = Lines { lines: ROWS, words: MAX_WORDS, is_first: true };
    let words = lines_in_registers::<u32, MAX_WORDS>(registers, lines, slots);
    std::array::from_fn(|row| elements(bits, &words[row]))
}

/// The accumulators of `m` rows, one to a register.
pub(crate) fn read_matrix<T: Lane>(registers: &Registers, m: usize, slots: &[Slot]) -> Matrix<T> {
    let mut matrix = [[T::default(); MAX_COLUMNS]; MAX_LINES];
    for (element, slot) in slots.iter().enumerate() {
        let values: [T; LANES] = registers.read(*slot);
        for (lane, value) in values.into_iter().enumerate() {
            let (row, column) = accumulator(m, element, lane);
            matrix[row][column] = value;
        }
    }
    matrix
}

pub(crate) fn write_matrix<T: Lane>(
    registers: &mut Registers,
    m: usize,
    slots: &[Slot],
    matrix: &Matrix<T>,
    mask: Mask,
) {
    for (element, slot) in slots.iter().enumerate() {
        let values: [T; LANES] = std::array::from_fn(|lane| {
            let (row, column) = accumulator(m, element, lane);
            matrix[row][column]
        });
        registers.write(*slot, &values, mask);
    }
}

/// The accumulators of `m` rows, two to a register.
pub(crate) fn read_halves(registers: &Registers, m: usize, slots: &[Slot]) -> Matrix<f16> {
    let mut matrix = [[f16::ZERO; MAX_COLUMNS]; MAX_LINES];
    for (index, slot) in slots.iter().enumerate() {
        let values: [[f16; 2]; LANES] = registers.read(*slot);
        for (lane, pair) in values.into_iter().enumerate() {
            for (half, value) in pair.into_iter().enumerate() {
                let (row, column) = accumulator(m, 2 * index + half, lane);
                matrix[row][column] = value;
            }
        }
    }
    matrix
}

pub(crate) fn write_halves(registers: &mut Registers, m: usize, slots: &[Slot], matrix: &Matrix<f16>, mask: Mask) {
    for (index, slot) in slots.iter().enumerate() {
        let value = |lane, half| {
            let (row, column) = accumulator(m, 2 * index + half, lane);
            matrix[row][column]
        };
        let values: [[f16; 2]; LANES] = std::array::from_fn(|lane| [value(lane, 0), value(lane, 1)]);
        registers.write(*slot, &values, mask);
    }
}

/// Accumulators as f32, whatever they are in registers.
pub(crate) fn read_floats(registers: &Registers, m: usize, of: Accumulator, slots: &[Slot]) -> Matrix<f32> {
    match of {
        Accumulator::F32 => read_matrix(registers, m, slots),
        Accumulator::F16 => read_halves(registers, m, slots).map(|row| row.map(f16::to_f32)),
    }
}

/// Rounds results to what they are in registers.
pub(crate) fn write_floats(
    registers: &mut Registers,
    m: usize,
    of: Accumulator,
    slots: &[Slot],
    matrix: &Matrix<f32>,
    mask: Mask,
) {
    match of {
        Accumulator::F32 => write_matrix(registers, m, slots, matrix, mask),
        Accumulator::F16 => {
            let halves = matrix.map(|row| row.map(|value| f16::from_bits(to_f16(value.into()))));
            write_halves(registers, m, slots, &halves, mask);
        }
    }
}

/// Row and column of a lane's element in a register of D; eight columns take four registers.
#[inline(always)]
const fn coord_of(register: usize, lane: usize) -> (usize, usize) {
    accumulator(ROWS, register, lane)
}

pub(crate) fn load_accumulators(registers: &Registers, slots: &[Slot]) -> Accumulators {
    let mut acc = Accumulators::default();
    for (register, slot) in slots.iter().enumerate() {
        let values: [f32; LANES] = registers.read(*slot);
        for (lane, value) in values.into_iter().enumerate() {
            let (row, column) = coord_of(register, lane);
            acc[row][column] = value;
        }
    }
    acc
}

pub(crate) fn store_accumulators(registers: &mut Registers, slots: &[Slot], acc: &Accumulators, mask: Mask) {
    for (register, slot) in slots.iter().enumerate() {
        let value = |lane: usize| {
            let (row, column) = coord_of(register, lane);
            acc[row][column]
        };
        registers.write(*slot, &std::array::from_fn::<f32, LANES, _>(value), mask);
    }
}

const _: () = assert!(WIDTH == MAX_COLUMNS && 2 * ROWS == MAX_LINES);
