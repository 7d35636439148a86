//! Loads, stores and atomic operations: addresses become places in a memory, checked and counted.

use std::sync::atomic::Ordering::Relaxed;

use super::block::{Fault, Site};
use super::grid::Grid;
use super::warp::Warp;
use crate::Space;
use crate::check::{AccessKind, Observed};
use crate::coalesce::{self, SECTOR_BYTES};
use crate::counters::Count;
use crate::finding::{FindingKind, plural};
use crate::lanes::lanes_of;
use crate::memory::{Allocation, Missing, window};
use crate::program::{Access, Atomic, Element, Pc};
use crate::registers::{LANES, Mask, Registers};

/// Addresses that lie a multiple of this apart are in the same bank of the first-level cache.
const BANKS_BYTES: u64 = 128;

/// Patterns that are kept for each instruction: one for each sector of a line that an access can begin in.
const PHASES: usize = (BANKS_BYTES / SECTOR_BYTES) as usize;

/// What the last access of each instruction came to: the next one mostly has the same pattern.
#[derive(Debug)]
pub(super) struct Memo(Vec<Option<Box<Pattern>>>);

#[derive(Debug)]
struct Pattern {
    mask: Mask,
    phase: u64,
    offsets: [u64; LANES],
    sectors: u32,
    wavefronts: u32,
}

impl Memo {
    /// For a program of so many instructions, each with a place for what it does in a second memory, behind all first ones.
    pub(super) fn new(instructions: usize) -> Self {
        Self((0..2 * instructions * PHASES).map(|_| None).collect())
    }

    /// Sectors and wavefronts of an access. They depend on the addresses relative to the first lane's, and on where
    /// that one is in the banks.
    pub(super) fn count(
        &mut self,
        pc: Pc,
        addresses: &[u64; LANES],
        mask: Mask,
        of: impl Fn(&[u64; LANES]) -> (u32, u32),
    ) -> (u32, u32) {
        let first = addresses[mask.trailing_zeros() as usize];
        let phase = first % BANKS_BYTES;
        let offsets = addresses.map(|address| address.wrapping_sub(first));
        let known = &mut self.0[pc * PHASES + (phase / SECTOR_BYTES) as usize];
        let is_same =
            |pattern: &&mut Box<Pattern>| (pattern.mask, pattern.phase) == (mask, phase) && pattern.offsets == offsets;
        if let Some(pattern) = known.as_mut().filter(is_same) {
            return (pattern.sectors, pattern.wavefronts);
        }
        let (sectors, wavefronts) = of(addresses);
        *known = Some(Box::new(Pattern { mask, phase, offsets, sectors, wavefronts }));
        (sectors, wavefronts)
    }
}

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
}

