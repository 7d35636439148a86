//! A block: its warps, run in turn until each waits, and what they share.

use std::collections::HashSet;

use super::barrier::{BARRIERS, BarrierState};
use super::cluster::{Cluster, SharedMemory};
use super::footprint::Footprint;
use super::grid::Grid;
use super::patterns::Memo;
use super::poll::Round;
use super::warp::{Split, Wait, Warp};
use super::wgmma::Products;
use crate::check::BlockChecks;
use crate::counters::Count;
use crate::finding::{Finding, FindingKind};
use crate::lanes::lanes_of;
use crate::program::{Action, Barrier, ClusterBarrier, Pc};
use crate::registers::{LANES, Mask};

/// Instructions that a warp runs before another has its turn, unless it must wait earlier.
const TURN: u64 = 256;

/// Why a launch ends early.
pub(super) type Fault = Box<Finding>;

/// A block with its warps. It is used for one block after the other.
pub(super) struct Block {
    pub(super) warps: Vec<Warp>,
    pub(super) site: Site,
}

/// What the warps of a block share.
pub(super) struct Site {
    pub index: [u32; 3],
    /// Shared memory: the block's own but for moments.
    pub shared: SharedMemory,
    /// What the block has in common with others of its cluster, while it runs; and its rank among them.
    pub(super) cluster: Cluster,
    pub(super) rank: usize,
    pub checks: BlockChecks,
    pub(super) barriers: [BarrierState; BARRIERS],
    /// What each warp multiplies in the background.
    pub(super) products: Vec<Products>,
    /// Threads that have not left the kernel.
    pub(super) live: u32,
    /// A thread that has, and where.
    pub(super) left: Option<(usize, Pc)>,
    /// Instructions run so far, and those among them that came to nothing.
    instructions: u64,
    idle_instructions: u64,
    /// What had been counted before each instruction of a turn that may come to nothing.
    counted: Option<Vec<(Pc, Count)>>,
    pub(super) findings: Vec<Finding>,
    pub(super) known: HashSet<(FindingKind, Pc, Option<Pc>)>,
    pub(super) patterns: Memo,
    /// What the block touches of global memory, where that is wanted.
    pub(super) footprint: Option<Footprint>,
}

impl Block {
    /// A block that has that rank in its cluster.
    pub(super) fn new(grid: &Grid<'_>, rank: usize) -> Self {
        let site = Site {
            index: [0; 3],
            shared: SharedMemory::default(),
            cluster: Cluster::default(),
            rank,
            checks: BlockChecks::new(grid.checks, grid.program, grid.warps(), rank),
            barriers: Default::default(),
            products: vec![],
            live: 0,
            left: None,
            instructions: 0,
            idle_instructions: 0,
            counted: None,
            findings: vec![],
            known: HashSet::new(),
            patterns: Memo::new(grid.program.instructions.len()),
            footprint: None,
        };
        let (first, named) = (rank * grid.warps(), (grid.cluster_blocks() > 1).then_some(rank as u32));
        let warp = |index| Warp::new(grid.program, index, first + index, named);
        Self { warps: (0..grid.warps()).map(warp).collect(), site }
    }

    pub(super) fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.site.findings)
    }

    /// Distinct sectors of global memory that the last block touched, and the bytes of the allocations, where it was noted.
    pub(super) fn footprint(&self) -> Option<(u64, u64)> {
        self.site.footprint.as_ref().map(|footprint| (footprint.sectors(), footprint.touched_bytes()))
    }

    /// Begins the block of that place; `note` says whether to note what it touches of global memory.
    pub(super) fn start(&mut self, grid: &Grid<'_>, index: [u32; 3], note: bool) {
        self.site.footprint = note.then(Footprint::default);
        self.site.index = index;
        self.site.checks.start();
        self.site.barriers = Default::default();
        self.site.products.clear();
        self.site.products.resize_with(grid.warps(), Products::default);
        (self.site.live, self.site.left) = (grid.threads(), None);
        (self.site.instructions, self.site.idle_instructions) = (0, 0);
        self.warps.iter_mut().for_each(|warp| warp.start(grid, index));
    }

    /// Whether all threads have left the kernel.
    pub(super) fn is_done(&self) -> bool {
        self.warps.iter().all(|warp| warp.splits.is_empty())
    }

    /// Gives each warp a turn.
    pub(super) fn round(&mut self, grid: &Grid<'_>, counts: &mut [Count]) -> Result<Round, Fault> {
        let mut round = Round::Nothing;
        for index in 0..self.warps.len() {
            let warp = &mut self.warps[index];
            if warp.splits.is_empty() {
                continue;
            }
            round = round.max(self.site.turn(grid, warp, counts)?);
            let instructions = self.site.instructions - self.site.idle_instructions;
            if instructions > grid.max_instructions && !self.warps[index].splits.is_empty() {
                return Err(self.runaway(grid, index));
            }
        }
        Ok(round)
    }

    /// Lets other lanes go first than those that run. Whether there are any that could.
    pub(super) fn favour_others(&mut self) -> bool {
        self.warps.iter_mut().fold(false, |any, warp| any | warp.favour_others())
    }
}

