//! What is handed to a device: kernels with their shapes and arguments, and the memory that they take beside the operands.

use gpu_kernels::{Ab, TmaBox};

use super::slabs::Slab;

/// An address in a device's memory.
pub type Address = u64;

/// What a kernel takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument {
    /// A count of elements, rows or tiles.
    U32(u32),
    /// A leading dimension or a stride.
    U64(u64),
    /// A factor.
    F32(f32),
    /// Where something begins.
    Address(Address),
    /// A tensor map, by value: the backend encodes it as its device reads it.
    TensorMap(TensorMap),
}

/// Blocks and threads of a launch, by dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_smem_bytes: u32,
}

/// A kernel, how to launch it, and with what.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// Its entry point.
    pub kernel: &'static str,
    /// Its blocks and threads.
    pub shape: LaunchShape,
    /// With the names of the parameters, in order.
    pub arguments: Vec<(&'static str, Argument)>,
    /// The rows of C that it computes; those of the source where it is a pre-pass.
    pub slab: Slab,
}

/// The parts of the memory that a plan takes beside the operands, or what is known of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workspace<T> {
    /// What pre-passes make of A and B: aligned, transposed or split.
    pub copies: Ab<T>,
    /// Partial tiles and flags of stream-K: [`gpu_kernels::Step::workspace_bytes`], zeros at first.
    pub reduction: T,
}

/// What each part begins at a multiple of, in bytes: what memory begins at that the driver allocates.
pub const WORKSPACE_ALIGNMENT: u64 = 256;

impl Workspace<u64> {
    /// No part has any bytes.
    pub const EMPTY: Self = Self { copies: Ab { a: 0, b: 0 }, reduction: 0 };

    /// Bytes of memory that hold all parts, each at a multiple of [`WORKSPACE_ALIGNMENT`].
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.parts().into_iter().fold(0, |total, bytes| total.saturating_add(padded(bytes)))
    }

    /// Where the parts of so many bytes are, in memory that begins at `base`; 0 where a part has no bytes.
    #[must_use]
    pub fn at(&self, base: Address) -> Workspace<Address> {
        let mut next = base;
        let mut place = |bytes: u64| {
            let address = if bytes == 0 { 0 } else { next };
            next = next.saturating_add(padded(bytes));
            address
        };
        let [a, b, reduction] = self.parts().map(&mut place);
        Workspace { copies: Ab { a, b }, reduction }
    }

    fn parts(&self) -> [u64; 3] {
        let Self { copies: Ab { a, b }, reduction } = *self;
        [a, b, reduction]
    }
}

fn padded(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(WORKSPACE_ALIGNMENT).unwrap_or(u64::MAX)
}

/// What a tensor map says: a row-major matrix, and how a TMA load copies a box of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap {
    /// Where the matrix begins.
    pub address: Address,
    /// Its rows, at least 1.
    pub rows: u32,
    /// Its columns, at least 1.
    pub columns: u32,
    /// Elements from one row to the next.
    pub ld: u32,
    /// The box.
    pub tma_box: TmaBox,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_apart_in_one_buffer() {
        let bytes = Workspace { copies: Ab { a: 1, b: 0 }, reduction: 257 };
        assert_eq!(bytes.total_bytes(), 256 + 512);
        let parts = bytes.at(0x1000);
        assert_eq!(parts, Workspace { copies: Ab { a: 0x1000, b: 0 }, reduction: 0x1100 });
        assert_eq!((Workspace::EMPTY.total_bytes(), Workspace::EMPTY.at(0x1000)), (0, Workspace::EMPTY));
        let huge = Workspace { reduction: u64::MAX, ..bytes };
        assert_eq!(huge.total_bytes(), u64::MAX);
    }
}
