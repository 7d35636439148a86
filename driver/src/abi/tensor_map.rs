//! Tensor maps, in the emulator's own encoding.

use std::ffi::{c_int, c_void};

use cudarc::driver::sys::CUresult;
use ptx_emu::{Swizzle, TensorMap, Type};

use super::functions;
use super::pointers::{In, Out, by_number};
use crate::status::{say, unsupported};

/// Bytes of a map.
const BYTES: usize = 128;

/// By the numbers of `CUtensorMapDataType`.
const ELEMENTS: [Type; 13] = [
    Type::U8,
    Type::U16,
    Type::U32,
    Type::S32,
    Type::U64,
    Type::S64,
    Type::F16,
    Type::F32,
    Type::F64,
    Type::Bf16,
    Type::F32,
    Type::F32,
    Type::F32,
];

/// By the numbers of `CUtensorMapSwizzle`.
const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];

functions! {
    fn cuTensorMapEncodeTiled(
        map: Out<[u8; BYTES]>, element: u32, rank: u32, address: *mut c_void, dims: In<u64>, strides: In<u64>, box_dims: In<u32>,
        element_strides: In<u32>, interleave: c_int, swizzle: u32, _l2_promotion: c_int, fill: c_int,
    ) {
        let rank = rank as usize;
        if !(1..=5).contains(&rank) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        if interleave != 0 || fill != 0 || element_strides.all(rank)?.iter().any(|stride| *stride != 1) {
            return Err(unsupported("a tensor map with interleaving, strides between elements or NaN beyond its bounds"));
        }
        let (dims, strides, box_dims) = (dims.all(rank)?, strides.all(rank - 1)?, box_dims.all(rank)?);
        let (element, swizzle) = (by_number(&ELEMENTS, element)?, by_number(&SWIZZLES, swizzle)?);
        let address = address.expose_provenance() as u64;
        let encoded = TensorMap::new(element, address, &dims, &strides, &box_dims, swizzle).map_err(|error| {
            say(&error.to_string());
            CUresult::CUDA_ERROR_INVALID_VALUE
        })?;
        map.put(encoded.encode())
    }
}
