//! Textures and surfaces.

use super::memory::{AddressExpr, Element};
use crate::lanes::Slot;
use crate::memory::Geometry;

/// An access to a texture or surface object.
pub(crate) struct TextureAccess {
    pub geometry: Geometry,
    /// The object's handle.
    pub handle: AddressExpr,
    /// The number of a layer, where there are several.
    pub layer: Option<Slot>,
    pub coordinates: Box<[Slot]>,
    pub kind: TextureKind,
}

/// What it does.
pub(crate) enum TextureKind {
    /// `tex`, `tld4`: four values of 32 bits.
    Fetch { fetched: Fetched, d: Box<[Slot]> },
    /// `suld.b`, `sust.b`: `elements` of `width` bytes, at an x in bytes.
    Surface { is_store: bool, outside: Outside, width: u32, elements: Box<[Element]> },
}

/// Which values of a texture are fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fetched {
    /// Those of the texel at integer coordinates.
    Texel,
    /// Those at floating-point coordinates.
    Sample,
    /// One component of the four texels around them.
    Gathered(usize),
}

/// What a surface does outside of its array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outside {
    Trap,
    Clamp,
    /// Loads give 0, stores do nothing.
    Zero,
}
