//! A block: its warps, run in turn until each waits, and what they share.

use std::collections::HashSet;

use super::barrier::{BARRIERS, BarrierState};
use super::footprint::Footprint;
use super::grid::Grid;
use super::warp::{Split, Wait, Warp};
use crate::check::{AccessKind, BlockChecks, Discovery, What};
use crate::counters::Count;
use crate::finding::{Finding, FindingKind, Thread};
use crate::lanes::lanes_of;
use crate::program::{Action, Barrier, BarrierKind, Pc, Reduced};
use crate::registers::{LANES, Mask};

/// Instructions that a warp runs before another has its turn, unless it must wait earlier.
const TURN: u64 = 256;

/// Instructions after which lanes of a warp that others of it wait behind let those go first for once: the others may hold
/// the lock that they spin on.
const PATIENCE: u64 = 1 << 20;

/// Findings of a worker beyond which no more are kept.
const MAX_FINDINGS: usize = 100;

/// Why a launch ends early.
pub(super) type Fault = Box<Finding>;

/// A block with its warps. It is used for one block after the other.
pub(super) struct Block {
    warps: Vec<Warp>,
    pub(super) site: Site,
}

/// What the warps of a block share.
pub(super) struct Site {
    pub index: [u32; 3],
    pub shared: Vec<u8>,
    pub checks: BlockChecks,
    barriers: [BarrierState; BARRIERS],
    /// Threads that have not left the kernel.
    live: u32,
    /// A thread that has, and where.
    left: Option<(usize, Pc)>,
    /// Instructions run so far.
    instructions: u64,
    findings: Vec<Finding>,
    known: HashSet<(FindingKind, Pc, Option<Pc>)>,
    pub(super) patterns: super::access::Memo,
    /// What the block touches of global memory, where that is wanted.
    pub(super) footprint: Option<Footprint>,
}

/// How a warp's turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// Lanes are left that could go on.
    Over,
    /// All lanes that are left wait.
    Waiting,
    /// No lanes are left.
    Done,
}

impl Block {
    pub(super) fn new(grid: &Grid<'_>) -> Self {
        let site = Site {
            index: [0; 3],
            shared: vec![],
            checks: BlockChecks::default(),
            barriers: Default::default(),
            live: 0,
            left: None,
            instructions: 0,
            findings: vec![],
            known: HashSet::new(),
            patterns: super::access::Memo::new(grid.program.instructions.len()),
            footprint: None,
        };
        Self { warps: (0..grid.warps()).map(|index| Warp::new(grid.program, index)).collect(), site }
    }

    pub(super) fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.site.findings)
    }

    /// Distinct sectors of global memory that the last block touched, and the bytes of the allocations, where it was noted.
    pub(super) fn footprint(&self) -> Option<(u64, u64)> {
        self.site.footprint.as_ref().map(|footprint| (footprint.sectors(), footprint.touched_bytes()))
    }

    /// Runs the block of that place to its end; `note` says whether to note what it touches of global memory.
    pub(super) fn run(
        &mut self,
        grid: &Grid<'_>,
        index: [u32; 3],
        note: bool,
        counts: &mut [Count],
    ) -> Result<(), Fault> {
        self.site.footprint = note.then(Footprint::default);
        let shared_bytes = grid.shared_bytes();
        self.site.index = index;
        self.site.shared.clear();
        self.site.shared.resize(shared_bytes, 0);
        self.site.checks = BlockChecks::new(grid.checks, grid.program, self.warps.len(), shared_bytes);
        self.site.barriers = Default::default();
        (self.site.live, self.site.left, self.site.instructions) = (grid.threads(), None, 0);
        self.warps.iter_mut().for_each(|warp| warp.start(grid, index));
        loop {
            let before = self.site.instructions;
            let mut done = 0;
            for warp in &mut self.warps {
                let mut turn = Turn::Done;
                if !warp.splits.is_empty() {
                    turn = self.site.turn(grid, warp, counts)?;
                    // Here, not in the turn: warps of a loop with a barrier in it never have one to its end.
                    if turn != Turn::Done && self.site.instructions > grid.max_instructions {
                        return Err(self.site.runaway(grid, warp));
                    }
                }
                done += usize::from(turn == Turn::Done);
            }
            if done == self.warps.len() {
                return Ok(());
            }
            if self.site.instructions == before {
                return Err(self.deadlock(grid));
            }
        }
    }

    /// Everybody waits: says for what.
    fn deadlock(&self, grid: &Grid<'_>) -> Fault {
        let waiting = || self.warps.iter().flat_map(|warp| warp.splits.iter().map(move |split| (warp, split)));
        let line = |pc: Pc| grid.program.instructions[pc].line;
        let mut places: Vec<Pc> = waiting().map(|(_, split)| split.pc).collect();
        places.sort_unstable();
        places.dedup();
        let at = |pc: &Pc| {
            let threads: u32 = waiting().filter(|(_, split)| split.pc == *pc).map(|(_, s)| s.mask.count_ones()).sum();
            format!("{threads} threads at line {}", line(*pc))
        };
        let places_text = places.iter().map(at).collect::<Vec<_>>().join(", ");
        let left = grid.threads() - self.site.live;
        let what = format!("all threads wait for ever: {places_text}; {left} have left the kernel");
        let (warp, split) = match waiting().next() {
            Some((warp, split)) => (warp.index, *split),
            None => (0, Split { pc: 0, mask: 1, wait: Wait::Nothing }),
        };
        let lane = lanes_of(split.mask).next().unwrap_or(0);
        self.site.finding(grid, FindingKind::Deadlock, split.pc, warp * LANES + lane, what).into()
    }
}

