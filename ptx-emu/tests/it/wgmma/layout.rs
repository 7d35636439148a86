//! Element addresses of a matrix in shared memory, one by one, after CUTLASS's layouts of `make_gmma_desc`.

/// Bytes within which the swizzle permutes chunks of 16.
pub const SWIZZLES: [usize; 4] = [0, 32, 64, 128];

/// The layout of a matrix, at a multiple of 1024 bytes.
#[derive(Debug, Clone)]
pub struct Layout {
    pub swizzle: usize,
    pub is_transposed: bool,
    pub leading: usize,
    pub stride: usize,
    /// From one pattern along k to the next, where rows lie along k and are wider than one.
    further: usize,
}

impl Layout {
    /// For `rows` rows; the strides include unneeded gaps.
    pub fn new(swizzle: usize, is_transposed: bool, rows: usize) -> Self {
        let pattern = 8 * swizzle.max(16);
        let (leading, stride, further) = match (swizzle, is_transposed) {
            (0, false) => (rows / 8 * pattern + 16, pattern, 0),
            (0, true) => (rows / 8 * (pattern + 16), pattern + 16, 0),
            (_, false) => (16, pattern, rows / 8 * pattern),
            (_, true) => (8 * pattern, pattern, 0),
        };
        Self { swizzle, is_transposed, leading, stride, further }
    }

    /// The first byte of an element of `bytes` bytes.
    pub fn place(&self, row: usize, k: usize, width: usize) -> usize {
        let Self { swizzle, is_transposed, leading, stride, further } = *self;
        let place = match (swizzle, is_transposed) {
            (0, false) => k * width / 16 * leading + row / 8 * stride + row % 8 * 16 + k * width % 16,
            (0, true) => k / 8 * leading + row / 8 * stride + k % 8 * 16 + row % 8 * width,
            (span, false) => k * width / span * further + row / 8 * stride + row % 8 * span + k * width % span,
            (span, true) => row * width / span * leading + k / 8 * stride + k % 8 * span + row * width % span,
        };
        let mask = [0, 1, 3, 7][SWIZZLES.iter().position(|other| *other == swizzle).unwrap()];
        place ^ (place >> 7 & mask) << 4
    }

    /// Bytes from one step of so many bytes along k, 32 or 64, to the next.
    pub fn step(&self, width: usize, bytes: usize) -> usize {
        let Self { swizzle, is_transposed, leading, stride, further } = *self;
        assert!(width == 2 || !is_transposed);
        match (swizzle, is_transposed) {
            (0, _) => bytes / 16 * leading,
            (span, false) if bytes >= span => bytes / span * further,
            (_, false) => bytes,
            (_, true) => bytes / 16 * stride,
        }
    }

    /// The descriptor of the matrix at that address.
    pub fn descriptor(&self, start: usize) -> u64 {
        let field = |bytes: usize| {
            assert!(bytes.is_multiple_of(16) && bytes < 1 << 18);
            bytes as u64 / 16
        };
        let swizzle = [(0, 0), (128, 1), (64, 2), (32, 3)].iter().find(|(bytes, _)| *bytes == self.swizzle).unwrap().1;
        field(start) | field(self.leading) << 16 | field(self.stride) << 32 | swizzle << 62
    }
}
