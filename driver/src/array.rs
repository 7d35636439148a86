//! CUDA arrays: texels in the device's memory, row by row, where no pointer of the program leads.

use cudarc::driver::sys::{
    CUDA_ARRAY3D_COLOR_ATTACHMENT as COLOR_ATTACHMENT, CUDA_ARRAY3D_CUBEMAP as CUBEMAP,
    CUDA_ARRAY3D_LAYERED as LAYERED, CUDA_ARRAY3D_SURFACE_LDST as SURFACE_LDST,
    CUDA_ARRAY3D_TEXTURE_GATHER as TEXTURE_GATHER, CUarray_format as Format, CUdevice_attribute as Limit, CUresult,
};
use ptx_emu::device::Device;
use ptx_emu::{Layering, TextureArray, TextureError, Type};

use crate::attribute;
use crate::status::{Answer, require, say, unsupported};

/// `CUDA_ARRAY3D_DESCRIPTOR`, whose format may be newer than the enumeration.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Descriptor {
    pub width: usize,
    /// 0 of one dimension.
    pub height: usize,
    /// Slices, layers or faces; 0 where there are none.
    pub depth: usize,
    pub format: u32,
    pub channels: u32,
    pub flags: u32,
}

/// An array.
#[derive(Debug)]
pub struct Array {
    pub descriptor: Descriptor,
    pub address: u64,
    texels: TextureArray,
}

/// The type of a format by its number.
pub fn element(format: u32) -> Answer<Type> {
    const ELEMENTS: [(Format, Type); 8] = [
        (Format::CU_AD_FORMAT_UNSIGNED_INT8, Type::U8),
        (Format::CU_AD_FORMAT_UNSIGNED_INT16, Type::U16),
        (Format::CU_AD_FORMAT_UNSIGNED_INT32, Type::U32),
        (Format::CU_AD_FORMAT_SIGNED_INT8, Type::S8),
        (Format::CU_AD_FORMAT_SIGNED_INT16, Type::S16),
        (Format::CU_AD_FORMAT_SIGNED_INT32, Type::S32),
        (Format::CU_AD_FORMAT_HALF, Type::F16),
        (Format::CU_AD_FORMAT_FLOAT, Type::F32),
    ];
    let found = ELEMENTS.iter().find(|(known, _)| *known as u32 == format);
    found.map(|(_, element)| *element).ok_or_else(|| unsupported(&format!("the array format {format:#x}")))
}

/// What was found wrong with a texture or surface, said.
pub fn refused(error: &TextureError) -> CUresult {
    say(&error.to_string());
    CUresult::CUDA_ERROR_INVALID_VALUE
}

impl Descriptor {
    /// Extents that are not 0, the contiguous one first.
    fn extent(&self) -> Answer<Vec<u32>> {
        let (is_flat, is_thin) = (self.height == 0, self.depth == 0);
        // Only layers have no height.
        require(self.width > 0 && (!is_flat || is_thin || self.has(LAYERED)))?;
        let extents = [self.width, self.height, self.depth].into_iter().filter(|extent| *extent > 0);
        extents.map(|extent| u32::try_from(extent).map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)).collect()
    }

    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// The greatest extents of such an array.
    fn limits(&self) -> &'static [[Option<Limit>; 3]] {
        use Limit as L;
        let (is_flat, is_thin) = (self.height == 0, self.depth == 0);
        match (self.has(CUBEMAP), self.has(LAYERED)) {
            (true, true) => &[[
                Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH),
                None,
                Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS),
            ]],
            (true, false) => &[[Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH), None, None]],
            (false, true) if is_flat => &[[
                Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH),
                None,
                Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS),
            ]],
            (false, true) => &[[
                Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
                Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
                Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
            ]],
            (false, false) if !is_thin => &[
                [
                    Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH),
                    Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT),
                    Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH),
                ],
                [
                    Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE),
                    Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE),
                    Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE),
                ],
            ],
            (false, false) if is_flat => &[[Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH), None, None]],
            (false, false) if self.has(TEXTURE_GATHER) => &[[
                Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH),
                Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT),
                None,
            ]],
            (false, false) => &[[
                Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH),
                Some(L::CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT),
                None,
            ]],
        }
    }

    /// Fails where the device has no array that large.
    fn check(&self, device: &Device) -> Answer {
        if self.has(!(LAYERED | CUBEMAP | SURFACE_LDST | TEXTURE_GATHER | COLOR_ATTACHMENT)) {
            return Err(unsupported("an array of depths, of sparse memory or for video"));
        }
        let fits = |(extent, limit): (usize, &Option<Limit>)| {
            limit.is_none_or(|limit| {
                extent as u64 <= u64::from(attribute::of_device(device, limit as i32).unsigned_abs())
            })
        };
        let extents = [self.width, self.height, self.depth];
        require(self.limits().iter().any(|limits| extents.into_iter().zip(limits).all(fits)))
    }

    /// Its texels, from that address on.
    fn texels(&self, address: u64) -> Answer<TextureArray> {
        let layering = match (self.has(CUBEMAP), self.has(LAYERED)) {
            (false, false) => None,
            (false, true) => Some(Layering::Layered),
            (true, false) => Some(Layering::Cubemap),
            (true, true) => Some(Layering::LayeredCubemap),
        };
        let array = TextureArray::new(address, element(self.format)?, self.channels, &self.extent()?);
        let array = match layering {
            None => array,
            Some(layering) => array.and_then(|array| array.with_layering(layering)),
        };
        array.map_err(|error| refused(&error))
    }
}

impl Array {
    /// An array in memory that `allocate` finds, of so many bytes.
    pub fn new(descriptor: Descriptor, device: &Device, allocate: impl FnOnce(u64) -> Answer<u64>) -> Answer<Self> {
        descriptor.check(device)?;
        let texels = descriptor.texels(0)?;
        let unplaced = Self { descriptor, address: 0, texels };
        let address = allocate(unplaced.bytes())?;
        Ok(Self { address, texels: descriptor.texels(address)?, ..unplaced })
    }

    /// Bytes of a row.
    pub fn row_bytes(&self) -> u64 {
        self.texels.row_bytes()
    }

    /// Rows of a slice.
    pub fn rows(&self) -> u64 {
        self.descriptor.height.max(1) as u64
    }

    /// Slices, layers or faces.
    pub fn slices(&self) -> u64 {
        self.descriptor.depth.max(1) as u64
    }

    /// Bytes in all.
    pub fn bytes(&self) -> u64 {
        // The limits of arrays keep it below 2^48.
        self.row_bytes() * self.rows() * self.slices()
    }

    /// What textures read.
    pub fn texels(&self) -> TextureArray {
        self.texels.clone()
    }

    /// What surfaces access, where the array was made for them.
    pub fn surface(&self) -> Answer<TextureArray> {
        if !self.descriptor.has(SURFACE_LDST) {
            say("a surface of an array that was made without CUDA_ARRAY3D_SURFACE_LDST");
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        Ok(self.texels())
    }
}
