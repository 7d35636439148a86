//! The time of a launch on a device, predicted from its counters.
//!
//! The units of an SM work in parallel: schedulers that issue instructions, FMA lanes, tensor cores, L1, and its share
//! of the L2 bandwidth. A block takes slightly longer than its busiest unit. It also waits: all its warps stand at a
//! barrier until their loads from global memory have arrived in shared memory, and each of them where it computes with what
//! it loaded. What they execute between load and wait hides part of that latency. And while it stores C, nothing of it is
//! left to compute.
//!
//! Of the resident blocks of an SM, one computes while another waits, but they are not synchronised, so some of both is
//! exposed. A wave of blocks takes the work of one, plus the waits of one overlapped with the work of the others. A
//! launch takes as many waves as the SM with the most blocks.
//!
//! The constants describe the chip, not a kernel. Some were measured on an H200 with loops of one instruction; those
//! marked as fitted are the best fit to the times of this project's kernels in `tests/data/times-h200.jsonl` and
//! `docs/results`, at 512 to 8192. Other devices use the same constants.

pub mod device;
pub mod occupancy;

use serde::Serialize;

use crate::counters::{Class, Counters, SECTOR_BYTES, TensorCoreFmas, Waits};
use device::Device;
use occupancy::{Occupancy, Resources};

/// Warp schedulers of an SM, each of which issues one instruction per cycle.
const SCHEDULERS: f64 = 4.0;

/// Issue slots of an FMA with three distinct registers. Measured.
const FMA_SLOTS: f64 = 1.03;

/// Additional issue slots of a shuffle, and of each word that a load from shared memory delivers beyond one per
/// wavefront: values that arrive this fast take register ports from FMAs. The second was measured; the first is fitted,
/// to one step with shuffles.
const SHUFFLE_SLOTS: f64 = 3.8;
const CROWDED_WORD_SLOTS: f64 = 1.0;

/// 16-bit FMAs per cycle of the tensor cores of an SM, twice the rate of TF32: NVIDIA's white paper on GH100, the only
/// chip with `wgmma`. At boost clock, which a card at its power limit does not sustain.
pub const TENSOR_CORE_FMAS: f64 = 2048.0;

/// Cycles of L1 per request, in addition to its wavefronts. Measured.
const REQUEST_CYCLES: f64 = 0.2;

/// Cycles from a load from global memory to its value. Measured.
const LATENCY_CYCLES: f64 = 660.0;

/// The same where L1 has it. Measured by others: Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via
/// Microbenchmarking", 2024.
const L1_LATENCY_CYCLES: f64 = 40.0;

/// Until what was loaded to registers can be read in shared memory, after a barrier: additional cycles per requesting warp, and bytes
/// that arrive per cycle. Fitted. Copies need no registers: what they take is the bandwidth of L2 and of L1 alone.
const ARRIVAL_CYCLES: f64 = 4.0;
const ARRIVAL_BYTES: f64 = 19.0;

/// Degree of the norm by which times combine: of units that work in parallel, and of blocks that overlap. Fitted.
const SHARPNESS: f64 = 4.0;
const OVERLAP: f64 = 2.2;

/// Share of the bandwidth of device memory that reads and writes reach together. Fitted, to transpositions and reductions on an H100.
const DRAM_SHARE: f64 = 0.9;

/// Launch overhead: the time of an empty kernel, in milliseconds. Measured.
const LAUNCH_MS: f64 = 0.0028;

/// The predicted time of a launch on a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    /// The time, in milliseconds.
    pub time_ms: f64,
    /// The largest component.
    pub bound: Bound,
    /// Occupancy of an SM.
    pub occupancy: Occupancy,
    /// Lower bounds by unit.
    pub unit_times: UnitTimes,
}

/// The time that each unit needs by itself, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct UnitTimes {
    /// Issuing instructions.
    pub issue: f64,
    /// Fused multiply-adds.
    pub fma: f64,
    /// MMAs of the tensor cores.
    pub tensor_cores: f64,
    /// Wavefronts of L1 and shared memory.
    pub l1: f64,
    /// Traffic between L2 and the SMs.
    pub l2: f64,
    /// Traffic between device memory and L2.
    pub dram: f64,
    /// The rest of the time beyond the busiest unit: latency, and idle SMs.
    pub latency: f64,
}

