//! What is shown of [`Counters`]: the only list of their names and meanings. The terminal, the book, the report and the profiler's
//! table take their rows from it.

use crate::Counters;
use crate::format::{grouped, significant};

/// A figure out of [`Counters`].
#[derive(Debug, Clone, Copy)]
pub struct Figure {
    /// Its key: that of [`Counters`], or the name of what is computed from these.
    pub key: &'static str,
    /// What tables call it, with its unit.
    pub name: &'static str,
    /// What it counts, and how to judge it.
    pub meaning: &'static str,
    /// Its value.
    value: Value,
    /// Whether it is estimated or modelled, and not counted.
    pub is_estimate: bool,
}

/// Where a figure comes from, and so how it is written.
#[derive(Debug, Clone, Copy)]
enum Value {
    /// A count.
    Count(fn(&Counters) -> u64),
    /// A number to three significant digits.
    Number(fn(&Counters) -> f64),
    /// A share from 0 to 1, shown in percent.
    Share(fn(&Counters) -> f64),
    /// A word.
    Word(fn(&Counters) -> String),
}

impl Figure {
    /// The figure of that key, for tables that are made of some of them.
    ///
    /// # Panics
    /// At compile time, where there is none.
    #[must_use]
    pub const fn of(key: &str) -> &'static Self {
        let mut i = 0;
        while i < FIGURES.len() {
            if is_same(FIGURES[i].key.as_bytes(), key.as_bytes()) {
                return &FIGURES[i];
            }
            i += 1;
        }
        panic!("there is no figure of that key")
    }

    /// The figures of these keys.
    ///
    /// # Panics
    /// As [`Self::of`].
    #[must_use]
    pub const fn all<const N: usize>(keys: [&str; N]) -> [&'static Self; N] {
        let mut all = [&FIGURES[0]; N];
        let mut i = 0;
        while i < N {
            all[i] = Self::of(keys[i]);
            i += 1;
        }
        all
    }

    /// The value as a text.
    #[must_use]
    pub fn text(&self, counters: &Counters) -> String {
        match self.value {
            Value::Count(of) => grouped(of(counters)),
            Value::Number(of) => significant(of(counters)),
            Value::Share(of) => significant(100.0 * of(counters)),
            Value::Word(of) => of(counters),
        }
    }

    /// The value as a number in the unit of its name; `None` of words.
    #[must_use]
    pub fn number(&self, counters: &Counters) -> Option<f64> {
        match self.value {
            Value::Count(of) => Some(of(counters) as f64),
            Value::Number(of) => Some(of(counters)),
            Value::Share(of) => Some(100.0 * of(counters)),
            Value::Word(_) => None,
        }
    }

    /// The name at the head of a column: it begins with a capital letter.
    #[must_use]
    pub fn heading(&self) -> String {
        let mut letters = self.name.chars();
        letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
    }

    const fn new(key: &'static str, name: &'static str, value: Value, meaning: &'static str) -> Self {
        Self { key, name, meaning, value, is_estimate: false }
    }

    const fn estimated(self) -> Self {
        Self { is_estimate: true, ..self }
    }
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

use Value::{Count, Number, Share, Word};

