//! The memories of a device, and the windows of generic addresses.

mod allocation;
mod geometry;
mod global;
mod heap;
mod image;
mod label;
mod tensor_map;
mod texture;
mod texture_object;
mod variables;
pub(crate) mod window;

pub(crate) use allocation::Allocation;
pub(crate) use geometry::Geometry;
pub use geometry::Layering;
pub(crate) use global::Missing;
pub use global::{GlobalMemory, Pointer};
pub(crate) use image::Image;
pub use image::VariableInfo;
pub use label::Label;
pub(crate) use tensor_map::{MAP_ALIGNMENT, MAP_BYTES, MapField, Run};
pub use tensor_map::{Swizzle, TensorMap, TensorMapError};
pub(crate) use texture::MAX_TAPS;
pub use texture::{AddressMode, Filter, Texture, TextureArray, TextureError};
pub(crate) use texture_object::TextureObject;
