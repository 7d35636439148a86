//! `cp.async`: asynchronous copies from global to shared memory.
//!
//! The bytes are written when the thread waits. A kernel that does not wait reads the old contents, as it may on a GPU.
//! For the race checker, the write lasts from the copy's issue to the wait.

use std::sync::atomic::Ordering::Relaxed;

use super::request::Request;
use crate::check::{AccessKind, Observed, Proxy};
use crate::counters::{Count, coalesce};
use crate::exec::state::{Fault, Grid, PendingCopy, Site, Warp};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::memory::Allocation;
use crate::program::{Copy, CopySource, Pc};
use crate::types::{Semantics, Space};

/// Bytes that a lane copies at most.
const MAX_BYTES: usize = 16;

impl Site {
    /// Lanes exit: their copies complete, but no thread can wait for them.
    pub(crate) fn abandon_copies(&mut self, grid: &Grid<'_>, warp: &mut Warp, mask: Mask) {
        self.end_copies(grid, warp, mask, None, false);
        self.end_bulk_groups(grid, warp, mask, None);
        if mask == warp.live() {
            self.abandon_mmas(grid, warp);
        }
    }

    pub(crate) fn begin_copy(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        copy: &Copy,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let (bytes, alignment) = (copy.bytes, copy.bytes);
        let (from, to) = (warp.addresses(&copy.from), warp.addresses(&copy.to).map(|address| self.own_offset(address)));
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
            semantics: Semantics::DEFAULT,
        };
        let mask = self.in_bounds(grid, warp, &write)?;
        let requested = sizes;
        for (size, lanes) in by_size(&requested, mask) {
            let (kind, space) = (AccessKind::Read, Space::Global);
            let read = Request {
                pc,
                kind,
                space,
                mask: lanes,
                addresses: from,
                bytes: size,
                alignment,
                remote: None,
                semantics: Semantics::DEFAULT,
            };
            let inside = self.in_bounds(grid, warp, &read)?;
            lanes_of(lanes & !inside).for_each(|lane| sizes[lane] = 0);
            self.count_read(grid, &read, inside, (!copy.bypasses_l1).then_some(&mut *count));
        }
        if mask == 0 {
            return Ok(());
        }
        count.requests += 1;
        let key = grid.program.instructions.len() + pc;
        let wavefronts = if copy.bypasses_l1 {
            let of = || coalesce::bypassing_copy(&from, &to, mask, &sizes);
            // Memoised patterns are of lanes that read as much as they write.
            let is_plain = lanes_of(mask).all(|lane| sizes[lane] == bytes);
            let (sectors, wavefronts) =
                if is_plain { self.patterns.count_copy(key, [&from, &to], mask, of) } else { of() };
            count.sectors += u64::from(sectors);
            wavefronts
        } else {
            let of = |to: &[u64; LANES]| (0, coalesce::shared_wavefronts(to, mask, bytes, false));
            self.patterns.count(key, &to, mask, of).1
        };
        count.copy_wavefronts += u64::from(wavefronts);
        let since = self.checks.begin(warp.number);
        let groups = warp.copies.groups;
        let copy = PendingCopy { pc, mask, from, to, sizes, bytes, groups, since };
        self.record_copies(grid, warp.number, &copy, mask, false);
        warp.copies.pending.push(copy);
        Ok(())
    }

    /// Notes what lanes read, and counts it where it goes through L1.
    fn count_read(&mut self, grid: &Grid<'_>, read: &Request, mask: Mask, count: Option<&mut Count>) {
        let Request { pc, ref addresses, bytes, alignment, .. } = *read;
        if mask == 0 {
            return;
        }
        if let Some(footprint) = &mut self.footprint {
            footprint.touch(grid.memory, addresses, mask, bytes, true);
        }
        let Some(count) = count else { return };
        let of = |addresses: &[u64; LANES]| {
            (coalesce::sectors(addresses, mask, bytes), coalesce::global_wavefronts(addresses, mask, bytes))
        };
        // Memoised patterns are of full-width accesses.
        let (sectors, wavefronts) =
            if bytes == alignment { self.patterns.count(pc, addresses, mask, of) } else { of(addresses) };
        count.sectors += u64::from(sectors);
        count.wavefronts += u64::from(wavefronts);
    }

    /// Completes the copies of these lanes, or those of all groups but the last `keep`; `watched` by the checkers.
    pub(crate) fn end_copies(
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
                let recorded = self.record_copy(grid, copy, due);
                self.carry_out(grid, copy, due);
                self.recorded(grid, None, recorded);
                self.record_copies(grid, warp.number, copy, due, true);
            }
        }
        pending.retain(|copy| copy.mask != 0);
        warp.copies.pending = pending;
    }

    fn check_copy(&mut self, grid: &Grid<'_>, warp: usize, copy: &PendingCopy, mask: Mask) {
        let PendingCopy { pc, ref from, ref to, ref sizes, bytes, ref since, .. } = *copy;
        let mut found = vec![];
        for (size, mask) in by_size(sizes, mask) {
            let read = Observed::weak(AccessKind::Read, pc, (warp, mask), from, size);
            found.append(&mut self.checks.global(grid.global_races.as_ref(), &read));
        }
        let write = Observed::weak(AccessKind::Write, pc, (warp, mask), to, bytes);
        found.append(&mut self.checks.shared_since(&write, since.as_ref(), Proxy::Generic));
        for discovery in found {
            self.report(grid, pc, warp, discovery);
        }
    }

    /// Copies the bytes of these lanes.
    fn carry_out(&mut self, grid: &Grid<'_>, copy: &PendingCopy, mask: Mask) {
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

/// By lane, bytes to read.
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

/// Groups of lanes by bytes read; lanes that read none are left out.
fn by_size(sizes: &[u32; LANES], mask: Mask) -> impl Iterator<Item = (u32, Mask)> {
    let mut rest: Mask = lanes_of(mask).filter(|&lane| sizes[lane] > 0).fold(0, |mask, lane| mask | 1 << lane);
    std::iter::from_fn(move || {
        let size = (rest != 0).then(|| sizes[rest.trailing_zeros() as usize])?;
        let same = lanes_of(rest).filter(|&lane| sizes[lane] == size).fold(0, |mask, lane| mask | 1 << lane);
        rest &= !same;
        Some((size, same))
    })
}

/// Loads bytes that other host threads may write meanwhile, from an offset that is a multiple of 4.
fn load(allocation: &Allocation, at: u64, bytes: &mut [u8]) {
    for (word, chunk) in allocation.words()[(at / 4) as usize..].iter().zip(bytes.chunks_mut(4)) {
        let length = chunk.len();
        chunk.copy_from_slice(&word.load(Relaxed).to_le_bytes()[..length]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_by_size() {
        let sizes = std::array::from_fn(|lane| [16, 0, 4][lane % 3]);
        assert_eq!(by_size(&sizes, 0b111_1110).collect::<Vec<_>>(), [(4, 0b10_0100), (16, 0b100_1000)]);
    }
}
