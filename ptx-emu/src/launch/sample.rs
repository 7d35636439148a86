//! Which blocks of a grid run: all, or a sample with every class of edge block.

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
    /// One block of each class (first, middle or last in each dimension) and a few random ones, then more random ones
    /// within the budget.
    Sample {
        /// Time after which no further block starts.
        budget: Duration,
        /// Seed of the random choice.
        seed: u64,
        /// Which blocks run together.
        grouping: Grouping,
    },
}

/// Which blocks depend on each other, so that a sample has all of them or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// The blocks of a cluster.
    #[default]
    Clusters,
    /// The clusters that differ in z only: split-K.
    AlongZ,
    /// Stream-K on a one-dimensional grid without clusters: the first blocks, in groups of equal size, share the first
    /// output tiles; each other block computes one tile, row by row. A sample has the first blocks of at least one
    /// group, and data-parallel tiles by class.
    StreamK {
        /// Stream-K blocks, which come first.
        blocks: u32,
        /// Groups of stream-K blocks. A block waits only for earlier blocks of its group; a sample has a prefix of each
        /// group, or none.
        groups: u32,
        /// Stream-K tiles, which come first.
        tiles: u32,
        /// Tiles per row.
        columns: u32,
    },
    /// Persistent clusters on a one-dimensional grid: tiles in bands of rows, column by column within a band. A sample
    /// has them by class of tile.
    Banded {
        /// Rows of tiles.
        rows: u32,
        /// Columns of tiles.
        columns: u32,
        /// Rows of a band; the last may have fewer.
        height: u32,
    },
}

/// Classes of units: first, middle or last in each of three dimensions, and one for units that always run.
pub(crate) const CLASSES: usize = 28;
const ALWAYS: usize = CLASSES - 1;

/// Units of a sample at most.
const MAX_SAMPLE: u64 = 1 << 16;

/// Random units that run whatever the budget: blocks of a class may differ in how their rows are aligned.
const REQUIRED_RANDOM: usize = 3;

/// Of all units, about this many have their footprints recorded; of a sample's random ones, one in this many.
const NOTED: usize = 64;

/// Stream-K blocks that run whatever the budget.
const REQUIRED_STREAM_K: u32 = 8;

/// Consecutive clusters along one dimension that run together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Unit {
    pub first: BlockIndex,
    pub dimension: usize,
    pub length: u32,
    pub class: usize,
}

impl Unit {
    /// The indices of its clusters.
    pub(crate) fn clusters(self) -> impl Iterator<Item = BlockIndex> {
        (0..self.length).map(move |step| {
            let mut cluster = self.first;
            cluster[self.dimension] += step;
            cluster
        })
    }
}

/// The class of a tile. Edge blocks do different work, so the counts of some blocks represent their own class only.
fn class_of(tile: BlockIndex, grid: [u32; 3]) -> usize {
    let position = |dimension: usize| match tile[dimension] {
        0 => 0,
        index if index + 1 == grid[dimension] => 2,
        _ => 1,
    };
    position(0) + 3 * position(1) + 9 * position(2)
}

/// The number of tiles in the class.
fn population(class: usize, grid: [u32; 3]) -> u64 {
    let of = |dimension: usize, position: usize| match position {
        0 => 1,
        1 => u64::from(grid[dimension].saturating_sub(2)),
        _ => u64::from(grid[dimension] > 1),
    };
    of(0, class % 3) * of(1, class / 3 % 3) * of(2, class / 9)
}

/// The units to run, in order, and the time limit.
pub(crate) struct Plan {
    /// Clusters, by dimension.
    grid: [u32; 3],
    /// `None` for all of the grid.
    sample: Option<Sample>,
}

struct Sample {
    units: Vec<Unit>,
    /// Units that run whatever the budget.
    required: usize,
    until: Instant,
    /// Clusters of the grid, by class.
    population: [u64; CLASSES],
}

impl Plan {
    /// For a grid of `grid` clusters.
    pub(crate) fn new(blocks: Blocks, grid: [u32; 3]) -> Self {
        let sample = match blocks {
            Blocks::All => None,
            Blocks::Sample { budget, seed, grouping } => Some(Sample::new(budget, seed, grouping, grid)),
        };
        Self { grid, sample }
    }