impl Request {
    /// What the checkers see of it.
    fn observed(&self, warp: &Warp, mask: Mask) -> Observed<'_> {
        let Self { pc, kind, ref addresses, bytes, .. } = *self;
        Observed { kind, pc, warp: warp.index, mask, addresses, bytes }
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
    fn each_space(
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
            let bytes = access.bytes();
            let alignment = bytes.next_power_of_two();
            let request = Request { pc, kind, space, mask: same, addresses: places, bytes, alignment };
            let allowed = self.check(grid, warp, &request, count)?;
            f(self, warp, &request, allowed);
            if let Some(races) = grid.global_races.as_ref().filter(|_| space == Space::Global && allowed != 0) {
                self.checks.global_done(races, &request.observed(warp, allowed));
            }
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
            self.report(grid, pc, warp.index, discovery);
        }
        Ok(mask)
    }

    /// The lanes whose bytes are all there, at addresses that they may be at; a fault where others count as one.
    pub(super) fn inside(&self, grid: &Grid<'_>, warp: &Warp, request: &Request) -> Result<Mask, Fault> {
        let Request { mask, ref addresses, alignment, .. } = *request;
        let alignment = u64::from(alignment);
        let outside = outside(grid, self, request);
        let misaligned = lanes_of(mask).filter(|&lane| addresses[lane] % alignment != 0);
        let misaligned = if addresses.iter().fold(0, |all, address| all | address) % alignment == 0 {
            0
        } else {
            misaligned.fold(0, |mask, lane| mask | 1 << lane)
        };
        let bad = outside | misaligned;
        if bad != 0 && grid.checks.memory {
            return Err(self.bad_access(grid, warp, request, bad, misaligned));
        }
        Ok(mask & !bad)
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
            (FindingKind::Misaligned, format!("is no multiple of {alignment}"))
        } else {
            (FindingKind::OutOfBounds, self.why_outside(grid, space, address, bytes))
        };
        let bytes = plural(bytes, "byte");
        let what = format!("{access} of {bytes} of {space} memory at {address:#x}, which {why}");
        self.finding(grid, kind, pc, warp.index * LANES + lane, what).into()
    }

    fn why_outside(&self, grid: &Grid<'_>, space: Space, address: u64, bytes: u32) -> String {
        let size = match space {
            Space::Shared => self.shared.len(),
            Space::Local => grid.program.local_bytes as usize,
            Space::Param => grid.params.len(),
            Space::Const => grid.program.image.constant.len(),
            Space::Global | Space::Generic => return why_missing(grid, address, bytes),
        } as u64;
        match address.checked_sub(size) {
            Some(distance) => format!("is {} the end of its {}", behind(distance), plural(size, "byte")),
            None => format!("is byte {address} of its {size}: it goes on behind the end"),
        }
    }

    pub(super) fn atomic(
        &mut self,
        grid: &Grid<'_>,
        warp: &mut Warp,
        pc: Pc,
        atomic: &Atomic,
        mask: Mask,
        count: &mut Count,
    ) -> Result<(), Fault> {
        let elements = atomic.elements.iter();
        let access = Access {
            space: atomic.space,
            address: atomic.address,
            width: atomic.width,
            elements: elements
                .map(|e| Element { slot: e.a, rows: rows_of(atomic.width), sign_extend: false })
                .collect(),
            is_strong: true,
        };
        self.each_space(grid, warp, pc, &access, AccessKind::Atomic, mask, count, |site, warp, request, allowed| {
            for (index, element) in atomic.elements.iter().enumerate() {
                let offset = index as u64 * u64::from(atomic.width);
                let rows = rows_of(atomic.width);
                let operand = |slot| get(&warp.registers, &Element { slot, rows, sign_extend: false });
                let (a, b) = (operand(element.a), element.b.map_or([0; LANES], operand));
                let mut old = [0; LANES];
                let apply = if request.space == Space::Shared { atomic.apply_shared } else { atomic.apply };
                for lane in lanes_of(allowed) {
                    let update = |old: u64| apply(old, a[lane], b[lane]);
                    old[lane] = site.update(grid, request, lane, offset, atomic.width, update);
                }
                if let Some(slot) = element.result {
                    let to = Element { slot, rows, sign_extend: false };
                    put(&mut warp.registers, &to, atomic.width, &old, request.mask);
                }
            }
        })
    }

    /// Replaces a value by a function of it, and returns the old one.
    fn update(
        &mut self,
        grid: &Grid<'_>,
        request: &Request,
        lane: usize,
        offset: u64,
        width: u32,
        f: impl Fn(u64) -> u64,
    ) -> u64 {
        let address = request.addresses[lane] + offset;
        match request.space {
            Space::Shared => {
                let old = get_bytes(&self.shared, address, width);
                put_bytes(&mut self.shared, address, width, f(old));
                old
            }
            Space::Global => match grid.memory.find(address) {
                Ok(allocation) if width == 4 => {
                    let word = &allocation.words()[((address - allocation.base()) / 4) as usize];
                    let replaced = |old: u32| Some(f(old.into()) as u32);
                    word.fetch_update(Relaxed, Relaxed, replaced).unwrap_or_default().into()
                }
                Ok(allocation) => {
                    // Wider or narrower than a word: one at a time, whoever it is.
                    let _guard = grid.wide_atomics.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    let at = address - allocation.base();
                    let old = load(allocation, at, width);
                    store(allocation, at, width, f(old));
                    old
                }
                Err(_) => 0,
            },
            _ => 0,
        }
    }
}

