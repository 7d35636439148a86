//! Textures and surfaces: arrays of texels in global memory, and how texture objects read them. CUDA C++ Programming Guide, "Texture
//! Fetching"; PTX ISA, "Texture Instructions", "Surface Instructions".

use super::Pointer;
use super::geometry::{Geometry, Layering, face};
use crate::types::Type;

/// An array of texels: what a texture object and a surface object read and write. Its texels are rows in global memory, the
/// first dimension contiguous; an array of CUDA has the same elements in an order of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextureArray {
    address: Pointer,
    element: Type,
    channels: u32,
    /// Texels by dimension: 1 to 3.
    extent: Vec<u32>,
    /// What the last of them is, where it is no dimension.
    layering: Option<Layering>,
    /// Bytes from a row to the next.
    pitch: u64,
}

/// A texture object: an array, and how it is sampled. Each field begins as a `cudaTextureDesc` of zeros has it, but for the address
/// mode, which is [`AddressMode::Clamp`].
///
/// ```
/// use ptx_emu::{Filter, GlobalMemory, Texture, TextureArray, Type};
///
/// let mut memory = GlobalMemory::default();
/// let texels = memory.allocate_words([1.0f32, 2.0, 3.0, 4.0].map(f32::to_bits));
/// let array = TextureArray::new(texels, Type::F32, 1, &[2, 2])?;
/// let handle = memory.create_texture(Texture { filter: Filter::Linear, ..Texture::new(array) })?;
/// let argument = handle.to_le_bytes(); // of the kernel
/// # Ok::<(), ptx_emu::TextureError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Texture {
    /// The texels.
    pub array: TextureArray,
    /// By dimension: what stands outside of the array.
    pub address_modes: [AddressMode; 3],
    /// How a texel is chosen.
    pub filter: Filter,
    /// Coordinates from 0 to 1 instead of to the extent.
    pub normalized_coordinates: bool,
    /// Integers of 8 and 16 bits are read as f32 from 0, or -1, to 1.
    pub normalized_values: bool,
}

/// What a texture gives outside of its array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressMode {
    /// The nearest texel.
    #[default]
    Clamp,
    /// 0.
    Border,
    /// The array repeats. Coordinates are normalized.
    Wrap,
    /// The array repeats, each time the other way round. Coordinates are normalized.
    Mirror,
}

/// How a texture chooses texels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Filter {
    /// The texel that contains the coordinates.
    #[default]
    Point,
    /// The nearest two texels of each dimension, weighted by the distance in 8 bits, as the hardware does. How it rounds their sum is
    /// not known: here it is rounded once.
    Linear,
}

/// Why there is no such texture or surface.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a texture or surface cannot have {0}")]
pub struct TextureError(String);

fn fail<T>(text: impl Into<String>) -> Result<T, TextureError> {
    Err(TextureError(text.into()))
}

impl TextureArray {
    /// An array at `address`, of 1, 2 or 4 channels to a texel, with rows right behind each other.
    ///
    /// # Errors
    /// [`TextureError`] for element types, numbers of channels and extents that CUDA does not have.
    pub fn new(address: Pointer, element: Type, channels: u32, extent: &[u32]) -> Result<Self, TextureError> {
        use Type::{F16, F32, S8, S16, S32, U8, U16, U32};
        if !matches!(element, U8 | S8 | U16 | S16 | U32 | S32 | F16 | F32) {
            return fail(format!("elements of the type {element}"));
        }
        if !matches!(channels, 1 | 2 | 4) {
            return fail(format!("{channels} channels"));
        }
        if !(1..=3).contains(&extent.len()) || extent.contains(&0) {
            return fail(format!("the extent {extent:?}"));
        }
        let pitch = u64::from(extent[0]) * u64::from(channels * element.bytes());
        Ok(Self { address, element, channels, extent: extent.to_vec(), layering: None, pitch })
    }

