//! Which elements of A, B and C a rank has.

use std::ops::Range;

use super::cyclic::Cyclic;
use super::grid::{Axis, Grid, Position};
use crate::Problem;
use crate::problem::Order;

/// Elements of a block along each dimension, at least 1 each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Blocks {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
}

/// In how many pieces the parts of a rank are gathered and multiplied, at least 1 each: the first is multiplied while the second is on its
/// way. More begin sooner, and make smaller products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Chunks {
    /// Along m.
    pub m: usize,
    /// Along n.
    pub n: usize,
}

/// How matrices are distributed, and with them the work.
///
/// Rows of A and C are dealt out to the rows of the grid, columns of B and C to its columns, each in blocks. Columns of A are dealt
/// out to the columns of the grid, rows of B to its rows. So with one layer, A, B and C are as ScaLAPACK has them on a grid in row-major order,
/// with the first block on process (0, 0).
///
/// With several layers, each has a contiguous range of k, which is dealt out in the layer as above; and the rows that a row of the grid
/// has of C are divided among its layers, in panels. Where C is stored by columns, its columns are divided instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Scheme {
    /// The ranks.
    pub grid: Grid,
    /// What is dealt out at once.
    pub blocks: Blocks,
    /// What is gathered at once.
    pub chunks: Chunks,
}

/// The local matrices of a rank: rows and columns of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Of A.
    pub a: [usize; 2],
    /// Of B.
    pub b: [usize; 2],
    /// Of C.
    pub c: [usize; 2],
}

impl Chunks {
    /// As many as hide most of the first one, and leave products large, for sizes from some thousands on.
    pub const DEFAULT: Self = Self { m: 4, n: 8 };

    /// Elements of a chunk, where so many elements at most are cut into `count`: about equal, a multiple of a tile or of a vector.
    pub(crate) fn width(count: usize, most: usize) -> usize {
        let even = most.div_ceil(count.max(1)).max(1);
        even.next_multiple_of(if even >= WIDE { TILE } else { VECTOR })
    }

    /// The chunks of that width in `extent` elements: as many as in `most`, the last ones may be empty.
    pub(super) fn ranges(width: usize, most: usize, extent: usize) -> Vec<Range<usize>> {
        (0..most.div_ceil(width)).map(|i| (i * width).min(extent)..((i + 1) * width).min(extent)).collect()
    }
}

/// Elements of a tile of C along either dimension, for most kernels.
const TILE: usize = 128;

/// Chunks from so many elements on lie at multiples of a tile.
const WIDE: usize = 4 * TILE;

/// Others lie at multiples of a vector load of 16-bit elements.
const VECTOR: usize = 8;

impl Scheme {
    /// 1D: each rank has a panel of rows of A, B and C, of a product of these sizes m, n, k.
    #[must_use]
    pub fn row_panels(sizes: [usize; 3], ranks: usize) -> Self {
        Self::panels(sizes, Grid { rows: ranks, columns: 1, layers: 1 })
    }

    /// One block for each process along each dimension.
    #[must_use]
    pub fn panels([m, n, k]: [usize; 3], grid: Grid) -> Self {
        let panel = |extent, processes| Cyclic::panels(extent, processes).block;
        let of_layer = panel(k, grid.layers);
        // A and B deal out k over columns and rows: blocks that suit the longer side of the grid leave nobody without.
        let k = panel(of_layer, grid.rows.max(grid.columns));
        Self { grid, blocks: Blocks { m: panel(m, grid.rows), n: panel(n, grid.columns), k }, chunks: Chunks::DEFAULT }
    }

    /// ScaLAPACK's: square blocks, dealt out over a grid of one layer.
    #[must_use]
    pub const fn block_cyclic(rows: usize, columns: usize, block: usize) -> Self {
        let grid = Grid { rows, columns, layers: 1 };
        Self { grid, blocks: Blocks { m: block, n: block, k: block }, chunks: Chunks::DEFAULT }
    }

    /// The same with other chunks.
    #[must_use]
    pub const fn with_chunks(self, chunks: Chunks) -> Self {
        Self { chunks, ..self }
    }

    /// The local matrices of a rank. Of the problem's layouts, only the orders count here.
    #[must_use]
    pub fn share(&self, problem: &Problem, rank: usize) -> Share {
        let [m, n, k] = problem.sizes();
        let Position { row, column, layer } = self.grid.position(rank);
        let [rows, columns] = [self.rows(m).count(row), self.columns(n).count(column)];
        let of_layer = self.layer(k, layer).len();
        let [k_of_a, k_of_b] =
            [(Axis::Columns, column), (Axis::Rows, row)].map(|(axis, place)| self.k(of_layer, axis).count(place));
        let part = |extent| self.parts(extent).count(layer);
        let c = if is_by_columns(problem) { [rows, part(columns)] } else { [part(rows), columns] };
        Share { a: [rows, k_of_a], b: [k_of_b, columns], c }
    }

    /// Where in the whole A an element of a rank's is: row and column.
    #[must_use]
    pub fn global_a(&self, problem: &Problem, rank: usize, [row, column]: [usize; 2]) -> [usize; 2] {
        let [m, _, k] = problem.sizes();
        [self.rows(m).global(self.grid.position(rank).row, row), self.global_k(k, rank, Axis::Columns, column)]
    }

