//! Where threads wait for each other: the barriers of a block, and lanes that do something together.

use super::barrier::{Arrival, BARRIERS};
use super::block::Site;
use super::grid::Grid;
use super::warp::{Split, Wait, Warp};
use crate::check::{Discovery, What};
use crate::finding::FindingKind;
use crate::lanes::lanes_of;
use crate::program::{Action, Barrier, BarrierKind, Pc, Reduced};
use crate::registers::{LANES, Mask, Slot};

impl Site {
    /// Lets lanes go on whose barrier has opened.
    pub(super) fn release(&mut self, grid: &Grid<'_>, warp: &mut Warp) {
        let index = warp.index;
        for split in &mut warp.splits {
            if let Wait::Cluster(phase) = split.wait
                && self.cluster.phase != phase
            {
                self.checks.pass_cluster(warp.number, phase);
                lanes_of(split.mask).for_each(|lane| warp.arrivals[lane] = 0);
                (split.pc, split.wait) = (split.pc + 1, Wait::Nothing);
                continue;
            }
            if let Wait::Products(count) = split.wait
                && self.have_begun(index, count)
            {
                split.wait = Wait::Nothing;
            }
            let Wait::Barrier(id, phase) = split.wait else { continue };
            if self.barriers[id].phase == phase {
                continue;
            }
            if let Action::Barrier(Barrier { kind: BarrierKind::Reduce { operation, to, .. }, .. }) =
                &grid.program.instructions[split.pc].action
            {
                let value = self.barriers[id].reduced(*operation, phase);
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

    /// Lanes come to a barrier.
    pub(super) fn barrier(&mut self, grid: &Grid<'_>, warp: &mut Warp, index: usize, barrier: &Barrier) {
        let Split { pc, mask, .. } = warp.splits[index];
        let lane = mask.trailing_zeros() as usize;
        let read = |slot| warp.registers.read::<u32>(slot)[lane];
        let (id, expected) = (read(barrier.id), barrier.threads.map(read));
        self.check_barrier(grid, (warp.number, lane, pc), id, expected);
        let id = id as usize % BARRIERS;
        let holds = match barrier.kind {
            BarrierKind::Reduce { source, .. } => (warp.registers.test(source) & mask).count_ones(),
            _ => 0,
        };
        let phase = self.barriers[id].phase;
        let waits = !matches!(barrier.kind, BarrierKind::Arrive);
        self.barriers[id].arrive(Arrival {
            first: (warp.number * LANES + lane, pc),
            warp: warp.index,
            // A count is one of whole warps; a warp's last lanes may not exist.
            threads: if expected.is_some() && mask == warp.live() { LANES as u32 } else { mask.count_ones() },
            expected: expected.unwrap_or(0),
            holds,
            waits,
        });
        self.checks.arrive(id, warp.number);
        if waits {
            warp.splits[index].wait = Wait::Barrier(id, phase);
        } else {
            (warp.splits[index].pc, warp.splits[index].wait) = (pc + 1, Wait::Nothing);
        }
        self.try_open(grid, id);
        self.release(grid, warp);
    }

    /// Looks at what an arrival says of its barrier.
    fn check_barrier(&mut self, grid: &Grid<'_>, (warp, lane, pc): (usize, usize, Pc), id: u32, expected: Option<u32>) {
        let count = |expected: u32| match expected {
            0 => "all threads".to_owned(),
            _ => format!("{expected} threads"),
        };
        let barrier = &self.barriers[id as usize % BARRIERS];
        let what = match (expected, barrier.first) {
            _ if id as usize >= BARRIERS => format!("there is no barrier {id}: a block has {BARRIERS}"),
            (Some(expected), _) if expected == 0 || !expected.is_multiple_of(LANES as u32) => {
                format!("barrier {id} is to open for {expected} threads, which are no whole warps")
            }
            (_, Some((_, first))) if barrier.expected != expected.unwrap_or(0) => {
                let (here, there) = (count(expected.unwrap_or(0)), count(barrier.expected));
                let line = grid.program.instructions[first].line;
                format!("barrier {id} is to open for {here} here, but for {there} in line {line}")
            }
            _ => return,
        };
        self.complain(grid, (warp, lane, pc), what);
    }

    /// Reports a barrier that is not used as it must be.
    pub(super) fn complain(&mut self, grid: &Grid<'_>, (warp, lane, pc): (usize, usize, Pc), what: String) {
        if grid.checks.barriers {
            let discovery = Discovery { kind: FindingKind::Barrier, lane, other: None, what: What::Text(what) };
            self.report(grid, pc, warp, discovery);
        }
    }

    fn try_open(&mut self, grid: &Grid<'_>, id: usize) {
        let barrier = &self.barriers[id];
        let (first, is_for_all) = (barrier.first, barrier.expected == 0);
        let Some(waiters) = self.barriers[id].try_open(self.live) else { return };
        self.checks.open(id, waiters);
        let (Some((thread, pc)), Some((left, at)), true) = (first, self.left, is_for_all) else { return };
        let [x, y, z] = grid.thread(left as u32);
        let line = grid.program.instructions[at].line;
        let count = grid.threads() - self.live;
        let what = format!(
            "{count} threads do not come here: the first, thread ({x}, {y}, {z}), left the kernel in line {line}"
        );
        self.complain(grid, (thread / LANES, thread % LANES, pc), what);
    }

    /// Lanes leave the kernel. Nobody waits for them any more.
    pub(super) fn exit(&mut self, grid: &Grid<'_>, warp: &mut Warp, index: usize, mask: Mask) {
        let pc = warp.splits[index].pc;
        warp.splits[index].pc = pc + 1;
        if mask == 0 {
            return;
        }
        self.abandon_copies(grid, warp, mask);
        self.live -= mask.count_ones();
        self.exit_cluster(&warp.arrivals, mask);
        self.left.get_or_insert((warp.index * LANES + mask.trailing_zeros() as usize, pc));
        warp.exit(index, mask);
        (0..BARRIERS).for_each(|id| self.try_open(grid, id));
        let live = warp.live();
        for split in &mut warp.splits {
            // These look around anew.
            if matches!(split.wait, Wait::Lanes(members) if members & live & !split.mask == 0) {
                split.wait = Wait::Nothing;
            }
        }
    }

    /// Lanes come to where they do something together with those that a register names. Returns those that must wait.
    pub(super) fn converge(&mut self, grid: &Grid<'_>, warp: &mut Warp, index: usize, members: Slot) -> Mask {
        let Split { pc, mask, .. } = warp.splits[index];
        let members: [u32; LANES] = warp.registers.read(members);
        if grid.checks.barriers {
            self.check_members(grid, (warp.number, pc), mask, &members);
        }
        let is_warp_barrier = is_warp_barrier(grid, pc);
        let (mut waiting, mut rest, live) = (0, mask, warp.live());
        while rest != 0 {
            let named = members[rest.trailing_zeros() as usize];
            let group = lanes_of(rest).filter(|&lane| members[lane] == named).fold(0, |mask, lane| mask | 1 << lane);
            rest &= !group;
            let others = if is_warp_barrier { at_warp_barriers(grid, warp, named) } else { 0 };
            if named & live & !(mask | others) == 0 {
                self.run_together(grid, warp, pc, group | others);
            } else {
                waiting |= group;
            }
        }
        let split = &mut warp.splits[index];
        match waiting {
            0 => split.pc += 1,
            _ => {
                split.mask = waiting;
                split.wait = Wait::Lanes(members[waiting.trailing_zeros() as usize]);
                if waiting != mask {
                    warp.splits.push(Split { pc: pc + 1, mask: mask & !waiting, wait: Wait::Nothing });
                }
            }
        }
        waiting
    }

    /// Looks at the lanes that lanes name to do something together with.
    fn check_members(&mut self, grid: &Grid<'_>, (warp, pc): (usize, Pc), mask: Mask, members: &[u32; LANES]) {
        for lane in lanes_of(mask) {
            let named = members[lane];
            let other = lanes_of(named & mask).find(|&other| members[other] != named);
            let what = match other {
                _ if named >> lane & 1 == 0 => format!("its mask {named:#010x} does not name its own lane, {lane}"),
                Some(other) => {
                    format!("its mask {named:#010x} names lane {other}, whose mask is {:#010x}", members[other])
                }
                None => continue,
            };
            return self.complain(grid, (warp, lane, pc), what);
        }
    }

    /// Runs what lanes do together, now that they have met.
    pub(super) fn run_together(&mut self, grid: &Grid<'_>, warp: &mut Warp, pc: Pc, mask: Mask) {
        match &grid.program.instructions[pc].action {
            Action::Converge(compute, _) => compute(&mut warp.registers, mask),
            _ => {
                self.checks.warp_met(warp.number, mask, warp.live());
                for split in warp.splits.iter_mut().filter(|split| split.pc != pc && split.mask & mask != 0) {
                    (split.pc, split.wait) = (split.pc + 1, Wait::Nothing);
                }
            }
        }
    }
}

fn is_warp_barrier(grid: &Grid<'_>, pc: Pc) -> bool {
    matches!(grid.program.instructions[pc].action, Action::WarpBarrier(_))
}

/// Lanes that wait for these lanes of their warp at `bar.warp.sync`, which may be another one.
fn at_warp_barriers(grid: &Grid<'_>, warp: &Warp, members: Mask) -> Mask {
    let waits = |split: &&Split| split.wait == Wait::Lanes(members) && is_warp_barrier(grid, split.pc);
    warp.splits.iter().filter(waits).fold(0, |mask, split| mask | split.mask)
}