impl Site {
    pub(super) fn finding(&self, grid: &Grid<'_>, kind: FindingKind, pc: Pc, thread: usize, what: String) -> Finding {
        let instruction = &grid.program.instructions[pc];
        let thread = Thread { thread: grid.thread(thread as u32), block: self.index };
        Finding { kind, line: instruction.line, instruction: instruction.mnemonic.to_string(), thread, what }
    }

    /// Keeps what a checker found, the first time that it is found at this place.
    pub(super) fn report(&mut self, grid: &Grid<'_>, pc: Pc, warp: usize, discovery: Discovery) {
        let Discovery { kind, lane, other, what } = discovery;
        if self.findings.len() >= MAX_FINDINGS || !self.known.insert((kind, pc, other)) {
            return;
        }
        let what = match what {
            What::Text(text) => text,
            What::Race { address, bytes, thread, kind } => {
                let did = match kind {
                    AccessKind::Read => "read",
                    AccessKind::Write => "write",
                    AccessKind::Atomic => "atomic access",
                };
                let other = &grid.program.instructions[other.unwrap_or(pc)];
                let [x, y, z] = grid.thread(thread as u32);
                format!(
                    "{bytes} bytes of shared memory at {address:#x}; nothing orders it after the {did} by thread \
                     ({x}, {y}, {z}) in line {}, `{}`",
                    other.line, other.mnemonic
                )
            }
        };
        let finding = self.finding(grid, kind, pc, warp * LANES + lane, what);
        self.findings.push(finding);
    }

    /// Runs the warp until all of its lanes wait or have left, or its turn is over.
    fn turn(&mut self, grid: &Grid<'_>, warp: &mut Warp, counts: &mut [Count]) -> Result<Turn, Fault> {
        let start = self.instructions;
        self.release(grid, warp);
        loop {
            let behind = if warp.alone > PATIENCE { warp.splits.first().map_or(0, |split| split.mask) } else { 0 };
            let Some(index) = warp.choose(grid.program, behind) else {
                if warp.splits.is_empty() {
                    return Ok(Turn::Done);
                }
                self.give_up_on_lanes(grid, warp);
                if warp.splits.iter().all(|split| split.wait != Wait::Nothing) {
                    return Ok(Turn::Waiting);
                }
                continue;
            };
            // The lanes that run stand first: see `behind`.
            warp.splits.swap(0, index);
            let before = self.instructions;
            self.run_split(grid, warp, 0, counts, start + TURN)?;
            warp.alone = if warp.splits.len() > 1 && behind == 0 { warp.alone + self.instructions - before } else { 0 };
            if self.instructions >= start + TURN {
                return Ok(if warp.splits.is_empty() { Turn::Done } else { Turn::Over });
            }
        }
    }

    fn runaway(&self, grid: &Grid<'_>, warp: &Warp) -> Fault {
        let (pc, lane) = warp.splits.first().map_or((0, 0), |split| (split.pc, split.mask.trailing_zeros() as usize));
        let what = format!("the block has run over {} instructions and is still running", grid.max_instructions);
        self.finding(grid, FindingKind::Runaway, pc, warp.index * LANES + lane, what).into()
    }

