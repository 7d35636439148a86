//! Which scheme: what was asked for, and for the rest what is predicted to be the fastest.

use sgemm::distributed::{Blocks, Chunks, Grid, Machine, Scheme, choose};

use crate::Error;
use crate::backend::Ranks;

/// What was asked for of a scheme.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The grid.
    pub grid: Option<Grid>,
    /// The side of blocks, where they are dealt out block-cyclically.
    pub block: Option<u32>,
    /// The chunks.
    pub chunks: Option<Chunks>,
}

impl Wanted {
    /// Fails where a grid was asked for that has another number of ranks.
    ///
    /// # Errors
    /// [`Error::Grid`].
    pub fn check(&self, ranks: usize) -> Result<(), Error> {
        match self.grid {
            Some(grid) if grid.ranks() != ranks => {
                Err(Error::Grid { grid: grid_name(&grid), has: grid.ranks(), ranks })
            }
            _ => Ok(()),
        }
    }

    /// The scheme for a problem on all ranks.
    ///
    /// # Errors
    /// Those of [`Self::check`] and [`choose`].
    pub fn scheme(&self, problem: &sgemm::Problem, ranks: &mut dyn Ranks) -> Result<Scheme, Error> {
        let count = ranks.count();
        self.check(count)?;
        let sizes = problem.sizes();
        let scheme = match self.grid {
            Some(grid) => Scheme::panels(sizes, grid),
            None => {
                let [input, output] = problem.elements().map(|element| u64::from(element.bytes()));
                let [m, n, k] = sizes.map(|size| size as u64);
                let matrices = ((m * k + k * n) * input + m * n * output) / count as u64;
                let limit = ranks.workspace_limit(matrices)?;
                choose(problem, count, &ranks.device().gpu(), &Machine::h200(), limit)?.scheme
            }
        };
        let scheme = match self.block.map(|block| block as usize) {
            Some(block) => Scheme { blocks: Blocks { m: block, n: block, k: block }, ..scheme },
            None => scheme,
        };
        Ok(self.chunks.map_or(scheme, |chunks| scheme.with_chunks(chunks)))
    }
}

/// A scheme of a problem of these sizes in words: `2x2 panels, 4x8 chunks`.
#[must_use]
pub fn name(scheme: &Scheme, sizes: [usize; 3]) -> String {
    let Scheme { grid, blocks, chunks } = scheme;
    let dealt = if Scheme::panels(sizes, *grid).blocks == *blocks {
        "panels".to_owned()
    } else if blocks.m == blocks.n && blocks.n == blocks.k {
        format!("blocks of {}", blocks.m)
    } else {
        format!("blocks of {}x{}x{}", blocks.m, blocks.n, blocks.k)
    };
    format!("{} {dealt}, {}x{} chunks", grid_name(grid), chunks.m, chunks.n)
}

fn grid_name(grid: &Grid) -> String {
    let Grid { rows, columns, layers } = grid;
    if *layers == 1 { format!("{rows}x{columns}") } else { format!("{rows}x{columns}x{layers}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_how_matrices_are_dealt_out() {
        let name = |scheme: Scheme| name(&scheme, [100, 90, 80]);
        let grid = Grid { rows: 2, columns: 1, layers: 3 };
        let chunks = Chunks { m: 2, n: 5 };
        assert_eq!(name(Scheme::panels([100, 90, 80], grid).with_chunks(chunks)), "2x1x3 panels, 2x5 chunks");
        assert_eq!(name(Scheme::block_cyclic(2, 2, 16).with_chunks(chunks)), "2x2 blocks of 16, 2x5 chunks");
        let blocks = Blocks { m: 8, n: 9, k: 10 };
        let scheme = Scheme { blocks, ..Scheme::block_cyclic(1, 3, 16) }.with_chunks(chunks);
        assert_eq!(name(scheme), "1x3 blocks of 8x9x10, 2x5 chunks");
    }
}
