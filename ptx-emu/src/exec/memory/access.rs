//! Loads and stores.

use super::data::{get, put, read, write};
use super::request::Request;
use crate::check::{AccessKind, Discovery, Observed, What};
use crate::counters::{Count, coalesce};
use crate::exec::state::{Fault, Grid, Site, Warp};
use crate::finding::{FindingKind, Rank, plural};
use crate::lanes::{LANES, Mask, lanes_of};
use crate::memory::window;
use crate::program::{Access, Pc};
use crate::types::Space;

impl Site {
    pub(crate) fn load(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        access: &Access,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let kind = if access.is_strong { AccessKind::StrongRead } else { AccessKind::Read };
        self.each_space(grid, warp, pc, access, kind, mask, count, |site, warp, request, allowed| {
            for (index, element) in access.elements.iter().enumerate() {
                let offset = index as u64 * u64::from(access.width);
                let mut values = [0u64; LANES];
                read(grid, site, warp, request, allowed, offset, access.width, &mut values);
                put(&mut warp.registers, element, access.width, &values, request.mask);
            }
        })
    }

    pub(crate) fn store(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        access: &Access,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let kind = if access.is_strong { AccessKind::StrongWrite } else { AccessKind::Write };
        self.each_space(grid, warp, pc, access, kind, mask, count, |site, warp, request, allowed| {
            for (index, element) in access.elements.iter().enumerate() {
                let offset = index as u64 * u64::from(access.width);
                let values = get(&warp.registers, element);
                write(grid, site, warp, request, allowed, offset, access.width, &values);
            }
        })
    }

