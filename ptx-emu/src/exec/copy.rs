//! Copies from global to shared memory that go on while the thread does: `cp.async`.
//!
//! Nothing is copied before the thread waits for it. So a kernel that forgets to wait finds in shared memory what was there
//! before, as it may on a GPU. For the race checker, the write lasts from the copy's beginning to the wait.

use std::sync::atomic::Ordering::Relaxed;

use super::access::Request;
use super::block::{Fault, Site};
use super::grid::Grid;
use super::warp::Warp;
use crate::Space;
use crate::check::{AccessKind, Beside, Observed, Since};
use crate::coalesce;
use crate::counters::Count;
use crate::lanes::lanes_of;
use crate::memory::Allocation;
use crate::program::{Action, Async, Copy, CopySource, Pc};
use crate::registers::{LANES, Mask};

/// The most bytes that a lane copies at once.
const MAX_BYTES: usize = 16;

/// What the lanes of a warp copy in the background.
#[derive(Debug, Default)]
pub(super) struct Copies {
    pending: Vec<Pending>,
    /// Groups that each lane has closed.
    groups: [u32; LANES],
    /// Groups of bulk copies.
    pub(super) bulk_groups: [u32; LANES],
}

/// What lanes began to copy together.
#[derive(Debug)]
struct Pending {
    pc: Pc,
    /// Those that have not waited for it.
    mask: Mask,
    from: [u64; LANES],
    to: [u64; LANES],
    /// Bytes that each lane reads, and that it writes.
    sizes: [u32; LANES],
    bytes: u32,
    /// The group of each lane that it belongs to.
    groups: [u32; LANES],
    since: Option<Since>,
}

impl Copies {
    /// Closes the group of each of these lanes.
    fn commit(&mut self, mask: Mask) {
        lanes_of(mask).for_each(|lane| self.groups[lane] += 1);
    }

    /// The lanes among these that wait for the copy when all groups but the last `keep` are waited for.
    fn due(&self, copy: &Pending, mask: Mask, keep: Option<u32>) -> Mask {
        let is_due = |&lane: &usize| match keep {
            Some(keep) => u64::from(copy.groups[lane]) + u64::from(keep) < self.groups[lane].into(),
            None => true,
        };
        lanes_of(copy.mask & mask).filter(is_due).fold(0, |mask, lane| mask | 1 << lane)
    }
}

impl Site {
    /// Runs what has to do with copies, with barriers in shared memory or with matrices. Whether it may change what others see.
    pub(super) fn beside(
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
            Action::Wgmma(action) => self.wgmma(grid, warp, pc, action, mask, count)?,
            Action::Async(action) => match &**action {
                Async::Copy(copy) => self.begin_copy(grid, warp, pc, copy, mask, count)?,
                Async::Commit => warp.copies.commit(mask),
                Async::Wait(keep) => self.end_copies(grid, warp, mask, *keep, true),
                Async::Bulk(bulk) => self.begin_bulk(grid, warp, pc, bulk, mask, count)?,
                Async::Tensor(tensor) => self.begin_tensor(grid, warp, pc, tensor, mask, count)?,
                Async::CommitBulk => lanes_of(mask).for_each(|lane| warp.copies.bulk_groups[lane] += 1),
                Async::WaitBulk(keep) => self.end_bulk_groups(grid, warp, mask, Some(*keep)),
            },
            _ => {}
        }
        Ok(true)
    }

    /// Lanes leave the kernel: what they copy goes on, but nobody can wait for it.
    pub(super) fn abandon_copies(&mut self, grid: &Grid<'_>, warp: &mut Warp, mask: Mask) {
        self.end_copies(grid, warp, mask, None, false);
        self.end_bulk_groups(grid, warp, mask, None);
        if mask == warp.live() {
            self.abandon_products(grid, warp);
        }
    }

    fn begin_copy(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        copy: &Copy,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let (bytes, alignment) = (copy.bytes, copy.bytes);
        let (from, to) = (warp.addresses(&copy.from), warp.addresses(&copy.to).map(|place| self.own_place(place)));
        let mut sizes = sizes(warp, copy);
        let write = Request {
            pc,
            kind: AccessKind::Write,
            space: Space::Shared,
            mask,
            addresses: to,
            bytes,
            alignment,
            remote: None,
        };
        let mask = self.inside(grid, warp, &write)?;
        let places = sizes;
        for (size, lanes) in by_size(&places, mask) {
            let (kind, space) = (AccessKind::Read, Space::Global);
            let read = Request { pc, kind, space, mask: lanes, addresses: from, bytes: size, alignment, remote: None };
            let inside = self.inside(grid, warp, &read)?;
            lanes_of(lanes & !inside).for_each(|lane| sizes[lane] = 0);
            self.count_read(grid, &read, inside, count);
        }
        if mask == 0 {
            return Ok(());
        }
        count.requests += 1;
        let key = grid.program.instructions.len() + pc;
        let (_, wavefronts) = self
            .patterns
            .count(key, &to, mask, |addresses| (0, coalesce::shared_wavefronts(addresses, mask, bytes, false)));
        count.copy_wavefronts += u64::from(wavefronts);
        let since = self.checks.begin(warp.number);
        let groups = warp.copies.groups;
        warp.copies.pending.push(Pending { pc, mask, from, to, sizes, bytes, groups, since });
        Ok(())
    }

    fn count_read(&mut self, grid: &Grid<'_>, read: &Request, mask: Mask, count: &mut Count) {
        let Request { pc, ref addresses, bytes, alignment, .. } = *read;
        if mask == 0 {
            return;
        }
        let of = |addresses: &[u64; LANES]| {
            (coalesce::sectors(addresses, mask, bytes), coalesce::global_wavefronts(addresses, mask, bytes))
        };
        // What is known of earlier accesses is about whole ones.
        let (sectors, wavefronts) =
            if bytes == alignment { self.patterns.count(pc, addresses, mask, of) } else { of(addresses) };
        count.sectors += u64::from(sectors);
        count.wavefronts += u64::from(wavefronts);
        if let Some(footprint) = &mut self.footprint {
            footprint.touch(grid.memory, addresses, mask, bytes);
        }
    }

    /// Lanes wait for their copies, or for those of all groups but the last `keep`; `watched` by the checkers.
    pub(super) fn end_copies(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        mask: Mask,
        keep: Option<u32>,
        watched: bool,
    ) {
        let mut pending = std::mem::take(&mut warp.copies.pending);
        for copy in &mut pending {
            let due = warp.copies.due(copy, mask, keep);
            if due != 0 {
                copy.mask &= !due;
                if watched {
                    self.check_copy(grid, warp.number, copy, due);
                }
                self.carry_out(grid, copy, due);
            }
        }
        pending.retain(|copy| copy.mask != 0);
        warp.copies.pending = pending;
    }

    fn check_copy(&mut self, grid: &Grid<'_>, warp: usize, copy: &Pending, mask: Mask) {
        let Pending { pc, ref from, ref to, ref sizes, bytes, ref since, .. } = *copy;
        let mut found = vec![];
        for (size, mask) in by_size(sizes, mask) {
            let read = Observed { kind: AccessKind::Read, pc, warp, mask, addresses: from, bytes: size };
            found.append(&mut self.checks.global(grid.global_races.as_ref(), &read));
        }
        let write = Observed { kind: AccessKind::Write, pc, warp, mask, addresses: to, bytes };
        found.append(&mut self.checks.shared_since(&write, since.as_ref(), Beside::Generic));
        for discovery in found {
            self.report(grid, pc, warp, discovery);
        }
    }

    /// Copies what lanes have waited for.
    fn carry_out(&mut self, grid: &Grid<'_>, copy: &Pending, mask: Mask) {
        for lane in lanes_of(mask) {
            let (address, size) = (copy.from[lane], copy.sizes[lane] as usize);
            let mut bytes = [0; MAX_BYTES];
            if let (1.., Ok(allocation)) = (size, grid.memory.find(address)) {
                load(allocation, address - allocation.base(), &mut bytes[..size]);
            }
            let length = copy.bytes as usize;
            self.shared.bytes[copy.to[lane] as usize..][..length].copy_from_slice(&bytes[..length]);
        }
    }
}

