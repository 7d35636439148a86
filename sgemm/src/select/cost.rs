//! How long a kernel takes: a model with a few constants for each, which a device is asked for once.
//!
//! ```text
//!     pre-passes │ start │ rounds of blocks: each at least the latency of its k-tiles,             │ post-pass
//!                │       │ all together at least the SM's time for theirs, and memory's for theirs │
//! ```
//!
//! A block's k-tiles follow each other, each after `latency`; the blocks of an SM share its arithmetic and its bandwidth, of which a
//! k-tile takes `k_tile` and the rest of a tile `tile`; all of them share the memory, which operands pass once, and the L2 cache, which
//! they pass with each block. What is longest decides, and where two are about as long, both do.
//!
//! What that does not know of a kernel is a product of powers: of m, n and k, of the blocks of an SM, and so on.

use gpu_kernels::{
    Ab, BLOCK_SMEM_BYTES, Group, LINE_BYTES, SECTOR_BYTES, SM_SMEM_BYTES, SWIZZLE_BYTES, Schedule, Step, Tile,
    Transposed, WARP,
};

use super::given::Given;
use crate::plan::Oriented;
use crate::{Error, Problem};

/// Rows that shared memory must have room for where fewer threads have a row: [`is_scattered`].
const STAGED_ROWS: u64 = 16;

/// Sectors of a line: so many times it is asked for where threads have one each.
const SCATTERED: f64 = (LINE_BYTES / SECTOR_BYTES) as f64;

/// Blocks beyond which an SM's number of them makes no difference.
pub(super) const MOST_SLOTS: u32 = 16;

/// What corrections are powers of: see [`Cost::powers`].
pub const POWERS: usize = 8;

/// The logarithm of how many times as long as on average the SM with the most blocks takes, at most: where a few blocks are on hardly any
/// SM, how few they are is in the average already.
pub(super) const MOST_UNEQUAL: f64 = 2.0;

/// The logarithm of a correction at most, either way: beyond what was measured, powers lead anywhere.
const MOST_CORRECTED: f64 = 0.7;

/// A kernel's constants on a device, times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Blocks that an SM runs at once.
    pub slots: u32,
    /// A launch that computes nothing.
    pub start: f64,
    /// A block that computes nothing, where an SM runs others before it.
    pub round: f64,
    /// From one k-tile of a block to its next one, where nothing else runs on the SM.
    pub latency: f64,
    /// An SM's time for a k-tile, where it has other blocks to run meanwhile.
    pub k_tile: f64,
    /// An SM's time for a tile beside its k-tiles: its epilogue.
    pub tile: f64,
    /// For each partial tile that a block adds to its own, one after the other.
    pub partial: f64,
    /// Gigabytes of k-tiles per second that all SMs together load.
    pub gbps: f64,
    /// By which share of itself a k-tile takes longer, and a tile, where rows are at multiples of 4 bytes instead of 16: [`Work::uneven`], of
    /// the operands on average.
    pub uneven: f64,
    /// The powers by which its time grows beside all that: of m, n and k, of the blocks of an SM, of how many times as long as on average
    /// the SM with the most blocks takes, and of e for each step that the rows of A, B and C are uneven. See [`Self::bases`].
    pub powers: [f64; POWERS],
    /// Whether it may be chosen among all kernels. Those that are hardly ever the fastest are not: what is predicted of them can only
    /// mislead.
    pub is_candidate: bool,
}

/// A device's memory, as pre-passes, post-passes and kernels meet it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// A launch before or after the kernel's, in microseconds.
    pub launch: f64,
    /// Gigabytes per second that a pass moves, reads and writes together.
    pub pass_gbps: f64,
    /// The same of a kernel that does nothing else.
    pub gbps: f64,
}

