//! What a block loads of an operand for each k-tile, with the copy engine.

use super::Stage;
use crate::Ab;
use crate::hardware::SWIZZLE_BYTES;
use crate::planned::{PlannedBlock, Shared};
use crate::ptx::tensor::{self, TensorMap};
use crate::spec::loaded_rows;

/// An operand in memory.
#[derive(Clone, Copy)]
pub(crate) struct Mapped {
    map: *const TensorMap,
    /// Its index along the third dimension of the map.
    index: u32,
    pub is_transposed: bool,
    shared: Shared,
}

/// The k-tile of an MN-major operand in shared memory: panels of so many columns and rows.
#[derive(Clone, Copy)]
pub(crate) struct Panels {
    pub most: u32,
    pub width: u32,
    pub rows: u32,
    pub row_bytes: u32,
}

/// What the block loads of an operand for each k-tile: one box of a k-major one, or of each panel of an MN-major one; of these, where several
/// blocks share them, its part, to all of them.
#[derive(Clone, Copy)]
pub(crate) struct Boxes {
    operand: Mapped,
    /// The first element of k-tile 0, and what is added to its row and column for each k.
    at: [u32; 2],
    of_k: [u32; 2],
    /// The byte of the operand's stage at which its part begins.
    first: u32,
    /// How many boxes, of these panels if it is not one.
    count: u32,
    panels: Panels,
    /// Bytes that all these blocks load, from the first byte on.
    pub bytes: u32,
}

/// What the block loads for each k-tile.
#[derive(Clone, Copy)]
pub(crate) struct Loads {
    pub boxes: Ab<Boxes>,
    /// Bytes of a stage that A has; B has the others.
    pub a_bytes: u32,
    /// Depth of a k-tile.
    pub depth: u32,
}

impl Mapped {
    /// Of the block's problem, where there are so many elements from one problem's to the next one's; 0 where all share it.
    #[inline(always)]
    pub fn new(map: *const TensorMap, block: PlannedBlock, stride: u64, is_transposed: bool, shared: Shared) -> Self {
        Self { map, index: if stride == 0 { 0 } else { block.problem }, is_transposed, shared }
    }

    /// So many rows from `at` on of a k-major operand, which has `end`; if it ends in its first tile, few more than these. Otherwise ordered, it
    /// would have these panels.
    #[inline(always)]
    pub fn rows(self, at: u32, end: u32, of_tile: u32, panels: Panels) -> Boxes {
        let rows = loaded_rows(of_tile, end, self.shared.blocks);
        let first = rows * self.shared.place;
        Boxes {
            operand: self,
            at: [at + first, 0],
            of_k: [0, 1],
            first: first * SWIZZLE_BYTES,
            count: 1,
            panels,
            bytes: rows * self.shared.blocks * SWIZZLE_BYTES,
        }
    }

    /// The columns from `at` on of an MN-major operand, which has `end`: the first panel, and no others that are beyond its end.
    #[inline(always)]
    pub fn panels(self, at: u32, end: u32, panels: Panels) -> Boxes {
        let Panels { most, width, rows, row_bytes } = panels;
        let count = if most == 1 { 1 } else { end.saturating_sub(at).div_ceil(width).clamp(1, most) };
        let first = (rows >> self.shared.blocks.trailing_zeros()) * self.shared.place;
        Boxes {
            operand: self,
            at: [first, at],
            of_k: [1, 0],
            first: first * row_bytes,
            count,
            panels,
            bytes: count * rows * row_bytes,
        }
    }
}

impl Boxes {
    /// Issues the TMA loads of the k-tile that begins at `k` to the shared address `to`.
    ///
    /// # Safety
    /// As of [`tensor::load_of_batch_multicast`]; the map's box has as many rows as the block loads.
    #[inline(always)]
    pub unsafe fn load(self, to: u32, k: u32, stage: Stage) {
        let Self { operand: Mapped { map, index, shared, .. }, panels, .. } = self;
        let [row, col] = [0, 1].map(|axis| self.at[axis] + self.of_k[axis] * k);
        for panel in 0..panels.most {
            let to = to + self.first + panel * panels.rows * panels.row_bytes;
            let col = col + panel * panels.width;
            // SAFETY: upheld by the caller (see `# Safety`).
            unsafe {
                if panel > 0 && panel >= self.count {
                    // It is beyond the operand's end.
                } else if shared.blocks == 1 {
                    tensor::load_of_batch(to, map, index, row, col, stage.full); // takes less time than a multicast to one
                } else {
                    tensor::load_of_batch_multicast(to, map, index, row, col, stage.full, shared.mask);
                }
            }
        }
    }
}
