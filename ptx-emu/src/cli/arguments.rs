//! Arguments of a kernel: from SPECs to bytes and buffers.

use ptx_emu::spec::{Argument, Spec};
use ptx_emu::{GlobalMemory, Kernel, ParamInfo, Type};

use super::buffers::Results;
use super::error::Error;

/// The bytes of a pointer, as of the handle of a texture or surface, and those of a tensor map.
pub const POINTER_BYTES: u32 = 8;
pub const MAP_BYTES: u32 = 128;

/// Makes the arguments of the kernel, each as its bytes, and takes memory for what they point to. What does not fit the parameters is found
/// before any memory is taken. Buffers without a seed of their own differ from each other.
pub fn make(
    kernel: &Kernel,
    specs: &[Spec],
    seed: u64,
    memory: &mut GlobalMemory,
    results: &mut Results,
) -> Result<Vec<Vec<u8>>, Error> {
    check(kernel, specs)?;
    let mut arguments = Vec::new();
    for (index, (spec, param)) in specs.iter().zip(kernel.params()).enumerate() {
        let name = format!("argument {}", index + 1);
        let mut add = |memory: &mut GlobalMemory, buffer| {
            results.add(memory, buffer, (&name, None), seed.wrapping_add(index as u64))
        };
        let bytes = match &spec.argument {
            Argument::Value(ty, bits) => Ok(bits.to_le_bytes()[..ty.bytes() as usize].to_vec()),
            Argument::Bytes(bytes) => Ok(bytes.clone()),
            Argument::Buffer(buffer) => add(memory, buffer).map(|placed| placed.pointer.to_le_bytes().to_vec()),
            Argument::Map(view, buffer) => add(memory, buffer).and_then(|placed| {
                let map = view.encode(placed.ty, &placed.shape, placed.pointer).map_err(Error::Usage)?;
                Ok(of_map(memory, param, &map))
            }),
            Argument::Object(view, buffer) => add(memory, buffer).and_then(|placed| {
                let handle = view.create(memory, placed.ty, &placed.shape, placed.pointer).map_err(Error::Usage)?;
                Ok(handle.to_le_bytes().to_vec())
            }),
        };
        arguments.push(bytes.map_err(|error| at(index, spec, error))?);
    }
    Ok(arguments)
}

/// A tensor map as an argument: by value, or a pointer to it.
pub fn of_map(memory: &mut GlobalMemory, param: &ParamInfo, map: &[u8; MAP_BYTES as usize]) -> Vec<u8> {
    if param.bytes == POINTER_BYTES { memory.allocate_bytes(map).to_le_bytes().to_vec() } else { map.to_vec() }
}

/// Whether there is one SPEC for each parameter, and it has the parameter's size.
fn check(kernel: &Kernel, specs: &[Spec]) -> Result<(), Error> {
    let params = kernel.params();
    if params.len() != specs.len() {
        return Err(Error::Usage(format!("{}; {} given with --arg", takes(kernel), specs.len())));
    }
    for (index, (param, spec)) in params.iter().zip(specs).enumerate() {
        fit(param, spec).map_err(|reason| at(index, spec, Error::Usage(reason)))?;
    }
    Ok(())
}

/// `saxpy takes 4 arguments (.u32, .f32, .u64, .u64)`
pub fn takes(kernel: &Kernel) -> String {
    let params = kernel.params();
    let takes = params.iter().map(type_name).collect::<Vec<_>>().join(", ");
    let takes = if params.is_empty() { String::new() } else { format!(" ({takes})") };
    let count = match params.len() {
        1 => "1 argument".to_owned(),
        count => format!("{count} arguments"),
    };
    format!("{} takes {count}{takes}", kernel.name())
}

/// Whether the SPEC has the parameter's size and does not take a number for another kind of number.
pub fn fit(param: &ParamInfo, spec: &Spec) -> Result<(), String> {
    let name = type_name(param);
    let bytes = match &spec.argument {
        Argument::Value(ty, _) => {
            if param.bytes == ty.bytes() && param.ty.bytes() == param.bytes && mixes_kinds(param.ty, *ty) {
                let (of, bits) = (param.ty.name(), ty.bits());
                return Err(format!("the parameter is {name}: give {of}:VALUE, or b{bits}:0x... for its bits"));
            }
            ty.bytes()
        }
        Argument::Bytes(bytes) => bytes.len() as u32,
        Argument::Buffer(_) if param.bytes != POINTER_BYTES => {
            return Err(format!("the parameter is {name}, which is no pointer: its size is {}", param.bytes));
        }
        Argument::Buffer(_) => POINTER_BYTES,
        Argument::Object(..) if param.bytes != POINTER_BYTES => {
            return Err(format!("the parameter is {name}, which is no handle: its size is {}", param.bytes));
        }
        Argument::Object(..) => POINTER_BYTES,
        // A pointer to it will do.
        Argument::Map(..) if param.bytes == POINTER_BYTES => POINTER_BYTES,
        Argument::Map(..) => MAP_BYTES,
    };
    if bytes == param.bytes {
        Ok(())
    } else {
        Err(format!("the parameter is {name}, of {} bytes; the SPEC has {bytes}", param.bytes))
    }
}

/// Whether one of the types is a floating-point number and the other an integer.
fn mixes_kinds(a: Type, b: Type) -> bool {
    (a.is_float() && b.is_integer()) || (a.is_integer() && b.is_float())
}

/// The parameter's type as PTX writes it: `.u32`, or `.b8[24]`.
pub fn type_name(param: &ParamInfo) -> String {
    match param.bytes / param.ty.bytes().max(1) {
        1 => param.ty.to_string(),
        elements => format!("{}[{elements}]", param.ty),
    }
}

fn at(index: usize, spec: &Spec, error: Error) -> Error {
    error.at(&format!("argument {}, '{}'", index + 1, spec.text))
}
