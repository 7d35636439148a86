//! What accesses come to in the hardware, kept from one time to the next.

use crate::coalesce::SECTOR_BYTES;
use crate::program::Pc;
use crate::registers::{LANES, Mask};

/// Addresses that lie a multiple of this apart are in the same bank of the first-level cache.
const BANKS_BYTES: u64 = 128;

/// Lines of global memory after which their banks of tags are taken to be the same again: which those of one access are in
/// depends on where it begins, for numbers carry.
const TAG_LINES: u64 = 16;

/// Patterns that are kept for each instruction: one for each sector of a line that an access can begin in.
const PHASES: usize = (BANKS_BYTES / SECTOR_BYTES) as usize;

/// What the last access of each instruction came to: the next one mostly has the same pattern.
#[derive(Debug)]
pub(super) struct Memo(Vec<Option<Box<Pattern>>>);

#[derive(Debug)]
struct Pattern {
    mask: Mask,
    phase: u64,
    /// The line that it begins in, counted among TAG_LINES, if it goes on in others.
    line: Option<u64>,
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
        let (phase, line) = (first % BANKS_BYTES, first / BANKS_BYTES % TAG_LINES);
        let offsets = addresses.map(|address| address.wrapping_sub(first));
        let known = &mut self.0[pc * PHASES + (phase / SECTOR_BYTES) as usize];
        let is_same = |pattern: &&mut Box<Pattern>| {
            (pattern.mask, pattern.phase) == (mask, phase)
                && pattern.line.is_none_or(|known| known == line)
                && pattern.offsets == offsets
        };
        if let Some(pattern) = known.as_mut().filter(is_same) {
            return (pattern.sectors, pattern.wavefronts);
        }
        let (sectors, wavefronts) = of(addresses);
        // Shared memory has no tags, and no sectors.
        let is_in_one_line = sectors == 0 || offsets.iter().all(|offset| phase.wrapping_add(*offset) < BANKS_BYTES);
        let line = (!is_in_one_line).then_some(line);
        *known = Some(Box::new(Pattern { mask, phase, line, offsets, sectors, wavefronts }));
        (sectors, wavefronts)
    }
}
