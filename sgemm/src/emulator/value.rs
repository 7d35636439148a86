//! Arguments as the emulator takes them.

use gpu_kernels::{Element, TENSOR_MAP_BYTES, TmaBox};
use ptx_emu::{Swizzle, Type};

use crate::Error;
use crate::plan::{Address, TensorMap, Value};

/// The bytes of a kernel's argument.
///
/// # Errors
/// [`Error::Emulated`] where TMA cannot read such a matrix.
pub fn bytes(value: Value) -> Result<Vec<u8>, Error> {
    Ok(match value {
        Value::U32(value) => value.to_le_bytes().to_vec(),
        Value::U64(value) | Value::Address(value) => value.to_le_bytes().to_vec(),
        Value::F32(value) => value.to_le_bytes().to_vec(),
        Value::TensorMap(map) => encode(&map)?.to_vec(),
    })
}

fn encode(map: &TensorMap<Address>) -> Result<[u8; TENSOR_MAP_BYTES], Error> {
    let swizzle = match map.tma_box.swizzle_bytes() {
        0 => Swizzle::None,
        32 => Swizzle::Bytes32,
        64 => Swizzle::Bytes64,
        _ => Swizzle::Bytes128,
    };
    let (count, stride) = map.batch.unwrap_or((1, 0));
    let rank = if map.batch.is_some() { 3 } else { 2 };
    let dims = [map.columns.into(), map.rows.into(), count.into()];
    let TmaBox { element, extent, .. } = map.tma_box;
    let strides = [map.ld, stride].map(|elements| elements * u64::from(element.bytes()));
    let copied = [extent.cols, extent.rows, 1];
    let element = match element {
        Element::F32 => Type::F32,
        Element::F16 => Type::F16,
        Element::Bf16 => Type::Bf16,
    };
    let refused = |error: ptx_emu::TensorMapError| Error::Emulated { kernel: "TMA", finding: error.to_string() };
    let map = ptx_emu::TensorMap::new(element, map.at, &dims[..rank], &strides[..rank - 1], &copied[..rank], swizzle);
    map.map(|map| map.encode()).map_err(refused)
}