/// Bytes that each lane reads.
fn sizes(warp: &Warp, copy: &Copy) -> [u32; LANES] {
    match copy.source {
        CopySource::All => [copy.bytes; LANES],
        CopySource::Bytes(slot) => warp.registers.read::<u32>(slot).map(|bytes| bytes.min(copy.bytes)),
        CopySource::Unless(condition) => {
            let ignored = warp.registers.test(condition);
            std::array::from_fn(|lane| if ignored >> lane & 1 != 0 { 0 } else { copy.bytes })
        }
    }
}

/// The lanes that read as many bytes as each other, and how many; those that read none are left out.
fn by_size(sizes: &[u32; LANES], mask: Mask) -> impl Iterator<Item = (u32, Mask)> {
    let mut rest: Mask = lanes_of(mask).filter(|&lane| sizes[lane] > 0).fold(0, |mask, lane| mask | 1 << lane);
    std::iter::from_fn(move || {
        let size = (rest != 0).then(|| sizes[rest.trailing_zeros() as usize])?;
        let same = lanes_of(rest).filter(|&lane| sizes[lane] == size).fold(0, |mask, lane| mask | 1 << lane);
        rest &= !same;
        Some((size, same))
    })
}

/// Loads bytes from words that other threads of the host may write meanwhile, from an offset that is a multiple of four.
fn load(allocation: &Allocation, at: u64, bytes: &mut [u8]) {
    for (word, chunk) in allocation.words()[(at / 4) as usize..].iter().zip(bytes.chunks_mut(4)) {
        let length = chunk.len();
        chunk.copy_from_slice(&word.load(Relaxed).to_le_bytes()[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(groups: [u32; LANES]) -> Pending {
        let (from, to) = ([0; LANES], [0; LANES]);
        Pending { pc: 0, mask: 0b11, from, to, sizes: [4; LANES], bytes: 4, groups, since: None }
    }

    #[test]
    fn each_lane_has_groups_of_its_own() {
        let mut copies = Copies::default();
        let copy = pending(copies.groups);
        assert_eq!(copies.due(&copy, 0b11, Some(0)), 0, "its group is still open");
        assert_eq!(copies.due(&copy, 0b110, None), 0b10);
        copies.commit(0b01);
        assert_eq!(copies.due(&copy, 0b11, Some(0)), 0b01);
        assert_eq!(copies.due(&copy, 0b11, Some(1)), 0);
        copies.commit(0b11);
        assert_eq!([0, 1, 2, u32::MAX].map(|keep| copies.due(&copy, 0b11, Some(keep))), [0b11, 0b01, 0, 0]);
    }

    #[test]
    fn lanes_by_size() {
        let sizes = std::array::from_fn(|lane| [16, 0, 4][lane % 3]);
        assert_eq!(by_size(&sizes, 0b111_1110).collect::<Vec<_>>(), [(4, 0b10_0100), (16, 0b100_1000)]);
    }
}
