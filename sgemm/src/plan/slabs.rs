//! Tall problems, cut into launches: a grid has fewer blocks along y than along x.

/// Blocks that a grid can have along y.
const MAX_GRID_Y: u32 = 65_535;

/// The same where they are made up to whole groups: up to 16 blocks multicast to each other.
const MAX_GROUPED_Y: u32 = MAX_GRID_Y / 16 * 16;

/// Rows of C that one launch computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slab {
    /// The first of them.
    pub first_row: u32,
    /// How many there are.
    pub rows: u32,
}

/// Cuts m rows into slabs that a grid of blocks, each `bm` rows high, can cover.
pub(super) fn slabs(m: u32, bm: u32) -> impl ExactSizeIterator<Item = Slab> {
    slabs_of(m, bm, MAX_GRID_Y)
}

/// The same where blocks may be grouped along y.
pub(super) fn grouped_slabs(m: u32, bm: u32) -> impl ExactSizeIterator<Item = Slab> {
    slabs_of(m, bm, MAX_GROUPED_Y)
}

fn slabs_of(m: u32, bm: u32, blocks: u32) -> impl ExactSizeIterator<Item = Slab> {
    let slab_rows = blocks.saturating_mul(bm.max(1));
    let cut = move |slab| Slab { first_row: slab * slab_rows, rows: slab_rows.min(m - slab * slab_rows) };
    (0..m.div_ceil(slab_rows)).map(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row once, in order, and no slab higher than a grid.
    fn check(m: u32, bm: u32, count: usize) {
        let slabs: Vec<Slab> = slabs(m, bm).collect();
        assert_eq!(slabs.len(), count, "m = {m}, bm = {bm}");
        let mut next = 0;
        for slab in slabs {
            assert_eq!(slab.first_row, next);
            assert!(slab.rows > 0 && slab.rows.div_ceil(bm) <= MAX_GRID_Y);
            next += slab.rows;
        }
        assert_eq!(next, m);
    }

    #[test]
    fn slabs_cover_every_row_once() {
        check(0, 128, 0);
        check(1, 128, 1);
        check(4096, 128, 1);
        check(MAX_GRID_Y * 32, 32, 1);
        check(MAX_GRID_Y * 32 + 1, 32, 2);
        check(MAX_GRID_Y * 3, 1, 3);
        check(u32::MAX, 1, 65_537);
        check(u32::MAX, 65_536, 2);
        check(u32::MAX, u32::MAX, 1);
    }
}
