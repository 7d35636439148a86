//! Barriers in shared memory: `mbarrier`.

use super::access::Request;
use super::block::{Fault, Site};
use super::data::{get_bytes, put_bytes};
use super::grid::Grid;
use super::warp::Warp;
use crate::Space;
use crate::check::{AccessKind, Observed};
use crate::lanes::lanes_of;
use crate::memory::window;
use crate::ops::mbarrier::Mbarrier as State;
use crate::program::{Mbarrier, MbarrierKind, Pc, Phase};
use crate::registers::{LANES, Mask, Slot};

/// Bytes of a barrier.
const BYTES: u32 = 8;

impl Site {
    pub(super) fn mbarrier(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        barrier: &Mbarrier,
        mask: Mask,
    ) -> Result<(), Fault> {
        let addresses = shared(barrier.space, warp.addresses(&barrier.address));
        let kind = match barrier.kind {
            MbarrierKind::Init(_) | MbarrierKind::Invalidate => AccessKind::Write,
            MbarrierKind::Test { .. } => AccessKind::StrongRead,
            _ => AccessKind::StrongWrite,
        };
        let (space, bytes, alignment) = (Space::Shared, BYTES, BYTES);
        let mut rest = mask;
        while rest != 0 {
            let mut places = addresses;
            let (remote, same) = self.same_block(&mut places, rest);
            let request = Request { pc, kind, space, mask: same, addresses: places, bytes, alignment, remote };
            self.in_memory_of(remote, |site| site.mbarrier_here(grid, warp, &barrier.kind, &request))?;
            rest &= !same;
        }
        Ok(())
    }

    /// As [`Self::mbarrier`], for barriers in one block's shared memory.
    fn mbarrier_here(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        barrier: &MbarrierKind,
        request: &Request,
    ) -> Result<(), Fault> {
        let Request { pc, kind, ref addresses, bytes, remote, .. } = *request;
        let mask = self.inside(grid, warp, request)?;
        let can_be_remote = matches!(
            barrier,
            MbarrierKind::Arrive { state: None, .. } | MbarrierKind::Expect(_) | MbarrierKind::Complete(_)
        );
        if let (Some(rank), false, 1..) = (remote, can_be_remote, mask) {
            let what = format!(
                "the barrier at {:#x} of {}: only its own block can do this",
                addresses[mask.trailing_zeros() as usize],
                grid.neighbour(self.index, rank)
            );
            self.complain(grid, (warp.number, mask.trailing_zeros() as usize, pc), what);
            return Ok(());
        }
        match barrier {
            MbarrierKind::ArriveAfterCopies { .. } => self.end_copies(grid, warp, mask, None, true),
            MbarrierKind::Test { .. } => lanes_of(mask).for_each(|lane| _ = self.end_bulk(grid, addresses[lane])),
            _ => {}
        }
        let observed = Observed { kind, pc, warp: warp.number, mask, addresses, bytes };
        for discovery in self.checks.mbarrier(&observed) {
            self.report(grid, pc, warp.number, discovery);
        }
        let mut past = 0;
        for lane in lanes_of(mask) {
            match self.mbarrier_of(warp, lane, addresses[lane], barrier) {
                Ok(is_past) => past |= Mask::from(is_past) << lane,
                Err(what) => {
                    let what = format!("the barrier at {:#x}: {what}", addresses[lane]);
                    self.complain(grid, (warp.number, lane, pc), what);
                }
            }
        }
        if let MbarrierKind::Test { to, .. } = *barrier {
            self.checks.phase_seen(&Observed { mask: past, ..observed });
            if let Some(to) = to {
                warp.registers.set_predicate(to, past, mask);
            }
        }
        Ok(())
    }

    /// What a lane does with the barrier at an address. Whether the phase that it asks about is past, or what is wrong.
    fn mbarrier_of(&mut self, warp: &mut Warp, lane: usize, address: u64, kind: &MbarrierKind) -> Result<bool, String> {
        let read = |slot: Slot| warp.registers.read::<u32>(slot)[lane];
        let bits = get_bytes(&self.shared.bytes, address, BYTES);
        let mut state = match *kind {
            MbarrierKind::Init(count) => {
                put_bytes(&mut self.shared.bytes, address, BYTES, State::new(read(count))?.to_bits());
                return Ok(false);
            }
            _ => State::from_bits(bits).ok_or("nobody has initialised it")?,
        };
        match *kind {
            MbarrierKind::Init(_) => {}
            MbarrierKind::Invalidate => {
                put_bytes(&mut self.shared.bytes, address, BYTES, 0);
                return Ok(false);
            }
            MbarrierKind::Expect(bytes) => state.expect(read(bytes).into())?,
            MbarrierKind::Complete(bytes) => state.expect(-i64::from(read(bytes)))?,
            MbarrierKind::ArriveAfterCopies { adds } => {
                if adds {
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
                    return Err("the phase ends with an arrival that must not end it".to_owned());
                }
            }
            MbarrierKind::Test { phase: Phase::Of(slot), .. } => {
                return Ok(state.is_past(warp.registers.read::<u64>(slot)[lane]));
            }
            MbarrierKind::Test { phase: Phase::Parity(slot), .. } => return Ok(state.is_past_parity(read(slot))),
        }
        self.put_mbarrier(address, state);
        Ok(false)
    }

    /// Puts a barrier back that something has happened to, and ends its phase if that is over.
    pub(super) fn put_mbarrier(&mut self, address: u64, mut state: State) {
        if state.try_complete() {
            self.checks.phase_done(address);
        }
        put_bytes(&mut self.shared.bytes, address, BYTES, state.to_bits());
    }

    /// Bytes have come that the barrier waits for.
    pub(super) fn bytes_came(&mut self, address: u64, bytes: u32) -> Result<(), String> {
        let mut state =
            State::from_bits(get_bytes(&self.shared.bytes, address, BYTES)).ok_or("nobody has initialised it")?;
        state.expect(-i64::from(bytes))?;
        self.put_mbarrier(address, state);
        Ok(())
    }
}

/// Addresses in shared memory. Generic ones that are not there stay as they are, which is out of bounds.
pub(super) fn shared(space: Space, addresses: [u64; LANES]) -> [u64; LANES] {
    match space {
        Space::Generic => addresses.map(|address| match window::resolve(address) {
            (Space::Shared, offset) => offset,
            _ => address,
        }),
        _ => addresses,
    }
}
