//! `ldmatrix` and `stmatrix`.

use crate::check::AccessKind;
use crate::counters::Count;
use crate::exec::memory::{Request, shared};
use crate::exec::state::{Fault, Grid, Origin, Site, Warp};
use crate::lanes::{ALL_LANES, LANES, Mask, lanes_of};
use crate::program::{Matrices, Pc};
use crate::types::{Semantics, Space};

/// Rows of a matrix and elements of a row; bytes of a row.
const SIZE: usize = 8;
const ROW_BYTES: u32 = 16;

/// A row of 16-bit elements.
type MatrixRow = [u16; SIZE];

impl Site {
    pub(crate) fn matrices(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        access: &Matrices,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        if mask != ALL_LANES {
            let at = Origin { warp: warp.number, lane: mask.trailing_zeros() as usize, pc };
            let does = if access.is_store { "store" } else { "load" };
            let what = format!("all lanes of a warp {does} a matrix together; the lanes {:#010x} do not", !mask);
            self.complain(grid, at, what);
        }
        let addresses = shared(access.space, warp.addresses(&access.address)).map(|address| self.own_offset(address));
        // Each lane holds the address of a row.
        let rows = mask & ALL_LANES >> (LANES - SIZE * access.registers.len());
        let kind = if access.is_store { AccessKind::Write } else { AccessKind::Read };
        let (space, bytes, alignment) = (Space::Shared, ROW_BYTES, ROW_BYTES);
        let request = Request {
            pc,
            kind,
            space,
            mask: rows,
            addresses,
            bytes,
            alignment,
            remote: None,
            semantics: Semantics::DEFAULT,
        };
        let allowed = if rows == 0 { 0 } else { self.check(grid, warp, &request, None, count)? };
        let recorded = self.record(grid, warp, &request, allowed);
        let mut matrices = [MatrixRow::default(); LANES];
        if access.is_store {
            for (slot, matrix) in access.registers.iter().zip(matrices.as_chunks_mut().0) {
                put_fragment(matrix, &warp.registers.read(*slot), access.transposed);
            }
            for lane in lanes_of(allowed) {
                let bytes = self.shared.bytes[addresses[lane] as usize..].as_chunks_mut().0;
                bytes.iter_mut().zip(matrices[lane]).for_each(|(bytes, element)| *bytes = element.to_le_bytes());
            }
            self.recorded(grid, Some(warp), recorded);
            return Ok(());
        }
        self.recorded(grid, Some(warp), recorded);
        for lane in lanes_of(allowed) {
            let bytes = self.shared.bytes[addresses[lane] as usize..].as_chunks().0;
            matrices[lane].iter_mut().zip(bytes).for_each(|(element, bytes)| *element = u16::from_le_bytes(*bytes));
        }
        for (slot, matrix) in access.registers.iter().zip(matrices.as_chunks().0) {
            warp.registers.write(*slot, &fragment(matrix, access.transposed), mask);
        }
        Ok(())
    }
}

/// The two adjacent elements of a matrix, or of its transpose, that each lane gets: lane 0 the first two of row 0, lane
/// 4 those of row 1.
fn fragment(matrix: &[MatrixRow; SIZE], transposed: bool) -> [u32; LANES] {
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        let element = |column: usize| u32::from(if transposed { matrix[column][row] } else { matrix[row][column] });
        element(column) | element(column + 1) << 16
    })
}

/// The inverse of [`fragment`].
fn put_fragment(matrix: &mut [MatrixRow; SIZE], fragment: &[u32; LANES], transposed: bool) {
    for (lane, pair) in fragment.iter().enumerate() {
        let (row, column) = (lane / 4, lane % 4 * 2);
        for (column, element) in [(column, *pair as u16), (column + 1, (pair >> 16) as u16)] {
            *(if transposed { &mut matrix[column][row] } else { &mut matrix[row][column] }) = element;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_get_adjacent_elements_of_a_row_or_of_a_column() {
        let matrix = std::array::from_fn(|row| std::array::from_fn(|column| (10 * row + column) as u16));
        for transposed in [false, true] {
            let mut back = [MatrixRow::default(); SIZE];
            put_fragment(&mut back, &fragment(&matrix, transposed), transposed);
            assert_eq!(back, matrix);
        }
        let pair = |first: u32, second: u32| first | second << 16;
        let [plain, transposed] = [false, true].map(|transposed| fragment(&matrix, transposed));
        assert_eq!([plain[0], plain[5], plain[31]], [pair(0, 1), pair(12, 13), pair(76, 77)]);
        assert_eq!([transposed[0], transposed[5], transposed[31]], [pair(0, 10), pair(21, 31), pair(67, 77)]);
    }
}
