//! Accesses to memory, with what is there before and after.

use crate::check::AccessKind as Kind;
use crate::exec::memory::Request;
use crate::exec::state::{Grid, PendingBulk, PendingCopy, Site, Warp};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::launch::BlockIndex;
use crate::memory::Run;
use crate::program::Pc;
use crate::trace::{Access, AccessKind, Place};
use crate::types::Space;

/// Bytes of an mbarrier.
const MBARRIER_BYTES: u32 = 8;

impl Site {
    /// The block whose shared memory is at hand.
    pub(super) fn block_at_hand(&self, grid: &Grid<'_>) -> BlockIndex {
        grid.block_of(grid.cluster_of(self.index), self.checks.memory.rank())
    }

    /// What an access will find in these lanes, if it is recorded. [`Self::recorded`] comes after it.
    #[inline]
    pub(crate) fn record(&self, grid: &Grid<'_>, warp: &Warp, request: &Request, lanes: Mask) -> Option<Box<Access>> {
        if grid.recording.is_none() { None } else { self.record_lanes(grid, warp, request, lanes) }
    }

    #[cold]
    fn record_lanes(&self, grid: &Grid<'_>, warp: &Warp, request: &Request, lanes: Mask) -> Option<Box<Access>> {
        let Request { pc, kind, space, ref addresses, bytes, .. } = *request;
        let places = lanes_of(lanes).map(|lane| Place { lane: lane as u8, address: addresses[lane] }).collect();
        (lanes != 0).then(|| self.found(grid, Some(warp), (pc, kind, space), bytes, places).into())
    }

    /// An access has happened.
    #[inline]
    pub(crate) fn recorded(&self, grid: &Grid<'_>, warp: Option<&Warp>, access: Option<Box<Access>>) {
        if let Some(access) = access {
            self.record_result(grid, warp, *access);
        }
    }

    /// As [`Self::recorded`], of one that is recorded.
    #[cold]
    pub(crate) fn record_result(&self, grid: &Grid<'_>, warp: Option<&Warp>, mut access: Access) {
        if access.writes() {
            access.after = self.bytes_at(grid, warp, access.space, access.bytes, &access.places);
        }
        if let Some(recording) = &grid.recording {
            recording.access(access);
        }
    }

    /// As [`Self::record`], for what `cp.async` writes.
    pub(crate) fn record_copy(&self, grid: &Grid<'_>, copy: &PendingCopy, lanes: Mask) -> Option<Box<Access>> {
        grid.recording.as_ref()?;
        let places = lanes_of(lanes).map(|lane| Place { lane: lane as u8, address: copy.to[lane] }).collect();
        let access = self.found(grid, None, (copy.pc, Kind::Write, Space::Shared), copy.bytes, places);
        Some(Access { is_async: true, ..access }.into())
    }

    /// As [`Self::record`], for what a bulk copy reads and writes: runs of global memory, and chunks of shared memory.
    pub(crate) fn record_bulk(&self, grid: &Grid<'_>, bulk: &PendingBulk, is_load: bool) -> Vec<Access> {
        if grid.recording.is_none() {
            return vec![];
        }
        let (of_global, of_shared) = if is_load { (Kind::Read, Kind::Write) } else { (Kind::Write, Kind::Read) };
        let runs = bulk.copy.runs.iter().map(|&Run { global, bytes, .. }| (global, bytes)).collect::<Vec<_>>();
        let parts = [(of_global, Space::Global, runs), (of_shared, Space::Shared, bulk.copy.chunks())];
        let each = parts.iter().flat_map(|(kind, space, parts)| {
            // One access for parts of equal size.
            parts.chunk_by(|one, other| one.1 == other.1).map(move |parts| {
                let places = parts.iter().map(|&(address, _)| Place { lane: bulk.lane as u8, address }).collect();
                let access = self.found(grid, None, (bulk.pc, *kind, *space), parts[0].1, places);
                Access { is_async: true, ..access }
            })
        });
        each.collect()
    }

    /// As [`Self::record`], for the mbarrier that counts the bytes of a bulk copy.
    pub(crate) fn record_tx(&self, grid: &Grid<'_>, pc: Pc, lane: usize, barrier: u64) -> Option<Box<Access>> {
        grid.recording.as_ref()?;
        let places = Box::new([Place { lane: lane as u8, address: barrier }]);
        let access = self.found(grid, None, (pc, Kind::StrongWrite, Space::Shared), MBARRIER_BYTES, places);
        Some(Access { is_async: true, ..access }.into())
    }

    /// Shared memory that tensor cores read, in units of `bytes`.
    pub(crate) fn record_units(&self, grid: &Grid<'_>, warp: &Warp, pc: Pc, units: &[u64], bytes: u32) {
        if grid.recording.is_some() && !units.is_empty() {
            let places = units.iter().map(|&address| Place { lane: 0, address }).collect();
            let access = self.found(grid, Some(warp), (pc, Kind::Read, Space::Shared), bytes, places);
            self.record_result(grid, Some(warp), access);
        }
    }

    fn found(
        &self,
        grid: &Grid<'_>,
        warp: Option<&Warp>,
        (pc, kind, space): (Pc, Kind, Space),
        bytes: u32,
        places: Box<[Place]>,
    ) -> Access {
        let kind = match kind {
            Kind::Read | Kind::StrongRead => AccessKind::Read,
            Kind::Write | Kind::StrongWrite => AccessKind::Write,
            Kind::Atomic => AccessKind::Atomic,
        };
        let block = if space == Space::Shared { self.block_at_hand(grid) } else { self.index };
        let before = self.bytes_at(grid, warp, space, bytes, &places);
        let line = grid.program.instructions[pc].line;
        Access { line, is_async: false, kind, space, block, bytes, places, before, after: Box::default() }
    }

    fn bytes_at(&self, grid: &Grid<'_>, warp: Option<&Warp>, space: Space, bytes: u32, places: &[Place]) -> Box<[u8]> {
        let width = bytes as usize;
        let mut all = vec![0; width * places.len()];
        for (place, to) in places.iter().zip(all.chunks_mut(width.max(1))) {
            let (memory, offset) = match space {
                Space::Shared => (self.shared.bytes.as_slice(), place.address),
                Space::Param => (grid.params, place.address),
                Space::Const => (grid.constants.bytes.as_slice(), place.address),
                Space::Local => {
                    let start = u64::from(place.lane) * u64::from(grid.program.local_bytes);
                    (warp.map_or(&[][..], |warp| &warp.local), start + place.address)
                }
                Space::Global | Space::Generic => {
                    // Bounds have been checked.
                    let _ = grid.memory.read_into(place.address, to);
                    continue;
                }
            };
            if let Some(from) = memory.get(offset as usize..).and_then(|rest| rest.get(..width)) {
                to.copy_from_slice(from);
            }
        }
        debug_assert!(places.iter().all(|place| usize::from(place.lane) < LANES));
        all.into()
    }
}
