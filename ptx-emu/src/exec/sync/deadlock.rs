//! Deadlocks and runaway blocks.

use crate::exec::state::{BARRIERS, Block, Fault, Grid, Origin, Site, Split, Wait, Warp};
use crate::finding::{FindingKind, plural};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::program::{Action, Pc};

impl Block {
    /// All threads wait: releases the first lanes that wait for others of their warp. Returns whether there were any.
    pub(crate) fn proceed_without_lanes(&mut self, grid: &Grid<'_>) -> bool {
        let mut any = false;
        for warp in &mut self.warps {
            any |= self.site.proceed_without_lanes(grid, warp);
        }
        any
    }

    /// The fault of a block in which no thread can proceed.
    pub(crate) fn deadlock(&self, grid: &Grid<'_>) -> Fault {
        let splits = self.warps.iter().flat_map(|warp| {
            warp.splits.iter().map(|split| (warp.number, Split { pc: warp.poll.instruction(split.pc), ..*split }))
        });
        let first = splits.min_by_key(|(warp, split)| (split.pc, *warp));
        let (warp, split) = first.unwrap_or((0, Split { pc: 0, mask: 1, wait: Wait::Nothing }));
        let thread = warp * LANES + split.mask.trailing_zeros() as usize;
        let what = format!("no thread can proceed: {}", self.whereabouts(grid));
        self.site.finding(grid, FindingKind::Deadlock, split.pc, thread, what).into()
    }

    /// The fault of a block that exceeded its instruction limit.
    pub(crate) fn runaway(&self, grid: &Grid<'_>, warp: usize) -> Fault {
        let splits = self.warps[warp].splits.iter();
        let running = splits.min_by_key(|split| (split.wait != Wait::Nothing, split.pc));
        let (pc, lane) = running.map_or((0, 0), |split| (split.pc, split.mask.trailing_zeros() as usize));
        let (most, whereabouts) = (grid.max_instructions, self.whereabouts(grid));
        let what = format!("the block has executed more than {most} instructions and has not finished: {whereabouts}");
        self.site.finding(grid, FindingKind::Runaway, pc, self.warps[warp].number * LANES + lane, what).into()
    }

    /// The positions of all threads, as text.
    pub(crate) fn whereabouts(&self, grid: &Grid<'_>) -> String {
        // Instruction, barrier (the cluster barrier last) and threads.
        let mut positions: Vec<(Pc, Option<usize>, u32)> = vec![];
        for (warp, split) in self.warps.iter().flat_map(|warp| warp.splits.iter().map(move |split| (warp, split))) {
            let pc = warp.poll.instruction(split.pc);
            let barrier = match split.wait {
                Wait::Barrier(id, phase) if self.site.barriers[id].phase == phase => Some(id),
                Wait::Cluster(phase) if self.site.cluster.phase == phase => Some(BARRIERS),
                _ => None,
            };
            let threads = split.mask.count_ones();
            match positions.iter_mut().find(|(at, of, _)| (*at, *of) == (pc, barrier)) {
                Some((.., count)) => *count += threads,
                None => positions.push((pc, barrier, threads)),
            }
        }
        positions.sort_unstable();
        let mut texts: Vec<String> = positions.into_iter().map(|position| self.position(grid, position)).collect();
        let exited = grid.threads() - self.site.live;
        if exited > 0 {
            texts.push(format!("{} exited before", plural(exited, "thread")));
        }
        texts.join("; ")
    }

    fn position(&self, grid: &Grid<'_>, (pc, barrier, threads): (Pc, Option<usize>, u32)) -> String {
        let line = grid.program.instructions[pc].line;
        let threads = plural(threads, "thread");
        let Some(id) = barrier else { return format!("{threads} in line {line}") };
        if id == BARRIERS {
            let (arrived, live) = (self.site.cluster.arrived, self.site.cluster.live());
            return format!("{threads} in line {line} at the cluster barrier, where {arrived} of {live} have arrived");
        }
        let barrier = &self.site.barriers[id];
        let expected = if barrier.expected == 0 { self.site.live } else { barrier.expected };
        format!("{threads} in line {line} at barrier {id}, where {} of {expected} have arrived", barrier.arrived)
    }
}

impl Site {
    /// Releases the first lanes of the warp that wait for others of it.
    fn proceed_without_lanes(&mut self, grid: &Grid<'_>, warp: &mut Warp) -> bool {
        let waits = |split: &Split| matches!(split.wait, Wait::Lanes(_));
        let waiting = warp.splits.iter().enumerate().filter(|(_, split)| waits(split));
        let Some((index, &split)) = waiting.min_by_key(|(_, split)| split.pc) else { return false };
        let (Split { pc, mask, .. }, Wait::Lanes(members)) = (split, split.wait) else { return false };
        let recording = grid.recording.as_ref();
        recording.inspect(|recording| recording.begin(grid, self.index, warp, pc, (mask, mask)));
        self.proceed_without(grid, warp, index, (pc, mask, members));
        recording.inspect(|recording| recording.end(grid, warp, None));
        true
    }

    /// Lanes proceed from an instruction without others of its `members`.
    fn proceed_without(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        index: usize,
        (pc, mask, members): (Pc, Mask, Mask),
    ) {
        let missing = members & !mask & warp.live();
        let whereabouts = lanes_of(missing).find_map(|lane| {
            let other = warp.splits.iter().find(|other| other.mask >> lane & 1 != 0)?;
            let [x, y, z] = grid.thread((warp.index * LANES + lane) as u32);
            let line = grid.program.instructions[other.pc].line;
            Some((lane, format!("thread ({x}, {y}, {z}) waits in line {line}")))
        });
        let position = Origin { warp: warp.number, lane: mask.trailing_zeros() as usize, pc };
        let action = &grid.program.instructions[pc].action;
        if matches!(action, Action::Barrier(_) | Action::ClusterBarrier(_)) {
            if let Some((_, text)) = whereabouts {
                self.complain(grid, position, format!("only part of the warp reaches this barrier; {text}"));
            }
            warp.splits[index].wait = Wait::Nothing;
            match action {
                Action::Barrier(barrier) => self.barrier_wait(grid, warp, index, barrier),
                Action::ClusterBarrier(barrier) => self.cluster_barrier_wait(grid, warp, index, barrier),
                _ => {}
            }
            return;
        }
        if matches!(action, Action::Wgmma(_)) {
            if let Some((_, text)) = whereabouts {
                self.complain(grid, position, format!("only part of the warp reaches this instruction; {text}"));
            }
            (warp.splits[index].pc, warp.splits[index].wait) = (pc + 1, Wait::Nothing);
            return;
        }
        if let Some((lane, text)) = whereabouts {
            self.complain(grid, position, format!("its mask {members:#010x} names lane {lane}, but {text}"));
        }
        self.run_together(grid, warp, pc, mask);
        (warp.splits[index].pc, warp.splits[index].wait) = (pc + 1, Wait::Nothing);
    }
}
