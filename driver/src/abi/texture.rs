//! Arrays, and the objects by which kernels access them.

use cudarc::driver::sys::{
    CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION, CU_TRSF_NORMALIZED_COORDINATES, CU_TRSF_READ_AS_INTEGER,
    CU_TRSF_SEAMLESS_CUBEMAP, CUarray, CUdevice_attribute as Attribute, CUresult,
};
use ptx_emu::{AddressMode, Filter, Texture, TextureArray, Type};

use super::functions;
use super::pointers::{In, Out, by_number};
use crate::array::{Array, Descriptor, element, refused};
use crate::attribute;
use crate::machine::{Machine, in_context};
use crate::status::{Answer, require, unsupported};

/// By the numbers of `CUaddress_mode`.
const ADDRESS_MODES: [AddressMode; 4] =
    [AddressMode::Wrap, AddressMode::Clamp, AddressMode::Mirror, AddressMode::Border];

/// By the numbers of `CUfilter_mode`.
const FILTERS: [Filter; 2] = [Filter::Point, Filter::Linear];

/// Of `CUresourcetype`.
const ARRAY: u32 = 0;
const LINEAR: u32 = 2;
const PITCHED: u32 = 3;

/// `CUDA_ARRAY_DESCRIPTOR`: an array without slices or flags.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Flat {
    width: usize,
    height: usize,
    format: u32,
    channels: u32,
}

/// `CUDA_RESOURCE_DESC`, of every kind: what follows the first two is not of all.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Resource {
    kind: u32,
    /// An address, or an array's handle.
    memory: u64,
    format: u32,
    channels: u32,
    /// Bytes; or texels of a row, rows, and bytes from one to the next.
    sizes: [usize; 3],
}

/// The beginning of `CUDA_TEXTURE_DESC`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Sampling {
    address_modes: [u32; 3],
    filter: u32,
    flags: u32,
    max_anisotropy: u32,
    /// Of levels, of which there is one: filter, bias and clamps.
    mipmaps: [u32; 4],
    border: [f32; 4],
}

impl Resource {
    /// The texels that a texture of it reads.
    fn texels(&self, machine: &Machine) -> Answer<TextureArray> {
        let limit =
            |attribute: Attribute| attribute::of_device(machine.device, attribute as i32).unsigned_abs() as usize;
        let extent = |extent: usize, most: Attribute| {
            u32::try_from(extent).ok().filter(|_| extent <= limit(most)).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
        };
        let new = |extent: &[u32]| {
            TextureArray::new(self.memory, element(self.format)?, self.channels, extent)
                .map_err(|error| refused(&error))
        };
        match self.kind {
            ARRAY => Ok(machine.arrays.get::<()>(std::ptr::without_provenance_mut(self.memory as usize))?.texels()),
            LINEAR => {
                let texel = element(self.format)?.bytes() as usize * self.channels as usize;
                let texels = self.sizes[0].checked_div(texel).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
                new(&[extent(texels, Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH)?])
            }
            PITCHED => {
                let [width, height, pitch] = self.sizes;
                require(pitch <= limit(Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH))?;
                require(pitch.is_multiple_of(limit(Attribute::CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT)))?;
                let width = extent(width, Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH)?;
                let height = extent(height, Attribute::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT)?;
                new(&[width, height])?.with_pitch(pitch as u64).map_err(|error| refused(&error))
            }
            _ => Err(unsupported("a texture of mipmaps")),
        }
    }
}

