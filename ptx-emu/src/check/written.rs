//! Reads of uninitialised memory.

use std::ops::Range;

use super::{Discovery, Observed, What};
use crate::finding::{FindingKind, Rank, plural};
use crate::lanes::{LANES, lanes_of};

/// All bytes of a word are written.
const WHOLE: u8 = 0b1111;

/// Which bytes were written.
#[derive(Debug)]
pub(super) struct Written {
    /// By word, one bit per byte.
    words: Vec<u8>,
    /// Words not yet fully written; at 0 nothing is left to check.
    remaining: usize,
}

impl Written {
    pub(super) fn new(bytes: usize) -> Self {
        let words = vec![0; bytes.div_ceil(4)];
        Self { remaining: words.len(), words }
    }

    /// Clears all.
    pub(super) fn start(&mut self) {
        self.words.fill(0);
        self.remaining = self.words.len();
    }

    /// Takes bytes for never written.
    pub(super) fn forget(&mut self, bytes: Range<usize>) {
        bytes.for_each(|byte| self.set(byte, false));
    }

    /// Takes bytes for written.
    pub(super) fn write(&mut self, bytes: Range<usize>) {
        bytes.for_each(|byte| self.set(byte, true));
    }

    /// As many bytes as `bytes` have from `to` on are written where those are.
    pub(super) fn copy(&mut self, bytes: Range<usize>, to: usize) {
        for (from, to) in bytes.zip(to..) {
            self.set(to, self.words[from / 4] >> (from % 4) & 1 != 0);
        }
    }

    fn set(&mut self, byte: usize, is_written: bool) {
        let word = &mut self.words[byte / 4];
        self.remaining += usize::from(*word == WHOLE);
        *word = *word & !(1 << (byte % 4)) | u8::from(is_written) << (byte % 4);
        self.remaining -= usize::from(*word == WHOLE);
    }

    /// Records writes, and finds the first lane that reads unwritten bytes. Accesses are aligned, at `offsets`.
    pub(super) fn access(&mut self, access: &Observed<'_>, space: &str, offsets: &[u64; LANES]) -> Option<Discovery> {
        if self.remaining == 0 {
            return None;
        }
        let bytes = access.bytes as usize;
        let mut first = None;
        for lane in lanes_of(access.mask) {
            let offset = offsets[lane] as usize;
            let mask = if bytes < 4 { ((1 << bytes) - 1) << (offset % 4) } else { WHOLE };
            let words = &mut self.words[offset / 4..][..bytes.div_ceil(4)];
            if access.kind.reads() && first.is_none() && words.iter().any(|word| word & mask != mask) {
                first = Some(lane);
            }
            if access.kind.writes() {
                for word in words.iter_mut().filter(|word| **word & mask != mask) {
                    *word |= mask;
                    self.remaining -= usize::from(*word == WHOLE);
                }
            }
        }
        let lane = first?;
        let address = access.addresses[lane];
        let bytes = plural(access.bytes, "byte");
        let what = What::Text(format!("reads {bytes} of {space} memory at {address:#x} that was never written"));
        Some(Discovery { kind: FindingKind::Uninitialized, rank: Rank::Error, lane, other: None, what })
    }
}