    /// The unit at that position.
    pub(crate) fn unit(&self, index: usize) -> Option<Unit> {
        match &self.sample {
            Some(sample) => sample.units.get(index).copied(),
            None => {
                let [x, y, z] = self.grid.map(u64::from);
                let index = index as u64;
                let first = || [index % x, index / x % y, index / x / y].map(|index| index as u32);
                (index < x * y * z).then(|| Unit { first: first(), dimension: 2, length: 1, class: 0 })
            }
        }
    }

    /// Whether the budget allows it.
    pub(crate) fn has_time(&self, index: usize) -> bool {
        self.sample.as_ref().is_none_or(|sample| index < sample.required || Instant::now() < sample.until)
    }

    pub(crate) fn is_sample(&self) -> bool {
        self.sample.is_some()
    }

    /// Whether to record the footprint of the unit at that position. It depends on nothing else, so that the counters
    /// are those of any number of threads.
    pub(crate) fn is_noted(&self, index: usize) -> bool {
        match &self.sample {
            Some(sample) => index < sample.required || index.is_multiple_of(NOTED),
            None => {
                let units = self.grid.into_iter().map(|count| count as usize).fold(1, usize::saturating_mul);
                // Odd, so as not to stay in one column of a grid whose width is a power of two.
                index.is_multiple_of((units / NOTED) | 1)
            }
        }
    }

    /// Clusters of the grid that the class represents; `None` where all run.
    pub(crate) fn population(&self, class: usize) -> Option<u64> {
        self.sample.as_ref().map(|sample| sample.population[class])
    }
}

impl Sample {
    fn new(budget: Duration, seed: u64, grouping: Grouping, grid: [u32; 3]) -> Self {
        let [x, y, z] = grid;
        let (rectangle, depth, stream_k, groups) = match grouping {
            Grouping::Clusters => (Rectangle { size: grid, taken: 0 }, 1, 0, 1),
            Grouping::AlongZ => (Rectangle { size: [x, y, 1], taken: 0 }, z, 0, 1),
            Grouping::Banded { rows, columns, .. } => (Rectangle { size: [columns, rows, 1], taken: 0 }, 1, 0, 1),
            Grouping::StreamK { blocks, groups, tiles, columns } => {
                let rows = (x - blocks + tiles) / columns;
                (Rectangle { size: [columns, rows, 1], taken: tiles }, 1, blocks, groups)
            }
        };
        let mut rng = SmallRng::seed_from_u64(seed);
        let first = |tile| match grouping {
            Grouping::StreamK { blocks, tiles, .. } => [rectangle.number(tile) as u32 - tiles + blocks, 0, 0],
            Grouping::Banded { rows, columns, height } => {
                let [column, row, _] = tile;
                let above = row / height * height;
                [above * columns + column * height.min(rows - above) + row - above, 0, 0]
            }
            Grouping::Clusters | Grouping::AlongZ => tile,
        };
        let (tiles, required) = rectangle.draw(&mut rng);
        let class = |tile| class_of(tile, rectangle.size);
        let drawn =
            tiles.into_iter().map(|at| Unit { first: first(at), dimension: 2, length: depth, class: class(at) });
        // Units of one block each, so that they spread over the host threads.
        let size = stream_k / groups;
        let least = size.min(REQUIRED_STREAM_K);
        let always = rng.random_range(0..groups);
        let of_always = always * size..always * size + least;
        let unit = |x, length| Unit { first: [x, 0, 0], dimension: 0, length, class: ALWAYS };
        let others = (0..groups).filter(|group| *group != always).map(|group| unit(group * size, size));
        let others = [unit(of_always.end, size - least)].into_iter().chain(others).filter(|unit| unit.length > 0);
        let mut population = rectangle.population().map(|tiles| tiles * u64::from(depth));
        population[ALWAYS] = stream_k.into();
        Self {
            units: of_always.map(|x| unit(x, 1)).chain(drawn).chain(others).collect(),
            required: least as usize + required,
            until: Instant::now() + budget,
            population,
        }
    }
}