    /// Lets lanes go on whose barrier has opened.
    fn release(&mut self, grid: &Grid<'_>, warp: &mut Warp) {
        for split in &mut warp.splits {
            let Wait::Barrier(id, phase) = split.wait else { continue };
            if self.barriers[id].phase == phase {
                continue;
            }
            if let Action::Barrier(Barrier { kind: BarrierKind::Reduce { operation, to, .. }, .. }) =
                &grid.program.instructions[split.pc].action
            {
                let value = self.barriers[id].reduced(*operation);
                match *to {
                    Reduced::Register(slot) => warp.registers.write(slot, &[value; LANES], split.mask),
                    Reduced::Predicate(slot) => {
                        warp.registers.set_predicate(slot, 0u32.wrapping_sub(value), split.mask);
                    }
                }
            }
            split.pc += 1;
            split.wait = Wait::Nothing;
        }
    }

    /// Lanes wait for lanes of their warp that cannot come, for they have left or wait themselves: goes on without them.
    fn give_up_on_lanes(&mut self, grid: &Grid<'_>, warp: &mut Warp) {
        let live = warp.live();
        let Some(index) = warp.splits.iter().position(|split| matches!(split.wait, Wait::Lanes(_))) else { return };
        let Split { pc, mask, wait } = warp.splits[index];
        let Wait::Lanes(members) = wait else { return };
        let missing = members & !mask;
        if missing & live == 0 || warp.splits.iter().all(|split| split.wait != Wait::Nothing) {
            if grid.checks.barriers {
                let lane = missing.trailing_zeros();
                let whereabouts = match warp.splits.iter().find(|split| split.mask & missing != 0) {
                    Some(split) => format!("waits at line {}", grid.program.instructions[split.pc].line),
                    None => "has left the kernel".to_owned(),
                };
                let what = format!("its mask {members:#010x} names lane {lane}, which {whereabouts}");
                let lane = mask.trailing_zeros() as usize;
                let discovery = Discovery { kind: FindingKind::Barrier, lane, other: None, what: What::Text(what) };
                self.report(grid, pc, warp.index, discovery);
            }
            warp.splits[index].wait = Wait::Nothing;
            self.run_together(grid, warp, index);
        }
    }

    /// Runs lanes that are at one place until they part, wait or leave, or until others may have come to join them.
    fn run_split(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        index: usize,
        counts: &mut [Count],
        end: u64,
    ) -> Result<(), Fault> {
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
            count.warps += 1;
            count.lanes += u64::from(mask.count_ones());
            self.instructions += 1;
            match &instruction.action {
                Action::Compute(compute) => {
                    if mask != 0 {
                        compute(&mut warp.registers, mask);
                    }
                    pc += 1;
                }
                Action::Load(access) => {
                    self.load(grid, warp, pc, access, mask, count)?;
                    pc += 1;
                }
                Action::Store(access) => {
                    self.store(grid, warp, pc, access, mask, count)?;
                    pc += 1;
                }
                Action::Atomic(atomic) => {
                    self.atomic(grid, warp, pc, atomic, mask, count)?;
                    pc += 1;
                }
                Action::Branch(target) => {
                    if mask == lanes {
                        pc = *target;
                    } else if mask == 0 {
                        pc += 1;
                    } else {
                        count.diverged += 1;
                        warp.splits[index] = Split { pc: *target, mask, wait: Wait::Nothing };
                        warp.splits.push(Split { pc: pc + 1, mask: lanes & !mask, wait: Wait::Nothing });
                        return Ok(());
                    }
                }
                Action::Fence | Action::Nop => pc += 1,
                _ => {
                    warp.splits[index].pc = pc;
                    warp.registers.clock = self.instructions;
                    self.special(grid, warp, index, mask, count)?;
                    return Ok(());
                }
            }
            if self.instructions >= end || !is_alone && program.instructions[pc].is_join {
                warp.splits[index].pc = pc;
                return Ok(());
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
        let may_wait = matches!(action, Action::Barrier(_) | Action::Converge(..) | Action::WarpBarrier(_));
        if may_wait && mask != 0 && mask != lanes {
            warp.splits[index].mask = mask;
            warp.splits.push(Split { pc: pc + 1, mask: lanes & !mask, wait: Wait::Nothing });
        }
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
            Action::Exit => {
                self.live -= mask.count_ones();
                if mask != 0 {
                    self.left.get_or_insert((warp.index * LANES + mask.trailing_zeros() as usize, pc));
                }
                warp.splits[index].pc = pc + 1;
                warp.exit(index, mask);
                (0..BARRIERS).for_each(|id| self.try_open(grid, id, pc));
            }
            Action::Trap if mask != 0 => {
                let thread = warp.index * LANES + mask.trailing_zeros() as usize;
                return Err(self.finding(grid, FindingKind::Trap, pc, thread, "the kernel stops itself".into()).into());
            }
            Action::Barrier(barrier) if mask != 0 => self.barrier(grid, warp, index, mask, barrier),
            Action::Converge(_, members) | Action::WarpBarrier(members) if mask != 0 => {
                let members: [u32; LANES] = warp.registers.read(*members);
                let members = members[mask.trailing_zeros() as usize];
                if members & !mask & warp.live() != 0 {
                    warp.splits[index].wait = Wait::Lanes(members);
                } else {
                    self.run_together(grid, warp, index);
                }
            }
            _ => warp.splits[index].pc = pc + 1,
        }
        Ok(())
    }

