//! Launching kernels in the emulator: the only place where one is.

use std::collections::HashSet;
use std::time::Duration;

use gpu_kernels::spec::persistent_rows;
use gpu_kernels::{Coord, Group, Schedule, Step, StreamKTiles};
use ptx_emu::device::Device as Model;
use ptx_emu::model::Prediction;
use ptx_emu::occupancy::Resources;
use ptx_emu::{Blocks, Checks, Finding, FindingKind, Grouping, Launch, Report};
use sgemm::emulator::{Kernels, request};
use sgemm::plan::{self, Bindings, Buffer, Plan, Role, Slab};

use super::model::{needs, predict};
use super::operands::EmulatedOperands;
use crate::verify::{Coverage, Region};
use crate::{Error, Problem, Stop};

/// Bytes of memory up to which races in it are looked for: noting who accessed what takes about twelve
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
    /// What a block takes of a streaming multiprocessor (SM).
    pub needs: Resources,
    /// What it would come to.
    pub prediction: Prediction,
}

/// What a run of a step did: nothing where m or n is 0.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// The pre-passes.
    pub(super) before: Vec<Launched>,
    /// The step's kernel, slab by slab.
    pub(super) launches: Vec<Launched>,
    /// The post-pass, where there is one.
    pub(super) after: Vec<Launched>,
}

/// What runs a step: its kernels, on which device, and as much of it as there is time for.
pub(super) struct Runner<'a> {
    pub(super) kernels: &'a Kernels,
    pub(super) step: &'static Step,
    pub(super) problem: &'a Problem,
    pub(super) model: &'a Model,
    /// All blocks run if there is none.
    pub(super) budget: Option<Duration>,
    /// Whether the checkers look on.
    pub(super) checks: bool,
    /// Threads of the host; 0 for as many as there are cores.
    pub(super) threads: usize,
    /// What ends it early.
    pub(super) stop: &'a Stop,
}

