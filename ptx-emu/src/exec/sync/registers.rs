//! Whether the registers that the warps of a block ask for by `setmaxnreg` suffice: one that waits for more than there are
//! waits for ever.

use crate::check::{Discovery, What};
use crate::exec::state::{Grid, Site};
use crate::finding::{FindingKind, Rank};
use crate::lanes::LANES;

/// 32-bit registers of an SM, and of a thread at most; they are given out in multiples of `GRANULARITY`.
const SM_REGISTERS: u32 = 1 << 16;
const MAX_REGISTERS: u32 = 256;
const GRANULARITY: u32 = 8;

impl Site {
    /// Checks the last `setmaxnreg` of all warps, the first of which has that index in the cluster, at the block's end. The
    /// block got what `.maxnreg` says, or its share of the SM's registers, which is what ptxas assigns.
    pub(crate) fn check_registers(&mut self, grid: &Grid<'_>, first: usize) {
        let Some(greatest) = (0..self.registers.len()).max_by_key(|warp| self.registers[*warp].0) else { return };
        let (most, pc) = self.registers[greatest];
        if most == 0 {
            return;
        }
        let (bounds, warps) = (&grid.program.bounds, grid.warps() as u32);
        let share = SM_REGISTERS / bounds.min_blocks_per_sm.unwrap_or(1).max(1) / (warps * LANES as u32);
        let share = bounds.max_registers.unwrap_or(MAX_REGISTERS).min(share) / GRANULARITY * GRANULARITY;
        let of = |&(count, _): &(u32, _)| if count == 0 { share } else { count };
        let (asked, all) = (self.registers.iter().map(of).sum::<u32>(), share * warps);
        if asked > all {
            let lanes = LANES as u32;
            let (asked, all) = (asked * lanes, all * lanes);
            let what = format!("the warps ask for {asked} registers in all, but the block has {all}");
            let (kind, rank, other, what) = (FindingKind::Registers, Rank::Warning, None, What::Text(what));
            self.report(grid, pc, first + greatest, Discovery { kind, rank, lane: 0, other, what });
        }
    }
}
