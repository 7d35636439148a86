//! Runs the warps of a block round-robin, each until it waits or its time slice ends.

use crate::counters::Count;
use crate::exec::print::print;
use crate::exec::state::{Block, Fault, Grid, Round, Site, Split, Wait, Warp};
use crate::finding::FindingKind;
use crate::lanes::{LANES, Mask, lanes_of};
use crate::program::{Action, Async, Barrier, ClusterBarrier, Pc};

/// Time slice of a warp, in instructions; it ends earlier if the warp must wait.
const TIME_SLICE: u64 = 256;

impl Block {
    /// Gives each warp a time slice.
    pub(crate) fn round(&mut self, grid: &Grid<'_>, counts: &mut [Count]) -> Result<Round, Fault> {
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

    /// Prioritises other ready lanes. Returns whether there were any.
    pub(crate) fn prioritise_others(&mut self) -> bool {
        self.warps.iter_mut().fold(false, |any, warp| any | warp.prioritise_others())
    }
}

impl Site {
    /// Runs the warp until all of its lanes wait or have exited, or its time slice ends.
    fn turn(&mut self, grid: &Grid<'_>, warp: &mut Warp, counts: &mut [Count]) -> Result<Round, Fault> {
        let start = self.instructions;
        self.release(grid, warp);
        let before = warp.poll.waits();
        self.counted = before.0.then(|| self.counted.take().unwrap_or_default());
        let mut is_idle = false;
        while let Some(index) = warp.choose(grid.program) {
            let first = self.instructions;
            let result = self.run_split(grid, warp, index, counts, start + TIME_SLICE);
            if let Some(recording) = &grid.recording {
                recording.end(grid, warp, result.as_ref().err());
            }
            is_idle = result?;
            warp.demote_spinning(if is_idle { TIME_SLICE } else { self.instructions - first });
            if is_idle || self.instructions >= start + TIME_SLICE {
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

    /// Runs the lanes of one split until they diverge, wait or exit, or until others may reconverge with them. Returns
    /// whether they poll memory.
    fn run_split(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        index: usize,
        counts: &mut [Count],
        end: u64,
    ) -> Result<bool, Fault> {
        let program = grid.program;
        let is_converged = warp.splits.len() == 1;
        let Split { mut pc, mask: lanes, .. } = warp.splits[index];
        loop {
            let instruction = &program.instructions[pc];
            let mask = match instruction.guard {
                Some(guard) => lanes & warp.registers.test(guard),
                None => lanes,
            };
            if let Some(recording) = &grid.recording {
                recording.begin(grid, self.index, warp, pc, (lanes, mask));
            }
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
                action @ (Action::Async(_)
                | Action::Mbarrier(_)
                | Action::Matrices(_)
                | Action::Fragments(_)
                | Action::Texture(_)
                | Action::WarpMma(_)
                | Action::Wgmma(_))
                    if mask != 0 =>
                {
                    let changes = self.async_accesses(grid, warp, pc, action, mask, count)?;
                    pc += 1;
                    if changes {
                        warp.poll.end();
                    } else if warp.polls(pc, mask, false) {
                        warp.splits[index].pc = pc;
                        return Ok(true);
                    }
                }
                Action::Async(_)
                | Action::Mbarrier(_)
                | Action::Matrices(_)
                | Action::Fragments(_)
                | Action::Texture(_)
                | Action::WarpMma(_)
                | Action::Wgmma(_) => pc += 1,
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
                Action::Nop => pc += 1,
                Action::Fence(scope) => {
                    if mask != 0 {
                        self.checks.fence(grid.global_races.as_ref(), warp.number, mask, *scope);
                    }
                    pc += 1;
                }
                Action::MaxRegisters(count) => {
                    if mask != 0 {
                        self.registers[warp.index] = (*count, pc);
                    }
                    pc += 1;
                }
                Action::MbarrierInitFence => {
                    if mask != 0 {
                        self.checks.fence_mbarriers(warp.number, mask);
                    }
                    pc += 1;
                }
                Action::Print(call) => {
                    print(grid, warp, call, mask);
                    pc += 1;
                }
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
            if self.instructions >= end || !is_converged && program.instructions[pc].is_join {
                warp.splits[index].pc = pc;
                return Ok(false);
            }
        }
    }

    /// Runs an instruction that may change the warp's splits.
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
        let branches = matches!(action, Action::BranchIndex(..) | Action::Call(_) | Action::Return);
        if !branches && !matches!(action, Action::Converge(..) | Action::WarpBarrier(_)) {
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
                let is_outside = |&lane: &usize| indices[lane] as usize >= targets.len();
                if let Some(lane) = lanes_of(mask).find(is_outside).filter(|_| grid.checks.memory) {
                    let what = format!("the index is {}, of {} targets", indices[lane], targets.len());
                    let thread = warp.number * LANES + lane;
                    return Err(self.finding(grid, FindingKind::Branch, pc, thread, what).into());
                }
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
            Action::Call(call) if mask != 0 => self.call(grid, warp, index, mask, call)?,
            Action::Return if mask != 0 => self.ret(grid, warp, index, mask),
            Action::Alloca { .. }
            | Action::StackSave(_)
            | Action::StackRestore(_)
            | Action::Malloc { .. }
            | Action::Free(_) => {
                self.allocate(grid, warp, pc, action, mask)?;
                warp.splits[index].pc = pc + 1;
            }
            Action::Exit => self.exit(grid, warp, index, mask),
            Action::Trap if mask != 0 => {
                let thread = warp.number * LANES + mask.trailing_zeros() as usize;
                return Err(self
                    .finding(grid, FindingKind::Trap, pc, thread, "the kernel executed a trap".into())
                    .into());
            }
            Action::Assert(assertion) if mask != 0 => {
                let lane = mask.trailing_zeros() as usize;
                let addresses = assertion.texts.map(|slot| warp.registers.read::<u64>(slot)[lane]);
                let [message, file, function] = addresses.map(|address| grid.memory.text(address));
                let line = warp.registers.read::<u32>(assertion.line)[lane];
                let what = format!("`{message}` is false in {function}, {file}:{line}");
                let thread = warp.number * LANES + lane;
                return Err(self.finding(grid, FindingKind::Assertion, pc, thread, what).into());
            }
            Action::Barrier(Barrier { aligned: true, .. })
            | Action::ClusterBarrier(ClusterBarrier { aligned: true, .. })
            | Action::Wgmma(_)
                if mask != 0 && mask != warp.live() =>
            {
                // The other lanes may still arrive: see `proceed_without_lanes`.
                warp.splits[index].wait = Wait::Lanes(warp.live());
                waits = mask;
            }
            Action::Wgmma(action) if mask != 0 => {
                if let Some(count) = self.must_wait(warp, action) {
                    (warp.splits[index].wait, waits) = (Wait::Mmas(count), mask);
                }
            }
            Action::Barrier(barrier) if mask != 0 => self.barrier_wait(grid, warp, index, barrier),
            Action::ClusterBarrier(barrier) if mask != 0 => self.cluster_barrier_wait(grid, warp, index, barrier),
            Action::Converge(converge) if mask != 0 => waits = self.converge(grid, warp, index, converge.members),
            Action::WarpBarrier(members) if mask != 0 => waits = self.converge(grid, warp, index, *members),
            _ => warp.splits[index].pc = pc + 1,
        }
        // Waiting lanes are counted when they proceed.
        count.lanes -= u64::from(waits.count_ones());
        count.warps -= u64::from(waits != 0 && waits == mask);
        Ok(())
    }

    /// Executes asynchronous copies, mbarriers, textures, matrix loads and stores, `mma`, `wmma` and `wgmma`. Returns whether other threads may
    /// see a change.
    pub(crate) fn async_accesses(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        action: &Action,
        mask: Mask,
        count: &mut Count,
    ) -> Result<bool, Fault> {
        match action {
            Action::Mbarrier(barrier) => return self.mbarrier(grid, warp, pc, barrier, mask),
            Action::Matrices(access) => {
                self.matrices(grid, warp, pc, access, mask, count)?;
                return Ok(access.is_store);
            }
            Action::Fragments(fragments) => self.fragments(grid, warp, pc, fragments, mask, count)?,
            Action::Texture(access) => self.texture(grid, warp, pc, access, mask, count)?,
            Action::WarpMma(action) => self.warp_mma(grid, warp, pc, action, mask, count)?,
            Action::Wgmma(action) => self.wgmma(grid, warp, pc, action, mask, count)?,
            Action::Async(action) => match &**action {
                Async::Copy(copy) => self.begin_copy(grid, warp, pc, copy, mask, count)?,
                Async::Commit => warp.copies.commit(mask),
                Async::Wait(keep) => self.end_copies(grid, warp, mask, *keep, true),
                Async::Bulk(bulk) => self.begin_bulk(grid, warp, pc, bulk, mask, count)?,
                Async::Tensor(tensor) => self.begin_tensor(grid, warp, pc, tensor, mask, count)?,
                Async::Map(edit) => self.edit_map(grid, warp, pc, edit, mask, count)?,
                Async::CommitBulk => lanes_of(mask).for_each(|lane| warp.copies.bulk_groups[lane] += 1),
                Async::WaitBulk(keep) => self.end_bulk_groups(grid, warp, mask, Some(*keep)),
            },
            _ => {}
        }
        Ok(true)
    }
}
