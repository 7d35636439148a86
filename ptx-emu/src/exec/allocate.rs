//! Memory that a kernel asks for: of the heap, by `malloc` and `free`; of a thread's stack, by `alloca`.

use super::state::{Fault, Grid, Site, Warp};
use crate::check::{Discovery, What};
use crate::finding::{FindingKind, Rank, plural};
use crate::lanes::{LANES, Mask, Slot, lanes_of};
use crate::program::{Action, Pc};

impl Site {
    /// The lanes of `mask` ask for memory, or give it back.
    pub(super) fn allocate(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        action: &Action,
        mask: Mask,
    ) -> Result<(), Fault> {
        match *action {
            Action::Malloc { to, bytes } => self.malloc(grid, warp, to, bytes, mask),
            Action::Free(address) => self.free(grid, warp, pc, address, mask),
            Action::Alloca { to, bytes, align } => self.alloca(grid, warp, pc, (to, bytes, align), mask)?,
            Action::StackSave(to) => save(warp, to, mask),
            Action::StackRestore(from) => restore(warp, from, mask),
            _ => {}
        }
        Ok(())
    }

    /// Each lane gets so many bytes, or 0.
    fn malloc(&mut self, grid: &Grid<'_>, warp: &mut Warp, to: Slot, bytes: Slot, mask: Mask) {
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

    fn free(&mut self, grid: &Grid<'_>, warp: &Warp, pc: Pc, address: Slot, mask: Mask) {
        let addresses: [u64; LANES] = warp.registers.read(address);
        for lane in lanes_of(mask) {
            let freed = grid.memory.heap().map_or(Ok(()), |heap| heap.free(addresses[lane]));
            if let Some(text) = freed.err().filter(|_| grid.checks.memory) {
                let (kind, rank, what) = (FindingKind::Heap, Rank::Error, What::Text(text));
                self.report(grid, pc, warp.number, Discovery { kind, rank, lane, other: None, what });
            }
        }
    }

    /// The lanes of `mask` get memory on their stacks.
    fn alloca(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        (to, bytes, align): (Slot, Slot, u32),
        mask: Mask,
    ) -> Result<(), Fault> {
        let (sizes, mut addresses): ([u64; LANES], [u64; LANES]) = (warp.registers.read(bytes), [0; LANES]);
        for lane in lanes_of(mask) {
            let stack = &mut warp.stacks[lane];
            let start = stack.top.next_multiple_of(align);
            let size = u64::from(grid.program.local_bytes - grid.program.stack);
            let needed =
                (stack.bytes(grid.program.stack) as u64 + u64::from(start - stack.top)).saturating_add(sizes[lane]);
            if needed > size {
                let what = format!(
                    "the stack of {} is exceeded by {} more",
                    plural(size, "byte"),
                    plural(sizes[lane], "byte")
                );
                return Err(self.finding(grid, FindingKind::Stack, pc, warp.number * LANES + lane, what).into());
            }
            stack.top = start + sizes[lane] as u32;
            addresses[lane] = start.into();
            self.checks.local_begins(warp.number, lane, start, sizes[lane] as u32);
        }
        warp.registers.write(to, &addresses, mask);
        Ok(())
    }
}

/// Where the stacks end, to which [`restore`] goes back.
fn save(warp: &mut Warp, to: Slot, mask: Mask) {
    let tops: [u64; LANES] = std::array::from_fn(|lane| warp.stacks.get(lane).map_or(0, |stack| stack.top.into()));
    warp.registers.write(to, &tops, mask);
}

/// Takes back what `alloca` gave since [`save`].
fn restore(warp: &mut Warp, from: Slot, mask: Mask) {
    let tops: [u64; LANES] = warp.registers.read(from);
    for (lane, stack) in warp.stacks.iter_mut().enumerate().filter(|(lane, _)| mask >> lane & 1 != 0) {
        let is_one = (stack.base.into()..=stack.top.into()).contains(&tops[lane]);
        stack.top = if is_one { tops[lane] as u32 } else { stack.top };
    }
}
