//! What one rank does: tasks in queues.

use std::fmt;

use gpu_kernels::{Ab, Operand};

use super::grid::Axis;
use crate::plan::Address;

/// Memory of a rank: its parts of the matrices, and parts of its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// The rank's part of A.
    A,
    /// The rank's part of B.
    B,
    /// The rank's part of C.
    C,
    /// What the rank gives to an AllGather, in its place among what it receives from it.
    Received,
    /// Gathered chunks, where they are not in the order of k as they are received.
    Panels,
    /// What pre-passes make of an operand that several products read.
    Prepared,
    /// Partial sums, in f32, of the elements of C that layers share.
    Partial,
    /// Sums over all layers.
    Reduced,
    /// The workspace of products, one after the other.
    Scratch,
}

impl Buffer {
    /// The parts of a rank's workspace.
    pub const PARTS: [Self; 6] =
        [Self::Received, Self::Panels, Self::Prepared, Self::Partial, Self::Reduced, Self::Scratch];

    /// Its number among all.
    pub(super) const fn index(self) -> usize {
        self as usize
    }

    pub(super) const COUNT: usize = Self::Scratch as usize + 1;
}

/// An address relative to a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// The buffer.
    pub buffer: Buffer,
    /// Bytes from where it begins.
    pub offset: u64,
}

impl Place {
    /// So many bytes into a buffer.
    #[must_use]
    pub const fn new(buffer: Buffer, offset: u64) -> Self {
        Self { buffer, offset }
    }

    /// So many bytes further on.
    #[must_use]
    pub const fn plus(self, bytes: u64) -> Self {
        Self { offset: self.offset + bytes, ..self }
    }

    /// The address, where `base` is that of a buffer.
    #[must_use]
    pub fn address(self, base: impl Fn(Buffer) -> Address) -> Address {
        base(self.buffer).wrapping_add(self.offset)
    }
}

/// What runs beside the others: a stream of a device. Tasks of one queue run in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Queue {
    /// Products, and what takes SMs between them.
    Compute,
    /// Operands on their way to the rank.
    Inbound,
    /// Operands on their way to where they are sent from, and results on theirs to other ranks.
    Outbound,
}

impl Queue {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Compute, Self::Inbound, Self::Outbound];
}

/// Something that a rank does.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Where it is queued: after the tasks of that queue that are listed before it.
    pub queue: Queue,
    /// What it is.
    pub work: Work,
    /// Tasks of other queues, by their index in the list, that must be done before it begins.
    pub after: Vec<usize>,
    /// The matrix that it is about: `A`, `B` or `C`.
    pub matrix: &'static str,
    /// The chunk of that, counted from 0.
    pub chunk: usize,
}

/// What a task is.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// A copy within the rank's memory.
    Copy(Copy),
    /// Each rank of the axis gives as many bytes, and receives those of all, in the order of their places.
    AllGather {
        /// With whom.
        axis: Axis,
        /// What this rank gives.
        send: Place,
        /// What it receives: as many bytes from each.
        receive: Place,
        /// Bytes of one rank.
        bytes: u64,
    },
    /// Each rank of the axis gives one part for each of them, and receives the sum, over all ranks, of the part that has its place.
    ReduceScatter {
        /// With whom.
        axis: Axis,
        /// The parts of this rank, of f32.
        send: Place,
        /// The sum of one part.
        receive: Place,
        /// Elements of one part.
        elements: u64,
    },
    /// The pre-passes of an operand, for all products that read it.
    Prepare {
        /// The plan whose kernel reads it: its number.
        gemm: usize,
        /// The operand of the kernel.
        operand: Operand,
        /// The operand.
        source: Place,
        /// Where the parts go that they write: [`crate::plan::Preparation::bytes`] says how many, and in which order.
        target: Place,
    },
    /// A product.
    Product(Product),
}

/// A copy of pieces of `bytes` bytes, over up to two dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy {
    /// The first piece.
    pub from: Place,
    /// Where it goes.
    pub to: Place,
    /// Contiguous bytes of a piece.
    pub bytes: u64,
    /// How pieces follow each other, the inner dimension first.
    pub dimensions: [Dimension; 2],
}

/// Pieces along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimension {
    /// How many.
    pub count: u64,
    /// Bytes from one to the next where they come from.
    pub from_stride: u64,
    /// Bytes from one to the next where they go.
    pub to_stride: u64,
}

impl Dimension {
    /// A single piece.
    pub const ONE: Self = Self { count: 1, from_stride: 0, to_stride: 0 };
}

impl Copy {
    /// Bytes of all pieces.
    #[must_use]
    pub fn total_bytes(&self) -> u64 {
        self.bytes * self.dimensions[0].count * self.dimensions[1].count
    }

    /// Where each piece begins: in the source, and in the target.
    pub fn pieces(&self) -> impl Iterator<Item = (Place, Place)> {
        let Self { from, to, dimensions: [inner, outer], .. } = *self;
        let place =
            move |start: Place, strides: [u64; 2], [i, j]: [u64; 2]| start.plus(i * strides[0] + j * strides[1]);
        (0..outer.count).flat_map(move |j| (0..inner.count).map(move |i| [i, j])).map(move |index| {
            let from = place(from, [inner.from_stride, outer.from_stride], index);
            (from, place(to, [inner.to_stride, outer.to_stride], index))
        })
    }
}

/// A product of local matrices, by one of the plan's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// The plan that is launched: its number.
    pub gemm: usize,
    /// Its A.
    pub a: Place,
    /// Its B.
    pub b: Place,
    /// Its C.
    pub c: Place,
    /// The factor of C.
    pub beta: Factor,
    /// Where [`Work::Prepare`] left what it made of an operand of the kernel, for those that were prepared.
    pub prepared: Ab<Option<Place>>,
}

impl Product {
    /// Which operands were prepared.
    #[must_use]
    pub fn are_prepared(&self) -> Ab<bool> {
        self.prepared.map(|place| place.is_some())
    }
}

/// The factor of C in a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Factor {
    /// The caller's beta.
    Beta,
    /// 0: C is not read.
    Zero,
}

impl Task {
    /// The ranks that it waits for: those of its collective.
    #[must_use]
    pub const fn collective(&self) -> Option<Axis> {
        match self.work {
            Work::AllGather { axis, .. } | Work::ReduceScatter { axis, .. } => Some(axis),
            Work::Copy(_) | Work::Prepare { .. } | Work::Product(_) => None,
        }
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = match self.work {
            Work::Copy(_) => "copy",
            Work::AllGather { .. } => "AllGather",
            Work::ReduceScatter { .. } => "ReduceScatter",
            Work::Prepare { .. } => "pre-pass",
            Work::Product(_) => "product",
        };
        write!(f, "{work} of chunk {} of {}", self.chunk, self.matrix)
    }
}
