//! What the emulator counted of a step, as a record.

use gpu_kernels::Step;
use ptx_emu::device::Device as Model;
use ptx_emu::{Class, SECTOR_BYTES};
use results::{Counters, SCHEMA, peak_gflops};

use super::{EmulatorBackend, Launched};
use crate::backend::now;
use crate::backend::ptx::toolchain;
use crate::backend::{Backend, Kernel};
use crate::{Error, Operands, Problem};

impl EmulatorBackend {
    /// Runs the step on the problem, as many of its blocks as the budget allows, and counts what it does.
    ///
    /// ```
    /// use host::backend::emulator::{EmulatorBackend, MODELS};
    /// use host::measure::kernels;
    /// use host::{Problem, PtxSource};
    ///
    /// let mut emulator = EmulatorBackend::new(PtxSource::BuiltIn, &MODELS[0], None);
    /// let counters = emulator.count(kernels::find("smem-tiling")?, &Problem::new(64, 64, 64)?)?;
    /// assert_eq!((counters.thread_fmas, counters.shared_bytes), (64 * 64 * 64, 8192));
    /// assert_eq!(counters.sectors_per_load(), 4.0, "a warp reads 32 contiguous elements");
    /// # Ok::<(), host::Error>(())
    /// ```
    ///
    /// # Errors
    /// Where the step cannot run, the emulator finds a mistake in it, or there is nothing to run: m, n or k is 0.
    pub fn count(&mut self, step: &'static Step, problem: &Problem) -> Result<Counters, Error> {
        let kernel = Kernel::Step(step);
        let problem = problem.for_kernel(kernel)?;
        self.prepare(kernel)?;
        self.upload(&Operands::random(&problem)?)?;
        self.run(kernel, &problem)?;
        let nothing = || Error::Emulator { what: format!("explain {}", step.slug), reason: "it has no work".into() };
        let launched = self.launches(step).first().ok_or_else(nothing)?;
        let others = self.prepasses(step).iter().chain(self.postpasses(step));
        let others_ms: f64 = others.map(|pass| pass.prediction.time_ms).sum();
        let counters = record(self.model, step, &problem, launched, others_ms);
        if counters.multiply_adds() == 0 { Err(nothing()) } else { Ok(counters) }
    }
}

/// The record of a launch; `others_ms` is what pre-passes and a post-pass take.
fn record(model: &Model, step: &Step, problem: &Problem, launched: &Launched, others_ms: f64) -> Counters {
    let Launched { report, needs, prediction, .. } = launched;
    let counted = &report.counters;
    let ptx_emu::Counters { global_loads, global_stores, copies, shared_loads, shared_stores, .. } = *counted;
    let occupancy = prediction.occupancy;
    Counters {
        schema: SCHEMA,
        kernel: step.slug.to_owned(),
        base: step.base.map(str::to_owned),
        precision: step.precision.name().to_owned(),
        device: model.name.to_owned(),
        m: problem.m,
        n: problem.n,
        k: problem.k,
        blocks_run: report.blocks_run,
        blocks: report.blocks,
        threads: needs.threads,
        registers: needs.registers,
        shared_bytes: needs.shared_bytes,
        blocks_per_sm: occupancy.blocks,
        warps_per_sm: occupancy.warps,
        occupancy: occupancy.share,
        occupancy_limit: occupancy.limit.name().to_owned(),
        ptx_instructions: counted.warp_instructions(),
        machine_instructions: counted.machine_instructions,
        fma_instructions: counted.of(Class::Fma),
        thread_fmas: counted.thread_fmas,
        tensor_core_fmas: counted.tensor_core_fmas.total(),
        global_loads: global_loads.requests,
        global_load_sectors: global_loads.sectors,
        global_stores: global_stores.requests,
        global_store_sectors: global_stores.sectors,
        global_wavefronts: global_loads.wavefronts + global_stores.wavefronts,
        copies: copies.requests,
        copy_sectors: copies.sectors,
        copy_bytes: copies.bytes,
        shared_loads: shared_loads.requests,
        shared_load_wavefronts: shared_loads.wavefronts,
        shared_load_bytes: shared_loads.bytes,
        shared_stores: shared_stores.requests,
        shared_store_wavefronts: shared_stores.wavefronts,
        shared_store_bytes: shared_stores.bytes,
        barriers: counted.barriers,
        divergent_branches: counted.divergent_branches,
        l2_bytes: counted.block_sectors * SECTOR_BYTES,
        touched_bytes: counted.touched_bytes,
        modelled_ms: prediction.time_ms + others_ms,
        bound: prediction.bound.name().to_owned(),
        peak_gflops: peak_gflops(step.precision.name(), model.compute_capability, model.sm_count, model.clock_mhz)
            .unwrap_or_default(),
        l2_gb_per_s: f64::from(model.l2_bytes_per_cycle) * f64::from(model.clock_mhz) / 1e3,
        dram_gb_per_s: f64::from(model.memory_gb_per_s),
        date: now(),
        commit: env!("HOST_COMMIT").to_owned(),
        toolchain: Some(toolchain()),
    }
}
