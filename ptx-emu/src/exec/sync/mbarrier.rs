//! Mbarriers: barriers in shared memory that also count bytes.

use crate::check::{AccessKind, Observed};
use crate::exec::memory::{Request, get_bytes, put_bytes, shared};
use crate::exec::state::{Fault, Grid, Origin, Site, Warp};
use crate::lanes::{LANES, Mask, Slot, lanes_of};
use crate::ops::mbarrier::Mbarrier as State;
use crate::program::{Mbarrier, MbarrierKind, Pc, Phase};
use crate::types::{Semantics, Space};

/// Bytes of an mbarrier.
const BYTES: u32 = 8;

impl Site {
    /// Executes an mbarrier operation. Returns whether other threads may see a change.
    pub(crate) fn mbarrier(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        barrier: &Mbarrier,
        mask: Mask,
    ) -> Result<bool, Fault> {
        let addresses = shared(barrier.space, warp.addresses(&barrier.address));
        let kind = match barrier.kind {
            MbarrierKind::Init(_) | MbarrierKind::Invalidate => AccessKind::Write,
            MbarrierKind::Test { .. } => AccessKind::StrongRead,
            _ => AccessKind::StrongWrite,
        };
        let (space, bytes, alignment) = (Space::Shared, BYTES, BYTES);
        let (mut rest, mut changes) = (mask, false);
        while rest != 0 {
            let mut offsets = addresses;
            let (remote, same) = self.same_block(&mut offsets, rest);
            let request = Request {
                pc,
                kind,
                space,
                mask: same,
                addresses: offsets,
                bytes,
                alignment,
                remote,
                semantics: Semantics::DEFAULT,
            };
            changes |= self.in_memory_of(remote, |site| site.mbarrier_here(grid, warp, &barrier.kind, &request))?;
            rest &= !same;
        }
        Ok(changes)
    }

    /// As [`Self::mbarrier`], for mbarriers in one block's shared memory.
    fn mbarrier_here(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        barrier: &MbarrierKind,
        request: &Request,
    ) -> Result<bool, Fault> {
        let Request { pc, kind, ref addresses, bytes, remote, .. } = *request;
        let mask = self.in_bounds(grid, warp, request)?;
        let can_be_remote = matches!(
            barrier,
            MbarrierKind::Arrive { state: None, .. } | MbarrierKind::Expect(_) | MbarrierKind::Complete(_)
        );
        if let (Some(rank), false, 1..) = (remote, can_be_remote, mask) {
            let what = format!(
                "the barrier at {:#x} of {}: only its own block may do this",
                addresses[mask.trailing_zeros() as usize],
                grid.peer_block(self.index, rank)
            );
            self.complain(grid, Origin { warp: warp.number, lane: mask.trailing_zeros() as usize, pc }, what);
            return Ok(false);
        }
        let mut changes = !matches!(barrier, MbarrierKind::Test { .. });
        match barrier {
            MbarrierKind::ArriveAfterCopies { .. } => self.end_copies(grid, warp, mask, None, true),
            MbarrierKind::Test { .. } => {
                lanes_of(mask).for_each(|lane| changes |= self.end_bulk(grid, addresses[lane]));
            }
            _ => {}
        }
        self.visit(warp, request, mask);
        let observed = Observed::weak(kind, pc, (warp.number, mask), addresses, bytes);
        for discovery in self.checks.mbarrier(&observed) {
            self.report(grid, pc, warp.number, discovery);
        }
        if matches!(barrier, MbarrierKind::Init(_)) {
            self.checks.mbarriers_initialised(&observed);
        }
        let mut past = 0;
        let access = self.record(grid, warp, request, mask);
        for lane in lanes_of(mask) {
            match self.mbarrier_of(grid, warp, lane, addresses[lane], barrier) {
                Ok(is_past) => past |= Mask::from(is_past) << lane,
                Err(what) => {
                    let what = format!("the barrier at {:#x}: {what}", addresses[lane]);
                    self.complain(grid, Origin { warp: warp.number, lane, pc }, what);
                }
            }
        }
        self.recorded(grid, Some(warp), access);
        if let MbarrierKind::Test { to, .. } = *barrier {
            self.record_tests(grid, addresses, mask, past);
            self.checks.phase_seen(&Observed { mask: past, ..observed });
            if let Some(to) = to {
                warp.registers.set_predicate(to, past, mask);
            }
        }
        Ok(changes)
    }

    /// One lane's operation. Returns whether the tested phase is complete; the error is a misuse.
    fn mbarrier_of(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        lane: usize,
        address: u64,
        kind: &MbarrierKind,
    ) -> Result<bool, String> {
        let read = |slot: Slot| warp.registers.read::<u32>(slot)[lane];
        let bits = get_bytes(&self.shared.bytes, address, BYTES);
        let mut state = match *kind {
            MbarrierKind::Init(count) => {
                put_bytes(&mut self.shared.bytes, address, BYTES, State::new(read(count))?.to_bits());
                self.record_init(grid, address, read(count));
                return Ok(false);
            }
            _ => State::from_bits(bits).ok_or("it is not initialised")?,
        };
        match *kind {
            MbarrierKind::Init(_) => {}
            MbarrierKind::Invalidate => {
                put_bytes(&mut self.shared.bytes, address, BYTES, 0);
                return Ok(false);
            }
            MbarrierKind::Expect(bytes) => state.expect(read(bytes).into())?,
            MbarrierKind::Complete(bytes) => state.expect(-i64::from(read(bytes)))?,
            MbarrierKind::ArriveAfterCopies { increments } => {
                if increments {
                    state.add();
                }
                state.arrive(1, false)?;
            }
            MbarrierKind::Arrive { state: to, count, bytes, drop, must_not_complete } => {
                let (count, bytes) = (count.map_or(1, read), bytes.map_or(0, read));
                if let Some(to) = to {
                    warp.registers.write(to, &[bits; LANES], 1 << lane);
                }
                state.expect(bytes.into())?;
                state.arrive(count, drop)?;
                if must_not_complete && { state }.try_complete() {
                    return Err("an arrival with `.noComplete` completes the phase".to_owned());
                }
            }
            MbarrierKind::Test { phase: Phase::Of(slot), .. } => {
                return Ok(state.is_past(warp.registers.read::<u64>(slot)[lane]));
            }
            MbarrierKind::Test { phase: Phase::Parity(slot), .. } => return Ok(state.is_past_parity(read(slot))),
        }
        self.store_mbarrier(grid, address, state);
        Ok(false)
    }

    /// Stores an mbarrier and completes its phase if nothing is pending.
    pub(crate) fn store_mbarrier(&mut self, grid: &Grid<'_>, address: u64, mut state: State) {
        let before = state;
        let completes = state.try_complete();
        self.record_mbarrier(grid, address, before, completes);
        if completes {
            self.checks.phase_done(address);
        }
        put_bytes(&mut self.shared.bytes, address, BYTES, state.to_bits());
    }

    /// Counts bytes that a bulk copy has written: `complete_tx`.
    pub(crate) fn complete_tx(&mut self, grid: &Grid<'_>, address: u64, bytes: u32) -> Result<(), String> {
        let mut state =
            State::from_bits(get_bytes(&self.shared.bytes, address, BYTES)).ok_or("it is not initialised")?;
        state.expect(-i64::from(bytes))?;
        self.store_mbarrier(grid, address, state);
        Ok(())
    }
}