    /// Where in the whole B an element of a rank's is: row and column.
    #[must_use]
    pub fn global_b(&self, problem: &Problem, rank: usize, [row, column]: [usize; 2]) -> [usize; 2] {
        let [_, n, k] = problem.sizes();
        [self.global_k(k, rank, Axis::Rows, row), self.columns(n).global(self.grid.position(rank).column, column)]
    }

    /// Where in the whole C an element of a rank's is: row and column.
    #[must_use]
    pub fn global_c(&self, problem: &Problem, rank: usize, [row, column]: [usize; 2]) -> [usize; 2] {
        let [m, n, _] = problem.sizes();
        let position = self.grid.position(rank);
        let (rows, columns) = (self.rows(m), self.columns(n));
        let first = |of_tile: usize| self.parts(of_tile).global(position.layer, 0);
        let [row, column] = if is_by_columns(problem) {
            [row, column + first(columns.count(position.column))]
        } else {
            [row + first(rows.count(position.row)), column]
        };
        [rows.global(position.row, row), columns.global(position.column, column)]
    }

    /// The index in all of k of what a rank has along an axis.
    fn global_k(&self, k: usize, rank: usize, axis: Axis, local: usize) -> usize {
        let position = self.grid.position(rank);
        let layer = self.layer(k, position.layer);
        layer.start + self.k(layer.len(), axis).global(position.along(axis), local)
    }

    /// Rows of A and C.
    #[must_use]
    pub const fn rows(&self, m: usize) -> Cyclic {
        Cyclic { extent: m, block: self.blocks.m, processes: self.grid.rows }
    }

    /// Columns of B and C.
    #[must_use]
    pub const fn columns(&self, n: usize) -> Cyclic {
        Cyclic { extent: n, block: self.blocks.n, processes: self.grid.columns }
    }

    /// The range of k that a layer has: whole blocks, but for the last.
    #[must_use]
    pub fn layer(&self, k: usize, layer: usize) -> Range<usize> {
        let blocks = k.div_ceil(self.blocks.k).div_ceil(self.grid.layers);
        let at = |layer: usize| (layer * blocks * self.blocks.k).min(k);
        at(layer)..at(layer + 1)
    }

    /// How the contiguous rows of a tile of C, or its columns where it is stored by columns, are divided among layers.
    #[must_use]
    pub fn parts(&self, of_tile: usize) -> Cyclic {
        Cyclic::panels(of_tile, self.grid.layers)
    }

    /// How a layer's range of k is dealt out: of A along [`Axis::Columns`], of B along [`Axis::Rows`].
    #[must_use]
    pub const fn k(&self, of_layer: usize, axis: Axis) -> Cyclic {
        Cyclic { extent: of_layer, block: self.blocks.k, processes: self.grid.along(axis) }
    }
}

/// Whether C is stored by columns.
pub(super) fn is_by_columns(problem: &Problem) -> bool {
    let [_, _, c, _] = problem.views();
    c.layout.order(c.name, c.rows, c.columns).is_ok_and(|(order, _)| order == Order::ColumnMajor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Layout;

    proptest! {
        /// Together, the ranks have as many elements as the matrices.
        #[test]
        fn nothing_is_left_over(
            sizes in prop::array::uniform3(0_usize..60), grid in prop::array::uniform3(1_usize..4),
            blocks in prop::array::uniform3(1_usize..20), is_by_columns: bool,
        ) {
            let ([m, n, k], [rows, columns, layers]) = (sizes, grid);
            let grid = Grid { rows, columns, layers };
            let blocks = Blocks { m: blocks[0], n: blocks[1], k: blocks[2] };
            let given = Scheme { blocks, ..Scheme::panels(sizes, grid) };
            let rows = Problem::new(m, n, k);
            let c = if is_by_columns { Layout::column_major(m) } else { Layout::row_major(n) };
            let problem = rows.with_layouts(Layout::row_major(k), Layout::row_major(n), c);
            for scheme in [given, Scheme::panels(sizes, grid)] {
                let shares: Vec<_> = (0..grid.ranks()).map(|rank| scheme.share(&problem, rank)).collect();
                let sum = |of: fn(&Share) -> [usize; 2]| shares.iter().map(|share| of(share).iter().product::<usize>()).sum::<usize>();
                prop_assert_eq!([sum(|s| s.a), sum(|s| s.b), sum(|s| s.c)], [m * k, k * n, m * n]);
                let parts = (0..layers).map(|layer| scheme.layer(k, layer));
                prop_assert!(parts.flatten().eq(0..k));
                let mut seen = [vec![0; m * k], vec![0; k * n], vec![0; m * n]];
                for (rank, share) in shares.iter().enumerate() {
                    let mut mark = |which: usize, width, [rows, columns]: [usize; 2], of: &dyn Fn([usize; 2]) -> [usize; 2]| {
                        for index in (0..rows).flat_map(|i| (0..columns).map(move |j| [i, j])) {
                            let [i, j] = of(index);
                            seen[which][i * width + j] += 1;
                        }
                    };
                    mark(0, k, share.a, &|at| scheme.global_a(&problem, rank, at));
                    mark(1, n, share.b, &|at| scheme.global_b(&problem, rank, at));
                    mark(2, n, share.c, &|at| scheme.global_c(&problem, rank, at));
                }
                prop_assert!(seen.iter().flatten().all(|count| *count == 1));
            }
        }
    }
}
