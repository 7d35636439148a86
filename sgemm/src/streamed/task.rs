//! What one GPU does: tasks in queues.

use gpu_kernels::{Ab, Operand};

use crate::plan::Buffer;

/// What runs beside the others: a stream of a GPU. Tasks of one queue run in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Queue {
    /// Products, and pre-passes between them.
    Compute,
    /// From the host.
    Inbound,
    /// From other GPUs.
    Peer,
    /// To the host.
    Outbound,
}

impl Queue {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Compute, Self::Inbound, Self::Peer, Self::Outbound];
}

/// Something that a GPU does.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Where it is queued: after the tasks of that queue that are listed before it.
    pub queue: Queue,
    /// What it is.
    pub work: Work,
    /// Tasks of other queues, by their index in the list, that must be done before it begins. Those that are not [needed](Self::is_needed)
    /// count as done.
    pub after: Vec<usize>,
    /// Tasks of other GPUs that must be done before it begins, likewise.
    pub after_peers: Vec<PeerTask>,
}

/// A task of another GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerTask {
    /// The GPU, which is the index of its part in the plan.
    pub gpu: usize,
    /// The task, by its index in that part.
    pub task: usize,
}

/// What a task is. Places in the GPU's memory are bytes from where it begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// A panel of A or B, or a tile of C, goes to the device.
    Upload(Transfer),
    /// A piece of a panel comes from another GPU.
    Receive(PeerCopy),
    /// A tile of C comes back.
    Download(Transfer),
    /// The pre-passes of a panel, for all products that read it.
    Prepare {
        /// The plan whose kernel reads it: its number.
        gemm: usize,
        /// The operand of the kernel.
        operand: Operand,
        /// The panel.
        source: u64,
        /// Where the parts go that they write: [`crate::plan::Preparation::bytes`] says how many, and in which order.
        target: u64,
    },
    /// A product of two panels, added to a tile of C.
    Product(Product),
}

/// Lines of a matrix, on their way from or to the host: rows where it is row-major, columns otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The matrix: [`Buffer::A`], [`Buffer::B`] or [`Buffer::C`].
    pub matrix: Buffer,
    /// Where the first line begins, in bytes from the first element of the matrix in the host's memory.
    pub host: u64,
    /// Bytes from one line to the next there.
    pub host_pitch: u64,
    /// Where the first line begins in the GPU's memory.
    pub device: u64,
    /// Bytes from one line to the next there.
    pub device_pitch: u64,
    /// Bytes of a line.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
}

/// Lines of a panel, on their way from another GPU's memory: on both they are as far apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PeerCopy {
    /// The GPU that has them, which is the index of its part in the plan.
    pub gpu: usize,
    /// The matrix: [`Buffer::A`] or [`Buffer::B`].
    pub matrix: Buffer,
    /// Where the first line begins in that GPU's memory.
    pub source: u64,
    /// Where it begins in this one's.
    pub target: u64,
    /// Bytes from one line to the next.
    pub pitch: u64,
    /// Bytes of a line.
    pub bytes: u64,
    /// Lines.
    pub lines: u64,
}

/// A product of two panels, by one of the plan's kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// The plan that is launched: its number.
    pub gemm: usize,
    /// Its A.
    pub a: u64,
    /// Its B.
    pub b: u64,
    /// Its C.
    pub c: u64,
    /// Whether it is the tile's first, which takes the caller's beta. The others, along k, add to it.
    pub is_first: bool,
    /// Where [`Work::Prepare`] left what it made of the kernel's operands, for those that were prepared.
    pub prepared: Ab<Option<u64>>,
}

impl Transfer {
    /// Bytes of all lines.
    #[must_use]
    pub const fn total_bytes(&self) -> u64 {
        self.bytes * self.lines
    }

