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
        /// Which blocks belong together.
        grouping: Grouping,
    },
}

/// Which blocks of a grid work together, so that a sample has all of them or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Grouping {
    /// Those of a cluster.
    #[default]
    Clusters,
    /// Those of clusters that differ in z alone.
    AlongZ,
    /// The first blocks, along x, of a grid that has one dimension and no clusters, in groups of equal size; each of the
    /// others stands for a place in a rectangle, row by row. A sample has the first blocks of one of the groups at least, and
    /// others by their class in the rectangle.
    Streamed {
        /// How many blocks come first.
        blocks: u32,
        /// How many groups they are. A block waits for none of another group, and for none after itself: of each group, a
        /// sample has the first ones, or none.
        groups: u32,
        /// How many places of the rectangle, its first ones, are theirs.
        places: u32,
        /// Places in a row of the rectangle.
        columns: u32,
    },
    /// Those of a cluster, in a grid of one dimension whose clusters stand for the places of a rectangle: bands of so many
    /// rows, one after the other, each of them column by column. A sample has them by their class in the rectangle.
    Banded {
        /// Rows of the rectangle.
        rows: u32,
        /// Its columns.
        columns: u32,
        /// Rows of a band; the last one may have fewer.
        height: u32,
    },
}

/// Classes of what runs together: first, middle or last in each of three dimensions, and what runs in any case.
pub(crate) const CLASSES: usize = 28;
const ALWAYS: usize = CLASSES - 1;

/// What a sample has at most.
const MAX_SAMPLE: u64 = 1 << 16;

/// How many run at random however long they take: blocks of one class may differ in how their rows are aligned.
const REQUIRED_RANDOM: usize = 3;

/// How many streamed blocks run however long they take.
const REQUIRED_STREAMED: u32 = 8;

/// Clusters that run together or not at all: one after the other, along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Unit {
    pub first: BlockIndex,
    pub dimension: usize,
    pub length: u32,
    pub class: usize,
}

impl Unit {
    /// The places of its clusters among those of the grid.
    pub(crate) fn clusters(self) -> impl Iterator<Item = BlockIndex> {
        (0..self.length).map(move |step| {
            let mut place = self.first;
            place[self.dimension] += step;
            place
        })
    }
}

/// The class of a place. Blocks at the edges of a grid do other work than those inside, so that what was counted in some
/// blocks speaks for the others of their class alone.
fn class_of(place: BlockIndex, grid: [u32; 3]) -> usize {
    let place = |dimension: usize| match place[dimension] {
        0 => 0,
        index if index + 1 == grid[dimension] => 2,
        _ => 1,
    };
    place(0) + 3 * place(1) + 9 * place(2)
}

/// How many places of the grid are in the class.
fn population(class: usize, grid: [u32; 3]) -> u64 {
    let of = |dimension: usize, place: usize| match place {
        0 => 1,
        1 => u64::from(grid[dimension].saturating_sub(2)),
        _ => u64::from(grid[dimension] > 1),
    };
    of(0, class % 3) * of(1, class / 3 % 3) * of(2, class / 9)
}

/// What runs, in order, and when to stop.
pub(crate) struct Plan {
    /// Clusters, by dimension.
    grid: [u32; 3],
    /// `None` for all of the grid.
    sample: Option<Sample>,
}

struct Sample {
    units: Vec<Unit>,
    /// How many of them run however long they take.
    required: usize,
    until: Instant,
    /// Clusters of the grid, by class.
    population: [u64; CLASSES],
}

impl Plan {
    /// Of a grid of so many clusters, by dimension.
    pub(crate) fn new(blocks: Blocks, grid: [u32; 3]) -> Self {
        let sample = match blocks {
            Blocks::All => None,
            Blocks::Sample { budget, seed, grouping } => Some(Sample::new(budget, seed, grouping, grid)),
        };
        Self { grid, sample }
    }