impl Runner<'_> {
    /// Runs the step on the operands.
    pub(super) fn run(&self, operands: &mut EmulatedOperands) -> Result<Run, Error> {
        let Problem { gemm, alpha, beta, .. } = *self.problem;
        let plan = Plan::new(self.step, &gemm.into(), self.places())?;
        let bindings = Bindings::new(operands.addresses(self.step, self.problem, &plan)?, alpha, beta);
        let needed: Vec<_> = plan.needed(0, &bindings).map(|number| &plan.launches()[number]).collect();
        let (products, others): (Vec<_>, Vec<_>) = needed.into_iter().partition(|launch| launch.role == Role::Product);
        let (after, before): (Vec<_>, Vec<_>) = others.into_iter().partition(|launch| launch.role == Role::Postpass);
        // Where there is time for all blocks, all of them run; and where a post-pass makes C of what they write.
        let budget = self.budget.filter(|_| after.is_empty()).map(|budget| budget / products.len().max(1) as u32);
        let mut run = |launches: Vec<_>, budget| -> Result<Vec<_>, _> {
            launches.into_iter().map(|launch| self.launch(operands, launch, &bindings, budget)).collect()
        };
        // Pre-passes run whole, for any block may need any of what they write.
        let before = run(before, None)?;
        let launches = run(products, budget)?;
        let after = run(after, None)?;
        let left: Vec<_> = launches.iter().flat_map(|launched| self.left(launched)).collect();
        if self.checks {
            let mut flags = vec![0; plan.part_bytes()[Buffer::Flags] as usize];
            operands.memory.read(bindings.addresses[Buffer::Flags], &mut flags)?;
            self.check_flags(&flags, &left)?;
        }
        if !left.is_empty() {
            operands.forget_workspace()?;
        }
        Ok(Run { before, launches, after })
    }

    /// The flags of [`Schedule::StreamK`] must be down when a launch ends. Where one is still up, the next launch would load an old
    /// partial tile. That need not be seen in C: it often equals the new one. The flags of the blocks in `left` may be up.
    fn check_flags(&self, flags: &[u8], left: &[u32]) -> Result<(), Error> {
        let mut flags = flags.chunks(size_of::<u32>()).zip(0..);
        match flags.find(|(flag, block)| flag.iter().any(|&byte| byte != 0) && !left.contains(block)) {
            None => Ok(()),
            Some((_, block)) => {
                let (kernel, finding) =
                    (self.step.slug, format!("the flag of block {block} is up when the launch ends"));
                Err(Error::Emulated { kernel, finding })
            }
        }
    }

    /// The blocks that published partial tiles which no block of the sample loads: the blocks that would have did not run.
    fn left(&self, Launched { slab, report, .. }: &Launched) -> Vec<u32> {
        let groups = Groups::new(self.step.stream_k_tiles(slab.rows, self.problem.n, self.model.sm_count));
        let firsts = groups.firsts(report);
        firsts
            .flat_map(|(group, ran)| {
                let complete = groups.complete_tiles(ran);
                let reaches_beyond = move |block: &u32| (block + 1) * groups.tiles > complete * groups.size;
                (0..ran).filter(reaches_beyond).map(move |block| group * groups.size + block)
            })
            .collect()
    }

    /// SMs for which blocks are launched: the device's. Where a sample runs of blocks that persist, each tile has
    /// a block of its own, so that a block of the sample computes the first of its tiles and no other.
    fn places(&self) -> u32 {
        if self.step.persists() && self.budget.is_some() { u32::MAX } else { self.model.sm_count }
    }

    fn launch(
        &self,
        operands: &mut EmulatedOperands,
        launch: &plan::Launch,
        bindings: &Bindings,
        budget: Option<Duration>,
    ) -> Result<Launched, Error> {
        let Self { kernels, step, problem, model, .. } = *self;
        let plan::Launch { kernel: name, slab, .. } = *launch;
        let kernel = kernels.of(step, launch)?;
        let blocks = budget.map_or(Blocks::All, |budget| Blocks::Sample {
            budget,
            seed: problem.seed,
            grouping: grouping(step, slab, problem.n, model.sm_count),
        });
        let checks = match self.checks {
            true => Checks { global_races: operands.memory.allocated_bytes() <= WATCHED_BYTES, ..Checks::ALL },
            false => Checks::NONE,
        };
        let launch = Launch {
            checks,
            blocks,
            max_instructions: max_instructions(step, problem.k),
            threads: self.threads,
            stop: Some(self.stop.flag()),
            ..request(launch, bindings, model.sm_count)?
        };
        let what = |error: ptx_emu::Error| Error::Emulator { what: format!("run {name}"), reason: error.to_string() };
        let report = kernel.launch(operands.memory.global(), &launch).map_err(what)?;
        if report.stopped {
            return Err(Error::Interrupted);
        }
        if let Some(finding) = worst(&report) {
            let kernel = if name == step.kernel { step.slug } else { name };
            return Err(Error::Emulated { kernel, finding: finding.to_string() });
        }
        let needs = needs(&kernel, &launch, model);
        let prediction = predict(name, &report, &needs, model)?;
        Ok(Launched { slab, grid: launch.grid, report, needs, prediction })
    }
}

/// Which blocks of the step's grid work together.
fn grouping(step: &Step, slab: Slab, n: u32, sm_count: u32) -> Grouping {
    let banded = |group: Group, band_rows: u32| Grouping::Banded {
        rows: slab.rows.div_ceil(step.tile.bm).div_ceil(group.rows),
        columns: n.div_ceil(step.tile.bn).div_ceil(group.columns),
        height: band_rows / group.rows,
    };
    match step.schedule {
        Schedule::DataParallel | Schedule::SerialSplitK { .. } => Grouping::Clusters,
        // As of a sample's plan.
        Schedule::PersistentBatch { band_rows, .. } => banded(step.tile_group(slab.rows, n, 1, u32::MAX), band_rows),
        Schedule::Persistent { group } => banded(group, persistent_rows(step.tile.bm)),
        Schedule::SplitK { .. } | Schedule::PlannedSplitK { .. } => Grouping::AlongZ,
        Schedule::StreamK { .. } => {
            let stream_k = step.stream_k_tiles(slab.rows, n, sm_count);
            let StreamKTiles { tiles, blocks } = stream_k;
            Grouping::StreamK { blocks, groups: Groups::new(stream_k).count, tiles, columns: n.div_ceil(step.tile.bn) }
        }
    }
}

