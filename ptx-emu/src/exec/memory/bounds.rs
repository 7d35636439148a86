//! Bounds and alignment of accesses.

use super::request::Request;
use crate::check::AccessKind;
use crate::exec::state::{Fault, Grid, Site, Warp};
use crate::finding::{FindingKind, plural};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::memory::{Allocation, Missing, window};
use crate::types::Space;

impl Site {
    /// The lanes whose access is in bounds and aligned. A violation is a fault if memory is checked.
    pub(crate) fn in_bounds(&self, grid: &Grid<'_>, warp: &Warp, request: &Request) -> Result<Mask, Fault> {
        let Request { mask, ref addresses, alignment, .. } = *request;
        let alignment = u64::from(alignment);
        if let Some((rank, why)) = request.remote.filter(|_| grid.checks.memory).and_then(|rank| self.absent(rank)) {
            let (thread, block) =
                (warp.number * LANES + mask.trailing_zeros() as usize, grid.peer_block(self.index, rank));
            let what = format!("shared memory of {block}, {why}");
            return Err(self.finding(grid, FindingKind::OutOfBounds, request.pc, thread, what).into());
        }
        let out_of_bounds = out_of_bounds(grid, self, request);
        let misaligned = lanes_of(mask).filter(|&lane| addresses[lane] % alignment != 0);
        let misaligned = if addresses.iter().fold(0, |all, address| all | address) % alignment == 0 {
            0
        } else {
            misaligned.fold(0, |mask, lane| mask | 1 << lane)
        };
        let bad = out_of_bounds | misaligned;
        if bad != 0 && grid.checks.memory {
            return Err(self.bad_access(grid, warp, request, bad, misaligned));
        }
        Ok(mask & !bad)
    }

    /// Why another block of the cluster need not be there, if so.
    fn absent(&self, rank: usize) -> Option<(usize, &'static str)> {
        if self.cluster.has_ended(rank) {
            Some((rank, "whose threads have all exited"))
        } else if self.cluster.joined[self.rank] == 0 {
            Some((rank, "which may not have begun: nobody has waited at the cluster barrier"))
        } else {
            None
        }
    }

    fn bad_access(&self, grid: &Grid<'_>, warp: &Warp, request: &Request, bad: Mask, misaligned: Mask) -> Fault {
        let lane = bad.trailing_zeros() as usize;
        let Request { pc, kind, space, ref addresses, bytes, alignment, .. } = *request;
        let address = addresses[lane];
        let access = match kind {
            AccessKind::Read | AccessKind::StrongRead => "read",
            AccessKind::Write | AccessKind::StrongWrite => "write",
            AccessKind::Atomic => "access",
        };
        let (kind, why) = if misaligned >> lane & 1 != 0 {
            (FindingKind::Misaligned, format!("is not a multiple of {alignment}"))
        } else {
            (FindingKind::OutOfBounds, self.why_out_of_bounds(grid, space, address, bytes))
        };
        let bytes = plural(bytes, "byte");
        let of = request.remote.map_or(String::new(), |rank| format!(" of {}", grid.peer_block(self.index, rank)));
        let place = if space == Space::Global { grid.place_of(address) } else { String::new() };
        let what = format!("{access} of {bytes} of {space} memory{of} at {address:#x}{place}, which {why}");
        self.finding(grid, kind, pc, warp.number * LANES + lane, what).into()
    }

    fn why_out_of_bounds(&self, grid: &Grid<'_>, space: Space, address: u64, bytes: u32) -> String {
        let size = match space {
            Space::Shared => self.shared.bytes.len(),
            Space::Local => grid.program.local_bytes as usize,
            Space::Param => grid.params.len(),
            Space::Const => grid.constants.bytes.len(),
            Space::Global | Space::Generic => return why_missing(grid, address, bytes),
        } as u64;
        match address.checked_sub(size) {
            Some(distance) => format!("is {} the end of its {}", past(distance), plural(size, "byte")),
            None => format!("is byte {address} of its {size}: it extends past the end"),
        }
    }
}

fn past(distance: u64) -> String {
    if distance == 0 { "right past".to_owned() } else { format!("{} past", plural(distance, "byte")) }
}