    /// The same array with rows that are so many bytes apart.
    ///
    /// # Errors
    /// [`TextureError`] if a row is longer.
    pub fn with_pitch(self, bytes: u64) -> Result<Self, TextureError> {
        if bytes < self.row_bytes() {
            return fail(format!("a pitch of {bytes} bytes, less than a row"));
        }
        Ok(Self { pitch: bytes, ..self })
    }

    /// The same array with layers, or faces of cubes, which its last extent counts.
    ///
    /// # Errors
    /// [`TextureError`] if its extents are not those of such an array.
    pub fn with_layering(self, layering: Layering) -> Result<Self, TextureError> {
        if !layering.suits(&self.extent) {
            let needs = match layering {
                Layering::Layered => "layers are of one or two dimensions, and the last extent counts them",
                Layering::Cubemap => "the faces of a cube are squares, and the last extent, 6, counts them",
                Layering::LayeredCubemap => {
                    "the faces of cubes are squares, and the last extent, a multiple of 6, counts them"
                }
            };
            return fail(format!("the extent {:?}: {needs}", self.extent));
        }
        Ok(Self { layering: Some(layering), ..self })
    }

    /// As a texture has it.
    pub(crate) fn geometry(&self) -> Geometry {
        Geometry { rank: self.extent.len() - usize::from(self.layering.is_some()), layering: self.layering }
    }

    /// As a surface has it: faces are layers.
    pub(crate) fn surface_geometry(&self) -> Geometry {
        Geometry { layering: self.layering.map(|_| Layering::Layered), ..self.geometry() }
    }

    /// The type of its elements.
    #[must_use]
    pub fn element(&self) -> Type {
        self.element
    }

    pub(crate) fn channels(&self) -> usize {
        self.channels as usize
    }

    pub(crate) fn texel_bytes(&self) -> u32 {
        self.channels * self.element.bytes()
    }

    /// Bytes of a row, without what stands between it and the next.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        u64::from(self.extent[0]) * u64::from(self.texel_bytes())
    }

    /// Texels of a dimension; 1 of those beyond its own.
    pub(crate) fn extent(&self, dimension: usize) -> u32 {
        self.extent.get(dimension).copied().unwrap_or(1)
    }

    /// The address of a byte of a row.
    pub(crate) fn address(&self, byte: u64, y: u64, z: u64) -> Pointer {
        let rows = y + z * u64::from(self.extent(1));
        self.address.wrapping_add(byte).wrapping_add(rows.wrapping_mul(self.pitch))
    }
}

/// A texel that contributes to a result: its address, none if it is outside, and its weight.
pub(crate) type Tap = (Option<Pointer>, f64);

/// The texels of one dimension that contribute, none if it is outside, with their weights; and how many there are.
type Axis = ([(Option<u32>, f64); 2], usize);

/// Taps at most.
pub(crate) const MAX_TAPS: usize = 8;

impl Texture {
    /// A texture that is sampled at points, by texels, and clamped to its array.
    #[must_use]
    pub fn new(array: TextureArray) -> Self {
        let (normalized_coordinates, normalized_values) = (false, false);
        let (address_modes, filter) = (Default::default(), Filter::default());
        Self { array, address_modes, filter, normalized_coordinates, normalized_values }
    }

    /// Whether there is such a texture.
    pub(crate) fn check(&self) -> Result<(), TextureError> {
        let is_float = matches!(self.array.element, Type::F16 | Type::F32);
        if self.normalized_values && (is_float || self.array.element.bytes() > 2) {
            return fail("normalized values of other types than integers of 8 and 16 bits");
        }
        if self.filter == Filter::Linear && !is_float && !self.normalized_values {
            return fail("a linear filter of integers that are not normalized");
        }
        let repeats = |mode: &AddressMode| matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
        if !self.has_normalized_coordinates() && self.address_modes[..self.array.geometry().rank].iter().any(repeats) {
            return fail("an address mode that repeats it without normalized coordinates");
        }
        Ok(())
    }

    /// Those of a direction are, on the face that it leads to.
    fn has_normalized_coordinates(&self) -> bool {
        self.normalized_coordinates || self.array.geometry().is_cubemap()
    }

