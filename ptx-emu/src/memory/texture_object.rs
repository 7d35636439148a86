//! Handles of texture and surface objects.

use super::{GlobalMemory, Texture, TextureArray, TextureError};

/// What a handle stands for.
#[derive(Debug)]
pub(crate) enum TextureObject {
    Texture(Texture),
    Surface(TextureArray),
}

/// The first handle: no address, and not 0, which stands for none.
const FIRST: u64 = 0x7e70_0000_0000_0000;

impl GlobalMemory {
    /// Makes a texture object, as `cudaCreateTextureObject` does. Its handle is the kernel's argument.
    ///
    /// # Errors
    /// [`TextureError`] for a texture that cannot be sampled so.
    pub fn create_texture(&mut self, texture: Texture) -> Result<u64, TextureError> {
        texture.check()?;
        Ok(self.create(TextureObject::Texture(texture)))
    }

    /// Makes a surface object, as `cudaCreateSurfaceObject` does. Its handle is the kernel's argument.
    pub fn create_surface(&mut self, array: TextureArray) -> u64 {
        self.create(TextureObject::Surface(array))
    }

    fn create(&mut self, object: TextureObject) -> u64 {
        self.texture_objects.push(object);
        FIRST + self.texture_objects.len() as u64
    }

    /// What the handle stands for.
    pub(crate) fn texture_object(&self, handle: u64) -> Option<&TextureObject> {
        let index = handle.checked_sub(FIRST + 1)?;
        self.texture_objects.get(usize::try_from(index).ok()?)
    }
}
