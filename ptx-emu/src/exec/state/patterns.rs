//! Memoised sectors and wavefronts of access patterns.

use crate::counters::coalesce::SECTOR_BYTES;
use crate::lanes::{LANES, Mask};
use crate::program::Pc;

/// Addresses this far apart are in the same L1 bank.
const BANKS_BYTES: u64 = 128;

/// Cache lines after which tag banks repeat. An approximation: carries make the banks of an access depend on where it
/// begins.
const TAG_LINES: u64 = 16;

/// Patterns kept per instruction: one per sector of a line in which an access can begin.
const PHASES: usize = (BANKS_BYTES / SECTOR_BYTES) as usize;

/// By instruction, the pattern of its last access, which the next access usually repeats.
#[derive(Debug)]
pub(crate) struct Memo(Vec<Option<Box<Pattern>>>);

#[derive(Debug)]
pub(crate) struct Pattern {
    pub mask: Mask,
    pub phase: u64,
    /// The line in which it begins, modulo TAG_LINES, if it spans several.
    pub line: Option<u64>,
    pub offsets: [u64; LANES],
    pub sectors: u32,
    pub wavefronts: u32,
}

impl Memo {
    /// For a program of that many instructions, each with a second slot for its access to another memory.
    pub(crate) fn new(instructions: usize) -> Self {
        Self((0..2 * instructions * PHASES).map(|_| None).collect())
    }

    /// Sectors and wavefronts of an access. They depend on the addresses relative to the first lane's, and on that
    /// lane's bank.
    pub(crate) fn count(
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

    /// As [`Self::count`], of a copy past L1, which depends on the addresses in both memories.
    pub(crate) fn count_copy(
        &mut self,
        pc: Pc,
        [from, to]: [&[u64; LANES]; 2],
        mask: Mask,
        of: impl Fn() -> (u32, u32),
    ) -> (u32, u32) {
        let lane = mask.trailing_zeros() as usize;
        let phase = to[lane] % BANKS_BYTES + from[lane] % BANKS_BYTES * BANKS_BYTES;
        // Offsets in shared memory have fewer bits than this.
        let offset = |other: usize| {
            let [from, to] = [from, to].map(|addresses| addresses[other].wrapping_sub(addresses[lane]));
            to.wrapping_add(from << 24)
        };
        let offsets = std::array::from_fn(offset);
        let known = &mut self.0[pc * PHASES + (to[lane] % BANKS_BYTES / SECTOR_BYTES) as usize];
        if let Some(pattern) = known
            .as_ref()
            .filter(|pattern| (pattern.mask, pattern.phase) == (mask, phase) && pattern.offsets == offsets)
        {
            return (pattern.sectors, pattern.wavefronts);
        }
        let (sectors, wavefronts) = of();
        *known = Some(Box::new(Pattern { mask, phase, line: None, offsets, sectors, wavefronts }));
        (sectors, wavefronts)
    }
}