    /// The texels at floating-point coordinates, in a layer where there are several.
    pub(crate) fn sample(&self, coordinates: [f32; 3], layer: u32) -> ([Tap; MAX_TAPS], usize) {
        self.filtered(coordinates, layer, self.filter)
    }

    /// The texels that the linear filter would take, of an image or a face: its rows, one after the other.
    pub(crate) fn footprint(&self, coordinates: [f32; 3], layer: u32) -> ([Tap; MAX_TAPS], usize) {
        self.filtered(coordinates, layer, Filter::Linear)
    }

    fn filtered(&self, coordinates: [f32; 3], layer: u32, filter: Filter) -> ([Tap; MAX_TAPS], usize) {
        let (face, coordinates) = match self.array.geometry().is_cubemap() {
            true => {
                let (face, [s, t]) = face(coordinates);
                (face, [s, t, 0.0])
            }
            false => (0, coordinates),
        };
        self.combine(layer, face, |dimension| {
            let extent = self.array.extent(dimension);
            let x = f64::from(coordinates[dimension]);
            // The product is one of f32.
            let x = if self.has_normalized_coordinates() { f64::from((x * f64::from(extent)) as f32) } else { x };
            let at = |index: f64| self.address_modes[dimension].index(index, extent);
            if filter == Filter::Point {
                return ([(at(x.floor()), 1.0), (None, 0.0)], 1);
            }
            // The fraction has 8 bits before it is taken off: the two texels of 2.498 are the third and the fourth.
            let x = ((x - 0.5) * 256.0 + 0.5).floor() / 256.0;
            let weight = x - x.floor();
            ([(at(x.floor()), 1.0 - weight), (at(x.floor() + 1.0), weight)], 2)
        })
    }

    /// The texel at integer coordinates, in a layer where there are several.
    pub(crate) fn fetch(&self, coordinates: [i32; 3], layer: u32) -> ([Tap; MAX_TAPS], usize) {
        self.combine(layer, 0, |dimension| {
            let at = self.address_modes[dimension].index(coordinates[dimension].into(), self.array.extent(dimension));
            ([(at, 1.0), (None, 0.0)], 1)
        })
    }

    fn combine(&self, layer: u32, face: u32, axis: impl Fn(usize) -> Axis) -> ([Tap; MAX_TAPS], usize) {
        let Geometry { rank, layering } = self.array.geometry();
        let axes: [Axis; 3] = std::array::from_fn(|dimension| match layering {
            _ if dimension < rank => axis(dimension),
            Some(layering) if dimension == rank => {
                ([(Some(layering.index(layer, face, self.array.extent(rank))), 1.0), (None, 0.0)], 1)
            }
            _ => ([(Some(0), 1.0), (None, 0.0)], 1),
        });
        let (mut taps, mut count) = ([(None, 0.0); MAX_TAPS], 0);
        let [x, y, z] = axes.each_ref().map(|(axis, count)| &axis[..*count]);
        for (z, z_weight) in z {
            for (y, y_weight) in y {
                for (x, x_weight) in x {
                    let byte = |x: u32| u64::from(x) * u64::from(self.array.texel_bytes());
                    let address = match (x, y, z) {
                        (Some(x), Some(y), Some(z)) => Some(self.array.address(byte(*x), (*y).into(), (*z).into())),
                        _ => None,
                    };
                    taps[count] = (address, x_weight * y_weight * z_weight);
                    count += 1;
                }
            }
        }
        (taps, count)
    }
}

