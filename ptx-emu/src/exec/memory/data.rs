//! Moves values between memories and registers. Bounds have been checked.

use std::sync::atomic::Ordering::Relaxed;

use super::request::Request;
use crate::exec::state::{Grid, Site, Warp};
use crate::lanes::{LANES, Mask, Registers, lanes_of};
use crate::memory::Allocation;
use crate::program::Element;
use crate::types::Space;

/// By lane, the register's value, at most 64 bits.
pub(crate) fn get(registers: &Registers, element: &Element) -> [u64; LANES] {
    match element.rows {
        1 => registers.read::<u32>(element.slot).map(u64::from),
        _ => registers.read::<u64>(element.slot),
    }
}

/// Writes loaded values to registers, zero- or sign-extended.
pub(crate) fn put(registers: &mut Registers, element: &Element, width: u32, values: &[u64; LANES], mask: Mask) {
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

/// Reads `width` bytes at each lane's address plus `offset`.
#[allow(clippy::too_many_arguments)]
pub(crate) fn read(
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
        Space::Shared => gather(&site.shared.bytes, addresses, offset, lanes, width, values),
        Space::Param => gather(grid.params, addresses, offset, lanes, width, values),
        Space::Const => gather(&grid.constants.bytes, addresses, offset, lanes, width, values),
        Space::Local => {
            let bytes = u64::from(grid.program.local_bytes);
            let addresses = std::array::from_fn(|lane| addresses[lane] + lane as u64 * bytes);
            gather(&warp.local, &addresses, offset, lanes, width, values);
        }
        Space::Global | Space::Generic => {
            in_allocations(grid, addresses, offset, lanes, |lane, allocation, at| {
                values[lane] = load(allocation, at, width);
            });
        }
    }
}

/// Writes `width` bytes at each lane's address plus `offset`, the highest lane last.
#[allow(clippy::too_many_arguments)]
pub(crate) fn write(
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
                put_bytes(&mut site.shared.bytes, addresses[lane] + offset, width, values[lane]);
            }
        }
        Space::Local => {
            for lane in lanes_of(lanes) {
                let start = lane as u64 * u64::from(grid.program.local_bytes);
                put_bytes(&mut warp.local, start + addresses[lane] + offset, width, values[lane]);
            }
        }
        Space::Global | Space::Generic => {
            in_allocations(grid, addresses, offset, lanes, |lane, allocation, at| {
                store(allocation, at, width, values[lane]);
            });
        }
        Space::Param | Space::Const => {}
    }
}

/// Calls `f` for each lane with its allocation, usually the previous lane's, and the offset there.
#[inline(always)]
fn in_allocations(
    grid: &Grid<'_>,
    addresses: &[u64; LANES],
    offset: u64,
    lanes: Mask,
    mut f: impl FnMut(usize, &Allocation, u64),
) {
    let mut current: Option<&Allocation> = None;
    for lane in lanes_of(lanes) {
        let address = addresses[lane] + offset;
        let cached = current.filter(|a| address.wrapping_sub(a.base()) < a.bytes());
        let Some(allocation) = cached.or_else(|| grid.memory.find(address).ok()) else { continue };
        current = Some(allocation);
        f(lane, allocation, address - allocation.base());
    }
}

/// Loads words that other host threads may write meanwhile.
pub(crate) fn load(allocation: &Allocation, at: u64, width: u32) -> u64 {
    let word = |index: u64| u64::from(allocation.words()[index as usize].load(Relaxed));
    match width {
        4 => word(at / 4),
        8 => word(at / 4) | word(at / 4 + 1) << 32,
        _ => {
            (0..width).fold(0, |value, byte| value | u64::from(allocation.load_u8(at + u64::from(byte))) << (8 * byte))
        }
    }
}

pub(crate) fn store(allocation: &Allocation, at: u64, width: u32, value: u64) {
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

pub(crate) fn get_bytes(memory: &[u8], at: u64, width: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..width as usize].copy_from_slice(&memory[at as usize..][..width as usize]);
    u64::from_le_bytes(bytes)
}

pub(crate) fn put_bytes(memory: &mut [u8], at: u64, width: u32, value: u64) {
    memory[at as usize..][..width as usize].copy_from_slice(&value.to_le_bytes()[..width as usize]);
}
