//! Register fragments of `wgmma` and `mma`. PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16" and the sections after it, "Matrix
//! Fragments for mma.m16n8k16".

use crate::lanes::{LANES, Mask, Registers, Slot};
use crate::ops::tensor_core::{Accumulators, Format, MAX_DEPTH, ROWS, WIDTH};

/// The warp's rows of A: lane 0 holds the first elements of rows 0 and 8, lane 4 those of rows 1 and 9.
pub(crate) fn rows_in_registers(registers: &Registers, format: Format, slots: &[Slot]) -> [[u32; MAX_DEPTH]; ROWS] {
    let mut elements = [[0; MAX_DEPTH]; ROWS];
    for (index, slot) in slots.iter().enumerate() {
        let values: [u32; LANES] = registers.read(*slot);
        for (lane, value) in values.into_iter().enumerate() {
            let (row, k) = (lane / 4 + 8 * (index % 2), lane % 4 + 4 * (index / 2));
            if format.bytes() == 4 {
                elements[row][k] = value;
            } else {
                (elements[row][2 * k], elements[row][2 * k + 1]) = (value & 0xffff, value >> 16);
            }
        }
    }
    elements
}

/// Eight columns of B, of 16-bit elements: lane 0 holds the first and the ninth pair of column 0, lane 4 those of column 1. The others are 0.
pub(crate) fn columns_in_registers(registers: &Registers, slots: &[Slot]) -> [[u32; WIDTH]; MAX_DEPTH] {
    let mut elements = [[0; WIDTH]; MAX_DEPTH];
    for (index, slot) in slots.iter().enumerate() {
        let values: [u32; LANES] = registers.read(*slot);
        for (lane, value) in values.into_iter().enumerate() {
            let (column, k) = (lane / 4, lane % 4 * 2 + 8 * index);
            (elements[k][column], elements[k + 1][column]) = (value & 0xffff, value >> 16);
        }
    }
    elements
}

/// Row and column of a lane's element in a register of D; eight columns take four registers.
#[inline(always)]
const fn coord_of(register: usize, lane: usize) -> (usize, usize) {
    (lane / 4 + 8 * (register % 4 / 2), lane % 4 * 2 + register % 2 + 8 * (register / 4))
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
