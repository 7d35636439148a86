//! What a step would take on a device, guessed in a fraction of a second: a few of its blocks run in the emulator, a part
//! of the sums long, and the model gets what they would count in the whole problem.

use std::time::Duration;

use gpu_kernels::{Operand, Schedule, Step};
use ptx_emu::device::{DEVICES, Device as Model};
use ptx_emu::{Counters, Waits, model};
use sgemm::Abc;
use sgemm::emulator::Kernels;
use sgemm::plan::Plan;

use super::launch::{Launched, Runner};
use super::operands::EmulatedOperands;
use crate::backend::Device;
use crate::backend::ptx::PtxSource;
use crate::{Error, Operands, Problem, Stop};

/// How long a sample of one launch runs.
const BUDGET: Duration = Duration::from_millis(50);

/// Bytes that the model's counters count as one sector.
const SECTOR_BYTES: u64 = 32;

/// Length of the sums of one block, about: enough for what happens once to count little.
const DEPTH: u32 = 128;

/// Models steps on one device. What was counted once is kept: large problems are made of the same blocks.
pub struct Estimator {
    model: &'static Model,
    kernels: Kernels,
    counted: Vec<(&'static str, Problem, Vec<Launched>)>,
}

impl Estimator {
    /// For a device, or the one that is most like it of those that can be modelled.
    #[must_use]
    pub fn new(ptx: PtxSource, device: &Device) -> Self {
        let find = |is_alike: &dyn Fn(&Model) -> bool| DEVICES.iter().find(|model| is_alike(model));
        let model = find(&|model| model.name == device.name)
            .or_else(|| find(&|model| model.compute_capability == device.compute_capability))
            .or_else(|| find(&|model| model.compute_capability.0 == device.compute_capability.0));
        Self { model: model.unwrap_or(&DEVICES[0]), kernels: Kernels::new(ptx.modules()), counted: Vec::new() }
    }