/// Why an access to global memory is out of bounds.
fn why_missing(grid: &Grid<'_>, address: u64, bytes: u32) -> String {
    if let Some(chunk) = grid.memory.heap().filter(|_| window::is_in_heap(address)).and_then(|heap| heap.find(address))
    {
        let (offset, size, base) = (address - chunk.base, plural(chunk.bytes, "byte"), chunk.base);
        let what = if chunk.is_free { "were freed" } else { "`malloc` gave" };
        return format!("is byte {offset} of {size} at {base:#x} that {what}");
    }
    let end = address.wrapping_add(u64::from(bytes));
    let missing = grid.memory.find(address).err().or_else(|| grid.memory.find(end.wrapping_sub(1)).err());
    match missing {
        Some(Missing::Freed(base, size)) => {
            let of = grid.name_of(base).map_or(String::new(), |name| format!(" of {name}"));
            format!("was freed: it is byte {} of {size}{of} at {base:#x}", address.wrapping_sub(base))
        }
        Some(Missing::PastEnd { base, bytes: size, .. }) => match address.checked_sub(base + size) {
            Some(distance) => {
                let (size, name) = (plural(size, "byte"), grid.name_of(base));
                let called = name.map_or(String::new(), |name| format!("{name}, "));
                format!("is {} the end of {called}{size} at {base:#x}", past(distance))
            }
            None => format!("is byte {} of {size} at {base:#x}: it extends past the end", address - base),
        },
        _ => "is in no allocation".to_owned(),
    }
}

/// The lanes whose access is out of bounds.
fn out_of_bounds(grid: &Grid<'_>, site: &Site, request: &Request) -> Mask {
    let Request { space, mask, ref addresses, bytes, .. } = *request;
    let bytes = u64::from(bytes);
    let (low, high) = span(addresses, mask);
    let size = match space {
        Space::Shared => site.shared.bytes.len(),
        Space::Local => grid.program.local_bytes as usize,
        Space::Param => grid.params.len(),
        Space::Const => grid.constants.bytes.len(),
        Space::Global | Space::Generic => {
            let allocation = grid.memory.find(low).ok();
            let is_in_bounds = |allocation: &Allocation, address: u64| {
                address.wrapping_sub(allocation.base()) <= allocation.bytes().wrapping_sub(bytes)
                    && allocation.bytes() >= bytes
            };
            if allocation.is_some_and(|allocation| is_in_bounds(allocation, high)) {
                return outside_of_chunks(grid, request);
            }
            let is_out_of_bounds = |&lane: &usize| {
                let address = addresses[lane];
                !allocation.is_some_and(|allocation| is_in_bounds(allocation, address))
                    && !grid.memory.find(address).is_ok_and(|allocation| is_in_bounds(allocation, address))
            };
            let outside = lanes_of(mask).filter(is_out_of_bounds).fold(0, |mask, lane| mask | 1 << lane);
            return outside | outside_of_chunks(grid, request);
        }
    } as u64;
    if high.checked_add(bytes).is_some_and(|end| end <= size) {
        return 0;
    }
    let is_out_of_bounds = |&lane: &usize| addresses[lane].checked_add(bytes).is_none_or(|end| end > size);
    lanes_of(mask).filter(is_out_of_bounds).fold(0, |mask, lane| mask | 1 << lane)
}

/// The lanes whose access is in the heap, but in nothing that `malloc` gave.
fn outside_of_chunks(grid: &Grid<'_>, request: &Request) -> Mask {
    let Some(heap) = grid.memory.heap() else { return 0 };
    let is_outside = |&lane: &usize| {
        let address = request.addresses[lane];
        window::is_in_heap(address) && !heap.holds(address, request.bytes.into())
    };
    lanes_of(request.mask).filter(is_outside).fold(0, |mask, lane| mask | 1 << lane)
}

/// The lowest and highest address of the lanes; the mask is not empty.
fn span(addresses: &[u64; LANES], mask: Mask) -> (u64, u64) {
    let first = addresses[mask.trailing_zeros() as usize];
    let (mut low, mut high) = (first, first);
    for (lane, &address) in addresses.iter().enumerate() {
        let address = if mask >> lane & 1 != 0 { address } else { first };
        (low, high) = (low.min(address), high.max(address));
    }
    (low, high)
}
