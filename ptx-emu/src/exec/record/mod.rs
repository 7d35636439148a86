//! Records what is executed, for [`trace`](crate::trace). Without a recording, an instruction costs one test more.
//!
//! A step is open while its instruction is executed; accesses and events go to the open one.

mod access;
mod events;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::exec::state::{Fault, Grid, Wait, Warp};
use crate::lanes::{LANES, Mask, Registers, lanes_of};
use crate::launch::BlockIndex;
use crate::program::{Action, Home, Names, Pc};
use crate::trace::{Access, Event, RegisterFile, RegisterWrite, Step, WarpId};

/// The recording of a launch on one thread.
pub(crate) struct Recording(Mutex<Recorder>);

struct Recorder {
    limit: usize,
    steps: Vec<Step>,
    is_full: bool,
    open: Option<Step>,
    /// The registers by name: several names may share rows, one after the other.
    registers: HashMap<WarpId, RegisterFile>,
}

impl Recording {
    /// Of at most that many steps.
    pub(crate) fn new(limit: usize) -> Self {
        let (steps, is_full, open, registers) = Default::default();
        Self(Mutex::new(Recorder { limit, steps, is_full, open, registers }))
    }

    /// The steps, and whether there were more.
    pub(crate) fn finish(self) -> (Vec<Step>, bool) {
        let recorder = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        (recorder.steps, recorder.is_full)
    }

    /// Whether there were more steps than it holds.
    pub(crate) fn is_full(&self) -> bool {
        self.lock().is_full
    }

    /// Lanes of a warp are about to execute an instruction, in the `active` of which its guard holds.
    #[cold]
    pub(crate) fn begin(&self, grid: &Grid<'_>, block: BlockIndex, warp: &Warp, pc: Pc, (lanes, active): (Mask, Mask)) {
        let mut recorder = self.lock();
        recorder.close(grid, warp, None);
        if recorder.steps.len() >= recorder.limit {
            recorder.is_full = true;
            return;
        }
        recorder.open = Some(step(grid, WarpId { block, warp: warp.index as u32 }, pc, (lanes, active)));
    }

    /// The warp has executed its last instruction for now.
    #[cold]
    pub(crate) fn end(&self, grid: &Grid<'_>, warp: &Warp, fault: Option<&Fault>) {
        self.lock().close(grid, warp, fault);
    }

    /// Lanes that waited for a result of other warps have got it.
    #[cold]
    pub(crate) fn resume(
        &self,
        grid: &Grid<'_>,
        block: BlockIndex,
        (warp, registers): (usize, &Registers),
        pc: Pc,
        lanes: Mask,
    ) {
        let (mut recorder, warp) = (self.lock(), WarpId { block, warp: warp as u32 });
        let is_open = |step: &Step| (step.warp, step.instruction as Pc) == (warp, pc) && step.active & lanes != 0;
        if recorder.open.as_ref().is_some_and(is_open) {
            return;
        }
        if recorder.steps.len() >= recorder.limit {
            recorder.is_full = true;
            return;
        }
        let mut step = step(grid, warp, pc, (lanes, lanes));
        step.registers = recorder.writes(&grid.program.names, registers, warp, pc, lanes);
        step.events.push(Event::Resumed { lanes });
        recorder.steps.push(step);
    }

    fn event(&self, event: Event) {
        if let Some(step) = &mut self.lock().open {
            step.events.push(event);
        }
    }

    fn access(&self, access: Access) {
        if let Some(step) = &mut self.lock().open {
            step.accesses.push(access);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Recorder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn step(grid: &Grid<'_>, warp: WarpId, pc: Pc, (lanes, active): (Mask, Mask)) -> Step {
    let (instruction, line) = (pc as u32, grid.program.instructions[pc].line);
    let (registers, accesses, events) = Default::default();
    Step { warp, line, instruction, lanes, active, waiting: 0, registers, accesses, events }
}

impl Recorder {
    /// Completes the open step, of this warp.
    fn close(&mut self, grid: &Grid<'_>, warp: &Warp, fault: Option<&Fault>) {
        let Some(mut step) = self.open.take() else { return };
        let pc = step.instruction as Pc;
        let waits = warp.splits.iter().filter(|split| split.pc == pc && split.wait != Wait::Nothing);
        step.waiting = step.active & waits.fold(0, |mask, split| mask | split.mask);
        match fault {
            Some(fault) => step.events.push(Event::Found((**fault).clone())),
            None => {
                let written = step.active & !step.waiting;
                step.registers = self.writes(&grid.program.names, &warp.registers, step.warp, pc, written);
            }
        }
        if matches!(grid.program.instructions[pc].action, Action::Exit) && step.active != 0 {
            step.events.push(Event::Exited { lanes: step.active });
        }
        self.steps.push(step);
    }

    /// The registers that an instruction has written in these lanes.
    fn writes(
        &mut self,
        names: &Names,
        registers: &Registers,
        warp: WarpId,
        pc: Pc,
        lanes: Mask,
    ) -> Vec<RegisterWrite> {
        if lanes == 0 || names.writes(pc).is_empty() {
            return vec![];
        }
        let file = self.registers.entry(warp).or_default();
        let write = |&register: &u32| {
            let home = names.registers.get(register as usize)?.home;
            Some(file.write(register, lanes, words(registers, home, lanes)))
        };
        names.writes(pc).iter().filter_map(write).collect()
    }
}

/// The words of a register in these lanes, lane by lane.
fn words(registers: &Registers, home: Home, lanes: Mask) -> Vec<u32> {
    match home {
        Home::Predicate(slot) => {
            let mask = registers.predicates[slot.0 as usize];
            lanes_of(lanes).map(|lane| mask >> lane & 1).collect()
        }
        Home::Rows(slot, rows) => {
            let rows = rows as usize;
            let words: &[u32] = bytemuck::cast_slice(&registers.rows[slot.0 as usize..][..rows]);
            debug_assert_eq!(words.len(), rows * LANES);
            lanes_of(lanes).flat_map(|lane| words[lane * rows..][..rows].iter().copied()).collect()
        }
    }
}
