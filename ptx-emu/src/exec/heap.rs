//! `malloc` and `free` of a kernel.

use super::state::{Grid, Site, Warp};
use crate::check::{Discovery, What};
use crate::finding::{FindingKind, Rank};
use crate::lanes::{LANES, Mask, Slot, lanes_of};
use crate::program::Pc;

impl Site {
    /// Each lane gets so many bytes, or 0.
    pub(super) fn malloc(&mut self, grid: &Grid<'_>, warp: &mut Warp, to: Slot, bytes: Slot, mask: Mask) {
        let bytes: [u64; LANES] = warp.registers.read(bytes);
        let mut addresses = [0; LANES];
        for lane in lanes_of(mask) {
            addresses[lane] = grid.memory.heap().map_or(0, |heap| heap.allocate(bytes[lane]));
            if let Some(races) = grid.global_races.as_ref().filter(|_| addresses[lane] != 0) {
                races.forget(addresses[lane], bytes[lane]);
            }
        }
        warp.registers.write(to, &addresses, mask);
    }

    pub(super) fn free(&mut self, grid: &Grid<'_>, warp: &Warp, pc: Pc, address: Slot, mask: Mask) {
        let addresses: [u64; LANES] = warp.registers.read(address);
        for lane in lanes_of(mask) {
            let freed = grid.memory.heap().map_or(Ok(()), |heap| heap.free(addresses[lane]));
            if let Some(text) = freed.err().filter(|_| grid.checks.memory) {
                let (kind, rank, what) = (FindingKind::Heap, Rank::Error, What::Text(text));
                self.report(grid, pc, warp.number, Discovery { kind, rank, lane, other: None, what });
            }
        }
    }
}
