//! What one step does on one problem, counted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the emulator counts of one step on one problem, for the whole grid of the step's own kernel, and what its model says
/// of a device. Requests and instructions are those of warps. The fields' names are the keys of JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// The version of this record.
    pub schema: u32,
    /// The step's slug.
    pub kernel: String,
    /// The step that it changes.
    pub base: Option<String>,
    /// The arithmetic, such as `fp32`.
    pub precision: String,
    /// The device that is modelled.
    pub device: String,
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Blocks that ran.
    pub blocks_run: u64,
    /// Blocks of the grid, to which all counts are scaled.
    pub blocks: u64,
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread, estimated.
    pub registers: u32,
    /// Shared memory of a block in bytes, static and dynamic.
    pub shared_bytes: u32,
    /// Blocks that an SM holds at once.
    pub blocks_per_sm: u32,
    /// Warps that an SM holds at once.
    pub warps_per_sm: u32,
    /// These warps as a share of the maximum: 0 to 1.
    pub occupancy: f64,
    /// What keeps it from holding more: `threads`, `registers`, `shared memory` or `blocks`.
    pub occupancy_limit: String,
    /// Instructions of the PTX.
    pub ptx_instructions: u64,
    /// Instructions of the GPU's own code, estimated.
    pub machine_instructions: u64,
    /// Fused multiply-adds among the instructions of the PTX.
    pub fma_instructions: u64,
    /// Fused multiply-adds of threads.
    pub thread_fmas: u64,
    /// Multiply-adds of the tensor cores.
    pub tensor_core_fmas: u64,
    /// Requests that read global memory: loads of warps, `cp.async` included, and bulk (TMA) copies, which are in `copies` too.
    pub global_loads: u64,
    /// Sectors of 32 bytes that these touch, those of bulk copies included.
    pub global_load_sectors: u64,
    /// Stores to global memory.
    pub global_stores: u64,
    /// Sectors that these touch.
    pub global_store_sectors: u64,
    /// Passes of both through the L1 cache.
    pub global_wavefronts: u64,
    /// Bulk (TMA) copies from global to shared memory: those of `global_loads` that no warp loads.
    pub copies: u64,
    /// Sectors that these touch.
    pub copy_sectors: u64,
    /// Bytes that these move.
    pub copy_bytes: u64,
    /// Loads from shared memory.
    pub shared_loads: u64,
    /// Passes (wavefronts) that these take: more than the least on bank conflicts.
    pub shared_load_wavefronts: u64,
    /// Bytes that the lanes of these ask for.
    pub shared_load_bytes: u64,
    /// Stores to shared memory.
    pub shared_stores: u64,
    /// Passes that these take.
    pub shared_store_wavefronts: u64,
    /// Bytes that the lanes of these ask for.
    pub shared_store_bytes: u64,
    /// Warps that wait at a barrier of the block or the cluster.
    pub barriers: u64,
    /// Branches at which the lanes of a warp diverge.
    pub divergent_branches: u64,
    /// Bytes between the L2 cache and the SMs, at the least: the distinct sectors that each block touches.
    pub l2_bytes: u64,
    /// Distinct bytes of the matrices that are touched: what device memory must deliver, at the least.
    pub touched_bytes: u64,
    /// The time that the model predicts, pre-passes included, in milliseconds.
    pub modelled_ms: f64,
    /// What the model says that bounds the speed, such as `FMA throughput`.
    pub bound: String,
    /// The device's peak in this arithmetic at its highest SM clock, in GFLOPS; a third of the tensor cores' where a product takes
    /// three MMAs.
    pub peak_gflops: f64,
    /// Bandwidth of the L2 cache to all SMs, in 10^9 bytes per second.
    pub l2_gb_per_s: f64,
    /// Bandwidth of device memory, in 10^9 bytes per second.
    pub dram_gb_per_s: f64,
    /// When it was counted: UTC, RFC 3339.
    pub date: String,
    /// The commit that the program was built from, or `unknown`.
    pub commit: String,
    /// The compilers of the kernels and of the program.
    pub toolchain: Option<String>,
}

