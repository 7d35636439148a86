//! Which elements a warp's sparse A has: see `program::sparse`.

use super::fragment::{MAX_K, MAX_SPARSE};
use crate::exec::state::{Grid, Origin, Site, Warp};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::ops::tensor_core::ROWS;
use crate::program::sparse::{Groups, Sparse};
use crate::program::{Arithmetic, MmaShape, Pc};

/// By row: the k of each element.
pub(super) struct Selection([[u8; MAX_K]; ROWS]);

impl Selection {
    /// The elements of a column that a row has to do with.
    pub(super) fn of_column(&self, row: usize, column: &[u32; MAX_SPARSE]) -> [u32; MAX_K] {
        self.0[row].map(|k| column[usize::from(k)])
    }
}

impl Site {
    /// Complains about metadata for which nothing is defined.
    pub(super) fn selection(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        (pc, mask): (Pc, Mask),
        arithmetic: Arithmetic,
        shape: MmaShape,
        sparse: &Sparse,
    ) -> Selection {
        let groups = Groups::new(arithmetic.element_bits(), shape.k);
        let metadata: [u32; LANES] = warp.registers.read(sparse.metadata);
        let bits = |row: usize, group: usize| {
            let (lane, bit) = groups.place(sparse.selector as usize, row / 8, group);
            (metadata[row % 8 * 4 + lane] >> bit & 0xf, row % 8 * 4 + lane)
        };
        let mut selection = Selection([[0; MAX_K]; ROWS]);
        for (row, elements) in selection.0.iter_mut().enumerate() {
            for (index, k) in elements.iter_mut().enumerate().take(shape.depth(true)) {
                *k = groups.element(index, |group| bits(row, group).0) as u8;
            }
        }
        let all = (0..ROWS).flat_map(|row| (0..groups.count()).map(move |group| bits(row, group)));
        let wrong = |(bits, lane): &(u32, usize)| {
            !groups.is_defined(*bits, sparse.is_ordered) && lanes_of(mask).any(|active| active == *lane)
        };
        if let Some((bits, lane)) = all.into_iter().find(wrong) {
            let what =
                format!("the metadata {:#010x} have {bits:#06b}, which is not defined for this type", metadata[lane]);
            self.complain(grid, Origin { warp: warp.number, lane, pc }, what);
        }
        selection
    }
}
