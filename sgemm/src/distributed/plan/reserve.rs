//! Where in a rank's workspace the chunks are.

use super::builder::Side;
use super::operand::Operand;
use crate::distributed::schedule::{Buffer, Place};
use crate::plan::WORKSPACE_ALIGNMENT;

/// Columns of chunks whose partial sums are in memory at once: one is multiplied, one is there, one is on its way.
const DEPTH: usize = 3;

/// Slots for chunks, and the bytes of each buffer.
pub(super) struct Regions {
    pub bytes: [u64; Buffer::COUNT],
    received: [Slots; 2],
    panels: [Slots; 2],
    partial: Slots,
}

/// Equal pieces of a buffer, which chunks have in turn.
#[derive(Clone, Copy)]
struct Slots {
    first: Place,
    bytes: u64,
    count: usize,
}

impl Slots {
    fn of(&self, chunk: usize) -> Place {
        self.first.plus(self.bytes * (chunk % self.count) as u64)
    }
}

impl Regions {
    pub fn new(left: &Operand, right: &Operand, layers: usize) -> Self {
        let mut bytes = [0; Buffer::COUNT];
        let both = left.is_gathered() && right.is_gathered();
        // Every chunk has its own place, where a rank's part is packed before the first product takes all SMs: within a device, also a copy
        // by a "copy engine" of the driver is a kernel.
        let received = [left, right].map(|operand| {
            let each = if operand.is_gathered() { padded(operand.received_bytes()) } else { 0 };
            take(&mut bytes, Buffer::Received, each, operand.chunks.len().max(1))
        });
        // Those that are not in order as they are received are put in order between products.
        let panels = [left, right].map(|operand| {
            let each = if operand.is_gathered() && !operand.is_in_order() { padded(operand.panel_bytes()) } else { 0 };
            // The rectangle of chunks reads each of them again and again.
            take(&mut bytes, Buffer::Panels, each, if both { operand.chunks.len().max(1) } else { 1 })
        });
        let columns = right.chunks.len();
        // Where the left operand arrives by and by, no column of chunks is complete before it is there.
        let count = if left.is_gathered() { columns } else { columns.min(DEPTH) }.max(1);
        let part = if layers > 1 { padded((left.width * right.width * size_of::<f32>()) as u64) } else { 0 };
        let partial = take(&mut bytes, Buffer::Partial, part * layers as u64, count);
        raise(&mut bytes, Buffer::Reduced, part);
        Self { bytes, received, panels, partial }
    }

    /// Where a chunk of a gathered operand is received.
    pub fn received(&self, side: Side, chunk: usize) -> Place {
        self.received[side as usize].of(chunk)
    }

    /// Where a chunk is put in order.
    pub fn panel(&self, side: Side, chunk: usize) -> Place {
        self.panels[side as usize].of(chunk)
    }

    /// Where the partial sums of a column of chunks are.
    pub fn partial(&self, column: usize) -> Place {
        self.partial.of(column)
    }

    /// Columns of chunks whose partial sums are in memory at once.
    pub fn partial_slots(&self) -> usize {
        self.partial.count
    }
}

fn take(bytes: &mut [u64; Buffer::COUNT], buffer: Buffer, each: u64, count: usize) -> Slots {
    let first = Place::new(buffer, bytes[buffer.index()]);
    bytes[buffer.index()] += each * count as u64;
    Slots { first, bytes: each, count }
}

fn raise(bytes: &mut [u64; Buffer::COUNT], buffer: Buffer, least: u64) {
    let there = &mut bytes[buffer.index()];
    *there = (*there).max(least);
}

fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(WORKSPACE_ALIGNMENT)
}