/// Groups of blocks that share no stream-K tile: one for each block whose range of k-tiles ends with a tile whatever k is. A
/// block loads partial tiles only of blocks before it.
#[derive(Clone, Copy)]
struct Groups {
    count: u32,
    /// Blocks, and tiles, of a group.
    size: u32,
    tiles: u32,
}

impl Groups {
    fn new(StreamKTiles { tiles, blocks }: StreamKTiles) -> Self {
        let (mut count, mut rest) = (blocks, tiles);
        while rest > 0 {
            (count, rest) = (rest, count % rest);
        }
        let count = count.max(1);
        Self { count, size: blocks / count, tiles: tiles / count }
    }

    /// The groups of which a sample has blocks, and how many of their first ones it has.
    fn firsts(self, report: &Report) -> impl Iterator<Item = (u32, u32)> {
        let ran = move |group: u32| {
            let blocks = group * self.size..(group + 1) * self.size;
            report.sample.iter().filter(|[x, ..]| blocks.contains(x)).count() as u32
        };
        (0..self.count).map(move |group| (group, ran(group))).filter(|(_, ran)| *ran > 0)
    }

    /// How many tiles so many of a group's first blocks complete.
    fn complete_tiles(self, blocks: u32) -> u32 {
        (blocks * self.tiles).checked_div(self.size).unwrap_or(0)
    }
}

/// Far more than a block needs that does a few instructions for each multiply-add of its tile.
fn max_instructions(step: &Step, k: u32) -> u64 {
    let tile_work = u64::from(step.tile.bm) * u64::from(step.tile.bn) * (u64::from(k) + 64);
    let patience = match step.schedule {
        Schedule::DataParallel
        | Schedule::SerialSplitK { .. }
        | Schedule::Persistent { .. }
        | Schedule::PersistentBatch { .. } => 1,
        // Blocks wait for others, which another thread may be slow to run.
        Schedule::SplitK { .. } | Schedule::PlannedSplitK { .. } | Schedule::StreamK { .. } => 8,
    };
    tile_work.saturating_add(1 << 24).saturating_mul(patience)
}

/// What is wrong with the kernel, if anything is: what ended the launch, or else the first finding that is no mere
/// consequence. Where a barrier is missing, memory is read both too early and before it was written.
fn worst(report: &Report) -> Option<&Finding> {
    let key = |finding: &&Finding| (finding.rank, finding.kind == FindingKind::Uninitialized);
    report.fault.as_ref().or(report.failures().min_by_key(key))
}

/// What of C the launches computed: a block computes the tile that [`Step::tile_of`] gives it, those that stream all that they complete.
pub(super) fn coverage(step: &Step, problem: &Problem, launches: &[Launched], sm_count: u32) -> Coverage {
    let total = |count: fn(&Report) -> u64| launches.iter().map(|launched| count(&launched.report)).sum::<u64>();
    let (blocks, blocks_run) = (total(|report| report.blocks), total(|report| report.blocks_run));
    if blocks_run == blocks {
        return Coverage::Whole { blocks: Some(blocks) };
    }
    let part = |index: u32, size: u32, first: u32, end: u32| {
        let start = u64::from(first) + u64::from(index) * u64::from(size);
        start as usize..(start + u64::from(size)).min(end.into()) as usize
    };
    let regions = launches.iter().flat_map(|Launched { slab, report, .. }| {
        let stream_k = step.stream_k_tiles(slab.rows, problem.n, sm_count);
        let groups = Groups::new(stream_k);
        let shared = groups.firsts(report).flat_map(move |(group, ran)| {
            let first = group * groups.tiles;
            (first..first + groups.complete_tiles(ran)).map(|tile| step.tile_at(tile, problem.n))
        });
        // Blocks that share a tile, along z, give it once.
        let own = report.sample.iter().filter_map(|block| step.tile_of(*block, slab.rows, problem.n, stream_k));
        let tiles: HashSet<Coord> = shared.chain(own).collect();
        let end = slab.first_row + slab.rows;
        tiles.into_iter().map(move |Coord { row, col }| Region {
            rows: part(row, step.tile.bm, slab.first_row, end),
            columns: part(col, step.tile.bn, 0, problem.n),
        })
    });
    // A block that fills up a cluster may have no part of C.
    let regions = regions.filter(|region| !region.rows.is_empty() && !region.columns.is_empty());
    Coverage::Sample { regions: regions.collect(), blocks_run, blocks }
}
