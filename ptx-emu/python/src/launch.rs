//! A launch: buffers and arguments in, a report and buffers out.

use std::sync::Arc;

use ptx_emu::{Checks, GlobalMemory, Label, Launch, Pointer, Swizzle, TensorMap, Type};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::report::Report;
use crate::{Kernel, Module, error};

/// The bytes of a pointer.
const POINTER_BYTES: u32 = 8;

/// Memory that arguments point to: its bytes, the type of its elements, and its shape, the contiguous extent last.
#[derive(FromPyObject)]
pub struct Buffer(Vec<u8>, String, Vec<u64>);

/// An argument of a kernel.
#[derive(FromPyObject)]
pub enum Argument {
    /// Its bytes.
    Bytes(Vec<u8>),
    /// A pointer to a buffer, by its index.
    Pointer(usize),
    /// A tensor map of a buffer: its index, the box, the span of the swizzle in bytes, and the strides in bytes of all dimensions but the
    /// last, where they are not those of the shape.
    Map(usize, Vec<u32>, u32, Option<Vec<u64>>),
}

/// A buffer in memory.
struct Placed {
    pointer: Pointer,
    ty: Type,
    shape: Vec<u64>,
}

/// Sizes and options of a launch: grid, block, cluster, bytes of dynamic shared memory, checkers, host threads (0 for all cores), and the
/// most instructions of a block, if not the usual.
type Options = ([u32; 3], [u32; 3], [u32; 3], u32, Vec<String>, usize, Option<u64>);

/// Runs a kernel; gives the report, and what the buffers hold then.
#[pyfunction]
pub fn launch<'py>(
    py: Python<'py>,
    module: &Module,
    kernel: &Kernel,
    buffers: Vec<Buffer>,
    arguments: Vec<Argument>,
    options: Options,
) -> PyResult<(Report, Vec<Bound<'py, PyBytes>>)> {
    let (grid, block, cluster, dynamic_shared_bytes, checks, threads, max_instructions) = options;
    let sizes = Launch::new(grid, block);
    let max_instructions = max_instructions.unwrap_or(sizes.max_instructions);
    let checks = of_names(&checks)?;
    let mut launch = Launch { cluster, dynamic_shared_bytes, checks, threads, max_instructions, ..sizes };
    let kernel = Arc::clone(&kernel.kernel);
    let (report, contents) = py.detach(|| {
        let memory = &mut *module.memory();
        let placed: Vec<Placed> = buffers.into_iter().map(|buffer| place(memory, buffer)).collect();
        let mut maps = Vec::new();
        let bytes = arguments.iter().zip(kernel.params()).map(|(argument, param)| {
            let bytes = bytes_of(argument, &placed)?;
            let is_pointer_to_map = matches!(argument, Argument::Map(..)) && param.bytes == POINTER_BYTES;
            Ok(if is_pointer_to_map {
                maps.push(memory.allocate_bytes(&bytes));
                maps.last().copied().unwrap_or_default().to_le_bytes().to_vec()
            } else {
                bytes
            })
        });
        let outcome = bytes.collect::<PyResult<_>>().and_then(|bytes| {
            launch.arguments = bytes;
            kernel.launch(memory, &launch).map_err(error)
        });
        let contents: Vec<_> = placed.iter().map(|buffer| memory.read(buffer.pointer).unwrap_or_default()).collect();
        placed.iter().map(|buffer| buffer.pointer).chain(maps).for_each(|pointer| _ = memory.free(pointer));
        Ok::<_, PyErr>((outcome?, contents))
    })?;
    let contents = contents.iter().map(|bytes| PyBytes::new(py, bytes)).collect();
    Ok((Report::new(kernel, launch, report), contents))
}

fn place(memory: &mut GlobalMemory, Buffer(bytes, ty, shape): Buffer) -> Placed {
    let pointer = memory.allocate_bytes(&bytes);
    let ty = Type::ALL.iter().copied().find(|known| known.name() == ty).unwrap_or(Type::B8);
    memory.describe(pointer, Label::new(ty, &shape));
    Placed { pointer, ty, shape }
}

fn bytes_of(argument: &Argument, placed: &[Placed]) -> PyResult<Vec<u8>> {
    let buffer = |index: usize| placed.get(index).ok_or_else(|| error("there is no such buffer"));
    match argument {
        Argument::Bytes(bytes) => Ok(bytes.clone()),
        Argument::Pointer(index) => Ok(buffer(*index)?.pointer.to_le_bytes().to_vec()),
        Argument::Map(index, tile, swizzle, strides) => {
            let Placed { pointer, ty, shape } = buffer(*index)?;
            let swizzle = match swizzle {
                0 => Swizzle::None,
                32 => Swizzle::Bytes32,
                64 => Swizzle::Bytes64,
                128 => Swizzle::Bytes128,
                _ => return Err(error(format!("a swizzle of {swizzle} bytes; it has 0, 32, 64 or 128"))),
            };
            let mut row = u64::from(ty.bytes());
            let contiguous = shape.iter().skip(1).rev().map(|extent| {
                row = row.saturating_mul(*extent);
                row
            });
            // `cuTensorMapEncodeTiled` begins with the contiguous dimension.
            let strides: Vec<u64> = match strides {
                Some(given) => given.iter().rev().copied().collect(),
                None => contiguous.collect(),
            };
            let dims: Vec<u64> = shape.iter().rev().copied().collect();
            let sides: Vec<u32> = tile.iter().rev().copied().collect();
            let map = TensorMap::new(*ty, *pointer, &dims, &strides, &sides, swizzle).map_err(error)?;
            Ok(map.encode().to_vec())
        }
    }
}

fn of_names(names: &[String]) -> PyResult<Checks> {
    let mut checks = Checks::NONE;
    for name in names {
        match name.as_str() {
            "all" => checks = Checks::ALL,
            "none" => checks = Checks::NONE,
            "memory" => checks.memory = true,
            "uninitialized" => checks.uninitialized = true,
            "races" => (checks.races, checks.global_races) = (true, true),
            "barriers" => checks.barriers = true,
            _ => return Err(error(format!("'{name}' is none of all, none, memory, uninitialized, races, barriers"))),
        }
    }
    Ok(checks)
}