/// What a kernel does for a problem, as far as its time depends on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// The logarithms of m, n and k; 0 where one is 0.
    pub log_sizes: [f64; 3],
    /// Blocks of all its launches.
    pub blocks: f64,
    /// k-tiles of a block.
    pub k_tiles: f64,
    /// The least shared memory of the step over that of this launch: where it has more stages in flight, a k-tile is waited for less.
    pub smem: f64,
    /// Whether all blocks begin at once and share the k-tiles evenly, whatever their number.
    pub is_even: bool,
    /// Whether each block has its tiles from the start, and blocks as many as each other, to one.
    pub persists: bool,
    /// Partial tiles that are added one after the other.
    pub partials: f64,
    /// How often the kernel is launched, one launch after the other.
    pub launches: f64,
    /// Bytes of A, B and C.
    pub bytes: f64,
    /// How uneven the rows of A, B and C are: 0 where they begin at multiples of 16 bytes, 1 of 4 bytes, and so on with the logarithm.
    pub uneven: [f64; 3],
    /// The share of a k-tile that is copied and multiplied, on average: 1 but where a step leaves out what is beyond the edge of C.
    pub filled: f64,
    /// How many times as long a k-tile takes because threads load parts of lines: 1 but where a step of a few threads for each row cannot stage rows.
    pub scattered: f64,
    /// How many times as long a k-tile takes because an operand is transposed: 1 but where a step has a faster loop for those that are not.
    pub transposed: f64,
    /// Bytes of the k-tiles of all blocks: an operand counts as often as one is loaded.
    pub loads: f64,
    /// Launches before and after it.
    pub passes: f64,
    /// Bytes that these read and write.
    pub pass_bytes: f64,
}

impl Work {
    /// Of a step on a problem, on a device of so many SMs.
    ///
    /// # Errors
    /// Those of [`Problem::validate`].
    pub fn of(step: &Step, problem: &Problem, sm_count: u32) -> Result<Self, Error> {
        problem.validate()?;
        Ok(Self::new(step, &Given::new(problem, sm_count)?))
    }

    pub(super) fn new(step: &Step, given: &Given) -> Self {
        let Given { problem, ref oriented, sm_count, log_sizes, uneven, bytes: [of_a, of_b, of_c] } = *given;
        let (m, n, k) = (oriented.m, oriented.n, oriented.k);
        let count = problem.batch.count.max(1);
        let has_all = count > 1 && oriented.has_batch_in_launch(problem, step);
        let (problems, rounds) = if has_all { (count, 1) } else { (1, count) };
        let problems = u32::try_from(problems).unwrap_or(u32::MAX);
        let size = u64::from(problem.input.bytes());
        let splits = step.splits(m, n, k, problems, sm_count);
        let group = match step.multicasts {
            true => step.group(m, n, problems, splits, sm_count),
            false => Group::ALONE,
        };
        // Groups are whole.
        let rows = m.div_ceil(step.tile.bm).next_multiple_of(group.rows);
        let columns = n.div_ceil(step.tile.bn).next_multiple_of(group.columns);
        let tiles = f64::from(rows) * f64::from(columns) * f64::from(problems);
        let k_tiles = f64::from(k.div_ceil(step.tile.bk));
        let (blocks, k_tiles, partials, is_even) = match step.schedule {
            Schedule::DataParallel
            | Schedule::SerialSplitK { .. }
            | Schedule::Persistent { .. }
            | Schedule::PersistentBatch { .. } => (tiles, k_tiles, 0.0, false),
            Schedule::SplitK { splits } => {
                (tiles * f64::from(splits), (k_tiles / f64::from(splits)).ceil(), 1.0, false)
            }
            Schedule::PlannedSplitK { .. } => {
                let count = f64::from(splits.count());
                (tiles * count, (k_tiles / count).ceil(), f64::from(u8::from(splits.cluster > 1)), false)
            }
            Schedule::StreamK { blocks_per_sm, .. } => {
                let slots = f64::from(sm_count * blocks_per_sm);
                match tiles < slots {
                    true if step.has_many_splits() => (slots, tiles * k_tiles / slots, slots / tiles, false),
                    true => (tiles, k_tiles, 0.0, false),
                    false => (tiles, k_tiles, 1.0, true),
                }
            }
        };
        let of_launch = step.launch_smem_bytes(blocks as u64, k_tiles as u32, splits.cluster, sm_count);
        let has_stages = step.stage_bytes > 0;
        let smem = if has_stages { f64::from(step.dynamic_smem_bytes) / f64::from(of_launch) } else { 1.0 };
        let has_postpass = !oriented.is_direct(problem, step) || splits.planes > 1;
        let sums = if has_postpass { f64::from(m) * f64::from(n) * 4.0 * f64::from(splits.planes) } else { 0.0 };
        let rounds = rounds as f64;
        let Tile { bm, bn, bk, .. } = step.tile;
        let of_block = Ab { a: [[bm, bk], [oriented.m, oriented.k]], b: [[bk, bn], [oriented.k, oriented.n]] }
            .zip(oriented.operands)
            .map(|([[rows, columns], edge], stored)| {
                let adjacent = if stored.transposed { rows } else { columns };
                let waste = match step.maps {
                    // A row of a box is asked for as often as it takes a line of a wider one.
                    // Where rows do not begin with lines of the cache, it is part of two.
                    Some(_) => {
                        let row = stored.ld * size;
                        let lines = if row.is_multiple_of(LINE_BYTES.into()) { 1.0 } else { 2.0 };
                        lines * (f64::from(SWIZZLE_BYTES) / row as f64).max(1.0)
                    }
                    None => waste(adjacent, stored.ld, size),
                };
                f64::from(rows.min(edge[0]) * columns.min(edge[1])) * size as f64 * waste
            });
        let k_tile = of_block.a / f64::from(group.columns) + of_block.b / f64::from(group.rows);
        let is_transposed = oriented.operands.a.transposed || oriented.operands.b.transposed;
        let prepasses = given.prepasses(step);
        let (postpasses, of_postpass) = if has_postpass { (rounds, (sums + of_c) * rounds) } else { (0.0, 0.0) };
        Self {
            log_sizes,
            blocks: blocks * rounds,
            k_tiles,
            smem,
            is_even,
            persists: step.persists(),
            partials,
            loads: blocks * k_tiles * k_tile * rounds,
            launches: rounds,
            bytes: (of_a + of_b + of_c) * f64::from(problems) * rounds + sums * rounds,
            uneven,
            filled: filled(step, [oriented.m, oriented.n]),
            scattered: if is_scattered(step, oriented, splits.count()) { SCATTERED } else { 1.0 },
            transposed: if is_transposed { 1.0 + f64::from(step.nn_gain) / 100.0 } else { 1.0 },
            passes: prepasses.a + prepasses.b + postpasses,
            pass_bytes: 2.0 * (prepasses.a * of_a + prepasses.b * of_b) + of_postpass,
        }
    }
}

