//! How long a launch takes on a device: predicted from what was counted.
//!
//! A multiprocessor has units that work side by side: it issues instructions, does fused multiply-adds, passes accesses
//! through its first-level cache, and gets its share of the L2 cache's and the memory's bandwidth. Blocks that it holds at
//! once keep these units busy for each other; a single block cannot, for its threads wait for loads and at barriers. The
//! time of the blocks that a multiprocessor holds at once lies a little above the largest of: what each unit has to do for
//! all of them, and what one block takes alone. A launch is as many such waves as the fullest multiprocessor has.
//!
//! The constants describe the chip, not a kernel: they were measured on an H200 or, where marked so, fitted to all kernels
//! of this project at sizes from 512 to 4096. Other devices take them over.

use serde::Serialize;

use crate::coalesce::SECTOR_BYTES;
use crate::counters::Counters;
use crate::device::Device;
use crate::occupancy::{Occupancy, Resources};

/// Instruction schedulers of a multiprocessor, each of which issues one instruction per cycle.
const SCHEDULERS: f64 = 4.0;

/// Cycles that the first-level cache spends on a request beside its wavefronts. Measured.
const REQUEST_CYCLES: f64 = 0.2;

/// From the launch of an empty kernel to its end, in milliseconds. Measured.
const LAUNCH_MS: f64 = 0.0028;

/// Cycles that a warp waits at a barrier, and per load from global memory, when it has a multiprocessor for itself. Fitted.
const BARRIER_CYCLES: f64 = 150.0;
const LOAD_CYCLES: f64 = 10.0;

/// How sharply the largest of several times stands out: they are joined as the norm of this degree. Fitted.
const SHARPNESS: f64 = 5.0;

/// What a launch would come to on a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    /// The time, in milliseconds.
    pub time_ms: f64,
    /// What takes the largest part of it.
    pub bound: Bound,
    /// What a multiprocessor holds at once.
    pub occupancy: Occupancy,
    /// The time, had a launch nothing to wait for but this, in milliseconds.
    pub parts: Parts,
}

/// The time that each unit of the device needs by itself, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Parts {
    /// Issuing instructions.
    pub issue: f64,
    /// Fused multiply-adds.
    pub fma: f64,
    /// Passes of the first-level cache and of shared memory.
    pub l1: f64,
    /// Bytes between the L2 cache and the multiprocessors.
    pub l2: f64,
    /// Bytes between device memory and the L2 cache.
    pub dram: f64,
    /// Waves of single blocks: waiting for memory and at barriers, and multiprocessors that have nothing to do.
    pub latency: f64,
}

/// What bounds the speed of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Issuing instructions.
    Issue,
    /// The lanes for fused multiply-adds.
    Fma,
    /// The bandwidth of shared memory and the first-level cache.
    SharedMemory,
    /// The bandwidth of the L2 cache.
    L2,
    /// The bandwidth of device memory.
    Dram,
    /// Waiting, with too little to do meanwhile.
    Latency,
}

impl Bound {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issue => "instruction issue",
            Self::Fma => "FMA throughput",
            Self::SharedMemory => "shared memory and L1 bandwidth",
            Self::L2 => "L2 bandwidth",
            Self::Dram => "DRAM bandwidth",
            Self::Latency => "latency",
        }
    }
}

/// What one block asks of its multiprocessor, in cycles.
struct Demand {
    issue: f64,
    fma: f64,
    l1: f64,
    l2: f64,
    /// Waiting that another block could fill.
    wait: f64,
}

impl Demand {
    fn new(device: &Device, counters: &Counters, blocks: f64, warps: f64) -> Self {
        let per_block = |count: u64| count as f64 / blocks;
        let Counters { global_loads, global_stores, shared_loads, shared_stores, local, .. } = counters;
        let wavefronts = [global_loads, global_stores, local].map(|global| global.wavefronts).iter().sum::<u64>()
            + shared_loads.wavefronts
            + shared_stores.wavefronts;
        let requests = [global_loads, global_stores, local].map(|global| global.requests).iter().sum::<u64>()
            + shared_loads.requests
            + shared_stores.requests;
        let l2_bytes_per_cycle = f64::from(device.l2_bytes_per_cycle) / f64::from(device.sm_count);
        Self {
            issue: per_block(counters.machine_instructions) / SCHEDULERS.min(warps),
            fma: per_block(counters.thread_fmas) / f64::from(device.fp32_lanes),
            l1: per_block(wavefronts) + REQUEST_CYCLES * per_block(requests),
            l2: per_block(counters.block_sectors * SECTOR_BYTES) / l2_bytes_per_cycle,
            wait: (per_block(counters.barriers) * BARRIER_CYCLES + per_block(global_loads.requests) * LOAD_CYCLES)
                / warps,
        }
    }

    /// The units' times for so many blocks.
    fn units(&self, blocks: f64) -> [(f64, Bound); 4] {
        [(self.issue, Bound::Issue), (self.fma, Bound::Fma), (self.l1, Bound::SharedMemory), (self.l2, Bound::L2)]
            .map(|(cycles, bound)| (blocks * cycles, bound))
    }

    /// The time of a block that has a multiprocessor for itself.
    fn alone(&self) -> f64 {
        self.issue.max(self.fma) + self.l1 + self.wait
    }

    /// The time of so many blocks that a multiprocessor holds at once.
    fn wave(&self, blocks: f64) -> f64 {
        norm(self.units(blocks).into_iter().map(|(cycles, _)| cycles).chain([self.alone()]))
    }
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value.powf(SHARPNESS)).sum::<f64>().powf(1.0 / SHARPNESS)
}

/// Predicts the time of a launch of `blocks` blocks with these needs, that counted this. `None` where no block fits on a
/// multiprocessor.
#[must_use]
pub fn predict(device: &Device, counters: &Counters, blocks: u64, needs: &Resources) -> Option<Prediction> {
    let occupancy = Occupancy::new(device, needs);
    if occupancy.blocks == 0 || blocks == 0 {
        return None;
    }
    let warps = f64::from(needs.threads.div_ceil(32));
    let demand = Demand::new(device, counters, blocks as f64, warps);
    let fullest = blocks.div_ceil(device.sm_count.into());
    let (waves, rest) = (fullest / u64::from(occupancy.blocks), fullest % u64::from(occupancy.blocks));
    let wave = |blocks: u64| if blocks == 0 { 0.0 } else { demand.wave(blocks as f64) };
    let cycles = waves as f64 * wave(occupancy.blocks.into()) + wave(rest);

    let ms = |cycles: f64| cycles / f64::from(device.clock_mhz) / 1000.0;
    // Each byte that is touched comes once; L2 caches what is used again.
    let dram_bytes = counters.touched_bytes.min(counters.block_sectors * SECTOR_BYTES);
    let dram = dram_bytes as f64 / f64::from(device.memory_gb_per_s) / 1e6;
    let time_ms = norm([ms(cycles), dram].into_iter()) + LAUNCH_MS;

    let units = demand.units(blocks as f64 / f64::from(device.sm_count)).map(|(cycles, bound)| (ms(cycles), bound));
    let [issue, fma, l1, l2] = units.map(|(time, _)| time);
    let latency = ms(demand.alone() * (waves + u64::from(rest > 0)) as f64);
    let parts = Parts { issue, fma, l1, l2, dram, latency };
    let all = units.into_iter().chain([(dram, Bound::Dram), (latency, Bound::Latency)]);
    let bound = all.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(Bound::Latency, |(_, bound)| bound);
    Some(Prediction { time_ms, bound, occupancy, parts })
}
