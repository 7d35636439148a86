//! The memories of a device, and where generic addresses find them.

mod global;
mod image;
pub(crate) mod window;

pub(crate) use global::{Allocation, Missing};
pub use global::{GlobalMemory, Pointer};
pub(crate) use image::Image;