impl Counters {
    /// The step that it is, or a variant of.
    #[must_use]
    pub fn step(&self) -> &str {
        step_of(&self.kernel)
    }

    /// Multiply-adds of threads and of the tensor cores.
    #[must_use]
    pub fn multiply_adds(&self) -> u64 {
        self.thread_fmas.saturating_add(self.tensor_core_fmas)
    }

    /// FMAs of whole warps, or as many of the tensor cores.
    #[must_use]
    pub fn warp_fmas(&self) -> f64 {
        self.multiply_adds() as f64 / 32.0
    }

    /// Loads of warps from global memory: bulk (TMA) copies are not among them.
    #[must_use]
    pub fn warp_loads(&self) -> u64 {
        self.global_loads.saturating_sub(self.copies)
    }

    /// Sectors that a load from global memory by a warp touches.
    #[must_use]
    pub fn sectors_per_load(&self) -> f64 {
        ratio(self.global_load_sectors.saturating_sub(self.copy_sectors), self.warp_loads())
    }

    /// Bytes that a bulk (TMA) copy moves.
    #[must_use]
    pub fn bytes_per_copy(&self) -> f64 {
        ratio(self.copy_bytes, self.copies)
    }

    /// Bytes that come from global memory and its caches for an FMA of one thread.
    #[must_use]
    pub fn global_bytes_per_fma(&self) -> f64 {
        32.0 * ratio(self.global_load_sectors, self.multiply_adds())
    }

    /// Wavefronts that a load from shared memory takes.
    #[must_use]
    pub fn wavefronts_per_shared_load(&self) -> f64 {
        ratio(self.shared_load_wavefronts, self.shared_loads)
    }

    /// Wavefronts that accesses to shared memory take beyond what their bytes need, as a share of all of them: bank
    /// conflicts. 0 to 1.
    #[must_use]
    pub fn conflict_share(&self) -> f64 {
        let excess = |wavefronts: u64, bytes: u64| wavefronts.saturating_sub(bytes.div_ceil(128));
        let conflicts = excess(self.shared_load_wavefronts, self.shared_load_bytes)
            .saturating_add(excess(self.shared_store_wavefronts, self.shared_store_bytes));
        ratio(conflicts, self.shared_load_wavefronts.saturating_add(self.shared_store_wavefronts))
    }

    /// Wavefronts of the L1 cache and of shared memory together, for an FMA of a warp.
    #[must_use]
    pub fn wavefronts_per_fma(&self) -> f64 {
        let wavefronts = [self.global_wavefronts, self.shared_load_wavefronts, self.shared_store_wavefronts];
        wavefronts.into_iter().fold(0, u64::saturating_add) as f64 / self.warp_fmas()
    }

    /// FMAs of a warp per load of a warp, from either memory; 0 where nothing is loaded.
    #[must_use]
    pub fn fmas_per_load(&self) -> f64 {
        let loads = self.warp_loads().saturating_add(self.shared_loads);
        if loads == 0 { 0.0 } else { self.warp_fmas() / loads as f64 }
    }

    /// FMAs among all instructions of the machine code, estimated, as a share.
    #[must_use]
    pub fn fma_share(&self) -> f64 {
        ratio(self.fma_instructions, self.machine_instructions)
    }

    /// Arithmetic intensity (L2) in FLOP/B, of the bytes between the L2 cache and the SMs. A multiply-add is two.
    #[must_use]
    pub fn flops_per_l2_byte(&self) -> f64 {
        2.0 * ratio(self.multiply_adds(), self.l2_bytes)
    }
}

/// The step that a kernel is, or a variant of: variants are named `STEP/VARIANT`.
pub(crate) fn step_of(kernel: &str) -> &str {
    kernel.split('/').next().unwrap_or_default()
}

fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}
