//! Loads and stores: addresses become places in a memory, checked and counted.

use super::block::{Fault, Site};
use super::data::{get, put, read, write};
use super::grid::Grid;
use super::warp::Warp;
use crate::Space;
use crate::check::{AccessKind, Observed};
use crate::coalesce;
use crate::counters::Count;
use crate::lanes::lanes_of;
use crate::memory::window;
use crate::program::{Access, Pc};
use crate::registers::{LANES, Mask};

/// An access on its way: who, where, and how many bytes per lane.
pub(super) struct Request {
    pub pc: Pc,
    pub kind: AccessKind,
    pub space: Space,
    pub mask: Mask,
    /// Within the space; in local memory, within that of the whole block.
    pub addresses: [u64; LANES],
    pub bytes: u32,
    /// What addresses must be multiples of.
    pub alignment: u32,
    /// The rank in the cluster of the block whose shared memory it is, where that is another one.
    pub remote: Option<usize>,
}

impl Request {
    /// What the checkers see of it.
    fn observed(&self, warp: &Warp, mask: Mask) -> Observed<'_> {
        let Self { pc, kind, ref addresses, bytes, .. } = *self;
        Observed { kind, pc, warp: warp.number, mask, addresses, bytes }
    }
}

impl Site {
    pub(super) fn load(
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

    pub(super) fn store(
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

    /// Runs `f` for the lanes of each state space that the addresses lie in: mostly one.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn each_space(
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
        if mask == 0 {
            return Ok(());
        }
        let addresses = warp.addresses(&access.address);
        let mut rest = mask;
        while rest != 0 {
            let (mut space, mut same, mut places) = (access.space, rest, addresses);
            if space == Space::Generic {
                space = window::resolve(addresses[rest.trailing_zeros() as usize]).0;
                let is_same = |&lane: &usize| window::resolve(addresses[lane]).0 == space;
                same = lanes_of(rest).filter(is_same).fold(0, |mask, lane| mask | 1 << lane);
                places = addresses.map(|address| window::resolve(address).1);
            }
            let mut remote = None;
            if space == Space::Shared && places.iter().fold(0, |all, place| all | place) >= window::RANK {
                (remote, same) = self.same_block(&mut places, same);
            }
            let bytes = access.bytes();
            let alignment = bytes.next_power_of_two();
            let request = Request { pc, kind, space, mask: same, addresses: places, bytes, alignment, remote };
            self.in_memory_of(remote, |site| {
                let allowed = site.check(grid, warp, &request, count)?;
                f(site, warp, &request, allowed);
                if let Some(races) = grid.global_races.as_ref().filter(|_| space == Space::Global && allowed != 0) {
                    site.checks.global_done(races, &request.observed(warp, allowed));
                }
                Ok::<(), Fault>(())
            })?;
            rest &= !same;
        }
        Ok(())
    }

    /// Counts an access and lets the checkers see it. Returns the lanes whose access can be carried out.
    pub(super) fn check(
        &mut self,
        grid: &Grid<'_>,
        warp: &Warp,
        request: &Request,
        count: &mut Count,
    ) -> Result<Mask, Fault> {
        let Request { pc, kind, space, ref addresses, bytes, .. } = *request;
        let mask = self.inside(grid, warp, request)?;
        if mask == 0 {
            return Ok(0);
        }
        count.requests += 1;
        let (sectors, wavefronts) = match space {
            Space::Shared => self.patterns.count(pc, addresses, mask, |addresses| {
                (0, coalesce::shared_wavefronts(addresses, mask, bytes, kind.reads() && !kind.writes()))
            }),
            // Which lines meet in a bank of tags depends on the address's high bits too: an earlier access stands for all.
            Space::Global | Space::Local => self.patterns.count(pc, addresses, mask, |addresses| {
                (coalesce::sectors(addresses, mask, bytes), coalesce::global_wavefronts(addresses, mask, bytes))
            }),
            _ => (0, 0),
        };
        count.sectors += u64::from(sectors);
        count.wavefronts += u64::from(wavefronts);
        if let (Some(footprint), Space::Global) = (&mut self.footprint, space) {
            footprint.touch(grid.memory, addresses, mask, bytes);
        }
        let observed = request.observed(warp, mask);
        let found = match space {
            Space::Shared => self.checks.shared(&observed),
            Space::Local => self.checks.local(&observed).into_iter().collect(),
            Space::Global => self.checks.global(grid.global_races.as_ref(), &observed),
            _ => vec![],
        };
        for discovery in found {
            self.report(grid, pc, warp.number, discovery);
        }
        Ok(mask)
    }
}
