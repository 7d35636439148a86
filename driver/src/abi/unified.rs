//! Unified addressing: what a pointer is to, and managed memory.

use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys::{CUdevice, CUdeviceptr, CUresult, CUstream};

use super::functions;
use super::pointers::{In, Out};
use crate::capture::submit;
use crate::copy::is_of_device;
use crate::machine::{Machine, current, in_context};
use crate::operation::Operation;
use crate::status::{Answer, require, unsupported};

/// Of `CUpointer_attribute`, which has them from 1 on; these are the ones that are known here, or as wide as an address.
const CONTEXT: c_uint = 1;
const MEMORY_TYPE: c_uint = 2;
const DEVICE_POINTER: c_uint = 3;
const HOST_POINTER: c_uint = 4;
const P2P_TOKENS: c_uint = 5;
const BUFFER_ID: c_uint = 7;
const IS_MANAGED: c_uint = 8;
const DEVICE_ORDINAL: c_uint = 9;
const RANGE_START: c_uint = 11;
const RANGE_SIZE: c_uint = 12;
const HANDLE_TYPES: c_uint = 14;
const POOL: c_uint = 17;
const AFTER_LAST: c_uint = 22;

/// Of `CUmemorytype`.
const ON_HOST: c_uint = 1;
const ON_DEVICE: c_uint = 2;

/// Of `CUmemAttach_flags`: global, and to the host.
const ATTACHED: [c_uint; 2] = [1, 2];

/// Of `CUmem_advise`.
const ADVICE: std::ops::RangeInclusive<c_uint> = 1..=6;
const READ_MOSTLY: std::ops::RangeInclusive<c_uint> = 1..=2;

/// Numbers that stand for a device: the host, and none.
const CU_DEVICE_CPU: CUdevice = -1;
const CU_DEVICE_INVALID: CUdevice = -2;

/// `CUmemLocation`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Location {
    kind: c_int,
    id: CUdevice,
}

impl Location {
    /// Of `CUmemLocationType`: a device; the host, or one of its NUMA nodes.
    const DEVICE: c_int = 1;
    const HOST: std::ops::RangeInclusive<c_int> = 2..=4;

    /// A place as older functions name it.
    fn of_device(device: CUdevice) -> Self {
        Self { kind: if device == CU_DEVICE_CPU { *Self::HOST.start() } else { Self::DEVICE }, id: device }
    }

    /// Fails where there is no such place.
    fn check(self, machine: &Machine) -> Answer {
        match self.kind {
            Self::DEVICE => machine.check_device(self.id),
            kind => require(Self::HOST.contains(&kind)),
        }
    }
}

/// The value of a pointer's attribute, as wide as it is asked for.
#[derive(Debug, Clone, Copy)]
enum Value {
    Word(u32),
    Wide(u64),
}

impl Value {
    fn put(self, at: Out<c_uint>) -> Answer {
        match self {
            Self::Word(value) => at.put(value),
            Self::Wide(value) => at.cast::<u64>().put(value),
        }
    }

    /// What stands for an attribute that a pointer has not.
    fn none(attribute: c_uint) -> Answer<Self> {
        match attribute {
            P2P_TOKENS => Err(unsupported("tokens of peers")),
            DEVICE_ORDINAL => Ok(Self::Word(CU_DEVICE_INVALID.cast_unsigned())),
            CONTEXT | DEVICE_POINTER | HOST_POINTER | RANGE_START | RANGE_SIZE | BUFFER_ID | HANDLE_TYPES | POOL => {
                Ok(Self::Wide(0))
            }
            0 | AFTER_LAST.. => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
            _ => Ok(Self::Word(0)),
        }
    }
}

