//! Sectors of global memory and L1 wavefronts of an access.
//!
//! The rules were found by measuring some hundreds of patterns on an H200 and reproduce each of them.

use crate::lanes::{ALL_LANES, LANES, Mask, lanes_of};

/// Bytes of a sector, the granularity of global memory accesses.
pub const SECTOR_BYTES: u64 = 32;

/// Bytes that a wavefront of shared memory delivers at most.
pub(crate) const WAVEFRONT_BYTES: u64 = 128;

/// Bytes that a lane of a copy past L1 writes.
const COPY_BYTES: u32 = 16;

/// Bytes of a cache line.
const LINE_BYTES: u64 = 128;

/// Data banks of L1, which shared memory is part of; each is one word wide.
const BANKS: u64 = 32;

/// Tag banks of L1.
const TAG_BANKS: usize = 4;

/// Tag bank of a line: the XOR of these values over the set bits of its address, bit 7 first.
const TAG_HASH: [u8; 25] = [1, 2, 1, 2, 3, 1, 2, 3, 2, 1, 2, 1, 3, 1, 3, 2, 1, 3, 1, 3, 2, 3, 1, 3, 1];

/// Distinct sectors that the lanes touch.
pub(crate) fn sectors(addresses: &[u64; LANES], mask: Mask, bytes: u32) -> u32 {
    let mut sectors = Units::default();
    for lane in lanes_of(mask) {
        sectors.add(addresses[lane], bytes, SECTOR_BYTES);
    }
    sectors.distinct().len() as u32
}

/// L1 wavefronts of an access to global memory: as many as its fullest data bank or tag bank needs.
pub(crate) fn global_wavefronts(addresses: &[u64; LANES], mask: Mask, bytes: u32) -> u32 {
    let mut lines = Units::default();
    for lane in lanes_of(mask) {
        lines.add(addresses[lane], bytes, LINE_BYTES);
    }
    let mut per_bank = [0u32; TAG_BANKS];
    for line in lines.distinct() {
        let bits = TAG_HASH.iter().enumerate().filter(|(bit, _)| line >> bit & 1 != 0);
        per_bank[usize::from(bits.fold(0, |bank, (_, value)| bank ^ value))] += 1;
    }
    let tags = per_bank.into_iter().max().unwrap_or(0);
    tags.max(bank_wavefronts(addresses, mask, bytes, lanes_per_phase(bytes))).max(1)
}

/// Wavefronts of an access to shared memory. Lanes are served all at once, or by half-warps or quarter-warps for 8 or
/// 16 bytes per lane; in a wavefront, a bank delivers one word, to any number of lanes. Loads of 8 and 16 bytes serve
/// twice as many lanes where adjacent lanes share their address.
pub(crate) fn shared_wavefronts(offsets: &[u64; LANES], mask: Mask, bytes: u32, is_load: bool) -> u32 {
    let merged = is_load && bytes > 4 && are_paired(offsets, mask);
    let lanes = (lanes_per_phase(bytes) * if merged { 2 } else { 1 }).min(LANES);
    bank_wavefronts(offsets, mask, bytes, lanes).max(1)
}

/// Sectors and wavefronts of a copy from global to shared memory past L1, which reads `sizes` bytes of a lane and writes 16.
///
/// What comes from L2 is written as it comes, in sectors of both memories: a sector is fetched once for each sector of shared
/// memory that it goes to, at most once in a wavefront, and a wavefront writes what is from one line. So a swizzle that moves
/// 16 bytes across a border of 32 costs traffic and time.
pub(crate) fn bypassing_copy(from: &[u64; LANES], to: &[u64; LANES], mask: Mask, sizes: &[u32; LANES]) -> (u32, u32) {
    let mut fetched: Vec<[u64; 2]> = Vec::with_capacity(LANES);
    let mut lines: Vec<(u64, Mask)> = Vec::with_capacity(LANES);
    for lane in lanes_of(mask).filter(|&lane| sizes[lane] > 0) {
        let source = from[lane] / SECTOR_BYTES;
        let part = [source, to[lane] / SECTOR_BYTES];
        if !fetched.contains(&part) {
            fetched.push(part);
        }
        let line = from[lane] / LINE_BYTES;
        match lines.iter_mut().find(|(other, _)| *other == line) {
            Some((_, lanes)) => *lanes |= 1 << lane,
            None => lines.push((line, 1 << lane)),
        }
    }
    let wavefronts_of = |&(line, lanes): &(u64, Mask)| {
        let of_line = || fetched.iter().filter(move |[source, _]| source * SECTOR_BYTES / LINE_BYTES == line);
        let fetches = of_line().map(|[one, _]| of_line().filter(|[other, _]| one == other).count() as u32).max();
        fetches.unwrap_or(0).max(bank_wavefronts(to, lanes, COPY_BYTES, LANES))
    };
    let wavefronts: u32 = lines.iter().map(wavefronts_of).sum();
    // Lanes that read nothing write zeros.
    (fetched.len() as u32, wavefronts.max(shared_wavefronts(to, mask, COPY_BYTES, false)))
}

const fn lanes_per_phase(bytes: u32) -> usize {
    match bytes {
        0..=4 => LANES,
        5..=8 => LANES / 2,
        _ => LANES / 4,
    }
}

