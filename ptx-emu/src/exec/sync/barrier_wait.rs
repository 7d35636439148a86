//! The barriers of a block: `bar` and `barrier`. Exiting threads count as arrived.

use crate::exec::state::{Arrival, BARRIERS, Grid, Origin, Site, Split, Wait, Warp};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::program::{Action, Barrier, BarrierKind, Reduced};
use crate::trace::Event;

impl Site {
    /// Resumes splits whose wait is over.
    pub(crate) fn release(&mut self, grid: &Grid<'_>, warp: &mut Warp) {
        let index = warp.index;
        for split in &mut warp.splits {
            if let Wait::Cluster(phase) = split.wait
                && self.cluster.phase != phase
            {
                self.pass_cluster(warp.number, phase);
                lanes_of(split.mask).for_each(|lane| warp.arrivals[lane] = 0);
                (split.pc, split.wait) = (split.pc + 1, Wait::Nothing);
                continue;
            }
            if let Wait::Mmas(count) = split.wait
                && self.have_issued(index, count)
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
                if let Some(recording) = &grid.recording {
                    recording.resume(grid, self.index, (index, &warp.registers), split.pc, split.mask);
                }
            }
            split.pc += 1;
            split.wait = Wait::Nothing;
        }
    }

    /// Lanes arrive at a barrier.
    pub(crate) fn barrier_wait(&mut self, grid: &Grid<'_>, warp: &mut Warp, index: usize, barrier: &Barrier) {
        let Split { pc, mask, .. } = warp.splits[index];
        let lane = mask.trailing_zeros() as usize;
        let read = |slot| warp.registers.read::<u32>(slot)[lane];
        let (id, expected) = (read(barrier.id), barrier.threads.map(read));
        self.check_barrier(grid, Origin { warp: warp.number, lane, pc }, id, expected);
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
            // Counts are in whole warps; the last lanes of a warp may not exist.
            threads: if expected.is_some() && mask == warp.live() { LANES as u32 } else { mask.count_ones() },
            expected: expected.unwrap_or(0),
            holds,
            waits,
        });
        self.record_arrival(grid, id, waits);
        self.checks.arrive(id, warp.number);
        if waits {
            warp.splits[index].wait = Wait::Barrier(id, phase);
        } else {
            (warp.splits[index].pc, warp.splits[index].wait) = (pc + 1, Wait::Nothing);
        }
        self.try_complete(grid, id);
        self.release(grid, warp);
    }

    /// Checks the barrier id and thread count of an arrival.
    fn check_barrier(&mut self, grid: &Grid<'_>, Origin { warp, lane, pc }: Origin, id: u32, expected: Option<u32>) {
        let count = |expected: u32| match expected {
            0 => "all threads".to_owned(),
            _ => format!("{expected} threads"),
        };
        let barrier = &self.barriers[id as usize % BARRIERS];
        let what = match (expected, barrier.first) {
            _ if id as usize >= BARRIERS => format!("there is no barrier {id}: a block has {BARRIERS}"),
            (Some(expected), _) if expected == 0 || !expected.is_multiple_of(LANES as u32) => {
                format!("barrier {id} expects {expected} threads, which is not a multiple of the warp size")
            }
            (_, Some((_, first))) if barrier.expected != expected.unwrap_or(0) => {
                let (here, there) = (count(expected.unwrap_or(0)), count(barrier.expected));
                let line = grid.program.instructions[first].line;
                format!("barrier {id} expects {here} here, but {there} in line {line}")
            }
            _ => return,
        };
        self.complain(grid, Origin { warp, lane, pc }, what);
    }

    fn try_complete(&mut self, grid: &Grid<'_>, id: usize) {
        let is_for_all = self.barriers[id].expected == 0;
        if let Some(waiters) = self.barriers[id].try_complete(self.live) {
            self.checks.open(id, waiters, is_for_all);
            grid.event(|| Event::BarrierCompleted { id: id as u32 });
        }
    }

    /// Lanes exit: nothing waits for them any more.
    pub(crate) fn exit(&mut self, grid: &Grid<'_>, warp: &mut Warp, index: usize, mask: Mask) {
        let pc = warp.splits[index].pc;
        warp.splits[index].pc = pc + 1;
        if mask == 0 {
            return;
        }
        self.abandon_copies(grid, warp, mask);
        self.live -= mask.count_ones();
        if self.live == 0 && grid.checks.barriers {
            self.check_registers(grid, warp.number - warp.index);
        }
        self.checks.exit(warp.number, self.cluster.phase);
        if self.live == 0 {
            self.check_visits(grid, Origin { warp: warp.number, lane: mask.trailing_zeros() as usize, pc });
        }
        self.exit_cluster(grid, &warp.arrivals, mask);
        warp.exit(index, mask);
        (0..BARRIERS).for_each(|id| self.try_complete(grid, id));
        let live = warp.live();
        for split in &mut warp.splits {
            // These lanes check again.
            if matches!(split.wait, Wait::Lanes(members) if members & live & !split.mask == 0) {
                split.wait = Wait::Nothing;
            }
        }
    }
}
