//! Registers that a tensor core may still read or write, and those that it may not yet see: `wgmma.wait_group` and
//! `wgmma.fence`. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions".

use super::block::Site;
use super::grid::Grid;
use super::warp::Warp;
use crate::check::{Discovery, What};
use crate::finding::FindingKind;
use crate::program::{Action, Pc, Touch, Wgmma};
use crate::registers::Mask;

/// What is known of the registers of a warp that are watched.
#[derive(Debug, Default)]
pub(super) struct InFlight {
    registers: Vec<State>,
    /// Whether there has been a `wgmma.fence`.
    is_fenced: bool,
}

/// What is known of a register.
#[derive(Debug, Clone, Copy, Default)]
struct State {
    flight: Option<Flight>,
    /// Where it was written since the last `wgmma.fence`.
    written: Option<Pc>,
}

/// A multiplication that a register takes part in.
#[derive(Debug, Clone, Copy)]
struct Flight {
    pc: Pc,
    group: u32,
    is_result: bool,
    /// What the register holds has been copied, and is waited for there.
    is_copied: bool,
}

impl InFlight {
    pub(super) fn start(&mut self, count: usize) {
        self.registers.clear();
        self.registers.resize(count, State::default());
        self.is_fenced = false;
    }

    pub(super) fn fence(&mut self) {
        self.is_fenced = true;
        self.registers.iter_mut().for_each(|state| state.written = None);
    }

    /// All of so many groups are waited for but the last `keep`.
    pub(super) fn wait(&mut self, groups: u32, keep: u32) {
        let is_due = |flight: &Flight| u64::from(flight.group) + u64::from(keep) < groups.into();
        for state in &mut self.registers {
            state.flight = state.flight.filter(|flight| !is_due(flight));
        }
    }

    /// A copy from one register to another: what is in flight is in flight there. Returns what it must not overwrite.
    fn copy(&mut self, to: usize, from: usize) -> Option<Flight> {
        let lost = self.registers[to].flight.filter(|flight| !flight.is_copied && to != from);
        self.registers[to] = self.registers[from];
        if let Some(flight) = &mut self.registers[from].flight {
            flight.is_copied = true;
        }
        if let Some(flight) = &mut self.registers[to].flight {
            flight.is_copied = false;
        }
        lost
    }
}

impl Site {
    /// Looks at what an instruction is about to do with registers that are watched.
    pub(super) fn touch(&mut self, grid: &Grid<'_>, warp: &mut Warp, pc: Pc, touch: &Touch, mask: Mask) {
        if !grid.checks.races {
            return;
        }
        let state = &mut warp.in_flight;
        let mut found = None;
        match touch {
            Touch::Copy { to, from } => {
                let flight = state.copy(*to as usize, *from as usize);
                found = flight.map(|flight| (*to, Wrong::Touched { flight, what: "written" }));
            }
            Touch::Other { reads, writes } => {
                for &number in reads {
                    let flight = state.registers[number as usize].flight;
                    found = found.or(flight.map(|flight| (number, Wrong::Touched { flight, what: "read" })));
                }
                for &number in writes {
                    let register = &mut state.registers[number as usize];
                    let flight = register.flight.filter(|flight| !flight.is_copied);
                    found = found.or(flight.map(|flight| (number, Wrong::Touched { flight, what: "written" })));
                    *register = State { flight: None, written: Some(pc) };
                }
            }
            Touch::Multiply { d, a } => {
                let group = self.products[warp.index].groups();
                let adds = match &grid.program.instructions[pc].action {
                    Action::Wgmma(action) => {
                        !matches!(&**action, Wgmma::Multiply(product) if warp.registers.test(product.adds) & mask == 0)
                    }
                    _ => true,
                };
                for (number, is_result) in d.iter().map(|d| (*d, true)).chain(a.iter().map(|a| (*a, false))) {
                    let register = &mut state.registers[number as usize];
                    let other = register.flight.filter(|flight| flight.is_result != is_result && !flight.is_copied);
                    let what = if is_result { "added to" } else { "multiplied" };
                    found = found.or(other.map(|flight| (number, Wrong::Touched { flight, what })));
                    // What is in a register that is only overwritten need not be seen.
                    let written = register.written.filter(|_| adds || !is_result);
                    found = found.or(written.map(|pc| (number, Wrong::NotFenced(pc))));
                    register.written = None;
                    register.flight = Some(Flight { pc, group, is_result, is_copied: false });
                }
                if let (None, false, Some(number)) = (found, state.is_fenced, d.first()) {
                    found = Some((*number, Wrong::NeverFenced));
                }
            }
        }
        if let Some((number, wrong)) = found {
            let name = &grid.program.watched[number as usize];
            let (other, what) = wrong.text(grid, name);
            let lane = mask.trailing_zeros() as usize;
            let discovery = Discovery { kind: FindingKind::Race, lane, other, what: What::Text(what) };
            self.report(grid, pc, warp.number, discovery);
        }
    }
}

/// What can be wrong with a register.
#[derive(Debug, Clone, Copy)]
enum Wrong {
    Touched { flight: Flight, what: &'static str },
    NotFenced(Pc),
    NeverFenced,
}

impl Wrong {
    fn text(self, grid: &Grid<'_>, name: &str) -> (Option<Pc>, String) {
        let line = |pc: Pc| grid.program.instructions[pc].line;
        match self {
            Self::Touched { flight: Flight { pc, is_result, .. }, what } => {
                let does = if is_result { "writes" } else { "reads" };
                let text = format!(
                    "the register {name} is {what} here, which the `wgmma.mma_async` in line {} {does} until a \
                     `wgmma.wait_group` waits for it",
                    line(pc)
                );
                (Some(pc), text)
            }
            Self::NotFenced(pc) => {
                let text =
                    format!("there is no `wgmma.fence` after line {}, where the register {name} was written", line(pc));
                (Some(pc), text)
            }
            Self::NeverFenced => (None, "there is no `wgmma.fence` before it".to_owned()),
        }
    }
}