    /// One of `count` pieces, of as many lines as each other but for one.
    pub(super) fn share(self, index: usize, count: usize) -> Self {
        let first = |index: usize| self.lines * index as u64 / count as u64;
        let before = first(index);
        Self {
            host: self.host + before * self.host_pitch,
            device: self.device + before * self.device_pitch,
            lines: first(index + 1) - before,
            ..self
        }
    }

    /// Whether lines follow each other without gaps, on both sides.
    pub(super) fn is_contiguous(&self) -> bool {
        are_contiguous(self.lines, self.bytes, [self.host_pitch, self.device_pitch])
    }

    /// The same in pieces of at most so many bytes: of some lines, or of a part of one.
    pub fn pieces(self, most: u64) -> impl Iterator<Item = Self> {
        let width = self.bytes.min(most).max(1);
        let height = (most / self.bytes.max(1)).max(1);
        let firsts = (0..self.lines).step_by(usize::try_from(height).unwrap_or(usize::MAX));
        firsts.flat_map(move |line| {
            let parts = (0..self.bytes).step_by(usize::try_from(width).unwrap_or(usize::MAX));
            parts.map(move |byte| Self {
                host: self.host + line * self.host_pitch + byte,
                device: self.device + line * self.device_pitch + byte,
                bytes: width.min(self.bytes - byte),
                lines: height.min(self.lines - line),
                ..self
            })
        })
    }
}

/// Whether so many lines of so many bytes follow each other without gaps, by how far it is from one to the next on both sides.
pub(super) fn are_contiguous(lines: u64, bytes: u64, pitches: [u64; 2]) -> bool {
    lines <= 1 || pitches == [bytes; 2]
}

impl PeerCopy {
    /// Bytes from the first to the last, with what is between lines.
    #[must_use]
    pub const fn span_bytes(&self) -> u64 {
        if self.lines == 0 { 0 } else { (self.lines - 1) * self.pitch + self.bytes }
    }
}

impl Product {
    /// Which of the kernel's operands were prepared.
    #[must_use]
    pub fn are_prepared(&self) -> Ab<bool> {
        self.prepared.map(|place| place.is_some())
    }

    /// The factor of C, where beta is the caller's.
    #[must_use]
    pub const fn beta(&self, beta: f32) -> f32 {
        if self.is_first { beta } else { 1.0 }
    }
}

impl Task {
    /// Whether it is done with these factors: as BLAS has it, A and B are not read where alpha is 0, nor C where beta is 0.
    #[must_use]
    pub fn is_needed(&self, [alpha, beta]: [f32; 2]) -> bool {
        match self.work {
            Work::Upload(Transfer { matrix: Buffer::C, .. }) => beta != 0.0,
            Work::Upload(_) | Work::Receive(_) | Work::Prepare { .. } => alpha != 0.0,
            Work::Download(_) | Work::Product(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Pieces are no larger than asked for, and together the whole, line by line.
        #[test]
        fn pieces_are_the_whole(bytes in 0_u64..50, lines in 0_u64..20, gap in 0_u64..5, most in 1_u64..200) {
            let transfer = Transfer {
                matrix: Buffer::A,
                host: 7,
                host_pitch: bytes + gap,
                device: 3,
                device_pitch: bytes + 2 * gap,
                bytes,
                lines,
            };
            let mut pairs = Vec::new();
            for piece in transfer.pieces(most) {
                prop_assert!(piece.total_bytes() <= most);
                pairs.extend(of(&piece));
            }
            prop_assert_eq!(pairs, of(&transfer));
            let shares = (0..5).flat_map(|index| of(&transfer.share(index, 5)));
            prop_assert!(shares.eq(of(&transfer)));
        }
    }

    /// Where each byte comes from, and where it goes.
    fn of(transfer: &Transfer) -> Vec<(u64, u64)> {
        let Transfer { host, host_pitch, device, device_pitch, bytes, lines, .. } = *transfer;
        let line =
            |line| (0..bytes).map(move |byte| (host + line * host_pitch + byte, device + line * device_pitch + byte));
        (0..lines).flat_map(line).collect()
    }
}
