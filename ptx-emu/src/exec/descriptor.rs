//! Where in shared memory the matrices are that `wgmma` reads. PTX ISA, "Matrix Descriptor Format" and "Shared Memory Matrix
//! Layout"; CUTLASS, `make_gmma_desc`.

use crate::tensor::Swizzle;

/// Bytes that lie side by side whatever the swizzle.
pub(super) const UNIT: u64 = 16;

/// Rows of units that form a pattern.
const GROUP: u64 = 8;

/// A matrix in shared memory, in units of 16 bytes.
///
/// Elements that are neighbours along k lie side by side, two units of each row; or, where it is transposed, those of
/// neighbouring rows do, so many units for each k.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptor {
    start: u64,
    leading: u64,
    stride: u64,
    swizzle: Swizzle,
    is_transposed: bool,
}

impl Descriptor {
    /// Fails with what stands for the base offset, which must be 0.
    pub(super) fn new(bits: u64, is_transposed: bool) -> Result<Self, u64> {
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

    /// Bytes from a pattern to the next, of a matrix of so many rows, if these are no multiple of a pattern's. The base offset says
    /// of all patterns how far from such a multiple they begin.
    pub(super) fn skew(&self, rows: usize) -> Option<u64> {
        let span = self.swizzle.span()?;
        let (beside, below) = match self.is_transposed {
            true => (2 * rows as u64 > span, true),
            false => (false, rows as u64 > GROUP),
        };
        let strides = [(beside, self.leading), (below, self.stride)];
        let is_skewed = |(is_used, stride): &(bool, u64)| *is_used && !stride.is_multiple_of(GROUP * span);
        strides.into_iter().find(is_skewed).map(|(_, stride)| stride)
    }

    pub(super) fn is_transposed(&self) -> bool {
        self.is_transposed
    }

    /// The address of a unit: of a row, of which there are two side by side along k; or, where the matrix is transposed, of a
    /// k, of which there are as many side by side as the rows are long.
    ///
    /// What lies side by side is `across`; what lies below each other, eight of it in a pattern, is `down`.
    pub(super) fn unit(&self, down: usize, across: usize) -> u64 {
        let (down, across) = (down as u64, across as u64);
        let (group, row) = (down / GROUP, down % GROUP);
        let place = match (self.swizzle.span(), self.is_transposed) {
            (None, false) => group * self.stride + row * UNIT + across * self.leading,
            (None, true) => group * self.leading + row * UNIT + across * self.stride,
            (Some(span), false) => group * self.stride + row * span + across * UNIT,
            (Some(span), true) => {
                let units = span / UNIT;
                group * self.stride + row * span + across % units * UNIT + across / units * self.leading
            }
        };
        self.swizzle.place(self.start + place)
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