    /// Runs `f` for the lanes of each state space that the addresses are in, usually one.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn each_space(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        access: &Access,
        kind: AccessKind,
        mask: Mask,
        count: &mut Count,
        f: impl Fn(&mut Self, &mut Warp, &Request, Mask),
    ) -> Result<(), Fault> {
        let addresses = warp.addresses(&access.address);
        self.each_space_at(grid, warp, pc, access, &addresses, kind, mask, count, f)
    }

    /// As [`Self::each_space`], at other addresses than those of the access.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn each_space_at(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        access: &Access,
        addresses: &[u64; LANES],
        kind: AccessKind,
        mask: Mask,
        count: &mut Count,
        f: impl Fn(&mut Self, &mut Warp, &Request, Mask),
    ) -> Result<(), Fault> {
        let addresses = *addresses;
        let mut rest = mask;
        while rest != 0 {
            let (mut space, mut same, mut offsets) = (access.space, rest, addresses);
            if space == Space::Generic {
                space = window::resolve(addresses[rest.trailing_zeros() as usize]).0;
                let is_same = |&lane: &usize| window::resolve(addresses[lane]).0 == space;
                same = lanes_of(rest).filter(is_same).fold(0, |mask, lane| mask | 1 << lane);
                offsets = addresses.map(|address| window::resolve(address).1);
            }
            let mut remote = None;
            if space == Space::Shared && offsets.iter().fold(0, |all, offset| all | offset) >= window::RANK {
                (remote, same) = self.same_block(&mut offsets, same);
            }
            let bytes = access.bytes();
            let alignment = bytes.next_power_of_two();
            let (addresses, semantics) = (offsets, access.semantics);
            let request = Request { pc, kind, space, mask: same, addresses, bytes, alignment, remote, semantics };
            self.in_memory_of(remote, |site| {
                let allowed = site.check(grid, warp, &request, Some(access), count)?;
                let recorded = site.record(grid, warp, &request, allowed);
                f(site, warp, &request, allowed);
                site.recorded(grid, Some(warp), recorded);
                if let Some(races) = grid.global_races.as_ref().filter(|_| space == Space::Global && allowed != 0) {
                    site.checks.global_done(races, &request.observed(warp, allowed));
                }
                Ok::<(), Fault>(())
            })?;
            rest &= !same;
        }
        Ok(())
    }

    /// Counts an access and shows it to the checkers. `stored` has the registers that a store writes, where they are single
    /// elements. Returns the lanes whose access is valid.
    pub(crate) fn check(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        request: &Request,
        stored: Option<&Access>,
        count: &mut Count,
    ) -> Result<Mask, Fault> {
        let Request { pc, kind, space, ref addresses, bytes, .. } = *request;
        let mask = self.in_bounds(grid, warp, request)?;
        if mask == 0 {
            return Ok(0);
        }
        self.visit(warp, request, mask);
        count.requests += 1;
        let (sectors, wavefronts) = match space {
            Space::Shared => self.patterns.count(pc, addresses, mask, |addresses| {
                (0, coalesce::shared_wavefronts(addresses, mask, bytes, kind.reads() && !kind.writes()))
            }),
            // Tag banks depend on the high address bits too: the memoised access stands for all.
            Space::Global | Space::Local => self.patterns.count(pc, addresses, mask, |addresses| {
                (coalesce::sectors(addresses, mask, bytes), coalesce::global_wavefronts(addresses, mask, bytes))
            }),
            _ => (0, 0),
        };
        count.sectors += u64::from(sectors);
        count.wavefronts += u64::from(wavefronts);
        if let (Some(footprint), Space::Global) = (&mut self.footprint, space) {
            footprint.touch(grid.memory, addresses, mask, bytes, kind.reads());
        }
        let observed = request.observed(warp, mask);
        let mut found = match space {
            Space::Shared => self.checks.shared(&observed),
            Space::Local => self.checks.local(&observed).into_iter().collect(),
            Space::Global => self.checks.global(grid.global_races.as_ref(), &observed),
            _ => vec![],
        };
        if space == Space::Global && kind.reads() && grid.checks.uninitialized {
            found.extend(forbidden_load(grid, &observed));
        }
        if space == Space::Const && grid.checks.uninitialized {
            found.extend(unset_constant(grid, &observed));
        }
        for mut discovery in found {
            if let (What::Race { kind: AccessKind::Write, .. }, AccessKind::Write, Some(stored)) =
                (&discovery.what, kind, stored)
                && self.stores_the_same(grid, warp, request, stored, discovery.lane)
            {
                discovery.rank = Rank::Remark;
            }
            if (discovery.kind, space) == (FindingKind::Uninitialized, Space::Shared) {
                self.name_copy(grid, warp, request, &mut discovery);
            }
            self.report(grid, pc, warp.number, discovery);
        }
        Ok(mask)
    }

    /// Whether a lane's store writes what is there already, from a lower lane of the same store if that has the address.
    fn stores_the_same(&self, grid: &Grid<'_>, warp: &Warp, request: &Request, stored: &Access, lane: usize) -> bool {
        let address = request.addresses[lane];
        let before = request.mask & ((1 << lane) - 1);
        let lower = lanes_of(before).filter(|&other| request.addresses[other] == address).last();
        stored.elements.iter().enumerate().all(|(index, element)| {
            let values = get(&warp.registers, element);
            let mut there = [0u64; LANES];
            let (offset, width) = (index as u64 * u64::from(stored.width), stored.width);
            read(grid, self, warp, request, 1 << lane, offset, width, &mut there);
            let mask = u64::MAX >> (64 - 8 * width.min(8));
            let there = lower.map_or(there[lane], |lower| values[lower]);
            values[lane] & mask == there & mask
        })
    }
}

/// The first lane that loads a constant which nobody has set.
fn unset_constant(grid: &Grid<'_>, access: &Observed<'_>) -> Option<Discovery> {
    let unset = |lane: usize| Some((lane, grid.constants.unset_at(access.addresses[lane], access.bytes)?));
    let (lane, name) = lanes_of(access.mask).find_map(unset)?;
    let what = What::Text(format!("reads `{name}`, a constant without an initial value that the launch has not set"));
    Some(Discovery { kind: FindingKind::Uninitialized, rank: Rank::Warning, lane, other: None, what })
}

/// The first lane that loads what kernels must not read.
fn forbidden_load(grid: &Grid<'_>, access: &Observed<'_>) -> Option<Discovery> {
    let lane = lanes_of(access.mask).find(|&lane| grid.memory.forbids_load(access.addresses[lane]))?;
    let (bytes, address) = (plural(access.bytes, "byte"), access.addresses[lane]);
    let place = grid.place_of(address);
    let what = What::Text(format!("reads {bytes} of global memory at {address:#x}{place} that it must not read"));
    let (kind, rank) = (FindingKind::Uninitialized, Rank::Error);
    Some(Discovery { kind, rank, lane, other: None, what })
}
