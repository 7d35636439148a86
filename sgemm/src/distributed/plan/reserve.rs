//! Where in a rank's workspace the chunks are.

use super::builder::Side;
use super::operand::Operand;
use crate::distributed::schedule::{Buffer, Place};
use crate::plan::WORKSPACE_ALIGNMENT;

/// Chunks of an operand in memory at once, where each of them is read by few products: one is multiplied, one is there, one is on its way.
const DEPTH: usize = 3;

/// Slots for chunks, and the bytes of each buffer.
pub(super) struct Regions {
    pub bytes: [u64; Buffer::COUNT],
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
        let gathered = [left, right].into_iter().filter(|operand| operand.is_gathered());
        for operand in gathered {
            let sent = padded(operand.sent_bytes());
            raise(&mut bytes, Buffer::Send, sent);
            if !operand.is_in_order() {
                raise(&mut bytes, Buffer::Received, padded(sent * operand.k.processes as u64));
            }
        }
        let panels = [left, right].map(|operand| {
            let buffer = if operand.is_in_order() { Buffer::Received } else { Buffer::Panels };
            // The rectangle of chunks reads each of them again and again.
            let count = if both { operand.chunks.len() } else { operand.chunks.len().min(DEPTH) }.max(1);
            let each = if operand.is_gathered() { padded(operand.panel_bytes()) } else { 0 };
            take(&mut bytes, buffer, each, count)
        });
        let columns = right.chunks.len();
        // Where the left operand arrives by and by, no column of chunks is complete before it is there.
        let count = if left.is_gathered() { columns } else { columns.min(DEPTH) }.max(1);
        let part = if layers > 1 { padded((left.width * right.width * size_of::<f32>()) as u64) } else { 0 };
        let partial = take(&mut bytes, Buffer::Partial, part * layers as u64, count);
        raise(&mut bytes, Buffer::Reduced, part);
        Self { bytes, panels, partial }
    }

    /// Where a chunk of a gathered operand is.
    pub fn panel(&self, side: Side, chunk: usize) -> Place {
        self.panels[side as usize].of(chunk)
    }

    /// Chunks of an operand that are in memory at once.
    pub fn slots(&self, side: Side) -> usize {
        self.panels[side as usize].count
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
