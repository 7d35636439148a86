//! The memory that a plan's launches read and write: the caller's, and parts of a workspace.

use std::ops::{Index, IndexMut};

use super::Address;

/// A piece of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// The caller's A.
    A,
    /// The caller's B.
    B,
    /// The caller's C.
    C,
    /// The caller's D: C where it is the same matrix.
    D,
    /// The caller's bias.
    Bias,
    /// The caller's alpha, in device memory.
    Alpha,
    /// The caller's beta, in device memory.
    Beta,
    /// Flags of stream-K: zero before and after each run.
    Flags,
    /// Partial tiles of stream-K.
    Partials,
    /// A, row-major where the caller's is not, or its rows aligned, if it is split after that.
    PlainA,
    /// The same of B.
    PlainB,
    /// What a pre-pass makes of A for the step: aligned, transposed or split.
    CopyA,
    /// The same of B.
    CopyB,
    /// Sums of f32, m x n, of which a post-pass makes D.
    Sums,
}

impl Buffer {
    /// The parts of a workspace, in their order in memory.
    pub const PARTS: [Self; 7] =
        [Self::Flags, Self::Partials, Self::PlainA, Self::PlainB, Self::CopyA, Self::CopyB, Self::Sums];

    const COUNT: usize = Self::Sums as usize + 1;
}

/// Something of each [`Buffer`]: where it begins, or how many bytes it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Buffers<T>([T; Buffer::COUNT]);

impl<T> Index<Buffer> for Buffers<T> {
    type Output = T;

    fn index(&self, buffer: Buffer) -> &T {
        &self.0[buffer as usize]
    }
}

impl<T> IndexMut<Buffer> for Buffers<T> {
    fn index_mut(&mut self, buffer: Buffer) -> &mut T {
        &mut self.0[buffer as usize]
    }
}

impl<T> Buffers<T> {
    /// The same, but of that buffer.
    #[must_use]
    pub fn with(mut self, buffer: Buffer, value: T) -> Self {
        self[buffer] = value;
        self
    }
}

/// What each part of a workspace begins at a multiple of, in bytes: what memory begins at that the driver allocates.
pub const WORKSPACE_ALIGNMENT: u64 = 256;

impl Buffers<u64> {
    /// Bytes of one piece of memory that holds all parts of so many bytes, each at a multiple of [`WORKSPACE_ALIGNMENT`].
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        Buffer::PARTS.iter().fold(0, |total, part| total.saturating_add(padded(self[*part])))
    }

    /// Where the parts of so many bytes are, in memory that begins at `base`; 0 where a part has no bytes.
    #[must_use]
    pub fn at(&self, base: Address) -> Self {
        let mut addresses = Self::default();
        let mut next = base;
        for part in Buffer::PARTS {
            let bytes = self[part];
            addresses[part] = if bytes == 0 { 0 } else { next };
            next = next.saturating_add(padded(bytes));
        }
        addresses
    }
}

fn padded(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(WORKSPACE_ALIGNMENT).unwrap_or(u64::MAX)
}

/// An address relative to a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The buffer.
    pub buffer: Buffer,
    /// Bytes from where it begins.
    pub offset: u64,
}

impl Place {
    /// Where a buffer begins.
    #[must_use]
    pub const fn start(buffer: Buffer) -> Self {
        Self { buffer, offset: 0 }
    }

    /// So many bytes further on.
    #[must_use]
    pub const fn plus(self, bytes: u64) -> Self {
        Self { offset: self.offset.wrapping_add(bytes), ..self }
    }

    /// The address.
    #[must_use]
    pub fn address(self, buffers: &Buffers<Address>) -> Address {
        buffers[self.buffer].wrapping_add(self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_apart_in_one_piece_of_memory() {
        let bytes = Buffers::default().with(Buffer::Flags, 1).with(Buffer::CopyA, 257).with(Buffer::Sums, 128);
        assert_eq!(bytes.total_bytes(), 256 + 512 + 256);
        let places = bytes.at(0x1000);
        let [flags, copy, sums] = [Buffer::Flags, Buffer::CopyA, Buffer::Sums].map(|part| places[part]);
        assert_eq!((flags, copy, sums, places[Buffer::CopyB]), (0x1000, 0x1100, 0x1300, 0));
        assert_eq!(Buffers::default().total_bytes(), 0);
        assert_eq!(bytes.with(Buffer::Partials, u64::MAX).total_bytes(), u64::MAX);
    }

    #[test]
    fn every_part_is_listed_once() {
        for part in Buffer::PARTS {
            assert_eq!(Buffer::PARTS.iter().filter(|other| **other == part).count(), 1);
        }
    }
}
