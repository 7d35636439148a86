//! What a kernel's time is at least. Most kernels need no more than this look to be ruled out.

use gpu_kernels::{BLOCK_SMEM_BYTES, SM_SMEM_BYTES, Schedule, Step, Tile};

use super::cost::{MOST_SLOTS, MOST_UNEQUAL, bases, filled};
use super::given::Given;
use super::{Cost, Memory};
use crate::plan::Oriented;

/// Blocks of a tile at most, but where a plan divides k among the slots of all SMs.
const MOST_OF_TILE: f64 = 8.0;

/// For rounding, here and in [`Cost::time`].
const ROUNDING: f64 = 1.0 - 1e-9;

impl Cost {
    /// What [`Self::time`] is at least, with at least so many pre-passes, at a fraction of its expense: a launch, and the longest of the SMs'
    /// time for all tiles, shared evenly, memory's for the operands, and a block's for its k-tiles. How k is split it does not know.
    pub(super) fn least_time(&self, step: &Step, given: &Given, memory: &Memory, passes: f64) -> f64 {
        let Tile { bm, bn, bk, .. } = step.tile;
        let Oriented { m, n, k, .. } = given.oriented;
        let count = given.problem.batch.count as f64;
        let tiles = f64::from(m.div_ceil(bm)) * f64::from(n.div_ceil(bn)) / f64::from(given.sm_count);
        let [k_tile, tile] = self.of_uneven(given.uneven);
        let k_tiles = f64::from(k.div_ceil(bk)) * filled(step, [m, n]) * k_tile;
        let throughput = tiles * (k_tiles * self.k_tile + self.tile * tile);
        let traffic = given.bytes.iter().sum::<f64>() / memory.gbps * 1e-3;
        let busy = (count * throughput.max(traffic)).max(self.least_latency(step, tiles, k_tiles, memory));
        let time = passes * memory.launch + self.start + busy;
        ROUNDING * time * if self.is_corrected() { self.least_correction(given, tiles, count) } else { 1.0 }
    }

    /// Of a block, for so many tiles of a problem per SM: where k is split, for as few k-tiles as the slots allow, and for the reduction.
    fn least_latency(&self, step: &Step, tiles: f64, k_tiles: f64, memory: &Memory) -> f64 {
        const MOST_SMEM: u32 = SM_SMEM_BYTES - BLOCK_SMEM_BYTES;
        let stages = if step.stage_bytes > 0 { f64::from(step.dynamic_smem_bytes) / f64::from(MOST_SMEM) } else { 1.0 };
        let whole = k_tiles * self.latency * stages.sqrt();
        match step.schedule {
            Schedule::StreamK { .. } => 0.0,
            Schedule::SplitK { splits } => self.round + whole / f64::from(splits),
            Schedule::PlannedSplitK { blocks_per_sm, .. } => {
                let splits = (f64::from(blocks_per_sm) / tiles).max(1.0);
                self.round + whole.min(whole / splits + self.partial.min(memory.launch))
            }
            _ => self.round + whole,
        }
    }

    /// What the correction is at least, for so many tiles of each problem per SM: for as many blocks, or for many more.
    fn least_correction(&self, given: &Given, tiles: f64, count: f64) -> f64 {
        let [_, _, _, of_average, of_unequal, ..] = self.powers;
        let many = (tiles * count * MOST_OF_TILE).max(MOST_SLOTS.into());
        let log_blocks = if of_average > 0.0 { log_below(tiles) } else { log_below(many) + LOG_BELOW };
        let unequal = if of_unequal > 0.0 { 0.0 } else { MOST_UNEQUAL };
        exp_below(self.log_correction(bases(given.log_sizes, log_blocks, unequal, given.uneven)))
    }
}

/// How much less than a logarithm [`log_below`] is at most.
const LOG_BELOW: f64 = 0.06;

/// The logarithm, or a little less: by chords between powers of two, which are what the bits of a number say.
fn log_below(number: f64) -> f64 {
    const MANTISSA: f64 = (1_u64 << (f64::MANTISSA_DIGITS - 1)) as f64;
    const BIAS: f64 = (f64::MAX_EXP - 1) as f64;
    (number.max(f64::MIN_POSITIVE).to_bits() as f64 / MANTISSA - BIAS) * std::f64::consts::LN_2
}

/// The exponential of a small number, or a little less.
fn exp_below(number: f64) -> f64 {
    (1.0 + number / 8.0).powi(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approximations_are_close_and_below() {
        for number in (1..2000).map(|number| f64::from(number) / 7.0).chain([f64::MIN_POSITIVE, 1e-20, 1e20]) {
            let less = number.ln() - log_below(number);
            assert!((-1e-12..LOG_BELOW).contains(&less), "{number}: {less}");
        }
        for number in (-70..=70).map(|number| f64::from(number) / 100.0) {
            let share = exp_below(number) / number.exp();
            assert!((0.96..=1.0).contains(&share), "{number}: {share}");
        }
    }
}
