//! Matrix descriptors of `wgmma`. PTX ISA, "Matrix Descriptor Format" and "Shared Memory Matrix Layout"; CUTLASS,
//! `make_gmma_desc`.

use crate::memory::Swizzle;

/// Bytes that stay contiguous under any swizzle.
pub(crate) const UNIT: u64 = 16;

/// Rows of a core matrix.
const CORE_ROWS: u64 = 8;

/// A matrix in shared memory, in units of 16 bytes.
///
/// Elements are contiguous along k, two units per row; or, if the matrix is transposed, along the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    swizzle: Swizzle,
    is_transposed: bool,
}

impl Descriptor {
    /// Fails with the base offset if it is not 0.
    pub(crate) fn new(bits: u64, is_transposed: bool) -> Result<Self, u64> {
        let bytes = |from: u32| (bits >> from & 0x3fff) << 4;
        let swizzle = match bits >> 62 {
            0 => Swizzle::None,
            1 => Swizzle::Bytes128,
            2 => Swizzle::Bytes64,
            _ => Swizzle::Bytes32,
        };
        match bits >> 49 & 7 {
            0 => Ok(Self { start: bytes(0), leading: bytes(16), stride: bytes(32), swizzle, is_transposed }),
            offset => Err(offset),
        }
    }

    /// The stride between swizzle atoms of a matrix of that many rows, if it is not a multiple of an atom's size. The
    /// one base offset could not describe where each begins.
    pub(crate) fn skew(&self, rows: usize) -> Option<u64> {
        let span = self.swizzle.span()?;
        let (across, down) = match self.is_transposed {
            true => (2 * rows as u64 > span, true),
            false => (false, rows as u64 > CORE_ROWS),
        };
        let strides = [(across, self.leading), (down, self.stride)];
        let is_skewed = |(is_used, stride): &(bool, u64)| *is_used && !stride.is_multiple_of(CORE_ROWS * span);
        strides.into_iter().find(is_skewed).map(|(_, stride)| stride)
    }

    /// Whether a row of so many units is longer than a row of the swizzle, for which no layout is known.
    pub(crate) fn is_too_narrow(&self, units: usize) -> bool {
        !self.is_transposed && self.swizzle.span().is_some_and(|span| units as u64 * UNIT > span)
    }

    pub(crate) fn is_transposed(&self) -> bool {
        self.is_transposed
    }

    /// The address of a unit: of a row (`down`) and one of its two units along k (`across`); or, if transposed, of a k
    /// (`down`) and a unit along the rows (`across`).
    ///
    /// Along `down`, eight units form a core matrix.
    pub(crate) fn unit(&self, down: usize, across: usize) -> u64 {
        let (down, across) = (down as u64, across as u64);
        let (group, row) = (down / CORE_ROWS, down % CORE_ROWS);
        let offset = match (self.swizzle.span(), self.is_transposed) {
            (None, false) => group * self.stride + row * UNIT + across * self.leading,
            (None, true) => group * self.leading + row * UNIT + across * self.stride,
            (Some(span), false) => group * self.stride + row * span + across * UNIT,
            (Some(span), true) => {
                let units = span / UNIT;
                group * self.stride + row * span + across % units * UNIT + across / units * self.leading
            }
        };
        self.swizzle.apply(self.start + offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn descriptor(start: u64, leading: u64, stride: u64, swizzle: u64, is_transposed: bool) -> Descriptor {
        Descriptor::new(start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | swizzle << 62, is_transposed).unwrap()
    }

    #[test]
    fn rows_along_k() {
        let wide = descriptor(0x400, 16, 1024, 1, false);
        assert_eq!(
            [(0, 0), (0, 1), (1, 0), (7, 1), (8, 0)].map(|(m, k)| wide.unit(m, k)),
            [0x400, 0x410, 0x490, 0x7e0, 0x800]
        );
        let next = descriptor(0x420, 16, 1024, 1, false);
        assert_eq!([next.unit(0, 0), next.unit(2, 0)], [0x420, 0x500], "the next step along k");
        let narrow = descriptor(0x100, 16, 256, 3, false);
        assert_eq!([(1, 0), (4, 0), (4, 1)].map(|(m, k)| narrow.unit(m, k)), [0x120, 0x190, 0x180]);
        let plain = descriptor(0x100, 0x2000, 128, 0, false);
        assert_eq!([(1, 0), (1, 1), (9, 1)].map(|(m, k)| plain.unit(m, k)), [0x110, 0x2110, 0x2190]);
    }

    #[test]
    fn rows_side_by_side() {
        let wide = descriptor(0x400, 0x4000, 1024, 1, true);
        assert_eq!(
            [(0, 7), (0, 8), (1, 0), (8, 0), (9, 9)].map(|(k, m)| wide.unit(k, m)),
            [0x470, 0x4400, 0x490, 0x800, 0x4880]
        );
        let half = descriptor(0x400, 0x4000, 512, 2, true);
        assert_eq!([(0, 3), (0, 4), (2, 0), (8, 1)].map(|(k, m)| half.unit(k, m)), [0x430, 0x4400, 0x490, 0x610]);
        let plain = descriptor(0x100, 0x2000, 128, 0, true);
        assert_eq!([(1, 0), (1, 1), (9, 1)].map(|(k, m)| plain.unit(k, m)), [0x110, 0x190, 0x2190]);
    }

    #[test]
    fn patterns_begin_at_multiples_of_their_size() {
        let wide = descriptor(0x400, 0x4100, 1024, 1, true);
        assert_eq!([wide.skew(64), wide.skew(128)], [None, Some(0x4100)]);
        let narrow = descriptor(0x420, 0x4100, 0x120, 3, false);
        assert_eq!([narrow.skew(8), narrow.skew(64)], [None, Some(0x120)]);
        assert_eq!(descriptor(0x400, 0x4100, 0x190, 0, true).skew(128), None);
    }

    #[test]
    fn a_base_offset_is_not_known() {
        assert_eq!(Descriptor::new(3 << 49, false), Err(3));
    }
}
