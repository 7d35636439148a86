//! The constants of kernels on a device that was never measured: from a step's tile, and what GPUs have in common.

use gpu_kernels::{Precision, Step, runnable};

use super::{Cost, Memory, POWERS};

/// A clock, in cycles per microsecond.
const CLOCK: f64 = 1500.0;

/// Threads of an SM whose kernels use 128 registers each.
const SM_THREADS: u32 = 512;

/// Bytes that an SM stores in a cycle.
const STORE_BYTES: f64 = 16.0;

/// What passes and launches cost.
pub(super) const MEMORY: Memory = Memory { launch: 1.5, pass_gbps: 1000.0, gbps: 1500.0 };

/// All kernels.
pub(super) fn costs() -> Vec<(&'static Step, Cost)> {
    runnable().map(|step| (step, cost(step))).collect()
}

/// A kernel's, from its tile: multiply-adds at the rate of its arithmetic, a latency of some hundred cycles.
pub fn cost(step: &Step) -> Cost {
    // Multiply-adds of an SM in a cycle: of the CUDA cores, or of tensor cores for one of their MMAs.
    let rate = match step.precision {
        Precision::Fp32 => 100.0,
        Precision::Tf32 => 512.0,
        Precision::Tf32x3 => 160.0,
        Precision::Fp16x3 => 320.0,
        Precision::F16 | Precision::Bf16 => 1024.0,
    };
    let area = f64::from(step.tile.bm * step.tile.bn);
    let k_tile = area * f64::from(step.tile.bk) / rate / CLOCK;
    // A thread's own multiply-adds follow each other, and each k-tile a barrier or two.
    let latency = k_tile.max(f64::from(step.tile.tm * step.tile.tn * step.tile.bk) / 256.0 / CLOCK * 4.0) + 0.2;
    Cost {
        slots: Cost::most_slots(step, SM_THREADS),
        start: 2.5,
        round: 0.5,
        latency,
        k_tile,
        tile: area * 4.0 / STORE_BYTES / CLOCK,
        partial: 1.0,
        gbps: 5000.0,
        uneven: 0.2,
        powers: [0.0; POWERS],
        is_candidate: true,
    }
}
