//! The accesses that move a fragment of `wmma`: what each lane reads or writes at once, as Hopper does it where that is known from
//! machine code of `sm_90`. Of 16-bit elements whose lines are not contiguous, that is an 8 x 8 block, which is transposed in
//! registers.

use super::operands::Operands;
use crate::lanes::{LANES, Slot};
use crate::program::fragment::{Lines, accumulator};
use crate::program::{Access, AddressExpr, Element, Piece, Transpose};
use crate::types::{Semantics, Space};

/// The matrix that a fragment is of.
#[derive(Debug, Clone, Copy)]
pub(super) enum Matrix {
    /// A or B; `contiguous`: along k.
    Operand { lines: Lines, contiguous: bool },
    /// C or D.
    Accumulators { m: usize, n: usize, by_columns: bool },
}

type Places = [(u16, u16); LANES];

/// Registers that repeat others: from, to.
type Copies = Box<[(Slot, Slot)]>;

/// The pieces, and copies of registers behind them.
pub(super) fn pieces(
    o: &Operands<'_>,
    matrix: Matrix,
    space: Space,
    bits: u32,
    slots: &[Slot],
    is_store: bool,
) -> (Box<[Piece]>, Copies) {
    let width = bits.div_ceil(8);
    let rows = if bits == 64 { 2 } else { 1 };
    let piece = |slots: &[Slot], width: u32, places: Places, transposed: Option<Transpose>, shift: u32| {
        let elements = slots.iter().map(|&slot| Element { slot, rows, sign_extend: false }).collect();
        let address = AddressExpr { base: None, offset: 0 };
        let access = Access { space, address, width, elements, is_strong: false, semantics: Semantics::DEFAULT };
        Piece { access, places, transposed, shift }
    };
    let places = |f: &dyn Fn(usize) -> (usize, usize)| -> Places {
        std::array::from_fn(|lane| {
            let (outer, inner) = f(lane);
            (outer as u16, inner as u16)
        })
    };
    // A store leaves the fragment's register as it is.
    let block_piece = |slot: Slot, places: Places| {
        let moved = if is_store { o.scratch() } else { slot };
        piece(&[moved], 4, places, Some(Transpose { from: slot, to: moved }), 0)
    };
    let mut pieces = Vec::new();
    match matrix {
        Matrix::Operand { lines, contiguous } => {
            let registers = lines.registers();
            let each = if bits < 32 { (32 / bits) as usize } else { 1 };
            for (register, slot) in slots.iter().take(registers).enumerate() {
                let of = |lane: usize| {
                    let (line, word) = lines.place(register, lane);
                    (line, each * word)
                };
                let own = std::slice::from_ref(slot);
                if contiguous {
                    pieces.push(piece(own, width.max(4), places(&of), None, 0));
                } else if bits == 16 {
                    let block = |lane: usize| {
                        let (line, k) = of(0);
                        (k + lane / 4, line + lane % 4 * 2)
                    };
                    pieces.push(block_piece(*slot, places(&block)));
                } else {
                    for part in 0..each {
                        let across = |lane: usize| {
                            let (line, k) = of(lane);
                            (k + part, line)
                        };
                        pieces.push(piece(own, width, places(&across), None, bits * part as u32));
                    }
                }
            }
            let copies = slots.iter().enumerate().skip(registers).map(|(index, to)| (slots[index % registers], *to));
            return (pieces.into(), copies.collect());
        }
        Matrix::Accumulators { m, n, by_columns } => {
            let at = |element: usize, lane: usize| {
                let (row, column) = accumulator(m, element, lane);
                if by_columns { (column, row) } else { (row, column) }
            };
            for pair in 0..m * n / LANES / 2 {
                let first = |lane: usize| at(2 * pair, lane);
                match (bits, by_columns) {
                    (16, false) => pieces.push(piece(&slots[pair..=pair], 4, places(&first), None, 0)),
                    (16, true) => {
                        let block = |lane: usize| {
                            let (column, row) = at(2 * pair, 0);
                            (column + lane / 4, row + lane % 4 * 2)
                        };
                        pieces.push(block_piece(slots[pair], places(&block)));
                    }
                    (_, false) => pieces.push(piece(&slots[2 * pair..2 * pair + 2], width, places(&first), None, 0)),
                    (_, true) => {
                        for half in 0..2 {
                            let one = |lane: usize| at(2 * pair + half, lane);
                            let element = 2 * pair + half;
                            pieces.push(piece(&slots[element..=element], width, places(&one), None, 0));
                        }
                    }
                }
            }
        }
    }
    (pieces.into(), Box::default())
}
