//! Memory of the device and of the host.

use std::ffi::{c_uint, c_void};

use cudarc::driver::sys::{CUdeviceptr, CUmemoryPool, CUresult, CUstream};

use super::functions;
use super::pointers::Out;
use crate::capture::submit;
use crate::copy::Fill;
use crate::host::HostMemory;
use crate::machine::in_context;
use crate::operation::Operation;
use crate::status::{Answer, require};

fn fill(address: CUdeviceptr, value: u32, element: usize, count: usize, stream: Option<CUstream>) -> Answer {
    if stream.is_none() {
        in_context()?.forbid_in_capture()?;
    }
    let fill = Fill { address, value, element, count: count as u64 };
    submit(stream.unwrap_or(std::ptr::null_mut()), Operation::Fill(fill))
}

/// `CU_MEMHOSTALLOC_DEVICEMAP`.
const MAPPED: c_uint = 2;

fn allocate_host(pointer: Out<*mut c_void>, bytes: usize, is_mapped: bool) -> Answer {
    let mut machine = in_context()?;
    machine.forbid_in_capture()?;
    let memory = HostMemory::new(bytes)?;
    let address = memory.address();
    machine.host_memory.insert(address, memory);
    if is_mapped {
        machine.map_host(address as u64)?;
    }
    pointer.put(std::ptr::with_exposed_provenance_mut(address))
}

fn allocate(address: Out<CUdeviceptr>, bytes: usize) -> Answer {
    address.put(in_context()?.allocate(bytes as u64)?)
}

functions! {
    fn cuMemAlloc_v2(address: Out<CUdeviceptr>, bytes: usize) {
        in_context()?.forbid_in_capture()?;
        allocate(address, bytes)
    }
    fn cuMemAllocPitch_v2(address: Out<CUdeviceptr>, pitch: Out<usize>, width: usize, height: usize, _element: c_uint) {
        in_context()?.forbid_in_capture()?;
        let row = width.next_multiple_of(512);
        pitch.put(row)?;
        allocate(address, row.checked_mul(height).ok_or(CUresult::CUDA_ERROR_OUT_OF_MEMORY)?)
    }
    fn cuMemAllocAsync(address: Out<CUdeviceptr>, bytes: usize, _stream: CUstream) {
        allocate(address, bytes)
    }
    fn cuMemAllocFromPoolAsync(address: Out<CUdeviceptr>, bytes: usize, _pool: CUmemoryPool, _stream: CUstream) {
        allocate(address, bytes)
    }
    fn cuMemFree_v2(address: CUdeviceptr) {
        let mut machine = in_context()?;
        machine.forbid_in_capture()?;
        machine.free(address)
    }
    fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) {
        submit(stream, Operation::Free(address))
    }
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let machine = in_context()?;
        let all = machine.device.memory_bytes;
        free.put(all.saturating_sub(machine.memory.allocated_bytes()) as usize)?;
        total.put(all as usize)
    }
    fn cuMemHostAlloc(pointer: Out<*mut c_void>, bytes: usize, flags: c_uint) {
        allocate_host(pointer, bytes, flags & MAPPED != 0)
    }
    fn cuMemAllocHost_v2(pointer: Out<*mut c_void>, bytes: usize) {
        allocate_host(pointer, bytes, false)
    }
    fn cuMemFreeHost(pointer: *mut c_void) {
        in_context()?.free_host(pointer.addr())
    }
    fn cuMemHostRegister_v2(pointer: *mut c_void, _bytes: usize, _flags: c_uint) {
        in_context()?.forbid_in_capture()?;
        require(!pointer.is_null())
    }
    fn cuMemHostUnregister(_pointer: *mut c_void) {
        in_context()?.forbid_in_capture()
    }
    fn cuMemHostGetDevicePointer_v2(address: Out<CUdeviceptr>, pointer: *mut c_void, _flags: c_uint) {
        address.put(in_context()?.map_host(pointer.addr() as u64)?)
    }
    fn cuMemsetD8_v2(address: CUdeviceptr, value: u8, count: usize) {
        fill(address, value.into(), 1, count, None)
    }
    fn cuMemsetD16_v2(address: CUdeviceptr, value: u16, count: usize) {
        fill(address, value.into(), 2, count, None)
    }
    fn cuMemsetD32_v2(address: CUdeviceptr, value: c_uint, count: usize) {
        fill(address, value, 4, count, None)
    }
    fn cuMemsetD8Async(address: CUdeviceptr, value: u8, count: usize, stream: CUstream) {
        fill(address, value.into(), 1, count, Some(stream))
    }
    fn cuMemsetD16Async(address: CUdeviceptr, value: u16, count: usize, stream: CUstream) {
        fill(address, value.into(), 2, count, Some(stream))
    }
    fn cuMemsetD32Async(address: CUdeviceptr, value: c_uint, count: usize, stream: CUstream) {
        fill(address, value, 4, count, Some(stream))
    }
}