impl AddressMode {
    /// The texel for a whole number; none if it is outside. NaN counts as 0.
    fn index(self, index: f64, extent: u32) -> Option<u32> {
        let index = index as i64;
        let last = i64::from(extent) - 1;
        Some(match self {
            Self::Clamp => index.clamp(0, last) as u32,
            Self::Border => return (0..=last).contains(&index).then_some(index as u32),
            Self::Wrap => index.rem_euclid(last + 1) as u32,
            Self::Mirror => {
                let index = index.rem_euclid(2 * (last + 1));
                index.min(2 * last + 1 - index) as u32
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_modes_give_a_texel_for_every_number() {
        let all = |mode: AddressMode| -> Vec<Option<u32>> { (-4..7).map(|i| mode.index(f64::from(i), 3)).collect() };
        let some = |indices: [u32; 11]| indices.map(Some).to_vec();
        assert_eq!(all(AddressMode::Clamp), some([0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2]));
        assert_eq!(all(AddressMode::Wrap), some([2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0]));
        assert_eq!(all(AddressMode::Mirror), some([2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0]));
        assert_eq!(all(AddressMode::Border)[3..8], [None, Some(0), Some(1), Some(2), None]);
        assert_eq!(AddressMode::Clamp.index(f64::INFINITY, 3), Some(2));
        assert!(AddressMode::Mirror.index(f64::NEG_INFINITY, 3).is_some());
    }

    #[test]
    fn weights_have_eight_bits() {
        let array = TextureArray::new(256, Type::F32, 1, &[4]).unwrap();
        let texture = Texture { filter: Filter::Linear, ..Texture::new(array) };
        let taps = |x: f32| texture.sample([x, 0.0, 0.0], 0).0;
        assert_eq!(taps(1.5)[..2], [(Some(260), 1.0), (Some(264), 0.0)]);
        assert_eq!(taps(1.75)[..2], [(Some(260), 0.75), (Some(264), 0.25)]);
        assert_eq!(taps(1.5 + 1.0 / 1024.0)[..2], taps(1.5)[..2]);
        assert_eq!(taps(-3.0)[..2], [(Some(256), 0.5), (Some(256), 0.5)]);
    }

    #[test]
    fn a_fraction_that_rounds_to_1_is_of_the_next_texel() {
        // The example of the programming guide, "Texture Gather".
        let texture = Texture::new(TextureArray::new(0, Type::U8, 1, &[4, 2]).unwrap());
        let taps = texture.footprint([2.49805, 0.75, 0.0], 0).0;
        assert_eq!(taps.map(|(address, _)| address)[..4], [2, 3, 6, 7].map(Some));
        assert_eq!(texture.footprint([2.49, 0.75, 0.0], 0).0[0].0, Some(1));
    }

    #[test]
    fn what_cuda_does_not_have_is_refused() {
        for (element, channels, extent) in
            [(Type::F64, 1, vec![4]), (Type::U8, 3, vec![4]), (Type::U8, 1, vec![]), (Type::U8, 1, vec![4, 0])]
        {
            assert!(TextureArray::new(0, element, channels, &extent).is_err(), "{element}, {channels}, {extent:?}");
        }
        let array = TextureArray::new(0, Type::U8, 4, &[4, 4]).unwrap();
        assert_eq!(
            array.clone().with_pitch(15).unwrap_err().to_string(),
            "a texture or surface cannot have a pitch of 15 bytes, less than a row"
        );
        let texture = Texture::new(array);
        assert!(texture.check().is_ok());
        assert!(Texture { filter: Filter::Linear, ..texture.clone() }.check().is_err());
        assert!(Texture { filter: Filter::Linear, normalized_values: true, ..texture.clone() }.check().is_ok());
        assert!(Texture { address_modes: [AddressMode::Wrap; 3], ..texture }.check().is_err());
        let with =
            |extent: &[u32], layering| TextureArray::new(0, Type::U8, 1, extent).unwrap().with_layering(layering);
        for (extent, layering) in [
            (&[4][..], Layering::Layered),
            (&[4, 4], Layering::Cubemap),
            (&[4, 4, 5], Layering::Cubemap),
            (&[4, 4, 12], Layering::Cubemap),
            (&[4, 2, 6], Layering::Cubemap),
            (&[4, 4, 9], Layering::LayeredCubemap),
        ] {
            assert!(with(extent, layering).is_err(), "{extent:?}, {layering:?}");
        }
        // Coordinates on a face are normalized.
        let cubes = Texture::new(with(&[4, 4, 12], Layering::LayeredCubemap).unwrap());
        assert!(Texture { address_modes: [AddressMode::Wrap; 3], ..cubes }.check().is_ok());
    }
}
