//! A matrix in the host's memory, of which blocks are copied to a GPU.

use std::ops::Range;

use super::task::Transfer;
use crate::plan::Buffer;
use crate::problem::{Order, View};
use crate::{Error, Layout};

/// Lines of a block begin at a multiple of so many bytes in the GPU's memory: a line of its cache.
const LINE_BYTES: u64 = 128;

/// One of A, B and C.
#[derive(Debug, Clone, Copy)]
pub(super) struct Matrix {
    buffer: Buffer,
    order: Order,
    ld: usize,
    element_bytes: u64,
}

impl Matrix {
    pub fn new(view: &View, buffer: Buffer) -> Result<Self, Error> {
        let (order, ld) = view.layout.order(view.name, view.rows, view.columns)?;
        Ok(Self { buffer, order, ld, element_bytes: view.element.bytes().into() })
    }

    /// Elements of a line, and lines.
    fn lines<T>(&self, [rows, columns]: [T; 2]) -> (T, T) {
        match self.order {
            Order::RowMajor => (columns, rows),
            Order::ColumnMajor => (rows, columns),
        }
    }

    /// Bytes from a line of a block to the next one in the GPU's memory.
    fn pitch(&self, extent: [usize; 2]) -> u64 {
        let line = (self.lines(extent).0 as u64).saturating_mul(self.element_bytes);
        line.checked_next_multiple_of(LINE_BYTES).unwrap_or(u64::MAX).max(LINE_BYTES)
    }

    /// Bytes of a block in the GPU's memory.
    pub fn bytes(&self, extent: [usize; 2]) -> u64 {
        self.pitch(extent).saturating_mul(self.lines(extent).1 as u64)
    }

    /// How a block lies in the GPU's memory: in the order that it has in the host's.
    pub fn layout(&self, extent: [usize; 2]) -> Layout {
        let ld = usize::try_from(self.pitch(extent) / self.element_bytes).unwrap_or(usize::MAX);
        match self.order {
            Order::RowMajor => Layout::row_major(ld),
            Order::ColumnMajor => Layout::column_major(ld),
        }
    }

    /// The way of a block from or to that place in the GPU's memory.
    pub fn transfer(&self, rows: Range<usize>, columns: Range<usize>, device: u64) -> Transfer {
        let extent = [rows.len(), columns.len()];
        let (within, line) = self.lines([rows.start, columns.start]);
        let (length, lines) = self.lines(extent);
        Transfer {
            matrix: self.buffer,
            host: (line as u64 * self.ld as u64 + within as u64) * self.element_bytes,
            host_pitch: self.ld as u64 * self.element_bytes,
            device,
            device_pitch: self.pitch(extent),
            bytes: length as u64 * self.element_bytes,
            lines: lines as u64,
        }
    }
}
