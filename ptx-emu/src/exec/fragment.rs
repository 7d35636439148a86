//! What the registers of a warp have of matrices that it multiplies. PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16"
//! and what follows.

use crate::ops::tensor_core::{Format, MAX_DEPTH, ROWS, Sums};
use crate::registers::{LANES, Mask, Registers, Slot};

/// The warp's rows of the first matrix, of which lane 0 has what begins the rows 0 and 8, lane 4 the rows 1 and 9.
pub(super) fn rows_in_registers(registers: &Registers, format: Format, slots: &[Slot]) -> [[u32; MAX_DEPTH]; ROWS] {
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

/// The row and the column of what a lane has in a register of the result, of which each eight columns take four.
#[inline(always)]
const fn place_of(register: usize, lane: usize) -> (usize, usize) {
    (lane / 4 + 8 * (register % 4 / 2), lane % 4 * 2 + register % 2 + 8 * (register / 4))
}

pub(super) fn get_sums(registers: &Registers, slots: &[Slot]) -> Sums {
    let mut sums = Sums::default();
    for (register, slot) in slots.iter().enumerate() {
        let values: [f32; LANES] = registers.read(*slot);
        for (lane, value) in values.into_iter().enumerate() {
            let (row, column) = place_of(register, lane);
            sums[row][column] = value;
        }
    }
    sums
}

pub(super) fn put_sums(registers: &mut Registers, slots: &[Slot], sums: &Sums, mask: Mask) {
    for (register, slot) in slots.iter().enumerate() {
        let value = |lane: usize| {
            let (row, column) = place_of(register, lane);
            sums[row][column]
        };
        registers.write(*slot, &std::array::from_fn::<f32, LANES, _>(value), mask);
    }
}