const fn rows_of(width: u32) -> u32 {
    width.div_ceil(4)
}

fn behind(distance: u64) -> String {
    if distance == 0 { "right behind".to_owned() } else { format!("{} behind", plural(distance, "byte")) }
}

/// Why not all bytes of global memory are there.
fn why_missing(grid: &Grid<'_>, address: u64, bytes: u32) -> String {
    let end = address.wrapping_add(u64::from(bytes));
    let missing = grid.memory.find(address).err().or_else(|| grid.memory.find(end.wrapping_sub(1)).err());
    match missing {
        Some(Missing::Freed(base, size)) => {
            format!("was given back: it is byte {} of {size} that were at {base:#x}", address.wrapping_sub(base))
        }
        Some(Missing::Behind { base, bytes: size, .. }) => match address.checked_sub(base + size) {
            Some(distance) => format!("is {} the end of {} at {base:#x}", behind(distance), plural(size, "byte")),
            None => format!("is byte {} of {size} at {base:#x}: it goes on behind the end", address - base),
        },
        _ => "is in no allocation".to_owned(),
    }
}

/// The lanes whose bytes are not all there.
fn outside(grid: &Grid<'_>, site: &Site, request: &Request) -> Mask {
    let Request { space, mask, ref addresses, bytes, .. } = *request;
    let bytes = u64::from(bytes);
    let size = match space {
        Space::Shared => site.shared.len(),
        Space::Local => grid.program.local_bytes as usize,
        Space::Param => grid.params.len(),
        Space::Const => grid.program.image.constant.len(),
        Space::Global | Space::Generic => {
            let first = addresses[mask.trailing_zeros() as usize];
            let allocation = grid.memory.find(first).ok();
            let is_inside = |allocation: &Allocation, address: u64| {
                address.wrapping_sub(allocation.base()) <= allocation.bytes().wrapping_sub(bytes)
                    && allocation.bytes() >= bytes
            };
            let is_outside = |&lane: &usize| {
                let address = addresses[lane];
                !allocation.is_some_and(|allocation| is_inside(allocation, address))
                    && !grid.memory.find(address).is_ok_and(|allocation| is_inside(allocation, address))
            };
            return lanes_of(mask).filter(is_outside).fold(0, |mask, lane| mask | 1 << lane);
        }
    } as u64;
    let is_outside = |&lane: &usize| addresses[lane].checked_add(bytes).is_none_or(|end| end > size);
    lanes_of(mask).filter(is_outside).fold(0, |mask, lane| mask | 1 << lane)
}

/// The value of each lane's register, as far as an access can take it.
fn get(registers: &Registers, element: &Element) -> [u64; LANES] {
    match element.rows {
        1 => registers.read::<u32>(element.slot).map(u64::from),
        _ => registers.read::<u64>(element.slot),
    }
}

/// Puts loaded values into registers, zero- or sign-extended.
fn put(registers: &mut Registers, element: &Element, width: u32, values: &[u64; LANES], mask: Mask) {
    let shift = 64 - 8 * width.min(8);
    let extended = |value: u64| if element.sign_extend { ((value << shift) as i64 >> shift) as u64 } else { value };
    match element.rows {
        1 if width == 4 || !element.sign_extend => {
            registers.write(element.slot, &values.map(|value| value as u32), mask);
        }
        1 => registers.write(element.slot, &values.map(|value| extended(value) as u32), mask),
        2 => registers.write(element.slot, &values.map(extended), mask),
        _ => registers.write(element.slot, &values.map(|value| u128::from(extended(value))), mask),
    }
}