/// The bottleneck of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Issuing instructions.
    Issue,
    /// FMA lanes.
    Fma,
    /// The tensor cores.
    TensorCores,
    /// Bandwidth of shared memory and L1.
    SharedMemory,
    /// L2 bandwidth.
    L2,
    /// DRAM bandwidth.
    Dram,
    /// Exposed latency.
    Latency,
}

impl Bound {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issue => "instruction issue",
            Self::Fma => "FMA throughput",
            Self::TensorCores => "tensor core throughput",
            Self::SharedMemory => "shared memory and L1 bandwidth",
            Self::L2 => "L2 bandwidth",
            Self::Dram => "DRAM bandwidth",
            Self::Latency => "latency",
        }
    }
}

/// Demand of one block on its SM, in cycles.
struct Demand {
    warps: f64,
    /// With all schedulers busy.
    issue: f64,
    fma: f64,
    tensor_cores: f64,
    l1: f64,
    l2: f64,
    /// Latency and stores of the epilogue, which another block can hide.
    wait: f64,
}

impl Demand {
    fn new(device: &Device, counters: &Counters, blocks: f64, warps: f64) -> Self {
        let per_block = |count: u64| count as f64 / blocks;
        let Counters { global_loads, global_stores, shared_loads, shared_stores, local, waits, shuffles, .. } =
            counters;
        let wavefronts = [global_loads, global_stores, local].map(|global| global.wavefronts).iter().sum::<u64>()
            + shared_loads.wavefronts
            + shared_stores.wavefronts
            + counters.tensor_core_reads.wavefronts
            + shuffles;
        let requests = [global_loads, global_stores, local].map(|global| global.requests).iter().sum::<u64>()
            + shared_loads.requests
            + shared_stores.requests
            + shuffles;
        let slots = per_block(counters.machine_instructions)
            + per_block(counters.of(Class::Fma)) * (FMA_SLOTS - 1.0)
            + per_block(*shuffles) * SHUFFLE_SLOTS
            + per_block(counters.crowded_words) * CROWDED_WORD_SLOTS;
        let l2_bytes_per_cycle = f64::from(device.l2_bytes_per_cycle) / f64::from(device.sm_count);
        let TensorCoreFmas { f16, bf16, tf32, f64: double, fp8, int8, b1 } = counters.tensor_core_fmas;
        // NVIDIA's H100 has half the throughput of f16 in TF32, a sixteenth in f64, and twice in types of 8 bits.
        let as_f16 = (f16 + bf16 + 2 * tf32 + 16 * double) + (fp8 + int8) / 2 + b1 / 16;
        let mut demand = Self {
            warps,
            issue: slots / SCHEDULERS,
            fma: per_block(counters.thread_fmas) * FMA_SLOTS / f64::from(device.fp32_lanes),
            tensor_cores: per_block(as_f16) / TENSOR_CORE_FMAS,
            l1: per_block(wavefronts) + REQUEST_CYCLES * per_block(requests),
            l2: per_block(counters.block_sectors * SECTOR_BYTES) / l2_bytes_per_cycle,
            wait: 0.0,
        };
        let Waits { warps: waiting, instructions, requests, bytes, users, used_after } = *waits;
        let misses = counters.block_sectors as f64 / (global_loads.sectors + global_stores.sectors).max(1) as f64;
        let used_latency = L1_LATENCY_CYCLES + misses.min(1.0) * (LATENCY_CYCLES - L1_LATENCY_CYCLES);
        let asked = per_block(waiting) / warps * LATENCY_CYCLES
            + per_block(users) / warps * used_latency
            + per_block(requests) * ARRIVAL_CYCLES
            + per_block(bytes) / ARRIVAL_BYTES;
        let meanwhile = (instructions + used_after) as f64 / counters.machine_instructions.max(1) as f64;
        let done_meanwhile = demand.work(1.0) * meanwhile;
        let stores = per_block(global_stores.sectors * SECTOR_BYTES) / l2_bytes_per_cycle;
        // The first loads of a block are always exposed, and so are the stores of its epilogue.
        demand.wait = (asked - done_meanwhile).max(LATENCY_CYCLES) + stores;
        demand
    }

