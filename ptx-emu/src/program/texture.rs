//! Textures and surfaces.

use super::memory::{AddressExpr, Element};
use crate::lanes::Slot;

/// An access to a texture or surface object.
pub(crate) struct TextureAccess {
    /// Dimensions.
    pub rank: usize,
    /// The object's handle.
    pub handle: AddressExpr,
    pub coordinates: Box<[Slot]>,
    pub kind: TextureKind,
}

/// What it does.
pub(crate) enum TextureKind {
    /// `tex`: four values of 32 bits.
    Fetch { coordinates_are_floats: bool, d: Box<[Slot]> },
    /// `suld.b`, `sust.b`: `elements` of `width` bytes, at an x in bytes.
    Surface { is_store: bool, outside: Outside, width: u32, elements: Box<[Element]> },
}

/// What a surface does outside of its array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    Trap,
    Clamp,
    /// Loads give 0, stores do nothing.
    Zero,
}
