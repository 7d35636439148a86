//! Which blocks of a grid run: all of them, or a sample that has every kind of edge in it.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// A block's x, y, z in the grid.
pub type BlockIndex = [u32; 3];

/// Which blocks of a grid to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Blocks {
    /// All of them.
    #[default]
    All,
    /// One of each class (first, middle or last in each dimension) and a few at random, then more at random until the time is up.
    Sample {
        /// When to begin no further block.
        budget: Duration,
        /// What the choice is drawn from.
        seed: u64,
    },
}

/// Classes of blocks: first, middle or last in each of three dimensions.
pub(crate) const CLASSES: usize = 27;

/// Blocks that a sample has at most.
const MAX_SAMPLE: u64 = 1 << 16;

/// Random blocks that run however long they take: blocks of one class may differ in how their rows are aligned.
const REQUIRED_RANDOM: usize = 8;

/// The class of a block. Blocks at the edges of a grid do other work than those inside, so that what was counted in some
/// blocks speaks for the others of their class alone.
pub(crate) fn class_of(block: BlockIndex, grid: [u32; 3]) -> usize {
    let place = |dimension: usize| match block[dimension] {
        0 => 0,
        index if index + 1 == grid[dimension] => 2,
        _ => 1,
    };
    place(0) + 3 * place(1) + 9 * place(2)
}

/// How many blocks of the grid are in the class.
pub(crate) fn population(class: usize, grid: [u32; 3]) -> u64 {
    let of = |dimension: usize, place: usize| match place {
        0 => 1,
        1 => u64::from(grid[dimension].saturating_sub(2)),
        _ => u64::from(grid[dimension] > 1),
    };
    of(0, class % 3) * of(1, class / 3 % 3) * of(2, class / 9)
}

/// The blocks to run, in order, and when to stop.
pub(crate) struct Plan {
    grid: [u32; 3],
    /// `None` for all blocks of the grid.
    sample: Option<Vec<BlockIndex>>,
    /// Blocks that run however long they take.
    required: usize,
    until: Option<Instant>,
}

impl Plan {
    pub(crate) fn new(blocks: Blocks, grid: [u32; 3]) -> Self {
        match blocks {
            Blocks::All => Self { grid, sample: None, required: 0, until: None },
            Blocks::Sample { budget, seed } => {
                let (sample, required) = draw(grid, &mut SmallRng::seed_from_u64(seed));
                Self { grid, sample: Some(sample), required, until: Some(Instant::now() + budget) }
            }
        }
    }

    /// The block that comes so late in the order.
    pub(crate) fn block(&self, index: usize) -> Option<BlockIndex> {
        match &self.sample {
            Some(sample) => sample.get(index).copied(),
            None => {
                let [x, y, z] = self.grid.map(u64::from);
                let index = index as u64;
                (index < x * y * z).then(|| [index % x, index / x % y, index / x / y].map(|place| place as u32))
            }
        }
    }

    /// Whether there is time for it.
    pub(crate) fn has_time(&self, index: usize) -> bool {
        index < self.required || self.until.is_none_or(|until| Instant::now() < until)
    }
}

/// A block of each class, then others at random, no block twice.
fn draw(grid: [u32; 3], rng: &mut SmallRng) -> (Vec<BlockIndex>, usize) {
    let mut sample = Vec::new();
    for class in (0..CLASSES).filter(|&class| population(class, grid) > 0) {
        let mut place = |dimension: usize, place: usize| match place {
            0 => 0,
            1 => rng.random_range(1..grid[dimension] - 1),
            _ => grid[dimension] - 1,
        };
        sample.push([place(0, class % 3), place(1, class / 3 % 3), place(2, class / 9)]);
    }
    let classes = sample.len();
    let total: u64 = grid.into_iter().map(u64::from).product();
    let mut seen: HashSet<BlockIndex> = sample.iter().copied().collect();
    let wanted = total.min(MAX_SAMPLE) as usize;
    // Where nearly all are wanted, the last ones are hard to come by at random.
    let mut attempts = 16 * wanted;
    while sample.len() < wanted && attempts > 0 {
        attempts -= 1;
        let block = grid.map(|size| rng.random_range(0..size));
        if seen.insert(block) {
            sample.push(block);
        }
    }
    let required = sample.len().min(classes + REQUIRED_RANDOM);
    (sample, required)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_partition_the_grid() {
        for grid in [[1, 1, 1], [2, 1, 1], [5, 4, 1], [3, 3, 3]] {
            let mut counts = [0; CLASSES];
            let plan = Plan::new(Blocks::All, grid);
            let mut total = 0;
            while let Some(block) = plan.block(total) {
                counts[class_of(block, grid)] += 1;
                total += 1;
            }
            assert_eq!(total as u32, grid.iter().product::<u32>());
            (0..CLASSES).for_each(|class| assert_eq!(counts[class], population(class, grid), "{grid:?} {class}"));
        }
    }

    #[test]
    fn a_sample_has_every_class_and_no_block_twice() {
        let plan = Plan::new(Blocks::Sample { budget: Duration::ZERO, seed: 1 }, [40, 30, 1]);
        let blocks: Vec<_> = (0..).map_while(|index| plan.block(index)).collect();
        let classes: HashSet<_> = blocks[..9].iter().map(|block| class_of(*block, [40, 30, 1])).collect();
        assert_eq!((plan.required, classes.len()), (9 + REQUIRED_RANDOM, 9));
        assert_eq!(blocks.iter().collect::<HashSet<_>>().len(), blocks.len());
        assert!(plan.has_time(16) && !plan.has_time(17));
    }
}
