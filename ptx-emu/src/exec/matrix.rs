//! Matrices that a warp loads together: `ldmatrix`.

use super::access::Request;
use super::block::{Fault, Site};
use super::grid::Grid;
use super::mbarrier::shared;
use super::warp::Warp;
use crate::Space;
use crate::check::AccessKind;
use crate::counters::Count;
use crate::lanes::lanes_of;
use crate::program::{LoadMatrix, Pc};
use crate::registers::{ALL_LANES, LANES, Mask};

/// Rows of a matrix, elements of a row, and bytes of a row.
const SIZE: usize = 8;
const ROW_BYTES: u32 = 16;

/// A row of 16-bit elements.
type MatrixRow = [u16; SIZE];

impl Site {
    pub(super) fn load_matrix(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        load: &LoadMatrix,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        if mask != ALL_LANES {
            let place = (warp.number, mask.trailing_zeros() as usize, pc);
            let what = format!("all lanes of a warp load a matrix together; the lanes {:#010x} do not", !mask);
            self.complain(grid, place, what);
        }
        let addresses = shared(load.space, warp.addresses(&load.address));
        // Each lane has the address of a row.
        let rows = mask & ALL_LANES >> (LANES - SIZE * load.registers.len());
        let (kind, space, bytes, alignment) = (AccessKind::Read, Space::Shared, ROW_BYTES, ROW_BYTES);
        let request = Request { pc, kind, space, mask: rows, addresses, bytes, alignment, remote: None };
        let allowed = if rows == 0 { 0 } else { self.check(grid, warp, &request, count)? };
        let mut matrices = [MatrixRow::default(); LANES];
        for lane in lanes_of(allowed) {
            let bytes = self.shared.bytes[addresses[lane] as usize..].as_chunks().0;
            matrices[lane].iter_mut().zip(bytes).for_each(|(element, bytes)| *element = u16::from_le_bytes(*bytes));
        }
        for (slot, matrix) in load.registers.iter().zip(matrices.as_chunks().0) {
            warp.registers.write(*slot, &fragment(matrix, load.transposed), mask);
        }
        Ok(())
    }
}

/// The two neighbouring elements of a matrix, or of its transpose, that each lane gets: lane 0 the first two of the first
/// row, lane 4 those of the second.
fn fragment(matrix: &[MatrixRow; SIZE], transposed: bool) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        let element = |column: usize| u32::from(if transposed { matrix[column][row] } else { matrix[row][column] });
        element(column) | element(column + 1) << 16
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_get_neighbours_of_a_row_or_of_a_column() {
        let matrix = std::array::from_fn(|row| std::array::from_fn(|column| (10 * row + column) as u16));
        let pair = |first: u32, second: u32| first | second << 16;
        let [plain, transposed] = [false, true].map(|transposed| fragment(&matrix, transposed));
        assert_eq!([plain[0], plain[5], plain[31]], [pair(0, 1), pair(12, 13), pair(76, 77)]);
        assert_eq!([transposed[0], transposed[5], transposed[31]], [pair(0, 10), pair(21, 31), pair(67, 77)]);
    }
}