    /// What comes so late in the order.
    pub(crate) fn unit(&self, index: usize) -> Option<Unit> {
        match &self.sample {
            Some(sample) => sample.units.get(index).copied(),
            None => {
                let [x, y, z] = self.grid.map(u64::from);
                let index = index as u64;
                let place = || [index % x, index / x % y, index / x / y].map(|place| place as u32);
                (index < x * y * z).then(|| Unit { first: place(), dimension: 2, length: 1, class: 0 })
            }
        }
    }

    /// Whether there is time for it.
    pub(crate) fn has_time(&self, index: usize) -> bool {
        self.sample.as_ref().is_none_or(|sample| index < sample.required || Instant::now() < sample.until)
    }

    /// Clusters of the grid that those of the class speak for; `None` where all run.
    pub(crate) fn population(&self, class: usize) -> Option<u64> {
        self.sample.as_ref().map(|sample| sample.population[class])
    }
}

impl Sample {
    fn new(budget: Duration, seed: u64, grouping: Grouping, grid: [u32; 3]) -> Self {
        let [x, y, z] = grid;
        let (rectangle, depth, streamed, groups) = match grouping {
            Grouping::Clusters => (Rectangle { size: grid, taken: 0 }, 1, 0, 1),
            Grouping::AlongZ => (Rectangle { size: [x, y, 1], taken: 0 }, z, 0, 1),
            Grouping::Banded { rows, columns, .. } => (Rectangle { size: [columns, rows, 1], taken: 0 }, 1, 0, 1),
            Grouping::Streamed { blocks, groups, places, columns } => {
                let rows = (x - blocks + places) / columns;
                (Rectangle { size: [columns, rows, 1], taken: places }, 1, blocks, groups)
            }
        };
        let mut rng = SmallRng::seed_from_u64(seed);
        let first = |place| match grouping {
            Grouping::Streamed { blocks, places, .. } => [rectangle.number(place) as u32 - places + blocks, 0, 0],
            Grouping::Banded { rows, columns, height } => {
                let [column, row, _] = place;
                let above = row / height * height;
                [above * columns + column * height.min(rows - above) + row - above, 0, 0]
            }
            Grouping::Clusters | Grouping::AlongZ => place,
        };
        let (places, required) = rectangle.draw(&mut rng);
        let class = |place| class_of(place, rectangle.size);
        let drawn =
            places.into_iter().map(|at| Unit { first: first(at), dimension: 2, length: depth, class: class(at) });
        // Blocks that run in any case are spread over the cores.
        let size = streamed / groups;
        let least = size.min(REQUIRED_STREAMED);
        let always = rng.random_range(0..groups);
        let of_always = always * size..always * size + least;
        let unit = |x, length| Unit { first: [x, 0, 0], dimension: 0, length, class: ALWAYS };
        let others = (0..groups).filter(|group| *group != always).map(|group| unit(group * size, size));
        let others = [unit(of_always.end, size - least)].into_iter().chain(others).filter(|unit| unit.length > 0);
        let mut population = rectangle.population().map(|places| places * u64::from(depth));
        population[ALWAYS] = streamed.into();
        Self {
            units: of_always.map(|x| unit(x, 1)).chain(drawn).chain(others).collect(),
            required: least as usize + required,
            until: Instant::now() + budget,
            population,
        }
    }
}

/// Places to draw from: those of a grid but the first ones, counted along x, then y.
struct Rectangle {
    size: [u32; 3],
    taken: u32,
}

impl Rectangle {
    fn number(&self, [x, y, z]: BlockIndex) -> u64 {
        let [width, height, _] = self.size.map(u64::from);
        (u64::from(z) * height + u64::from(y)) * width + u64::from(x)
    }

    fn has(&self, place: BlockIndex) -> bool {
        self.number(place) >= self.taken.into()
    }

    /// How many places of each class there are.
    fn population(&self) -> [u64; CLASSES] {
        let [width, ..] = self.size;
        let mut counts = std::array::from_fn(|class| if class == ALWAYS { 0 } else { population(class, self.size) });
        for number in 0..self.taken {
            counts[class_of([number % width, number / width, 0], self.size)] -= 1;
        }
        counts
    }