/// Reads `width` bytes, `offset` bytes behind each lane's address.
#[allow(clippy::too_many_arguments)]
fn read(
    grid: &Grid<'_>,
    site: &Site,
    warp: &Warp,
    request: &Request,
    lanes: Mask,
    offset: u64,
    width: u32,
    values: &mut [u64; LANES],
) {
    let addresses = &request.addresses;
    match request.space {
        Space::Shared => gather(&site.shared, addresses, offset, lanes, width, values),
        Space::Param => gather(grid.params, addresses, offset, lanes, width, values),
        Space::Const => gather(&grid.program.image.constant, addresses, offset, lanes, width, values),
        Space::Local => {
            let bytes = u64::from(grid.program.local_bytes);
            let addresses = std::array::from_fn(|lane| addresses[lane] + lane as u64 * bytes);
            gather(&warp.local, &addresses, offset, lanes, width, values);
        }
        Space::Global | Space::Generic => {
            let mut current: Option<&Allocation> = None;
            for lane in lanes_of(lanes) {
                let address = addresses[lane] + offset;
                let inside = current.filter(|a| address.wrapping_sub(a.base()) < a.bytes());
                let Some(allocation) = inside.or_else(|| grid.memory.find(address).ok()) else { continue };
                current = Some(allocation);
                let at = address - allocation.base();
                values[lane] = if width == 4 {
                    allocation.words()[(at / 4) as usize].load(Relaxed).into()
                } else {
                    load(allocation, at, width)
                };
            }
        }
    }
}

/// Writes `width` bytes, `offset` bytes behind each lane's address, the highest lane last.
#[allow(clippy::too_many_arguments)]
fn write(
    grid: &Grid<'_>,
    site: &mut Site,
    warp: &mut Warp,
    request: &Request,
    lanes: Mask,
    offset: u64,
    width: u32,
    values: &[u64; LANES],
) {
    let addresses = &request.addresses;
    match request.space {
        Space::Shared => {
            for lane in lanes_of(lanes) {
                put_bytes(&mut site.shared, addresses[lane] + offset, width, values[lane]);
            }
        }
        Space::Local => {
            for lane in lanes_of(lanes) {
                let start = lane as u64 * u64::from(grid.program.local_bytes);
                put_bytes(&mut warp.local, start + addresses[lane] + offset, width, values[lane]);
            }
        }
        Space::Global | Space::Generic => {
            let mut current: Option<&Allocation> = None;
            for lane in lanes_of(lanes) {
                let address = addresses[lane] + offset;
                let inside = current.filter(|a| address.wrapping_sub(a.base()) < a.bytes());
                let Some(allocation) = inside.or_else(|| grid.memory.find(address).ok()) else { continue };
                current = Some(allocation);
                store(allocation, address - allocation.base(), width, values[lane]);
            }
        }
        Space::Param | Space::Const => {}
    }
}

/// Loads from words that other threads of the host may write meanwhile.
fn load(allocation: &Allocation, at: u64, width: u32) -> u64 {
    let word = |index: u64| u64::from(allocation.words()[index as usize].load(Relaxed));
    match width {
        4 => word(at / 4),
        8 => word(at / 4) | word(at / 4 + 1) << 32,
        _ => {
            (0..width).fold(0, |value, byte| value | u64::from(allocation.load_u8(at + u64::from(byte))) << (8 * byte))
        }
    }
}

fn store(allocation: &Allocation, at: u64, width: u32, value: u64) {
    let word = |index: u64, value: u64| allocation.words()[index as usize].store(value as u32, Relaxed);
    match width {
        4 => word(at / 4, value),
        8 => {
            word(at / 4, value);
            word(at / 4 + 1, value >> 32);
        }
        _ => (0..width).for_each(|byte| allocation.store_u8(at + u64::from(byte), (value >> (8 * byte)) as u8)),
    }
}

fn gather(memory: &[u8], addresses: &[u64; LANES], offset: u64, lanes: Mask, width: u32, values: &mut [u64; LANES]) {
    if width == 4 {
        for lane in lanes_of(lanes) {
            let at = (addresses[lane] + offset) as usize;
            values[lane] = memory[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)).into();
        }
    } else {
        for lane in lanes_of(lanes) {
            values[lane] = get_bytes(memory, addresses[lane] + offset, width);
        }
    }
}

pub(super) fn get_bytes(memory: &[u8], at: u64, width: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..width as usize].copy_from_slice(&memory[at as usize..][..width as usize]);
    u64::from_le_bytes(bytes)
}

pub(super) fn put_bytes(memory: &mut [u8], at: u64, width: u32, value: u64) {
    memory[at as usize..][..width as usize].copy_from_slice(&value.to_le_bytes()[..width as usize]);
}