impl Site {
    /// Runs the warp until all of its lanes wait or have left, or its turn is over.
    fn turn(&mut self, grid: &Grid<'_>, warp: &mut Warp, counts: &mut [Count]) -> Result<Round, Fault> {
        let start = self.instructions;
        self.release(grid, warp);
        let before = warp.poll.waits();
        self.counted = before.0.then(|| self.counted.take().unwrap_or_default());
        let mut is_idle = false;
        while let Some(index) = warp.choose(grid.program) {
            let first = self.instructions;
            is_idle = self.run_split(grid, warp, index, counts, start + TURN)?;
            warp.lose_patience(if is_idle { TURN } else { self.instructions - first });
            if is_idle || self.instructions >= start + TURN {
                break;
            }
        }
        let counted = self.counted.take().filter(|_| is_idle && warp.poll.waits() == before);
        match counted {
            _ if self.instructions == start => Ok(Round::Nothing),
            None => Ok(Round::Progress),
            Some(counted) => {
                counted.into_iter().rev().for_each(|(pc, count)| counts[pc] = count);
                self.idle_instructions += self.instructions - start;
                Ok(Round::Idle { of_global: warp.poll.of_global() })
            }
        }
    }

    /// Runs lanes that are at one place until they part, wait or leave, or until others may have come to join them. Returns
    /// whether they wait for memory to change.
    fn run_split(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        index: usize,
        counts: &mut [Count],
        end: u64,
    ) -> Result<bool, Fault> {
        let program = grid.program;
        let is_alone = warp.splits.len() == 1;
        let Split { mut pc, mask: lanes, .. } = warp.splits[index];
        loop {
            let instruction = &program.instructions[pc];
            let mask = match instruction.guard {
                Some(guard) => lanes & warp.registers.test(guard),
                None => lanes,
            };
            let count = &mut counts[pc];
            if let Some(counted) = &mut self.counted {
                counted.push((pc, *count));
            }
            count.warps += 1;
            count.lanes += u64::from(mask.count_ones());
            self.instructions += 1;
            if let Some(touch) = instruction.touch.as_deref().filter(|_| mask != 0) {
                self.touch(grid, warp, pc, touch, mask);
            }
            match &instruction.action {
                Action::Compute(compute) => {
                    if mask != 0 {
                        warp.registers.clock = self.instructions;
                        compute(&mut warp.registers, mask);
                    }
                    pc += 1;
                }
                Action::Load(access) => {
                    self.load(grid, warp, pc, access, mask, count)?;
                    pc += 1;
                    if access.is_strong && warp.polls(pc, mask, access.space.may_be_global()) {
                        warp.splits[index].pc = pc;
                        return Ok(true);
                    }
                }
                Action::Store(access) => {
                    self.store(grid, warp, pc, access, mask, count)?;
                    warp.poll.end();
                    pc += 1;
                }
                Action::Atomic(atomic) => {
                    let changes = self.atomic(grid, warp, pc, atomic, mask, count)?;
                    pc += 1;
                    if changes {
                        warp.poll.end();
                    } else if warp.polls(pc, mask, atomic.space.may_be_global()) {
                        warp.splits[index].pc = pc;
                        return Ok(true);
                    }
                }
                Action::Wgmma(action)
                    if mask != 0 && (mask != warp.live() || self.must_wait(warp, action).is_some()) =>
                {
                    warp.splits[index].pc = pc;
                    self.special(grid, warp, index, mask, count)?;
                    return Ok(false);
                }
                action @ (Action::Async(_) | Action::Mbarrier(_) | Action::Matrices(_) | Action::Wgmma(_))
                    if mask != 0 =>
                {
                    let changes = self.beside(grid, warp, pc, action, mask, count)?;
                    pc += 1;
                    if changes {
                        warp.poll.end();
                    } else if warp.polls(pc, mask, false) {
                        warp.splits[index].pc = pc;
                        return Ok(true);
                    }
                }
                Action::Async(_) | Action::Mbarrier(_) | Action::Matrices(_) | Action::Wgmma(_) => pc += 1,
                Action::Branch(target) => {
                    if mask == lanes {
                        pc = *target;
                    } else if mask == 0 {
                        pc += 1;
                    } else {
                        count.diverged += 1;
                        warp.splits[index] = Split { pc: *target, mask, wait: Wait::Nothing };
                        warp.splits.push(Split { pc: pc + 1, mask: lanes & !mask, wait: Wait::Nothing });
                        return Ok(false);
                    }
                }
                Action::Fence | Action::Nop => pc += 1,
                Action::ProxyFence => {
                    if mask != 0 {
                        self.checks.fence_proxy(warp.number, mask);
                    }
                    pc += 1;
                }
                _ => {
                    warp.splits[index].pc = pc;
                    self.special(grid, warp, index, mask, count)?;
                    return Ok(false);
                }
            }
            if self.instructions >= end || !is_alone && program.instructions[pc].is_join {
                warp.splits[index].pc = pc;
                return Ok(false);
            }
        }
    }