impl Cost {
    /// What it may be on a device that was never measured.
    #[must_use]
    pub fn guess(step: &Step) -> Self {
        super::guess::cost(step)
    }

    /// The most blocks of a step that an SM with so many threads runs at once, as far as shared memory and threads go.
    #[must_use]
    pub fn most_slots(step: &Step, sm_threads: u32) -> u32 {
        let of_smem = SM_SMEM_BYTES / (step.smem_bytes + step.dynamic_smem_bytes + BLOCK_SMEM_BYTES);
        of_smem.min(sm_threads / step.threads()).clamp(1, MOST_SLOTS)
    }

    /// Microseconds of that work on a device of so many SMs.
    #[must_use]
    pub fn time(&self, work: &Work, memory: &Memory, sm_count: u32) -> f64 {
        let load = self.load(work, sm_count);
        let Load { rounds, most, .. } = load;
        let [k_tile, tile] = self.of_uneven(work.uneven);
        let k_tile = k_tile * work.scattered * work.filled * work.transposed;
        let latency = rounds * (self.round + work.k_tiles * self.latency * work.smem.sqrt() * k_tile);
        let throughput = most * (work.k_tiles * self.k_tile * k_tile + self.tile * tile);
        let traffic = (work.bytes / memory.gbps).max(work.loads / self.gbps) / work.launches * 1e-3;
        let busy = largest([latency, throughput, traffic]);
        let kernel = self.start + busy + work.partials * self.partial;
        let passes = work.passes * memory.launch + work.pass_bytes / memory.pass_gbps * 1e-3;
        self.correction(work, &load) * (kernel * work.launches + passes)
    }

    /// The logarithms of what [`Self::powers`] are powers of.
    #[must_use]
    pub fn bases(&self, work: &Work, sm_count: u32) -> [f64; POWERS] {
        self.load(work, sm_count).bases(work)
    }

    pub(super) fn is_corrected(&self) -> bool {
        self.powers != [0.0; POWERS]
    }

    fn correction(&self, work: &Work, load: &Load) -> f64 {
        if self.is_corrected() { self.log_correction(load.bases(work)).exp() } else { 1.0 }
    }