    /// Runs what lanes do together, now that they have met.
    fn run_together(&mut self, grid: &Grid<'_>, warp: &mut Warp, index: usize) {
        let Split { pc, mask: lanes, .. } = warp.splits[index];
        let instruction = &grid.program.instructions[pc];
        let mask = instruction.guard.map_or(lanes, |guard| lanes & warp.registers.test(guard));
        match &instruction.action {
            Action::Converge(compute, _) => compute(&mut warp.registers, mask),
            _ => self.checks.warp_met(warp.index),
        }
        warp.splits[index].pc = pc + 1;
    }

    fn barrier(&mut self, grid: &Grid<'_>, warp: &mut Warp, index: usize, mask: Mask, barrier: &Barrier) {
        let pc = warp.splits[index].pc;
        let lane = mask.trailing_zeros() as usize;
        let read = |slot| warp.registers.read::<u32>(slot)[lane];
        let id = read(barrier.id) as usize % BARRIERS;
        let threads = barrier.threads.map(read);
        if let Some((other, at)) = warp.elsewhere(mask).filter(|_| barrier.aligned && grid.checks.barriers) {
            let [x, y, z] = grid.thread((warp.index * LANES + other) as u32);
            let line = grid.program.instructions[at].line;
            let what = format!("part of the warp comes to this barrier while thread ({x}, {y}, {z}) is at line {line}");
            let discovery = Discovery { kind: FindingKind::Barrier, lane, other: None, what: What::Text(what) };
            self.report(grid, pc, warp.index, discovery);
        }
        let holds = match barrier.kind {
            BarrierKind::Reduce { source, .. } => (warp.registers.test(source) & mask).count_ones(),
            _ => 0,
        };
        let phase = self.barriers[id].phase;
        // A count is one of whole warps; a warp's last lanes may not exist.
        let arrived = if threads.is_some() && mask == warp.live() { LANES as u32 } else { mask.count_ones() };
        self.barriers[id].arrive(warp.index, arrived, threads, holds);
        if matches!(barrier.kind, BarrierKind::Arrive) {
            warp.splits[index].pc = pc + 1;
        } else {
            warp.splits[index].wait = Wait::Barrier(id, phase);
        }
        self.try_open(grid, id, pc);
        self.release(grid, warp);
    }

    fn try_open(&mut self, grid: &Grid<'_>, id: usize, pc: Pc) {
        let is_for_all = self.barriers[id].is_for_all();
        let Some(warps) = self.barriers[id].try_open(self.live) else { return };
        self.checks.met(warps);
        if let Some((thread, at)) = self.left.filter(|_| is_for_all && grid.checks.barriers) {
            let line = grid.program.instructions[at].line;
            let left = grid.threads() - self.live;
            let what = format!("{left} threads do not come to this barrier: the first left the kernel at line {line}");
            let (warp, lane) = (thread / LANES, thread % LANES);
            let discovery = Discovery { kind: FindingKind::Barrier, lane, other: None, what: What::Text(what) };
            self.report(grid, pc, warp, discovery);
        }
    }
}
