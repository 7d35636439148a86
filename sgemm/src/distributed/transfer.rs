//! A copy, as calls of the driver make it.

use super::schedule::{Copy, Dimension, Place};

/// What one call copies: slices of rows of bytes. In the source and in the target, rows begin a pitch apart, and slices as many rows as
/// are their height.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transfer {
    pub from: Place,
    pub to: Place,
    /// Bytes of a row.
    pub bytes: u64,
    pub rows: u64,
    pub slices: u64,
    /// Bytes from a row to the next.
    pub from_pitch: u64,
    pub to_pitch: u64,
    /// Rows from a slice to the next.
    pub from_height: u64,
    pub to_height: u64,
}

/// The most bytes from a row to the next that the driver takes: `CU_DEVICE_ATTRIBUTE_MAX_PITCH` of every device so far.
const MAX_PITCH: u64 = (1 << 31) - 1;

/// The calls that make a copy: one where its strides fit, otherwise one for each piece of the shorter dimension.
pub(super) fn transfers(copy: &Copy) -> Vec<Transfer> {
    if copy.total_bytes() == 0 {
        return Vec::new();
    }
    let [inner, outer] = copy.dimensions;
    for [rows, slices] in [[inner, outer], [outer, inner]] {
        if let Some(transfer) = box_of(copy, rows, slices) {
            return vec![transfer];
        }
    }
    let [few, many] = if inner.count < outer.count { [inner, outer] } else { [outer, inner] };
    let one = |index| {
        let (from, to) = (copy.from.plus(index * few.from_stride), copy.to.plus(index * few.to_stride));
        transfers(&Copy { from, to, dimensions: [many, Dimension::ONE], ..*copy })
    };
    if few.count > 1 {
        return (0..few.count).flat_map(one).collect();
    }
    // Strides beyond the driver's pitch.
    let piece = |(from, to)| box_of(&Copy { from, to, ..*copy }, Dimension::ONE, Dimension::ONE);
    copy.pieces().filter_map(piece).collect()
}

/// The copy as one call, where rows follow each other along one dimension and slices along the other.
fn box_of(copy: &Copy, rows: Dimension, slices: Dimension) -> Option<Transfer> {
    if rows.count == 1 && slices.count > 1 {
        return None;
    }
    let pitch = |stride| if rows.count == 1 { Some(copy.bytes) } else { (stride <= MAX_PITCH).then_some(stride) };
    let (from_pitch, to_pitch) = (pitch(rows.from_stride)?, pitch(rows.to_stride)?);
    let height = |stride: u64, pitch: u64| {
        let height = stride / pitch;
        if slices.count == 1 {
            Some(rows.count)
        } else {
            (stride.is_multiple_of(pitch) && height >= rows.count).then_some(height)
        }
    };
    Some(Transfer {
        from: copy.from,
        to: copy.to,
        bytes: copy.bytes,
        rows: rows.count,
        slices: slices.count,
        from_pitch,
        to_pitch,
        from_height: height(slices.from_stride, from_pitch)?,
        to_height: height(slices.to_stride, to_pitch)?,
    })
    .filter(|transfer| transfer.bytes <= MAX_PITCH || transfer.rows * transfer.slices == 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::distributed::schedule::Buffer;

    /// Where each piece comes from and goes, as the driver computes it.
    fn pieces(transfer: &Transfer) -> Vec<(Place, Place)> {
        let Transfer { from, to, rows, slices, from_pitch, to_pitch, from_height, to_height, .. } = *transfer;
        let piece = |slice: u64, row: u64| {
            let at = |place: Place, height: u64, pitch: u64| place.plus((slice * height + row) * pitch);
            (at(from, from_height, from_pitch), at(to, to_height, to_pitch))
        };
        (0..slices).flat_map(|slice| (0..rows).map(move |row| piece(slice, row))).collect()
    }

    fn sorted(mut pieces: Vec<(Place, Place)>) -> Vec<(u64, u64)> {
        pieces.sort_by_key(|(from, to)| (from.offset, to.offset));
        pieces.into_iter().map(|(from, to)| (from.offset, to.offset)).collect()
    }

    fn copy(bytes: u64, inner: [u64; 3], outer: [u64; 3]) -> Copy {
        let dimension = |[count, from_stride, to_stride]: [u64; 3]| Dimension { count, from_stride, to_stride };
        let (from, to) = (Place::new(Buffer::A, 64), Place::new(Buffer::Received, 128));
        Copy { from, to, bytes, dimensions: [dimension(inner), dimension(outer)] }
    }

    proptest! {
        /// Together they move the pieces of the copy, and the driver accepts each of them.
        #[test]
        fn all_pieces_are_moved(
            bytes in 1_u64..8, counts in prop::array::uniform2(0_u64..5), gaps in prop::array::uniform4(0_u64..9),
        ) {
            let inner = [counts[0], bytes + gaps[0], bytes + gaps[1]];
            let outer = [counts[1], inner[1] * counts[0].max(1) + gaps[2], inner[2] * counts[0].max(1) + gaps[3]];
            for copy in [copy(bytes, inner, outer), copy(bytes, outer, inner)] {
                let all = transfers(&copy);
                let expected: Vec<_> = copy.pieces().collect();
                prop_assert_eq!(sorted(all.iter().flat_map(pieces).collect()), sorted(expected));
                for each in all {
                    prop_assert_eq!(each.bytes, bytes);
                    prop_assert!(each.from_pitch >= bytes && each.to_pitch >= bytes);
                    prop_assert!(each.from_height >= each.rows && each.to_height >= each.rows);
                }
            }
        }
    }

    #[test]
    fn one_call_does_where_strides_fit() {
        // Rows of a matrix; blocks of k, whose lines are a multiple of them.
        assert_eq!(transfers(&copy(64, [100, 256, 64], [1, 0, 0])).len(), 1);
        assert_eq!(transfers(&copy(64, [4, 64, 128], [100, 256, 1024])).len(), 1);
        assert_eq!(transfers(&copy(64, [4, 64, 128], [3, 260, 1024])).len(), 3);
    }

    #[test]
    fn long_strides_are_copied_by_pieces() {
        let far = MAX_PITCH + 1;
        let all = transfers(&copy(4, [3, far, 8], [1, 0, 0]));
        assert_eq!(all.iter().map(|each| each.from.offset).collect::<Vec<_>>(), [64, 64 + far, 64 + 2 * far]);
        assert_eq!(transfers(&copy(far, [1, 0, 0], [1, 0, 0])).len(), 1);
        assert_eq!(transfers(&copy(0, [3, 4, 4], [1, 0, 0])), []);
    }
}