/// An attribute of a pointer.
fn of_pointer(machine: &Machine, attribute: c_uint, pointer: CUdeviceptr) -> Answer<Value> {
    let (managed, of_host) = (machine.managed(pointer), machine.of_host(pointer));
    let is_of_device = is_of_device(&machine.memory, pointer);
    require(is_of_device || of_host.is_some())?;
    Ok(match (attribute, managed.or(of_host)) {
        (CONTEXT, _) => Value::Wide(current().addr() as u64),
        (MEMORY_TYPE, _) => Value::Word(if of_host.is_none() { ON_DEVICE } else { ON_HOST }),
        (DEVICE_POINTER, _) if is_of_device => Value::Wide(pointer),
        (HOST_POINTER, Some(_)) => Value::Wide(pointer),
        (IS_MANAGED, _) => Value::Word(managed.is_some().into()),
        (DEVICE_ORDINAL, _) => Value::Word(0),
        // Of the device's own memory nobody has asked for it.
        (RANGE_START, Some(memory)) => Value::Wide(memory.address() as u64),
        (RANGE_SIZE, Some(memory)) => Value::Wide(memory.bytes() as u64),
        _ => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
    })
}

/// Fails where not all of these bytes are managed memory.
fn check_managed(machine: &Machine, address: CUdeviceptr, bytes: usize) -> Answer {
    let memory = machine.managed(address).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
    let left = memory.address() + memory.bytes() - address as usize;
    require((1..=left).contains(&bytes))
}

/// Says where managed memory is to be: it is everywhere.
fn prefetch(address: CUdeviceptr, bytes: usize, location: Location, stream: CUstream) -> Answer {
    let machine = in_context()?;
    check_managed(&machine, address, bytes)?;
    location.check(&machine)?;
    drop(machine);
    submit(stream, Operation::Nothing)
}

/// Says how it will be used: that makes no difference.
fn advise(address: CUdeviceptr, bytes: usize, advice: c_uint, location: Location) -> Answer {
    let machine = in_context()?;
    check_managed(&machine, address, bytes)?;
    require(ADVICE.contains(&advice))?;
    // Whether it is mostly read has nothing to do with a place.
    if READ_MOSTLY.contains(&advice) { Ok(()) } else { location.check(&machine) }
}

functions! {
    fn cuMemAllocManaged(address: Out<CUdeviceptr>, bytes: usize, flags: c_uint) {
        let mut machine = in_context()?;
        machine.forbid_in_capture()?;
        require(ATTACHED.contains(&flags))?;
        address.put(machine.allocate_managed(bytes)?)
    }
    fn cuMemPrefetchAsync(address: CUdeviceptr, bytes: usize, device: CUdevice, stream: CUstream) {
        prefetch(address, bytes, Location::of_device(device), stream)
    }
    fn cuMemPrefetchAsync_v2(address: CUdeviceptr, bytes: usize, location: Location, _flags: c_uint, stream: CUstream) {
        prefetch(address, bytes, location, stream)
    }
    fn cuMemAdvise(address: CUdeviceptr, bytes: usize, advice: c_uint, device: CUdevice) {
        advise(address, bytes, advice, Location::of_device(device))
    }
    fn cuMemAdvise_v2(address: CUdeviceptr, bytes: usize, advice: c_uint, location: Location) {
        advise(address, bytes, advice, location)
    }
    fn cuStreamAttachMemAsync(stream: CUstream, address: CUdeviceptr, bytes: usize, _flags: c_uint) {
        // 0 bytes are all of it.
        check_managed(&*in_context()?, address, bytes.max(1))?;
        submit(stream, Operation::Nothing)
    }
    fn cuPointerGetAttribute(value: Out<c_uint>, attribute: c_uint, pointer: CUdeviceptr) {
        of_pointer(&*in_context()?, attribute, pointer)?.put(value)
    }
    fn cuPointerGetAttributes(count: c_uint, attributes: In<c_uint>, values: In<*mut c_void>, pointer: CUdeviceptr) {
        let machine = in_context()?;
        let count = count as usize;
        for (attribute, at) in attributes.all(count)?.into_iter().zip(values.all(count)?) {
            let none = Value::none(attribute)?;
            of_pointer(&machine, attribute, pointer).unwrap_or(none).put(Out::at(at.expose_provenance()))?;
        }
        Ok(())
    }
}