    /// Runs an instruction after which the warp's lanes are looked at anew.
    fn special(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        index: usize,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let Split { pc, mask: lanes, .. } = warp.splits[index];
        let action = &grid.program.instructions[pc].action;
        let may_wait = matches!(
            action,
            Action::Barrier(_)
                | Action::ClusterBarrier(_)
                | Action::Converge(..)
                | Action::WarpBarrier(_)
                | Action::Wgmma(_)
        );
        if !matches!(action, Action::BranchIndex(..) | Action::Converge(..) | Action::WarpBarrier(_)) {
            warp.poll.end();
        }
        if may_wait && mask != 0 && mask != lanes {
            warp.splits[index].mask = mask;
            warp.splits.push(Split { pc: pc + 1, mask: lanes & !mask, wait: Wait::Nothing });
        }
        let mut waits = 0;
        match action {
            Action::BranchIndex(slot, targets) => {
                let indices: [u32; LANES] = warp.registers.read(*slot);
                let target = |lane: usize| targets.get(indices[lane] as usize).copied().unwrap_or(pc + 1);
                warp.splits[index].mask = lanes & !mask;
                warp.splits[index].pc = pc + 1;
                let mut rest = mask;
                while rest != 0 {
                    let to = target(rest.trailing_zeros() as usize);
                    let same = lanes_of(rest).filter(|&lane| target(lane) == to).fold(0, |m, lane| m | 1 << lane);
                    warp.splits.push(Split { pc: to, mask: same, wait: Wait::Nothing });
                    count.diverged += u64::from(same != mask);
                    rest &= !same;
                }
                if lanes == mask {
                    warp.splits.swap_remove(index);
                }
            }
            Action::Exit => self.exit(grid, warp, index, mask),
            Action::Trap if mask != 0 => {
                let thread = warp.number * LANES + mask.trailing_zeros() as usize;
                return Err(self.finding(grid, FindingKind::Trap, pc, thread, "the kernel stops itself".into()).into());
            }
            Action::Barrier(Barrier { aligned: true, .. })
            | Action::ClusterBarrier(ClusterBarrier { aligned: true, .. })
            | Action::Wgmma(_)
                if mask != 0 && mask != warp.live() =>
            {
                // The other lanes may still come: see `give_up_on_lanes`.
                warp.splits[index].wait = Wait::Lanes(warp.live());
                waits = mask;
            }
            Action::Wgmma(action) if mask != 0 => {
                if let Some(count) = self.must_wait(warp, action) {
                    (warp.splits[index].wait, waits) = (Wait::Products(count), mask);
                }
            }
            Action::Barrier(barrier) if mask != 0 => self.barrier(grid, warp, index, barrier),
            Action::ClusterBarrier(barrier) if mask != 0 => self.cluster_barrier(grid, warp, index, barrier),
            Action::Converge(_, members) | Action::WarpBarrier(members) if mask != 0 => {
                waits = self.converge(grid, warp, index, *members);
            }
            _ => warp.splits[index].pc = pc + 1,
        }
        // They will be counted when they go on.
        count.lanes -= u64::from(waits.count_ones());
        count.warps -= u64::from(waits != 0 && waits == mask);
        Ok(())
    }
}