impl Sampling {
    /// A texture that is sampled so.
    fn texture(&self, array: TextureArray, kind: u32) -> Answer<Texture> {
        let known = CU_TRSF_READ_AS_INTEGER
            | CU_TRSF_NORMALIZED_COORDINATES
            | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION
            | CU_TRSF_SEAMLESS_CUBEMAP;
        let filter = by_number(&FILTERS, self.filter)?;
        let has = |flag: u32| self.flags & flag != 0;
        if has(!known) || has(CU_TRSF_SEAMLESS_CUBEMAP) && filter == Filter::Linear {
            return Err(unsupported("a texture of sRGB colours, or with a filter across the edges of a cube"));
        }
        if self.border != [0.0; 4] {
            return Err(unsupported("a border that is not 0"));
        }
        let normalized_coordinates = has(CU_TRSF_NORMALIZED_COORDINATES);
        let mode = |number: u32| match by_number(&ADDRESS_MODES, number)? {
            // Without normalized coordinates there is nothing that repeats.
            AddressMode::Wrap | AddressMode::Mirror if !normalized_coordinates => Ok(AddressMode::Clamp),
            mode => Ok(mode),
        };
        let [x, y, z] = self.address_modes;
        let is_short = matches!(array.element(), Type::U8 | Type::S8 | Type::U16 | Type::S16);
        let texture = Texture {
            address_modes: [mode(x)?, mode(y)?, mode(z)?],
            filter,
            normalized_coordinates,
            normalized_values: is_short && !has(CU_TRSF_READ_AS_INTEGER),
            ..Texture::new(array)
        };
        Ok(match kind {
            // Address modes and filter have no meaning: beyond its end is 0.
            LINEAR => Texture { address_modes: [AddressMode::Border; 3], filter: Filter::Point, ..texture },
            _ => texture,
        })
    }
}

fn create(array: Out<CUarray>, descriptor: Descriptor) -> Answer {
    let mut machine = in_context()?;
    machine.forbid_in_capture()?;
    let device = machine.device;
    let made = Array::new(descriptor, device, |bytes| machine.allocate(bytes))?;
    array.put(machine.arrays.insert(made))
}

functions! {
    fn cuArrayCreate_v2(array: Out<CUarray>, descriptor: In<Flat>) {
        let Flat { width, height, format, channels } = descriptor.get()?;
        create(array, Descriptor { width, height, depth: 0, format, channels, flags: 0 })
    }
    fn cuArray3DCreate_v2(array: Out<CUarray>, descriptor: In<Descriptor>) {
        create(array, descriptor.get()?)
    }
    fn cuArrayGetDescriptor_v2(descriptor: Out<Flat>, array: CUarray) {
        let Descriptor { width, height, format, channels, .. } = in_context()?.arrays.get(array)?.descriptor;
        descriptor.put(Flat { width, height, format, channels })
    }
    fn cuArray3DGetDescriptor_v2(descriptor: Out<Descriptor>, array: CUarray) {
        descriptor.put(in_context()?.arrays.get(array)?.descriptor)
    }
    fn cuArrayDestroy(array: CUarray) {
        let mut machine = in_context()?;
        machine.forbid_in_capture()?;
        let address = machine.arrays.remove(array)?.address;
        machine.free(address)
    }
    fn cuTexObjectCreate(object: Out<u64>, resource: In<Resource>, sampling: In<Sampling>, view: In<u8>) {
        let mut machine = in_context()?;
        if !view.is_null() {
            return Err(unsupported("a texture that views its array as another one"));
        }
        let resource = resource.get()?;
        let texture = sampling.get()?.texture(resource.texels(&machine)?, resource.kind)?;
        object.put(machine.memory.create_texture(texture).map_err(|error| refused(&error))?)
    }
    fn cuSurfObjectCreate(object: Out<u64>, resource: In<Resource>) {
        let mut machine = in_context()?;
        let resource = resource.get()?;
        require(resource.kind == ARRAY)?;
        let array: CUarray = std::ptr::without_provenance_mut(resource.memory as usize);
        let surface = machine.arrays.get(array)?.surface()?;
        object.put(machine.memory.create_surface(surface))
    }
    fn cuTexObjectDestroy(object: u64) {
        require(in_context()?.memory.destroy_object(object))
    }
    fn cuSurfObjectDestroy(object: u64) {
        require(in_context()?.memory.destroy_object(object))
    }
}
