//! Launching kernels in the emulator: the only place where one is.

use std::time::Duration;

use gpu_kernels::Step;
use ptx_emu::device::Device as Model;
use ptx_emu::model::Prediction;
use ptx_emu::occupancy::Resources;
use ptx_emu::{Blocks, Checks, Finding, FindingKind, Kernel, Launch, Report};

use super::model::predict;
use super::operands::EmulatedOperands;
use crate::backend::slabs::{Slab, slabs};
use crate::backend::{Coverage, Region};
use crate::{Error, Problem};

/// Bytes of operands up to which races in global memory are looked for: noting who accessed what takes about twelve
/// times as much.
const WATCHED_BYTES: u64 = 16 << 20;

/// A launch, what it did, and what it would come to on the device that is modelled.
#[derive(Debug)]
pub struct Launched {
    slab: Slab,
    /// Blocks, by dimension.
    pub grid: [u32; 3],
    /// What it did.
    pub report: Report,
    /// What a block takes of a multiprocessor.
    pub needs: Resources,
    /// What it would come to.
    pub prediction: Prediction,
}

/// Runs the step on the problem; nothing where m or n is 0. All blocks run if `budget` is `None`.
pub(super) fn run(
    kernel: &Kernel,
    step: &Step,
    problem: &Problem,
    operands: &mut EmulatedOperands,
    model: &Model,
    budget: Option<Duration>,
) -> Result<Vec<Launched>, Error> {
    if problem.m == 0 || problem.n == 0 {
        return Ok(Vec::new());
    }
    let slabs = slabs(problem.m, step.tile.bm);
    let blocks = match budget {
        // Where there is time for all of them, all of them run.
        Some(budget) => Blocks::Sample { budget: budget / slabs.len() as u32, seed: problem.seed },
        None => Blocks::All,
    };
    let launched = |slab| {
        let launch =
            Launch { sm_count: model.sm_count, blocks, ..launch(step, problem, operands, slab, model.sm_count) };
        let what =
            |error: ptx_emu::Error| Error::Emulator { what: format!("run {}", step.slug), reason: error.to_string() };
        let report = kernel.launch(&mut operands.memory, &launch).map_err(what)?;
        if let Some(finding) = worst(&report) {
            return Err(Error::Emulated { kernel: step.slug, finding: finding.to_string() });
        }
        let (needs, prediction) = predict(kernel, step, &report, model)?;
        Ok(Launched { slab, grid: launch.grid, report, needs, prediction })
    };
    slabs.map(launched).collect()
}

/// What is wrong with the kernel, if anything is: what ended the launch, or else the first finding that is no mere
/// consequence. Where a barrier is missing, memory is read both too early and before it was written.
fn worst(report: &Report) -> Option<&Finding> {
    let findings = report.findings.iter().min_by_key(|finding| finding.kind == FindingKind::Uninitialized);
    report.fault.as_ref().or(findings)
}

/// The launch that computes the rows of one slab, with every checker on that there is memory for.
fn launch(step: &Step, problem: &Problem, operands: &EmulatedOperands, slab: Slab, sm_count: u32) -> Launch {
    let Problem { n, k, alpha, beta, lda, ldb, ldc, .. } = *problem;
    let [a, b, c] = operands.rows(slab.first_row);
    // The parameters of `gpu_kernels::KERNEL_ARGUMENTS`, in that order.
    let launch = Launch::new(step.grid(slab.rows, n, sm_count), step.block)
        .argument(slab.rows.to_le_bytes())
        .argument(n.to_le_bytes())
        .argument(k.to_le_bytes())
        .argument(alpha.to_le_bytes())
        .argument(a.to_le_bytes())
        .argument(lda.to_le_bytes())
        .argument(b.to_le_bytes())
        .argument(ldb.to_le_bytes())
        .argument(beta.to_le_bytes())
        .argument(c.to_le_bytes())
        .argument(ldc.to_le_bytes());
    // Far more than a kernel needs that does a few instructions for each multiply-add of its tile.
    let tile_work = u64::from(step.tile.bm) * u64::from(step.tile.bn) * (u64::from(k) + 64);
    let max_instructions = tile_work.saturating_add(1 << 24);
    let checks = Checks { global_races: problem.bytes() <= WATCHED_BYTES, ..Checks::ALL };
    Launch { dynamic_shared_bytes: step.dynamic_smem_bytes, max_instructions, checks, ..launch }
}

/// What of C the launches computed: a block computes the tile of C at its place in the grid.
pub(super) fn coverage(step: &Step, problem: &Problem, launches: &[Launched]) -> Coverage {
    let total = |count: fn(&Report) -> u64| launches.iter().map(|launched| count(&launched.report)).sum::<u64>();
    let blocks = total(|report| report.blocks);
    if total(|report| report.blocks_run) == blocks {
        return Coverage::Whole { blocks: Some(blocks) };
    }
    let part = |index: u32, size: u32, first: u32, end: u32| {
        let start = first as usize + index as usize * size as usize;
        start..(start + size as usize).min(end as usize)
    };
    let regions = launches.iter().flat_map(|Launched { slab, report, .. }| {
        let end = slab.first_row + slab.rows;
        report.sample.iter().map(move |&[x, y, _]| Region {
            rows: part(y, step.tile.bm, slab.first_row, end),
            columns: part(x, step.tile.bn, 0, problem.n),
        })
    });
    Coverage::Sample { regions: regions.collect(), blocks }
}
