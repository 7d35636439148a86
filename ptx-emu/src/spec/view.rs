//! Tensor maps: how SPECs and launch files describe them.

use crate::memory::{Pointer, Swizzle, TensorMap};
use crate::types::Type;

/// The spans in bytes that a swizzle may have, 0 for none, and what they are called.
const SWIZZLES: [(u32, Swizzle); 4] =
    [(0, Swizzle::None), (32, Swizzle::Bytes32), (64, Swizzle::Bytes64), (128, Swizzle::Bytes128)];

/// A tensor in a buffer, and the box that a copy moves. Extents are those of the buffer's shape, the contiguous one last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Extents of the box, in elements.
    pub tile: Vec<u32>,
    /// Span of the swizzle in bytes.
    pub swizzle: u32,
    /// Extents of the tensor, where they are not those of the buffer.
    pub shape: Option<Vec<u64>>,
    /// Bytes from one index to the next of all dimensions but the last, where they are not those of contiguous elements.
    pub strides: Option<Vec<u64>>,
}

impl View {
    /// Reads `BOX[:swizzle=N][:shape=SHAPE]` and what stands before the SPEC of a buffer: the view, the buffer's kind, and the rest.
    pub(super) fn parse(text: &str) -> Result<(Self, &str, &str), String> {
        let (tile, mut rest) = text.split_once(':').ok_or_else(|| no_buffer(text))?;
        let sides = super::shape(tile)?;
        let tile: Option<Vec<u32>> =
            sides.iter().map(|side| u32::try_from(*side).ok().filter(|side| *side > 0)).collect();
        let tile = tile.ok_or_else(|| {
            format!(
                "a box of {}: each extent is 1 to 256",
                sides.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
            )
        })?;
        let mut view = Self { tile, swizzle: 0, shape: None, strides: None };
        loop {
            let (part, after) = rest.split_once(':').ok_or_else(|| no_buffer(text))?;
            rest = after;
            match part.split_once('=') {
                None if ["in", "out", "inout"].contains(&part) => return Ok((view, part, rest)),
                Some(("swizzle", span)) => {
                    view.swizzle = span.parse().map_err(|_| no_swizzle(span))?;
                    swizzle(view.swizzle)?;
                }
                Some(("shape", extents)) => view.shape = Some(super::shape(extents)?),
                _ => {
                    return Err(format!(
                        "'{part}' does not belong here: swizzle=N, shape=SHAPE, then in, out or inout"
                    ));
                }
            }
        }
    }

    /// The encoded map of a buffer of that shape.
    ///
    /// # Errors
    /// One line, where the tensor, or the box, is none that a map has.
    pub fn encode(&self, ty: Type, shape: &[u64], pointer: Pointer) -> Result<[u8; 128], String> {
        let shape = self.shape.as_deref().unwrap_or(shape);
        if shape.len() != self.tile.len() {
            let (dimensions, sides) = (shape.len(), self.tile.len());
            return Err(format!(
                "a box of {sides} dimensions of a tensor of {dimensions}: give the shape, such as 30x416"
            ));
        }
        let contiguous = || {
            let mut strides: Vec<u64> = Vec::new();
            let mut stride = u64::from(ty.bytes());
            for extent in shape.iter().skip(1).rev() {
                stride = stride.saturating_mul(*extent);
                strides.push(stride);
            }
            strides
        };
        // `cuTensorMapEncodeTiled` begins with the contiguous dimension.
        let strides = self.strides.as_ref().map_or_else(contiguous, |given| given.iter().rev().copied().collect());
        let dims: Vec<u64> = shape.iter().rev().copied().collect();
        let sides: Vec<u32> = self.tile.iter().rev().copied().collect();
        let map = TensorMap::new(ty, pointer, &dims, &strides, &sides, swizzle(self.swizzle)?);
        map.map(|map| map.encode()).map_err(|error| error.to_string())
    }
}

/// The swizzle of that span in bytes; 0 is none.
///
/// # Errors
/// One line, where there is none of that span.
pub fn swizzle(span: u32) -> Result<Swizzle, String> {
    let found = SWIZZLES.iter().find(|(known, _)| *known == span);
    found.map(|(_, swizzle)| *swizzle).ok_or_else(|| no_swizzle(&span.to_string()))
}

fn no_swizzle(text: &str) -> String {
    format!("'{text}' is no swizzle: its span is 0, 32, 64 or 128 bytes")
}

fn no_buffer(text: &str) -> String {
    format!("'{text}' has no buffer behind it: map:BOX:in:TYPE:SHAPE")
}
