//! What the lanes of one access come to in the hardware: sectors of global memory, wavefronts of shared memory.

use crate::lanes::lanes_of;
use crate::registers::{LANES, Mask};

/// Bytes of a sector: what global memory is read and written in.
const SECTOR_BYTES: u64 = 32;

/// Bytes of a cache line.
const LINE_BYTES: u64 = 128;

/// Sectors of 32 bytes that the lanes touch.
pub(crate) fn sectors(addresses: &[u64; LANES], mask: Mask, bytes: u32) -> u32 {
    distinct(addresses, mask, bytes, SECTOR_BYTES)
}

/// Cache lines that the lanes touch.
pub(crate) fn lines(addresses: &[u64; LANES], mask: Mask, bytes: u32) -> u32 {
    distinct(addresses, mask, bytes, LINE_BYTES)
}

fn distinct(addresses: &[u64; LANES], mask: Mask, bytes: u32, unit: u64) -> u32 {
    let mut seen = [0u64; 2 * LANES];
    let mut count = 0;
    for lane in lanes_of(mask) {
        let (first, last) = (addresses[lane] / unit, (addresses[lane] + u64::from(bytes) - 1) / unit);
        for number in first..=last {
            if count == 0 || seen[count - 1] != number && !seen[..count].contains(&number) {
                seen[count] = number;
                count += 1;
            }
        }
    }
    count as u32
}

/// Wavefronts of an access to shared memory: lanes whose words are in the same bank, but are not the same word, take one
/// after the other.
pub(crate) fn wavefronts(offsets: &[u64; LANES], mask: Mask, bytes: u32) -> u32 {
    const BANKS: usize = 32;
    let lanes_at_once = match bytes {
        0..=4 => LANES,
        5..=8 => LANES / 2,
        _ => LANES / 4,
    };
    let mut wavefronts = 0;
    for first in (0..LANES).step_by(lanes_at_once) {
        let group = mask & (u32::MAX >> (LANES - lanes_at_once)) << first;
        let mut words: Vec<u64> =
            lanes_of(group).flat_map(|lane| offsets[lane] / 4..=(offsets[lane] + u64::from(bytes) - 1) / 4).collect();
        words.sort_unstable();
        words.dedup();
        let mut per_bank = [0u32; BANKS];
        words.iter().for_each(|word| per_bank[*word as usize % BANKS] += 1);
        wavefronts += per_bank.into_iter().max().unwrap_or(0);
    }
    wavefronts
}
