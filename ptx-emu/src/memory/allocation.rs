//! An allocation of global memory.

use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::Pointer;
use super::label::Label;

/// An allocation.
#[derive(Debug)]
pub(crate) struct Allocation {
    pub(super) base: Pointer,
    pub(super) bytes: u64,
    /// The contents, as words that host threads share without a lock.
    pub(super) words: Words,
    /// What it is called in messages.
    pub(super) label: Option<Box<Label>>,
}

/// Words of an allocation.
#[derive(Debug)]
pub(super) enum Words {
    Owned(Vec<AtomicU32>),
    /// What whoever runs kernels has, too.
    OfHost(&'static [AtomicU32]),
}

impl Deref for Words {
    type Target = [AtomicU32];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU32] {
        match self {
            Self::Owned(words) => words,
            Self::OfHost(words) => words,
        }
    }
}

impl Allocation {
    pub(crate) fn base(&self) -> Pointer {
        self.base
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn label(&self) -> Option<&Label> {
        self.label.as_deref()
    }

    /// The words; the last may extend past the end of the allocation.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[AtomicU32] {
        &self.words
    }

    /// The byte at an offset.
    pub(crate) fn load_u8(&self, offset: u64) -> u8 {
        self.words[offset as usize / 4].load(Relaxed).to_le_bytes()[offset as usize % 4]
    }

    /// Sets the byte at an offset; the word's other bytes keep what other threads write meanwhile.
    pub(crate) fn store_u8(&self, offset: u64, value: u8) {
        let shift = offset % 4 * 8;
        let word = &self.words[offset as usize / 4];
        let replaced = |old: u32| Some(old & !(0xff << shift) | u32::from(value) << shift);
        let _ = word.fetch_update(Relaxed, Relaxed, replaced);
    }
}

/// Bytes as words; what the last lacks is 0.
pub(super) fn words(bytes: &[u8]) -> Vec<AtomicU32> {
    let word = |chunk: &[u8]| {
        let mut word = [0; 4];
        word[..chunk.len()].copy_from_slice(chunk);
        AtomicU32::new(u32::from_le_bytes(word))
    };
    bytes.chunks(4).map(word).collect()
}
