//! Instructions that named lanes of a warp execute together: `bar.warp.sync`, shuffles and votes with a member mask.

use crate::check::{Discovery, What};
use crate::exec::state::{Grid, Origin, Site, Split, Wait, Warp};
use crate::finding::{FindingKind, Rank};
use crate::lanes::{LANES, Mask, Slot, lanes_of};
use crate::program::{Action, Pc, Source};

impl Site {
    /// Lanes reach an instruction with a member mask. Returns those that must wait.
    pub(crate) fn converge(&mut self, grid: &Grid<'_>, warp: &mut Warp, index: usize, members: Slot) -> Mask {
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

    /// Checks that each member mask names its own lane and agrees with the other members'.
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
            return self.complain(grid, Origin { warp, lane, pc }, what);
        }
    }

    /// Executes the instruction for lanes that have converged.
    pub(crate) fn run_together(&mut self, grid: &Grid<'_>, warp: &mut Warp, pc: Pc, mask: Mask) {
        match &grid.program.instructions[pc].action {
            Action::Converge(converge) => {
                if let Some(source) = converge.source.filter(|_| grid.checks.barriers) {
                    self.check_source(grid, warp, pc, mask, source);
                }
                (converge.compute)(&mut warp.registers, mask);
                if converge.orders {
                    self.checks.warp_synced(warp.number, mask, warp.live());
                }
            }
            _ => {
                self.checks.warp_synced(warp.number, mask, warp.live());
                for split in warp.splits.iter_mut().filter(|split| split.pc != pc && split.mask & mask != 0) {
                    (split.pc, split.wait) = (split.pc + 1, Wait::Nothing);
                }
            }
        }
    }
}

impl Site {
    /// Finds the first lane that shuffles from one that does not take part: what it reads is undefined.
    fn check_source(&mut self, grid: &Grid<'_>, warp: &Warp, pc: Pc, mask: Mask, Source { shuffle, b, c }: Source) {
        let [b, c]: [[u32; LANES]; 2] = [b, c].map(|slot| warp.registers.read(slot));
        let source = |lane: usize| shuffle.source(lane as u32, b[lane], c[lane]).filter(|from| mask >> from & 1 == 0);
        let Some((lane, from)) = lanes_of(mask).find_map(|lane| Some((lane, source(lane)?))) else { return };
        let why = if warp.live() >> from & 1 == 0 { "does not run" } else { "does not take part" };
        let (kind, rank, other) = (FindingKind::Shuffle, Rank::Warning, None);
        let what = What::Text(format!("reads a value of lane {from}, which {why}"));
        self.report(grid, pc, warp.number, Discovery { kind, rank, lane, other, what });
    }
}

fn is_warp_barrier(grid: &Grid<'_>, pc: Pc) -> bool {
    matches!(grid.program.instructions[pc].action, Action::WarpBarrier(_))
}

/// Lanes that wait with this member mask at any `bar.warp.sync`.
fn at_warp_barriers(grid: &Grid<'_>, warp: &Warp, members: Mask) -> Mask {
    let waits = |split: &&Split| split.wait == Wait::Lanes(members) && is_warp_barrier(grid, split.pc);
    warp.splits.iter().filter(waits).fold(0, |mask, split| mask | split.mask)
}
