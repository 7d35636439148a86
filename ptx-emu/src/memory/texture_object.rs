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

    /// Ends a texture or surface object; false if the handle is of none. A kernel that uses it afterwards is reported.
    pub fn destroy_object(&mut self, handle: u64) -> bool {
        let object = index(handle).and_then(|index| self.texture_objects.get_mut(index));
        object.and_then(Option::take).is_some()
    }

    fn create(&mut self, object: TextureObject) -> u64 {
        self.texture_objects.push(Some(object));
        FIRST + self.texture_objects.len() as u64
    }

    /// What the handle stands for.
    pub(crate) fn texture_object(&self, handle: u64) -> Option<&TextureObject> {
        self.texture_objects.get(index(handle)?)?.as_ref()
    }
}

/// Where the object of a handle stands.
fn index(handle: u64) -> Option<usize> {
    usize::try_from(handle.checked_sub(FIRST + 1)?).ok()
}