/// All of them, in the order of tables. Loads and stores are requests of warps; all counts are for the whole grid.
#[rustfmt::skip] // a line for each figure, and one for its meaning
pub const FIGURES: &[Figure] = &[
    Figure::new("ptx_instructions", "PTX instructions", Count(|c| c.ptx_instructions),
        "Instructions of the PTX, once for each warp that executes them."),
    Figure::new("machine_instructions", "machine instructions, estimated", Count(|c| c.machine_instructions),
        "The same in the GPU's own code (SASS), to which PTX is compiled: an operation on 64-bit integers counts as two, what \
         the assembler merges into another instruction as none.").estimated(),
    Figure::new("fma_share", "FMAs of all instructions, %", Share(Counters::fma_share),
        "FMAs as a share of the machine instructions. All others take issue slots from FMAs.").estimated(),
    Figure::new("thread_fmas", "FMAs of threads", Count(|c| c.thread_fmas),
        "Fused multiply-adds of threads: m\\*n\\*k, and those beyond the edges of C."),
    Figure::new("tensor_core_fmas", "multiply-adds of the tensor cores", Count(|c| c.tensor_core_fmas),
        "Multiply-adds of MMAs. The size of each `wgmma` stands in its opcode."),
    Figure::new("fmas_per_load", "FMAs per load", Number(Counters::fmas_per_load),
        "FMAs of a warp for each of its loads, from global or shared memory. It grows with what a thread keeps in registers."),
    Figure::new("warp_loads", "global loads", Count(Counters::warp_loads),
        "Loads of warps from global memory, those of `cp.async` included. Bulk copies are counted separately."),
    Figure::new("warp_load_sectors", "sectors of global loads", Count(|c| c.global_load_sectors - c.copy_sectors),
        "Sectors of 32 bytes that these touch."),
    Figure::new("sectors_per_load", "sectors per load", Number(Counters::sectors_per_load),
        "4 for contiguous floats, 16 for contiguous vectors of four, 32 for floats of 32 different rows."),
    Figure::new("copies", "bulk copies", Count(|c| c.copies),
        "Bulk (TMA) copies from global to shared memory, each issued by one thread: no warp loads what they move."),
    Figure::new("bytes_per_copy", "bytes per bulk copy", Number(Counters::bytes_per_copy),
        "The size of a TMA box, or of a contiguous copy."),
    Figure::new("global_bytes_per_fma", "global bytes per FMA", Number(Counters::global_bytes_per_fma),
        "Bytes of all sectors that loads and bulk copies touch, per FMA of a thread. Caches may serve them: it is what is requested, \
         and not what device memory delivers."),
    Figure::new("global_stores", "global stores", Count(|c| c.global_stores),
        "Stores of warps to global memory: C."),
    Figure::new("global_store_sectors", "sectors of global stores", Count(|c| c.global_store_sectors),
        "Sectors of 32 bytes that these touch."),
    Figure::new("global_wavefronts", "L1 wavefronts of global accesses", Count(|c| c.global_wavefronts),
        "Passes of global loads and stores through L1, by the slower of its two stages, tags and data."),
    Figure::new("shared_loads", "shared loads", Count(|c| c.shared_loads),
        "Loads of warps from shared memory."),
    Figure::new("shared_load_wavefronts", "wavefronts of shared loads", Count(|c| c.shared_load_wavefronts),
        "Passes that these take: one for each 128 distinct bytes, and more on bank conflicts."),
    Figure::new("wavefronts_per_shared_load", "wavefronts per shared load", Number(Counters::wavefronts_per_shared_load),
        "1 for words, up to 4 for vectors of four words, without bank conflicts. More are conflicts."),
    Figure::new("shared_stores", "shared stores", Count(|c| c.shared_stores),
        "Stores of warps to shared memory, those of `cp.async` included."),
    Figure::new("shared_store_wavefronts", "wavefronts of shared stores", Count(|c| c.shared_store_wavefronts),
        "Passes that these take."),
    Figure::new("conflict_share", "wavefronts lost to bank conflicts, %", Share(Counters::conflict_share),
        "Of the wavefronts of shared loads and stores, those beyond what their bytes need."),
    Figure::new("wavefronts_per_fma", "L1 and shared wavefronts per FMA", Number(Counters::wavefronts_per_fma),
        "Wavefronts of the L1 cache and of shared memory per FMA of a warp. An SM executes four of these FMAs in a cycle (128 lanes), \
         and one wavefront: above 0.25 this pipe takes longer than the arithmetic."),
    Figure::new("barriers", "barriers", Count(|c| c.barriers),
        "Warps that wait at a barrier of their block or cluster."),
    Figure::new("divergent_branches", "divergent branches", Count(|c| c.divergent_branches),
        "Branches at which the lanes of one warp diverge: both paths are executed, one after the other."),
    Figure::new("blocks", "blocks", Count(|c| c.blocks),
        "Blocks of the grid."),
    Figure::new("threads", "threads per block", Count(|c| c.threads.into()),
        "Threads of a block."),
    Figure::new("registers", "registers per thread, estimated", Count(|c| c.registers.into()),
        "The most values that are live at once, and some more, within the limit of the launch bounds.").estimated(),
    Figure::new("shared_bytes", "shared memory per block, bytes", Count(|c| c.shared_bytes.into()),
        "Static and dynamic, without the KiB that the driver reserves."),
    Figure::new("blocks_per_sm", "resident blocks per SM", Count(|c| c.blocks_per_sm.into()),
        "Blocks that an SM holds at once.").estimated(),
    Figure::new("warps_per_sm", "resident warps per SM", Count(|c| c.warps_per_sm.into()),
        "Warps that an SM holds at once.").estimated(),
    Figure::new("occupancy", "occupancy, %", Share(|c| c.occupancy),
        "Resident warps as a share of the maximum.").estimated(),
    Figure::new("occupancy_limit", "occupancy limited by", Word(|c| c.occupancy_limit.clone()),
        "The resource of an SM that is used up first: threads, registers, shared memory or blocks.").estimated(),
    Figure::new("l2_bytes", "bytes between L2 and the SMs", Count(|c| c.l2_bytes),
        "The least that must pass: the distinct sectors that each block touches, or all of stores and of copies past L1, if they are more."),
    Figure::new("flops_per_l2_byte", "arithmetic intensity (L2), FLOP/B", Number(Counters::flops_per_l2_byte),
        "FLOPs for each byte between L2 and the SMs. A multiply-add is two."),
    Figure::new("modelled_ms", "modelled time, ms", Number(|c| c.modelled_ms),
        "What the model predicts from the counts, pre-passes included.").estimated(),
    Figure::new("bound", "bound by", Word(|c| c.bound.clone()),
        "What takes the largest part of it: instruction issue, FMA throughput, tensor core throughput, the bandwidth of shared memory \
         and L1, of L2, of DRAM, or latency, which is waiting with too little to do.").estimated(),
    Figure::new("blocks_run", "blocks run", Word(|c| format!("{} of {}", c.blocks_run, c.blocks)),
        "How many blocks the emulator ran. Of a large grid it is a sample, and the counts are scaled up; `--full` runs all."),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_stands_once_and_says_what_it_means() {
        for (i, figure) in FIGURES.iter().enumerate() {
            let others = &FIGURES[..i];
            assert!(others.iter().all(|other| other.key != figure.key && other.name != figure.name), "{}", figure.key);
            assert!(figure.meaning.ends_with('.'), "{}", figure.key);
            assert_eq!(Figure::of(figure.key).name, figure.name);
        }
    }

    #[test]
    fn columns_begin_with_a_capital_letter() {
        assert_eq!(Figure::all(["fmas_per_load", "blocks"]).map(Figure::heading), ["FMAs per load", "Blocks"]);
    }
}
