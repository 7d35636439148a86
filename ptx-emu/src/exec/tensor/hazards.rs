//! Hazards of registers that MMAs in flight use: missing `wgmma.wait_group` or `wgmma.fence`. PTX ISA, "Asynchronous
//! Warpgroup Level Matrix Instructions".

use crate::check::{Discovery, What};
use crate::exec::state::{Flight, Grid, RegisterState, Site, Warp};
use crate::finding::{FindingKind, Rank};
use crate::lanes::Mask;
use crate::program::{Action, Pc, Touch, Wgmma};

impl Site {
    /// Checks an instruction's use of watched registers.
    pub(crate) fn touch(&mut self, grid: &Grid<'_>, warp: &mut Warp, pc: Pc, touch: &Touch, mask: Mask) {
        if !grid.checks.races {
            return;
        }
        let state = &mut warp.in_flight;
        let mut found = None;
        match touch {
            Touch::Copy { to, from } => {
                let flight = state.copy(*to as usize, *from as usize);
                found = flight.map(|flight| (*to, Hazard::InFlight { flight, what: "written" }));
            }
            Touch::Other { reads, writes } => {
                for &number in reads {
                    let flight = state.registers[number as usize].flight;
                    found = found.or(flight.map(|flight| (number, Hazard::InFlight { flight, what: "read" })));
                }
                for &number in writes {
                    let register = &mut state.registers[number as usize];
                    let flight = register.flight.filter(|flight| !flight.is_copied);
                    found = found.or(flight.map(|flight| (number, Hazard::InFlight { flight, what: "written" })));
                    *register = RegisterState { flight: None, written: Some(pc) };
                }
            }
            Touch::Mma { d, a } => {
                let group = self.mmas[warp.index].groups();
                let accumulate = match &grid.program.instructions[pc].action {
                    Action::Wgmma(action) => {
                        !matches!(&**action, Wgmma::Mma(mma) if warp.registers.test(mma.accumulate) & mask == 0)
                    }
                    _ => true,
                };
                for (number, is_result) in d.iter().map(|d| (*d, true)).chain(a.iter().map(|a| (*a, false))) {
                    let register = &mut state.registers[number as usize];
                    let other = register.flight.filter(|flight| flight.is_result != is_result && !flight.is_copied);
                    let what = if is_result { "accumulated to" } else { "an input" };
                    found = found.or(other.map(|flight| (number, Hazard::InFlight { flight, what })));
                    // An accumulator that is overwritten need not be visible.
                    let written = register.written.filter(|_| accumulate || !is_result);
                    found = found.or(written.map(|pc| (number, Hazard::NotFenced(pc))));
                    register.written = None;
                    register.flight = Some(Flight { pc, group, is_result, is_copied: false });
                }
                if let (None, false, Some(number)) = (found, state.is_fenced, d.first()) {
                    found = Some((*number, Hazard::NeverFenced));
                }
            }
        }
        if let Some((number, hazard)) = found {
            let name = &grid.program.watched[number as usize];
            let (other, what) = hazard.text(grid, name);
            let lane = mask.trailing_zeros() as usize;
            let (kind, rank) = (FindingKind::Race, Rank::Error);
            let discovery = Discovery { kind, rank, lane, other, what: What::Text(what) };
            self.report(grid, pc, warp.number, discovery);
        }
    }
}

/// A hazard of a register.
#[derive(Debug, Clone, Copy)]
enum Hazard {
    InFlight { flight: Flight, what: &'static str },
    NotFenced(Pc),
    NeverFenced,
}

impl Hazard {
    fn text(self, grid: &Grid<'_>, name: &str) -> (Option<Pc>, String) {
        let line = |pc: Pc| grid.program.instructions[pc].line;
        match self {
            Self::InFlight { flight: Flight { pc, is_result, .. }, what } => {
                let does = if is_result { "writes" } else { "reads" };
                let text = format!(
                    "register {name} is {what} here, but the `wgmma.mma_async` in line {} still {does} it: \
                     `wgmma.wait_group` is missing",
                    line(pc)
                );
                (Some(pc), text)
            }
            Self::NotFenced(pc) => {
                let text =
                    format!("there is no `wgmma.fence` after line {}, where register {name} was written", line(pc));
                (Some(pc), text)
            }
            Self::NeverFenced => (None, "there is no `wgmma.fence` before it".to_owned()),
        }
    }
}