    /// Times of the units for that many blocks, which may have fewer warps than there are schedulers.
    fn units(&self, blocks: f64) -> [(f64, Bound); 5] {
        let idle = SCHEDULERS / SCHEDULERS.min(self.warps * blocks.max(1.0));
        [
            (self.issue * idle, Bound::Issue),
            (self.fma * idle, Bound::Fma),
            (self.tensor_cores, Bound::TensorCores),
            (self.l1, Bound::SharedMemory),
            (self.l2, Bound::L2),
        ]
        .map(|(cycles, bound)| (blocks * cycles, bound))
    }

    /// Time of the work of that many blocks, without latency.
    fn work(&self, blocks: f64) -> f64 {
        let [issue, fma, tensor_cores, l1, l2] = self.units(blocks).map(|(cycles, _)| cycles);
        norm(SHARPNESS, [issue.max(fma), tensor_cores, l1, l2])
    }

    /// Time of a wave of that many resident blocks.
    fn wave(&self, blocks: f64) -> f64 {
        let one = self.work(1.0);
        one + norm(OVERLAP, [(self.work(blocks) - one).max(0.0), self.wait])
    }
}

/// Bytes that pass between device memory and L2. Each byte that is loaded passes once; L2 serves reuse. What a launch touches takes
/// the place of what L2 held, which goes back to memory where it was modified: at the beginning all of it, as other work left it
/// (times are measured after a buffer of twice its size was set), then the launch's own stores.
fn dram_bytes(device: &Device, counters: &Counters) -> f64 {
    let moved = counters.block_sectors * SECTOR_BYTES;
    let touched = counters.touched_bytes.min(moved);
    let stored = (counters.global_stores.sectors * SECTOR_BYTES).min(touched);
    let replaced = touched.min(device.l2_bytes);
    let own = (touched - replaced) as f64 * stored as f64 / touched.max(1) as f64;
    (counters.loaded_bytes.min(moved) + replaced) as f64 + own
}

fn norm<const N: usize>(degree: f64, values: [f64; N]) -> f64 {
    values.map(|value| value.powf(degree)).iter().sum::<f64>().powf(1.0 / degree)
}

/// Predicts the time of a launch of `blocks` blocks with these resources and counters. `None` if no block fits on an
/// SM.
///
/// ```
/// use ptx_emu::device::Device;
/// use ptx_emu::model::{Bound, predict};
/// use ptx_emu::occupancy::{Resources, estimate_registers};
/// use ptx_emu::{GlobalMemory, Launch, Module};
///
/// let module = Module::parse(
///     ".version 7.0
///      .target sm_80
///      .address_size 64
///      .visible .entry fill(.param .u64 data)
///      {
///          .reg .b32 %r<5>;
///          .reg .b64 %rd<4>;
///          ld.param.u64 %rd1, [data];
///          mov.u32 %r1, %ctaid.x;
///          mov.u32 %r2, %ntid.x;
///          mov.u32 %r3, %tid.x;
///          mad.lo.s32 %r4, %r1, %r2, %r3;
///          mul.wide.u32 %rd2, %r4, 4;
///          add.s64 %rd3, %rd1, %rd2;
///          st.global.u32 [%rd3], %r4;
///          ret;
///      }",
/// )?;
/// let kernel = module.kernel("fill")?;
/// let mut memory = GlobalMemory::default();
/// let data = memory.allocate(4 << 18); // 1 MiB
/// let report = kernel.launch(&mut memory, &Launch::new([1024, 1, 1], [256, 1, 1]).argument(data.to_le_bytes()))?;
///
/// let h200 = Device::find("h200").expect("it is known");
/// let registers = estimate_registers(h200, kernel.live_registers(), 256, kernel.bounds());
/// let resources = Resources { threads: 256, registers, shared_bytes: kernel.shared_bytes() };
/// let prediction = predict(h200, &report.counters, report.blocks, &resources).expect("a block fits");
/// assert_eq!(prediction.bound, Bound::Latency, "1 MiB is little: the launch itself takes most of the time");
/// assert!(prediction.time_ms > prediction.unit_times.dram && prediction.time_ms < 0.01);
/// # Ok::<(), ptx_emu::Error>(())
/// ```
#[must_use]
pub fn predict(device: &Device, counters: &Counters, blocks: u64, resources: &Resources) -> Option<Prediction> {
    let occupancy = Occupancy::new(device, resources);
    if occupancy.blocks == 0 || blocks == 0 {
        return None;
    }
    let warps = f64::from(resources.threads.div_ceil(32));
    let demand = Demand::new(device, counters, blocks as f64, warps);
    let fullest = blocks.div_ceil(device.sm_count.into());
    let (waves, rest) = (fullest / u64::from(occupancy.blocks), fullest % u64::from(occupancy.blocks));
    let wave = |blocks: u64| if blocks == 0 { 0.0 } else { demand.wave(blocks as f64) };
    let cycles = waves as f64 * wave(occupancy.blocks.into()) + wave(rest);

    let ms = |cycles: f64| cycles / f64::from(device.clock_mhz) / 1000.0;
    let dram = dram_bytes(device, counters) / (DRAM_SHARE * f64::from(device.memory_gb_per_s)) / 1e6;
    let time_ms = norm(SHARPNESS, [ms(cycles), dram]) + LAUNCH_MS;

    let units = demand.units(blocks as f64 / f64::from(device.sm_count)).map(|(cycles, bound)| (ms(cycles), bound));
    let [issue, fma, tensor_cores, l1, l2] = units.map(|(time, _)| time);
    let busiest = [issue, fma, tensor_cores, l1, l2, dram].into_iter().fold(0.0, f64::max);
    let latency = (time_ms - busiest).max(0.0);
    let unit_times = UnitTimes { issue, fma, tensor_cores, l1, l2, dram, latency };
    let all = units.into_iter().chain([(dram, Bound::Dram), (latency, Bound::Latency)]);
    let bound = all.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(Bound::Latency, |(_, bound)| bound);
    Some(Prediction { time_ms, bound, occupancy, unit_times })
}