    /// The time that the step would take on the problem, pre-passes included, in milliseconds.
    ///
    /// # Errors
    /// Where the step cannot be emulated, or an SM has not what one of its blocks needs.
    pub fn time_ms(&mut self, step: &'static Step, problem: &Problem) -> Result<f64, Error> {
        let Self { model, kernels, counted } = self;
        let part = part(step, problem)?;
        if !counted.iter().any(|(kernel, of, _)| *kernel == step.kernel && *of == part) {
            kernels.load(step)?;
            // A few tiles fill one SM, and are not split for others.
            let small = Model { sm_count: 1, ..**model };
            let model = if step.has_many_splits() { &small } else { *model };
            let stop = &Stop::default();
            let budget = Some(BUDGET);
            let runner = Runner { kernels, step, problem: &part, model, budget, checks: false, threads: 0, stop };
            let run = runner.run(&mut EmulatedOperands::upload(&Operands::random(&part)?))?;
            counted.push((step.kernel, part, run.before.into_iter().chain(run.launches).collect()));
        }
        let launches = counted.iter().find(|(kernel, of, _)| *kernel == step.kernel && *of == part);
        let (_, _, launches) = launches.ok_or_else(|| unusable(step, "nothing was counted"))?;
        // The order of the launches is that of the plan: A, B, the kernel.
        let before = Plan::new(step, &problem.gemm.into(), model.sm_count)?.rewritten();
        let elements = |of: &Problem| of.matrices().map(|matrix| u64::from(matrix.rows) * u64::from(matrix.columns));
        let (whole, small) = (elements(problem), elements(&part));
        let own = before.len();
        let mut time_ms = 0.0;
        for (index, launched) in launches.iter().enumerate() {
            let (growth, blocks, bytes) = match before.get(index) {
                Some(&(operand, blocks)) => {
                    let (whole, small) = match operand {
                        Operand::A => (whole.a, small.a),
                        Operand::B => (whole.b, small.b),
                    };
                    let factor = whole as f64 / small.max(1) as f64;
                    // As many bytes are written as read.
                    let bytes = 2 * u64::from(problem.input.bytes()) * whole;
                    (Growth { work: factor, stores: factor }, blocks as f64, bytes)
                }
                // One launch stands for all slabs.
                None if index > own => break,
                None => {
                    let (growth, blocks) = self::own(step, problem, &part, launched, model.sm_count);
                    let Abc { a, b, c } = whole;
                    let bytes = u64::from(problem.input.bytes()) * (a + b) + u64::from(problem.output.bytes()) * c;
                    (growth, blocks, bytes)
                }
            };
            let mut counters = scaled(&launched.report.counters, growth, bytes);
            if index == own {
                // Blocks of stream-K tiles publish partial tiles, which others load.
                let stream_k = step.stream_k_tiles(problem.m, problem.n, model.sm_count);
                let partial_bytes = step.partial_tile_bytes(stream_k);
                counters.block_sectors += 2 * partial_bytes / SECTOR_BYTES;
            }
            let prediction = model::predict(model, &counters, (blocks as u64).max(1), &launched.needs);
            time_ms += prediction.ok_or_else(|| unusable(step, "no block fits on an SM"))?.time_ms;
        }
        Ok(time_ms)
    }
}

fn unusable(step: &Step, reason: &str) -> Error {
    Error::Emulator { what: format!("model {}", step.slug), reason: reason.into() }
}

/// A problem of a few of the step's tiles, its rows aligned as those of the whole one are.
fn part(step: &Step, problem: &Problem) -> Result<Problem, Error> {
    let [cluster_x, cluster_y, _] = step.cluster;
    let (rows, columns, splits) = match step.schedule {
        // So few tiles are all data-parallel.
        Schedule::DataParallel
        | Schedule::StreamK { .. }
        | Schedule::Persistent { .. }
        | Schedule::PersistentBatch { .. }
        | Schedule::PlannedSplitK { .. } => (cluster_y.max(2), cluster_x.max(2), 1),
        Schedule::SerialSplitK { splits } => (cluster_y.max(2), cluster_x.max(2), splits),
        Schedule::SplitK { splits } => (cluster_y, cluster_x, splits),
    };
    let clip = |size: u32, tile: u32, tiles: u32| size.min(tile * tiles);
    let depth = splits * DEPTH.next_multiple_of(step.tile.bk);
    let (m, n) = (clip(problem.m, step.tile.bm, rows), clip(problem.n, step.tile.bn, columns));
    let k = problem.k.min(depth);
    let wide = 16 / problem.input.bytes();
    let aligned_alike =
        |size: u32, ld: u32| if ld.is_multiple_of(wide) { size.next_multiple_of(wide) } else { size | 1 };
    Problem::new(m, n, k)?
        .with_leading_dimensions(aligned_alike(k.max(1), problem.lda), aligned_alike(n.max(1), problem.ldb), n.max(1))?
        .with_scalars(problem.alpha, problem.beta)?
        .with_elements(problem.input, problem.output)
}

/// How much more the whole problem takes than its part.
#[derive(Clone, Copy)]
struct Growth {
    work: f64,
    /// C is stored once, however long k is.
    stores: f64,
}

/// The growth of the step's own kernel, and its blocks in the whole problem.
fn own(step: &Step, problem: &Problem, part: &Problem, launched: &Launched, sm_count: u32) -> (Growth, f64) {
    let tiles = |of: &Problem| f64::from(of.m.div_ceil(step.tile.bm)) * f64::from(of.n.div_ceil(step.tile.bn));
    let longer = f64::from(problem.k) / f64::from(part.k.max(1));
    let more_tiles = tiles(problem) / tiles(part).max(1.0);
    let blocks = match step.stream_k_tiles(problem.m, problem.n, sm_count).blocks {
        0 => launched.report.blocks as f64 * more_tiles,
        // All places share the work evenly, as if each had one block.
        places => places.into(),
    };
    (Growth { work: more_tiles * longer, stores: more_tiles }, blocks)
}

/// What so many times the work would count that touches so many bytes.
fn scaled(counters: &Counters, growth: Growth, touched_bytes: u64) -> Counters {
    let scale_by = |factor: f64| move |count: &mut u64| *count = (*count as f64 * factor) as u64;
    let scale = scale_by(growth.work);
    let is_loaded = counters.loaded_bytes as f64 / counters.touched_bytes.max(1) as f64;
    let loaded_bytes = (touched_bytes as f64 * is_loaded) as u64;
    let mut counters = Counters { touched_bytes, loaded_bytes, lines: Vec::new(), ..counters.clone() };
    let Counters { global_loads, global_stores, copies, local, .. } = &mut counters;
    for (global, factor) in
        [(global_loads, growth.work), (global_stores, growth.stores), (copies, growth.work), (local, growth.work)]
    {
        [&mut global.requests, &mut global.sectors, &mut global.wavefronts].into_iter().for_each(scale_by(factor));
    }
    let Counters { shared_loads, shared_stores, tensor_core_reads, .. } = &mut counters;
    for shared in [shared_loads, shared_stores, tensor_core_reads] {
        [&mut shared.requests, &mut shared.wavefronts].into_iter().for_each(scale);
    }
    let Waits { warps, instructions, requests, bytes, users, used_after } = &mut counters.waits;
    [warps, instructions, requests, bytes, users, used_after].into_iter().for_each(scale);
    counters.tensor_core_fmas.each_mut().into_iter().for_each(scale);
    counters.instructions.values_mut().for_each(scale);
    let Counters { machine_instructions, thread_fmas, barriers, block_sectors, crowded_words, shuffles, .. } =
        &mut counters;
    let counts = [machine_instructions, thread_fmas, barriers, block_sectors, crowded_words, shuffles];
    counts.into_iter().for_each(scale);
    counters
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::emulator::{EmulatorBackend, MODELS};
    use crate::backend::{Backend, Kernel};

    #[test]
    fn a_part_tells_the_time_of_the_whole() {
        let mut backend = EmulatorBackend::new(PtxSource::BuiltIn, &MODELS[0], Some(Duration::from_millis(200)));
        let mut estimator = Estimator::new(PtxSource::BuiltIn, backend.device());
        for (slug, size) in [("coalesced", 512), ("2d-tiling", 512), ("vectorized", 1024), ("transposed", 1024)] {
            let (step, problem) = (gpu_kernels::find(slug).unwrap(), Problem::new(size, size, size).unwrap());
            let kernel = Kernel::Step(step);
            backend.prepare(kernel).unwrap();
            backend.upload(&Operands::random(&problem).unwrap()).unwrap();
            backend.run(kernel, &problem).unwrap();
            let whole = f64::from(backend.time(kernel, &problem, 0, 1, &mut || {}).unwrap()[0]);
            let part = estimator.time_ms(step, &problem).unwrap();
            assert!((0.8..1.25).contains(&(part / whole)), "{slug}: {part} ms of a part, {whole} ms of the whole");
        }
    }

    #[test]
    fn parts_are_small_and_aligned_alike() {
        let problem = Problem::new(4095, 4097, 4099).unwrap();
        for step in gpu_kernels::runnable() {
            let part = part(step, &problem).unwrap();
            let is_aligned = |ld: u32| ld.is_multiple_of(4);
            assert!(!is_aligned(part.lda) && !is_aligned(part.ldb), "{}", step.slug);
            assert!(part.bytes() < 64 << 20, "{}", step.slug);
            let stream_k = step.stream_k_tiles(part.m, part.n, if step.has_many_splits() { 1 } else { 132 });
            assert!(
                stream_k.tiles == 0 || step.has_many_splits() && stream_k.blocks < 8,
                "{}: {stream_k:?}",
                step.slug
            );
        }
    }
}
