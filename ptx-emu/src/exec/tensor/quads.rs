//! `mma.m8n8k4` of f16: a warp multiplies four pairs of matrices. PTX ISA, "Matrix Fragments for mma.m8n8k4 with .f16 floating point
//! type".

use half::f16;

use crate::lanes::{LANES, Mask, Registers, Slot};
use crate::ops::warp_mma;
use crate::program::fragment::{quad_f16, quad_f32, quad_line};
use crate::program::{Accumulator, WarpMma};

const QUADS: usize = 4;
const SIZE: usize = 8;
const DEPTH: usize = 4;

/// Elements of C or D that a lane holds.
const ELEMENTS: usize = 8;

type Lines = [[[f32; DEPTH]; SIZE]; QUADS];

/// `along_k`: whether the elements of a lane of A, and of B, are consecutive along k.
pub(super) fn quads(
    registers: &mut Registers,
    mma: &WarpMma,
    along_k: [bool; 2],
    [c_type, d_type]: [Accumulator; 2],
    mask: Mask,
) {
    let (a, b) = (lines(registers, along_k[0], &mma.a), lines(registers, along_k[1], &mma.b));
    let mut c = [[[0.0; SIZE]; SIZE]; QUADS];
    for element in 0..ELEMENTS {
        let values = match c_type {
            Accumulator::F32 => registers.read::<f32>(mma.c[element]),
            Accumulator::F16 => registers.read::<[f16; 2]>(mma.c[element / 2]).map(|pair| pair[element % 2].to_f32()),
        };
        for (lane, value) in values.into_iter().enumerate() {
            let (quad, row, column) = place(c_type, element, lane);
            c[quad][row][column] = value;
        }
    }
    let operands = |element, lane| {
        let (quad, row, column) = place(d_type, element, lane);
        (a[quad][row], b[quad][column], c[quad][row][column])
    };
    match d_type {
        Accumulator::F32 => {
            for (element, slot) in mma.d.iter().enumerate() {
                let value = |lane| {
                    let (a, b, c) = operands(element, lane);
                    warp_mma::quad_f32(a, b, c)
                };
                registers.write(*slot, &std::array::from_fn::<f32, LANES, _>(value), mask);
            }
        }
        Accumulator::F16 => {
            for (index, slot) in mma.d.iter().enumerate() {
                let value = |lane, half| {
                    let (a, b, c) = operands(2 * index + half, lane);
                    f16::from_bits(warp_mma::quad_f16(a, b, c))
                };
                let values: [[f16; 2]; LANES] = std::array::from_fn(|lane| [value(lane, 0), value(lane, 1)]);
                registers.write(*slot, &values, mask);
            }
        }
    }
}

fn place(of: Accumulator, element: usize, lane: usize) -> (usize, usize, usize) {
    match of {
        Accumulator::F32 => quad_f32(element, lane),
        Accumulator::F16 => quad_f16(element, lane),
    }
}

fn lines(registers: &Registers, along_k: bool, slots: &[Slot]) -> Lines {
    let mut lines = Lines::default();
    for (index, slot) in slots.iter().enumerate() {
        let values: [[f16; 2]; LANES] = registers.read(*slot);
        for (lane, pair) in values.into_iter().enumerate() {
            for (half, value) in pair.into_iter().enumerate() {
                let (quad, line, k) = quad_line(along_k, 2 * index + half, lane);
                lines[quad][line][k] = value.to_f32();
            }
        }
    }
    lines
}
