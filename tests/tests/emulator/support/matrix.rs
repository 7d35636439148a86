//! Matrices in the emulator's memory. All that lies between and around their elements is NaN.

use ptx_emu::{GlobalMemory, Pointer};

/// Where the elements of a matrix are.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// Of an element.
    pub bytes: usize,
    pub rows: usize,
    pub cols: usize,
    /// From row to row, and from column to column.
    pub strides: [usize; 2],
    /// Elements before the first one, and after the last one.
    pub guard: [usize; 2],
}

impl Layout {
    /// Row-major, with so many elements before the first one and none after the last: an access beyond it is out of bounds.
    pub fn row_major(bytes: usize, rows: u32, cols: u32, ld: usize, before: usize) -> Self {
        Self { bytes, rows: rows as usize, cols: cols as usize, strides: [ld, 1], guard: [before, 0] }
    }

    fn index(&self, row: usize, col: usize) -> usize {
        self.guard[0] + row * self.strides[0] + col * self.strides[1]
    }

    fn len(&self) -> usize {
        let last = if self.rows * self.cols == 0 { 0 } else { self.index(self.rows - 1, self.cols - 1) + 1 };
        last.max(self.guard[0]) + self.guard[1]
    }
}

/// A matrix with what lies around it, as bits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buffer {
    bytes: usize,
    pub elements: Vec<u32>,
}

impl Buffer {
    /// NaN, whatever the elements are.
    fn nan(layout: &Layout) -> Self {
        Self { bytes: layout.bytes, elements: vec![u32::MAX >> (32 - 8 * layout.bytes); layout.len()] }
    }

    /// A matrix of the bits that `element` gives for each row and column.
    pub fn of(layout: &Layout, element: impl Fn(usize, usize) -> u32) -> Self {
        let mut buffer = Self::nan(layout);
        for row in 0..layout.rows {
            for col in 0..layout.cols {
                buffer.elements[layout.index(row, col)] = element(row, col);
            }
        }
        buffer
    }

    /// One that a kernel writes.
    pub fn unwritten(layout: &Layout) -> Self {
        Self::nan(layout)
    }

    /// The bits of an element.
    pub fn get(&self, layout: &Layout, row: usize, col: usize) -> u32 {
        self.elements[layout.index(row, col)]
    }

    /// Places it in memory: where the buffer begins.
    pub fn upload(&self, memory: &mut GlobalMemory) -> Pointer {
        let bytes: Vec<u8> =
            self.elements.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(self.bytes)).collect();
        memory.allocate_bytes(&bytes)
    }

    /// What lies there now.
    pub fn download(&self, memory: &GlobalMemory, base: Pointer) -> Self {
        let bytes = memory.read(base).unwrap_or_default();
        let bits = |chunk: &[u8]| chunk.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        Self { bytes: self.bytes, elements: bytes.chunks(self.bytes).map(bits).collect() }
    }
}

impl Layout {
    /// The address of the first element, in a buffer that begins there.
    pub fn first(&self, base: Pointer) -> Pointer {
        base + (self.guard[0] * self.bytes) as u64
    }
}

/// Rows that lie more than 2^32 elements apart, each in an allocation of its own.
pub struct FarRows {
    pub bases: Vec<Pointer>,
    /// Elements from row to row.
    pub ld: u64,
    /// The address of the first element.
    pub first: Pointer,
}

impl FarRows {
    /// Uploads each row of a row-major matrix. Where they shall not be `aligned`, each begins an element further into its
    /// allocation than the one before.
    pub fn upload(memory: &mut GlobalMemory, layout: &Layout, matrix: &Buffer, aligned: bool) -> Self {
        let shift = usize::from(!aligned);
        let row_layout = |row: usize| Layout { rows: 1, guard: [row * shift, (layout.rows - row) * shift], ..*layout };
        let bases: Vec<Pointer> = (0..layout.rows)
            .map(|row| {
                let base = Buffer::of(&row_layout(row), |_, col| matrix.get(layout, row, col)).upload(memory);
                memory.skip((layout.bytes as u64) << 32);
                base
            })
            .collect();
        let apart = bases[1] - bases[0];
        Self { ld: apart / layout.bytes as u64 + shift as u64, first: bases[0], bases }
    }

    /// What lies in the rows now.
    pub fn download(&self, memory: &GlobalMemory, layout: &Layout, aligned: bool) -> Buffer {
        let shift = usize::from(!aligned);
        let rows: Vec<Buffer> = self.bases.iter().map(|base| Buffer::nan(layout).download(memory, *base)).collect();
        Buffer::of(layout, |row, col| rows[row].elements[row * shift + col])
    }
}
