//! Textures and surfaces: how SPECs and launch files describe them.

use crate::memory::{AddressMode, Filter, GlobalMemory, Layering, Pointer, Texture, TextureArray};
use crate::types::Type;

/// A texture or surface of a buffer, whose extents are those of the array, the contiguous one last; of several channels, these follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectView {
    /// A surface: the rest, but for the channels and the layers, is of textures.
    pub is_surface: bool,
    /// Elements of a texel.
    pub channels: u32,
    /// Whether the first extent counts layers, or the faces of cubes.
    pub layered: bool,
    /// Whether it counts the faces of a cube, or of several if there are layers.
    pub cubemap: bool,
    /// How a texel is chosen.
    pub filter: Filter,
    /// What stands outside of the array, in all dimensions.
    pub address: AddressMode,
    /// Coordinates from 0 to 1.
    pub normalized: bool,
    /// Integers of 8 and 16 bits are read as numbers up to 1.
    pub normalized_values: bool,
}

impl ObjectView {
    /// A surface, or a texture as [`Texture::new`] makes it.
    #[must_use]
    pub fn new(is_surface: bool) -> Self {
        Self {
            is_surface,
            channels: 1,
            layered: false,
            cubemap: false,
            filter: Filter::default(),
            address: AddressMode::default(),
            normalized: false,
            normalized_values: false,
        }
    }

    /// Reads the options and what stands before the SPEC of a buffer: the view, the buffer's kind, and the rest.
    pub(super) fn parse(is_surface: bool, text: &str) -> Result<(Self, &str, &str), String> {
        let mut view = Self::new(is_surface);
        let (object, options) = match is_surface {
            true => ("surface", "channels=N, layered"),
            false => {
                ("texture", "channels=N, layered, cubemap, filter=FILTER, address=MODE, normalized, normalized-values")
            }
        };
        let mut rest = text;
        loop {
            let (part, after) =
                rest.split_once(':').ok_or_else(|| format!("'{text}' has no buffer: {object}:in:TYPE:SHAPE"))?;
            rest = after;
            match part.split_once('=') {
                None if ["in", "out", "inout"].contains(&part) => return Ok((view, part, rest)),
                Some(("channels", number)) => {
                    let channels = number.parse().ok().filter(|channels| [1, 2, 4].contains(channels));
                    view.channels = channels.ok_or_else(|| format!("{number} channels: a texel has 1, 2 or 4"))?;
                }
                None if part == "layered" => view.layered = true,
                None if part == "cubemap" && !is_surface => view.cubemap = true,
                Some(("filter", name)) if !is_surface => view.filter = filter(name)?,
                Some(("address", name)) if !is_surface => view.address = address(name)?,
                None if part == "normalized" && !is_surface => view.normalized = true,
                None if part == "normalized-values" && !is_surface => view.normalized_values = true,
                _ => return Err(format!("'{part}' does not belong here: {options}, then in, out or inout")),
            }
        }
    }

    /// The handle of the object, whose texels are those of a buffer of that shape.
    ///
    /// # Errors
    /// One line, where there is no such texture or surface.
    pub fn create(&self, memory: &mut GlobalMemory, ty: Type, shape: &[u64], pointer: Pointer) -> Result<u64, String> {
        let extents = match (self.channels, shape) {
            (1, extents) => extents,
            (channels, [extents @ .., last]) if *last == u64::from(channels) => extents,
            (channels, _) => return Err(format!("{channels} channels: the last extent is to be {channels}")),
        };
        let too_large = || "an extent of more than 2^32 texels".to_owned();
        let extents: Option<Vec<u32>> = extents.iter().rev().map(|extent| u32::try_from(*extent).ok()).collect();
        let array = TextureArray::new(pointer, ty, self.channels, &extents.ok_or_else(too_large)?);
        let layering = match (self.layered, self.cubemap) {
            (false, false) => None,
            (true, false) => Some(Layering::Layered),
            (false, true) => Some(Layering::Cubemap),
            (true, true) => Some(Layering::LayeredCubemap),
        };
        let array =
            array.and_then(|array| layering.map_or(Ok(array.clone()), |layering| array.with_layering(layering)));
        let array = array.map_err(|error| error.to_string())?;
        if self.is_surface {
            return Ok(memory.create_surface(array));
        }
        let texture = Texture {
            address_modes: [self.address; 3],
            filter: self.filter,
            normalized_coordinates: self.normalized,
            normalized_values: self.normalized_values,
            ..Texture::new(array)
        };
        memory.create_texture(texture).map_err(|error| error.to_string())
    }
}

/// The filter of that name.
///
/// # Errors
/// One line, where there is none.
pub fn filter(name: &str) -> Result<Filter, String> {
    match name {
        "point" => Ok(Filter::Point),
        "linear" => Ok(Filter::Linear),
        _ => Err(format!("'{name}' is no filter: give point or linear")),
    }
}

/// The address mode of that name.
///
/// # Errors
/// One line, where there is none.
pub fn address(name: &str) -> Result<AddressMode, String> {
    match name {
        "clamp" => Ok(AddressMode::Clamp),
        "border" => Ok(AddressMode::Border),
        "wrap" => Ok(AddressMode::Wrap),
        "mirror" => Ok(AddressMode::Mirror),
        _ => Err(format!("'{name}' is no address mode: give clamp, border, wrap or mirror")),
    }
}