/// Whether each lane's partner, at distance 1 or at distance 2, has the same address or is inactive.
fn are_paired(offsets: &[u64; LANES], mask: Mask) -> bool {
    let is_paired = |distance: usize| {
        lanes_of(mask).all(|lane| {
            let partner = lane ^ distance;
            mask >> partner & 1 == 0 || offsets[partner] == offsets[lane]
        })
    };
    is_paired(1) || is_paired(2)
}

/// The wavefronts of all phases: in each, the words of the fullest bank.
fn bank_wavefronts(addresses: &[u64; LANES], mask: Mask, bytes: u32, lanes: usize) -> u32 {
    let phases = (0..LANES).step_by(lanes).map(|first| mask & (ALL_LANES >> (LANES - lanes)) << first);
    let wavefronts_of = |phase: Mask| {
        let mut words = Units::default();
        for lane in lanes_of(phase) {
            words.add(addresses[lane], bytes, 4);
        }
        let mut per_bank = [0; BANKS as usize];
        words.distinct().iter().for_each(|word| per_bank[(word % BANKS) as usize] += 1);
        per_bank.into_iter().max().unwrap_or(0)
    };
    phases.map(wavefronts_of).sum()
}

/// Indices of the words, sectors or lines that lanes touch.
struct Units {
    indices: [u64; 8 * LANES],
    count: usize,
}

impl Default for Units {
    fn default() -> Self {
        Self { indices: [0; 8 * LANES], count: 0 }
    }
}

impl Units {
    /// Adds the units that `bytes` bytes at the address are in; at most 32 bytes.
    fn add(&mut self, address: u64, bytes: u32, size: u64) {
        for index in address / size..=(address + u64::from(bytes) - 1) / size {
            if self.count == 0 || self.indices[self.count - 1] != index {
                self.indices[self.count] = index;
                self.count += 1;
            }
        }
    }

    /// The distinct units.
    fn distinct(&mut self) -> &[u64] {
        let indices = &mut self.indices[..self.count];
        indices.sort_unstable();
        let mut kept = 0;
        for index in 0..indices.len() {
            if index == 0 || indices[index] != indices[index - 1] {
                indices[kept] = indices[index];
                kept += 1;
            }
        }
        &self.indices[..kept]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(address: impl Fn(u64) -> u64) -> [u64; LANES] {
        std::array::from_fn(|lane| address(lane as u64))
    }

    #[test]
    fn sectors_are_counted_once() {
        assert_eq!(sectors(&lanes(|lane| 4 * lane), ALL_LANES, 4), 4);
        assert_eq!(sectors(&lanes(|lane| 4 * lane + 16), ALL_LANES, 4), 5);
        assert_eq!(sectors(&lanes(|lane| 128 * lane), ALL_LANES, 4), 32);
        assert_eq!(sectors(&lanes(|_| 64), ALL_LANES, 16), 1);
        assert_eq!(sectors(&lanes(|lane| 128 * lane), 0b101, 4), 2);
    }

    #[test]
    fn banks_deliver_one_word_per_wavefront() {
        let wavefronts = |stride: u64| shared_wavefronts(&lanes(|lane| 4 * stride * lane), ALL_LANES, 4, true);
        assert_eq!([1, 2, 3, 4, 16, 32, 33].map(wavefronts), [1, 2, 1, 4, 16, 32, 1]);
        assert_eq!(shared_wavefronts(&lanes(|_| 0), ALL_LANES, 4, true), 1);
        assert_eq!(shared_wavefronts(&lanes(|lane| 16 * lane), ALL_LANES, 16, true), 4);
        assert_eq!(shared_wavefronts(&lanes(|_| 0), ALL_LANES, 16, true), 2, "broadcast, by half-warps");
        assert_eq!(shared_wavefronts(&lanes(|_| 0), ALL_LANES, 16, false), 4, "stores do not merge");
    }

    #[test]
    fn copies_past_l1_fetch_a_sector_for_each_one_they_write() {
        // Of an H100: rows of 128 and of 64 bytes, whose pieces of 16 bytes are swizzled.
        let copy = |pieces: u64, place: fn(u64, u64) -> u64| {
            let from = lanes(|lane| lane / pieces * 2048 + lane % pieces * 16);
            let to = lanes(|lane| (lane / pieces * pieces + place(lane / pieces, lane % pieces)) * 16);
            bypassing_copy(&from, &to, ALL_LANES, &[16; LANES])
        };
        assert_eq!(copy(32, |_, piece| piece), (16, 4));
        assert_eq!(copy(8, |row, piece| piece ^ row), (16, 4));
        assert_eq!(copy(4, |row, piece| piece ^ (row / 2)), (16, 8));
        assert_eq!(copy(4, |row, piece| (piece + row / 2) % 4), (24, 12));
        assert_eq!(bypassing_copy(&[0; LANES], &lanes(|lane| 16 * lane), ALL_LANES, &[0; LANES]), (0, 4), "zeros");
    }

    #[test]
    fn lines_a_power_of_two_apart_conflict_in_a_bank() {
        let wavefronts = |stride: u64| global_wavefronts(&lanes(|lane| stride * lane), ALL_LANES, 4);
        assert_eq!([4, 32, 128, 16_384].map(wavefronts), [1, 8, 32, 32]);
        assert!((8..=11).contains(&wavefronts(16_368)), "a pitch of 4092 floats");
    }
}
