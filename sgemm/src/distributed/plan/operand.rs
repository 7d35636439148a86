//! An operand of a rank: in which order it is stored, and how its chunks are gathered.

use std::ops::Range;

use crate::Layout;
use crate::distributed::cyclic::Cyclic;
use crate::distributed::grid::Axis;
use crate::distributed::schedule::{Buffer, Copy, Dimension, Place, Work};
use crate::distributed::scheme::Chunks;

/// Elements that the lines of gathered chunks are padded to.
const LINE: usize = 32;

/// The left or the right operand of a product whose result is row-major: chunks lie along its other dimension than k.
#[derive(Debug, Clone)]
pub(super) struct Operand {
    /// `A` or `B` of the caller's.
    pub name: &'static str,
    pub buffer: Buffer,
    /// Along which its k is dealt out.
    pub axis: Axis,
    pub k: Cyclic,
    /// This rank's place along the axis.
    pub place: usize,
    /// The other dimension: chunks of what this rank has of it.
    pub chunks: Vec<Range<usize>>,
    /// Elements of the largest chunk that any rank has.
    pub width: usize,
    /// Whether k is the contiguous dimension.
    pub is_k_contiguous: bool,
    pub ld: usize,
    pub element_bytes: usize,
}

impl Operand {
    /// Cuts it into so many chunks, where no rank has more than `most` of the other dimension.
    pub fn cut(&mut self, count: usize, most: usize) {
        let own = self.width;
        self.width = Chunks::width(count, most);
        self.chunks = Chunks::ranges(self.width, most, own);
    }

    /// Whether other ranks have parts of it.
    pub fn is_gathered(&self) -> bool {
        self.k.processes > 1 && self.k.extent > 0
    }

    /// Whether what is received is in the order of k already.
    pub fn is_in_order(&self) -> bool {
        !self.is_k_contiguous && self.k.is_panels()
    }

    /// Elements from one line of a gathered chunk to the next.
    pub fn panel_ld(&self) -> usize {
        if self.is_k_contiguous { self.k.extent } else { self.width }.next_multiple_of(LINE)
    }

    /// Bytes of the largest gathered chunk, in the order of k.
    pub fn panel_bytes(&self) -> u64 {
        let lines = if self.is_k_contiguous { self.width } else { self.k.extent };
        self.bytes(lines * self.panel_ld())
    }

    /// Bytes of the largest chunk as it is received: as many from each rank, of which the last ones may have less to give.
    pub fn received_bytes(&self) -> u64 {
        self.bytes(self.k.most() * if self.is_k_contiguous { self.width } else { self.panel_ld() })
            * self.k.processes as u64
    }

    fn bytes(&self, elements: usize) -> u64 {
        (elements * self.element_bytes) as u64
    }

    /// Where a chunk begins in the rank's own matrix.
    pub fn local(&self, chunk: usize) -> Place {
        let start = self.chunks[chunk].start;
        Place::new(self.buffer, self.bytes(start * if self.is_k_contiguous { self.ld } else { 1 }))
    }

    /// How a product reads a chunk, with the leading dimension there: the left operand has k as columns.
    pub fn layout(&self, ld: usize, is_left: bool) -> Layout {
        if self.is_k_contiguous == is_left { Layout::row_major(ld) } else { Layout::column_major(ld) }
    }

    /// Where the rank's own part of a chunk is, among those that are received.
    pub fn own(&self, chunk: usize, received: Place) -> Place {
        received.plus(self.sent_segment(self.chunks[chunk].len()) * self.place as u64)
    }

    /// Copies the rank's part of a chunk to its place among those that are received; `None` where it has nothing.
    pub fn pack(&self, chunk: usize, received: Place) -> Option<Copy> {
        let to = self.own(chunk, received);
        let (width, depth) = (self.chunks[chunk].len(), self.k.count(self.place));
        let (line, lines, to_ld) =
            if self.is_k_contiguous { (depth, width, self.k.most()) } else { (width, depth, self.panel_ld()) };
        let rows = Dimension { count: lines as u64, from_stride: self.bytes(self.ld), to_stride: self.bytes(to_ld) };
        let copy = Copy { from: self.local(chunk), to, bytes: self.bytes(line), dimensions: [rows, Dimension::ONE] };
        (line > 0 && lines > 0).then_some(copy)
    }

    /// The collective of a chunk, in place: a rank's own part is not copied.
    pub fn gather(&self, chunk: usize, receive: Place) -> Work {
        let bytes = self.sent_segment(self.chunks[chunk].len());
        Work::AllGather { axis: self.axis, send: self.own(chunk, receive), receive, bytes }
    }

    /// Copies what was received of a chunk into the order of k: whole blocks, and the last one by itself.
    pub fn unpack(&self, chunk: usize, from: Place, to: Place) -> Vec<Copy> {
        let Cyclic { block, processes, .. } = self.k;
        let width = self.chunks[chunk].len();
        let mut copies = Vec::new();
        for process in 0..processes {
            let depth = self.k.count(process);
            let segment = from.plus(self.sent_segment(width) * process as u64);
            for (first, length, count) in [(0, block, depth / block), (depth / block * block, depth % block, 1)] {
                if length * count == 0 {
                    continue;
                }
                // Elements from one index of k to the next, and of one line, in what was received and in the panel.
                let (from_ld, to_ld) = (self.k.most(), self.panel_ld());
                let [step, from_line] = if self.is_k_contiguous { [1, from_ld] } else { [to_ld, 1] };
                let blocks = Dimension {
                    count: count as u64,
                    from_stride: self.bytes(block * step),
                    to_stride: self.bytes(block * processes * step),
                };
                let lines =
                    Dimension { count: width as u64, from_stride: self.bytes(from_line), to_stride: self.bytes(to_ld) };
                let is_lines = self.is_k_contiguous;
                copies.push(Copy {
                    from: segment.plus(self.bytes(first * step)),
                    to: to.plus(self.bytes(self.k.global(process, first) * step)),
                    bytes: self.bytes(length * step),
                    dimensions: [blocks, if is_lines { lines } else { Dimension::ONE }],
                });
            }
        }
        copies
    }

    /// Bytes that one rank gives for a chunk so wide.
    fn sent_segment(&self, width: usize) -> u64 {
        self.bytes(self.k.most() * if self.is_k_contiguous { width } else { self.panel_ld() })
    }
}