#[cfg(test)]
mod tests {
    use super::device::DEVICES;
    use super::*;
    use crate::counters::GlobalCounters;

    const CYCLES_PER_MS: f64 = 1.98e6;

    fn assert_close(got: f64, cycles: f64) {
        let expected = cycles / CYCLES_PER_MS;
        assert!((got / expected - 1.0).abs() < 0.02, "{got}, not {expected}");
    }

    /// The time of `blocks` blocks of 256 threads, two resident per SM, each with a million cycles of work.
    fn time_ms(blocks: u64, counters: Counters) -> f64 {
        let counters = Counters { machine_instructions: 500_000 * 8 * blocks, ..counters };
        let resources = Resources { threads: 256, registers: 128, shared_bytes: 16_384 };
        predict(&DEVICES[0], &counters, blocks, &resources).unwrap().time_ms
    }

    #[test]
    fn what_is_done_meanwhile_and_another_block_hide_waits() {
        // 1000 waits, so many instructions after the load.
        let time_ms = |blocks: u64, instructions: u64| {
            let warps = 8 * blocks * 1000;
            let waits = Waits { warps, instructions: warps * instructions, ..Waits::default() };
            time_ms(blocks, Counters { waits, ..Counters::default() })
        };
        assert_close(time_ms(132, 0), 1e6 + 1000.0 * LATENCY_CYCLES);
        assert_close(time_ms(132, 100), 1e6 + 1000.0 * (LATENCY_CYCLES - 200.0));
        assert_close(time_ms(132, 450), 1e6);
        assert_close(time_ms(264, 450), 2e6);
        assert!((2.1e6..2.3e6).contains(&(time_ms(264, 0) * CYCLES_PER_MS)));
    }

    #[test]
    fn another_block_hides_stores() {
        // As many bytes as an SM passes to L2 in half a million cycles.
        let bytes = 500_000 * u64::from(DEVICES[0].l2_bytes_per_cycle) / u64::from(DEVICES[0].sm_count);
        let time_ms = |blocks: u64| {
            let global_stores = GlobalCounters { sectors: blocks * bytes / SECTOR_BYTES, ..GlobalCounters::default() };
            time_ms(blocks, Counters { global_stores, ..Counters::default() })
        };
        assert_close(time_ms(132), 1.5e6);
        assert!((2e6..2.2e6).contains(&(time_ms(264) * CYCLES_PER_MS)));
    }
}