    /// A place of each class, then others at random, none twice; and how many of these must run.
    fn draw(&self, rng: &mut SmallRng) -> (Vec<BlockIndex>, usize) {
        let population = self.population();
        let mut sample = Vec::new();
        for class in (0..CLASSES).filter(|&class| population[class] > 0) {
            let mut of_class = |middle: fn(&mut SmallRng, u32) -> u32| {
                let mut place = |dimension: usize, place: usize| match place {
                    0 => 0,
                    1 => middle(rng, self.size[dimension]),
                    _ => self.size[dimension] - 1,
                };
                [place(0, class % 3), place(1, class / 3 % 3), place(2, class / 9)]
            };
            let place = of_class(|rng, size| rng.random_range(1..size - 1));
            // If there is any of the class, there is the last one.
            sample.push(if self.has(place) { place } else { of_class(|_, size| size - 2) });
        }
        let classes = sample.len();
        let wanted = population.iter().sum::<u64>().min(MAX_SAMPLE) as usize;
        let mut seen: HashSet<BlockIndex> = sample.iter().copied().collect();
        // Where nearly all are wanted, the last ones are hard to come by at random.
        let mut attempts = 16 * wanted;
        while sample.len() < wanted && attempts > 0 {
            attempts -= 1;
            let place = self.size.map(|size| rng.random_range(0..size));
            if self.has(place) && seen.insert(place) {
                sample.push(place);
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
    fn the_first_streamed_blocks_run_and_others_by_their_place_in_the_rectangle() {
        // Tiles 10 wide and 6 high, of which the first 23 are streamed by 16 blocks.
        let grouping = Grouping::Streamed { blocks: 16, groups: 1, places: 23, columns: 10 };
        let (plan, units) = sample(grouping, [16 + 37, 1, 1]);
        let streamed = |x: u32, length| Unit { first: [x, 0, 0], dimension: 0, length, class: ALWAYS };
        assert!((0..8).all(|x| units[x as usize] == streamed(x, 1)));
        let (last, others) = units[8..].split_last().unwrap();
        assert_eq!(*last, streamed(8, 8));
        for unit in others {
            let tile = unit.first[0] - 16 + 23;
            assert_eq!(unit.class, class_of([tile % 10, tile / 10, 0], [10, 6, 1]));
        }
        let (distinct, classes): (HashSet<_>, HashSet<_>) = others.iter().map(|unit| (unit.first, unit.class)).unzip();
        // No first row is left: the left and right edges and the middle, of rows inside and of the last one.
        assert_eq!((distinct.len(), classes.len()), (37, 6));
        assert!(plan.has_time(8 + 6 + 2) && !plan.has_time(8 + 6 + 3));
        let population = |class| plan.population(class).unwrap();
        assert_eq!((population(ALWAYS), (0..ALWAYS).map(population).sum::<u64>()), (16, 37));
        assert_eq!([0, 3, 4, 5, 6, 7, 8].map(population), [0, 2, 22, 3, 1, 8, 1]);
    }

    #[test]
    fn one_group_of_streamed_blocks_runs_and_the_others_if_there_is_time() {
        let grouping = Grouping::Streamed { blocks: 16, groups: 4, places: 20, columns: 10 };
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
            let place = [(x - above * 6) / height, above + (x - above * 6) % height, 0];
            assert_eq!(unit.class, class_of(place, [6, 10, 1]), "{x}");
        }
        let distinct: HashSet<_> = units.iter().map(|unit| unit.first).collect();
        assert!(distinct.len() == 60 && distinct.iter().all(|[x, ..]| *x < 60));
        assert_eq!((0..ALWAYS).map(|class| plan.population(class).unwrap()).sum::<u64>(), 60);
    }

    #[test]
    fn where_everything_is_streamed_nothing_else_runs() {
        let (plan, units) = sample(Grouping::Streamed { blocks: 4, groups: 1, places: 6, columns: 3 }, [4, 1, 1]);
        assert_eq!((units.len(), plan.population(ALWAYS)), (4, Some(4)));
    }
}
