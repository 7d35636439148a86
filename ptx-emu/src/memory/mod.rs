//! The memories of a device, and the windows of generic addresses.

mod global;
mod heap;
mod image;
mod tensor_map;
mod texture;
mod texture_object;
pub(crate) mod window;

pub(crate) use global::{Allocation, Missing};
pub use global::{GlobalMemory, Pointer};
pub(crate) use image::Image;
pub(crate) use tensor_map::{MAP_ALIGNMENT, MAP_BYTES, Run};
pub use tensor_map::{Swizzle, TensorMap, TensorMapError};
pub(crate) use texture::MAX_TAPS;
pub use texture::{AddressMode, Filter, Texture, TextureArray, TextureError};
pub(crate) use texture_object::TextureObject;