    pub(super) fn log_correction(&self, bases: [f64; POWERS]) -> f64 {
        let terms = self.powers.iter().zip(bases).map(|(power, base)| power * base);
        terms.sum::<f64>().clamp(-MOST_CORRECTED, MOST_CORRECTED)
    }

    /// How many times as long a k-tile takes, and a tile, where rows of A, B and C are so uneven.
    pub(super) fn of_uneven(&self, [of_a, of_b, of_c]: [f64; 3]) -> [f64; 2] {
        [(of_a + of_b) / 2.0, of_c].map(|uneven| 1.0 + uneven * self.uneven)
    }

    fn load(&self, work: &Work, sm_count: u32) -> Load {
        let average = work.blocks / work.launches / f64::from(sm_count);
        let slots = f64::from(self.slots);
        // Beyond a few rounds, blocks do not begin together any more, and the last round is half full.
        let (rounds, most) = match average / slots {
            _ if work.is_even => (average / slots, average),
            rounds if rounds <= 4.0 || work.persists => (rounds.ceil(), average.ceil()),
            rounds => (rounds + 0.5, average + 0.5 * slots),
        };
        Load { rounds, most, average }
    }
}

/// Blocks that an SM has: rounds of them, as many as the one with the most has, and on average.
struct Load {
    rounds: f64,
    most: f64,
    average: f64,
}

impl Load {
    /// [`Cost::bases`].
    fn bases(&self, work: &Work) -> [f64; POWERS] {
        // There may be no block.
        let average = self.average.max(f64::MIN_POSITIVE);
        let unequal = (self.most.max(average) / average).ln().min(MOST_UNEQUAL);
        bases(work.log_sizes, average.ln(), unequal, work.uneven)
    }
}

/// What corrections are powers of, by logarithms: of so many blocks of an SM on average, and of how unequal their numbers are.
pub(super) fn bases([m, n, k]: [f64; 3], blocks: f64, unequal: f64, [of_a, of_b, of_c]: [f64; 3]) -> [f64; POWERS] {
    [m, n, k, blocks, unequal, of_a, of_b, of_c]
}

/// [`Work::filled`] of a step for a C of that size: half of a k-tile are its copies, by rows and columns, the other half its MMAs.
pub(super) fn filled(step: &Step, size: [u32; 2]) -> f64 {
    let Some(tiles) = (step.edge > 0).then(|| [size[0].div_ceil(step.tile.bm), size[1].div_ceil(step.tile.bn)]) else {
        return 1.0;
    };
    let of = |size: u32, tiles: u32, side: u32| {
        f64::from(size.next_multiple_of(step.edge)) / (f64::from(tiles) * f64::from(side)).max(1.0)
    };
    let (rows, columns) = (of(size[0], tiles[0], step.tile.bm), of(size[1], tiles[1], step.tile.bn));
    ((rows + columns) / 2.0 + rows * columns) / 2.0
}

/// Whether a step of a few threads for each row reads rows without staging them: they are too long for shared memory to have room for some
/// at once, or no array without gaps.
fn is_scattered(step: &Step, oriented: &Oriented, splits: u32) -> bool {
    let Tile { bm, bn, tm, .. } = step.tile;
    let of_a = oriented.operands.a;
    let row_bytes = u64::from(oriented.k) * u64::from(step.precision.input().bytes());
    let stages_rows = bn == 1 && step.threads() * tm < bm * WARP && step.transposed == Transposed::ByPrepass;
    let has_room = row_bytes * STAGED_ROWS <= step.dynamic_smem_bytes.into();
    stages_rows && step.is_planned() && (!has_room || of_a.ld != oriented.k.into() || splits > 1)
}

/// How many times as much as asked for is loaded where so many elements of a row are, and rows are so far apart: whole sectors are. Where it
/// is one element, each lane of a warp takes the time of a line.
fn waste(adjacent: u32, ld: u64, element_bytes: u64) -> f64 {
    let whole = if adjacent == 1 { LINE_BYTES } else { SECTOR_BYTES };
    (ld.min(u64::from(whole) / element_bytes) as f64 / f64::from(adjacent)).max(1.0)
}

/// About the largest of them, and up to a fifth more where two are alike.
fn largest(times: [f64; 3]) -> f64 {
    let [one, two, three] = times.map(|time| time * time).map(|square| square * square);
    (one + two + three).sqrt().sqrt()
}