/// The tiles to sample: those of a grid but the first `taken`, counted along x, then y.
struct Rectangle {
    size: [u32; 3],
    taken: u32,
}

impl Rectangle {
    fn number(&self, [x, y, z]: BlockIndex) -> u64 {
        let [width, height, _] = self.size.map(u64::from);
        (u64::from(z) * height + u64::from(y)) * width + u64::from(x)
    }

    fn has(&self, tile: BlockIndex) -> bool {
        self.number(tile) >= self.taken.into()
    }

    /// The number of tiles in each class.
    fn population(&self) -> [u64; CLASSES] {
        let [width, ..] = self.size;
        let mut counts = std::array::from_fn(|class| if class == ALWAYS { 0 } else { population(class, self.size) });
        for number in 0..self.taken {
            counts[class_of([number % width, number / width, 0], self.size)] -= 1;
        }
        counts
    }

    /// A tile of each class, then random others, each once; and how many of these must run.
    fn draw(&self, rng: &mut SmallRng) -> (Vec<BlockIndex>, usize) {
        let population = self.population();
        let mut sample = Vec::new();
        for class in (0..CLASSES).filter(|&class| population[class] > 0) {
            let mut of_class = |middle: fn(&mut SmallRng, u32) -> u32| {
                let mut coord = |dimension: usize, position: usize| match position {
                    0 => 0,
                    1 => middle(rng, self.size[dimension]),
                    _ => self.size[dimension] - 1,
                };
                [coord(0, class % 3), coord(1, class / 3 % 3), coord(2, class / 9)]
            };
            let tile = of_class(|rng, size| rng.random_range(1..size - 1));
            // If the class is not empty, its last tile is available.
            sample.push(if self.has(tile) { tile } else { of_class(|_, size| size - 2) });
        }
        let classes = sample.len();
        let wanted = population.iter().sum::<u64>().min(MAX_SAMPLE) as usize;
        let mut seen: HashSet<BlockIndex> = sample.iter().copied().collect();
        // When nearly all are wanted, the last are unlikely to be drawn.
        let mut attempts = 16 * wanted;
        while sample.len() < wanted && attempts > 0 {
            attempts -= 1;
            let tile = self.size.map(|size| rng.random_range(0..size));
            if self.has(tile) && seen.insert(tile) {
                sample.push(tile);
            }
        }
        let required = sample.len().min(classes + REQUIRED_RANDOM);
        (sample, required)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(grouping: Grouping, grid: [u32; 3]) -> (Plan, Vec<Unit>) {
        let plan = Plan::new(Blocks::Sample { budget: Duration::ZERO, seed: 1, grouping }, grid);
        let units = (0..).map_while(|index| plan.unit(index)).collect();
        (plan, units)
    }

    #[test]
    fn classes_partition_the_grid() {
        for grid in [[1, 1, 1], [2, 1, 1], [5, 4, 1], [3, 3, 3]] {
            let mut counts = [0; CLASSES];
            let plan = Plan::new(Blocks::All, grid);
            let mut total = 0;
            while let Some(unit) = plan.unit(total) {
                counts[class_of(unit.first, grid)] += 1;
                total += 1;
            }
            assert_eq!(total as u32, grid.iter().product::<u32>());
            (0..ALWAYS).for_each(|class| assert_eq!(counts[class], population(class, grid), "{grid:?} {class}"));
        }
    }

    #[test]
    fn a_sample_has_every_class_and_no_block_twice() {
        let (plan, units) = sample(Grouping::Clusters, [40, 30, 1]);
        let classes: HashSet<_> = units[..9].iter().map(|unit| unit.class).collect();
        assert_eq!(classes.len(), 9);
        assert!(units.iter().all(|unit| unit.class == class_of(unit.first, [40, 30, 1])));
        assert_eq!(units.iter().collect::<HashSet<_>>().len(), units.len());
        assert!(plan.has_time(11) && !plan.has_time(12));
    }

    #[test]
    fn what_belongs_together_along_z_is_one_unit() {
        let (plan, units) = sample(Grouping::AlongZ, [5, 4, 3]);
        assert!(units.iter().all(|unit| (unit.dimension, unit.length, unit.first[2]) == (2, 3, 0)));
        assert_eq!(units[0].clusters().collect::<Vec<_>>(), [[0, 0, 0], [0, 0, 1], [0, 0, 2]]);
        let all: u64 = (0..CLASSES).filter_map(|class| plan.population(class)).sum();
        assert_eq!((units.len(), all), (20, 60));
    }

    #[test]
    fn the_first_stream_k_blocks_run_and_others_by_their_class() {
        // 10 x 6 tiles, the first 23 of them shared by 16 stream-K blocks.
        let grouping = Grouping::StreamK { blocks: 16, groups: 1, tiles: 23, columns: 10 };
        let (plan, units) = sample(grouping, [16 + 37, 1, 1]);
        let stream_k = |x: u32, length| Unit { first: [x, 0, 0], dimension: 0, length, class: ALWAYS };
        assert!((0..8).all(|x| units[x as usize] == stream_k(x, 1)));
        let (last, others) = units[8..].split_last().unwrap();
        assert_eq!(*last, stream_k(8, 8));
        for unit in others {
            let tile = unit.first[0] - 16 + 23;
            assert_eq!(unit.class, class_of([tile % 10, tile / 10, 0], [10, 6, 1]));
        }
        let (distinct, classes): (HashSet<_>, HashSet<_>) = others.iter().map(|unit| (unit.first, unit.class)).unzip();
        // The first row is taken: edges and middle of the inner rows and of the last row remain.
        assert_eq!((distinct.len(), classes.len()), (37, 6));
        assert!(plan.has_time(8 + 6 + 2) && !plan.has_time(8 + 6 + 3));
        let population = |class| plan.population(class).unwrap();
        assert_eq!((population(ALWAYS), (0..ALWAYS).map(population).sum::<u64>()), (16, 37));
        assert_eq!([0, 3, 4, 5, 6, 7, 8].map(population), [0, 2, 22, 3, 1, 8, 1]);
    }

    #[test]
    fn one_group_of_stream_k_blocks_runs_and_the_others_if_there_is_time() {
        let grouping = Grouping::StreamK { blocks: 16, groups: 4, tiles: 20, columns: 10 };
        let (plan, units) = sample(grouping, [16 + 40, 1, 1]);
        let first = units[0].first[0];
        assert!((0..4).all(|x| units[x as usize].first == [first + x, 0, 0]) && first.is_multiple_of(4));
        assert!(plan.has_time(4 + 6 + 2) && !plan.has_time(4 + 6 + 3));
        let mut all: Vec<_> = units.iter().flat_map(|unit| unit.clusters()).collect();
        all.sort_unstable();
        assert_eq!((all, plan.population(ALWAYS)), ((0..56).map(|x| [x, 0, 0]).collect(), Some(16)));
        assert!(units[44..].iter().all(|unit| (unit.dimension, unit.length) == (0, 4)));
    }

    #[test]
    fn bands_are_counted_column_by_column() {
        // Two bands of four rows and one of two.
        let (plan, units) = sample(Grouping::Banded { rows: 10, columns: 6, height: 4 }, [60, 1, 1]);
        for unit in &units {
            let x = unit.first[0];
            let (above, height) = if x < 48 { (x / 24 * 4, 4) } else { (8, 2) };
            let tile = [(x - above * 6) / height, above + (x - above * 6) % height, 0];
            assert_eq!(unit.class, class_of(tile, [6, 10, 1]), "{x}");
        }
        let distinct: HashSet<_> = units.iter().map(|unit| unit.first).collect();
        assert!(distinct.len() == 60 && distinct.iter().all(|[x, ..]| *x < 60));
        assert_eq!((0..ALWAYS).map(|class| plan.population(class).unwrap()).sum::<u64>(), 60);
    }

    #[test]
    fn where_everything_is_stream_k_nothing_else_runs() {
        let (plan, units) = sample(Grouping::StreamK { blocks: 4, groups: 1, tiles: 6, columns: 3 }, [4, 1, 1]);
        assert_eq!((units.len(), plan.population(ALWAYS)), (4, Some(4)));
    }
}
