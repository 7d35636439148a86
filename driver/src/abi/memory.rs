//! Memory of the device and of the host, and copies.

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys::{CUDA_MEMCPY2D, CUcontext, CUdeviceptr, CUmemoryPool, CUmemorytype, CUresult, CUstream};

use super::functions;
use super::pointers::{In, Out};
use crate::capture::submit;
use crate::copy::{Copy, Fill, Rows, is_of_device};
use crate::machine::{current, in_context, waited};
use crate::operation::Operation;
use crate::status::{Answer, require, unsupported};

/// Host memory begins at a multiple of so many bytes, as the driver's does.
const PAGE: usize = 4096;

/// Of `CUpointer_attribute`.
const CONTEXT: c_uint = 1;
const MEMORY_TYPE: c_uint = 2;
const DEVICE_POINTER: c_uint = 3;
const HOST_POINTER: c_uint = 4;
const IS_MANAGED: c_uint = 8;
const DEVICE_ORDINAL: c_uint = 9;
const RANGE_START: c_uint = 11;
const RANGE_SIZE: c_uint = 12;

/// Of `CUmemorytype`.
const ON_HOST: c_uint = 1;
const ON_DEVICE: c_uint = 2;

/// A copy of contiguous bytes in a stream, or at once in the default one.
fn copy(to: u64, from: u64, bytes: usize, stream: Option<CUstream>) -> Answer {
    rows(Copy { to: Rows::one(to), from: Rows::one(from), bytes: bytes as u64, rows: 1 }, stream)
}

fn rows(copy: Copy, stream: Option<CUstream>) -> Answer {
    if stream.is_none() {
        in_context()?.forbid_in_capture()?;
    }
    submit(stream.unwrap_or(std::ptr::null_mut()), Operation::Copy(copy))?;
    if stream.is_none() { waited().map(drop) } else { Ok(()) }
}

fn fill(address: CUdeviceptr, value: u32, element: usize, count: usize, stream: Option<CUstream>) -> Answer {
    if stream.is_none() {
        in_context()?.forbid_in_capture()?;
    }
    let fill = Fill { address, value, element, count: count as u64 };
    submit(stream.unwrap_or(std::ptr::null_mut()), Operation::Fill(fill))
}

fn of<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// A copy of rows, as its description says.
pub(super) fn described(it: &CUDA_MEMCPY2D) -> Answer<Copy> {
    let side = |kind: CUmemorytype, host: u64, device: u64, x: usize, y: usize, pitch: usize| match kind {
        CUmemorytype::CU_MEMORYTYPE_ARRAY => Err(unsupported("a CUDA array")),
        CUmemorytype::CU_MEMORYTYPE_HOST => Ok((host, x, y, pitch)),
        _ => Ok((device, x, y, pitch)),
    };
    let at = |(address, x, y, pitch): (u64, usize, usize, usize)| {
        // A pitch of 0 is that of rows without gaps.
        let pitch = if pitch == 0 { it.WidthInBytes } else { pitch } as u64;
        Rows { address: address.wrapping_add(y as u64 * pitch + x as u64), pitch }
    };
    let to = side(it.dstMemoryType, of(it.dstHost), it.dstDevice, it.dstXInBytes, it.dstY, it.dstPitch)?;
    let from = side(it.srcMemoryType, of(it.srcHost), it.srcDevice, it.srcXInBytes, it.srcY, it.srcPitch)?;
    Ok(Copy { to: at(to), from: at(from), bytes: it.WidthInBytes as u64, rows: it.Height as u64 })
}

fn allocate_host(pointer: Out<*mut c_void>, bytes: usize) -> Answer {
    let mut machine = in_context()?;
    machine.forbid_in_capture()?;
    let layout = Layout::from_size_align(bytes, PAGE).map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)?;
    if bytes == 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    // SAFETY: the layout is not empty.
    let allocated = unsafe { alloc(layout) };
    if allocated.is_null() {
        return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    }
    machine.host_memory.insert(allocated.expose_provenance(), bytes);
    pointer.put(allocated.cast())
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
    fn cuMemAllocManaged(_address: Out<CUdeviceptr>, _bytes: usize, _flags: c_uint) {
        Err(unsupported("managed memory"))
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
    fn cuMemHostAlloc(pointer: Out<*mut c_void>, bytes: usize, _flags: c_uint) {
        allocate_host(pointer, bytes)
    }
    fn cuMemAllocHost_v2(pointer: Out<*mut c_void>, bytes: usize) {
        allocate_host(pointer, bytes)
    }
    fn cuMemFreeHost(pointer: *mut c_void) {
        let bytes = in_context()?.host_memory.remove(&pointer.addr()).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let layout = Layout::from_size_align(bytes, PAGE).map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)?;
        // SAFETY: allocated by `allocate_host` with this layout, and freed once: it is no longer in the table.
        unsafe { dealloc(pointer.cast(), layout) };
        Ok(())
    }
    fn cuMemHostRegister_v2(pointer: *mut c_void, _bytes: usize, _flags: c_uint) {
        in_context()?.forbid_in_capture()?;
        require(!pointer.is_null())
    }
    fn cuMemHostUnregister(_pointer: *mut c_void) {
        in_context()?.forbid_in_capture()
    }
    fn cuMemHostGetDevicePointer_v2(_address: Out<CUdeviceptr>, _pointer: *mut c_void, _flags: c_uint) {
        Err(unsupported("mapped memory of the host"))
    }
    fn cuPointerGetAttribute(value: Out<c_uint>, attribute: c_uint, pointer: CUdeviceptr) {
        let machine = in_context()?;
        let is_of_device = is_of_device(&machine.memory, pointer);
        let before = machine.host_memory.range(..=pointer as usize).next_back();
        let of_host = before.filter(|(first, bytes)| pointer as usize - **first < **bytes);
        if !is_of_device && of_host.is_none() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        match attribute {
            CONTEXT => value.cast::<CUcontext>().put(current()),
            MEMORY_TYPE => value.put(if is_of_device { ON_DEVICE } else { ON_HOST }),
            DEVICE_POINTER if is_of_device => value.cast::<u64>().put(pointer),
            HOST_POINTER if of_host.is_some() => value.cast::<u64>().put(pointer),
            IS_MANAGED => value.put(0),
            DEVICE_ORDINAL => value.put(0),
            // Of the device's memory nobody has asked for it.
            RANGE_START | RANGE_SIZE => {
                let (first, bytes) = of_host.ok_or(CUresult::CUDA_ERROR_NOT_SUPPORTED)?;
                value.cast::<u64>().put(*if attribute == RANGE_START { first } else { bytes } as u64)
            }
            _ => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        }
    }
    fn cuMemcpy(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(to, from, bytes, None)
    }
    fn cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(to, from, bytes, Some(stream))
    }
    fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) {
        copy(to, of(from), bytes, None)
    }
    fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) {
        copy(to, of(from), bytes, Some(stream))
    }
    fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize) {
        copy(of(to), from, bytes, None)
    }
    fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(of(to), from, bytes, Some(stream))
    }
    fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) {
        copy(to, from, bytes, None)
    }
    fn cuMemcpyDtoDAsync_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) {
        copy(to, from, bytes, Some(stream))
    }
    fn cuMemcpy2D_v2(copy: In<CUDA_MEMCPY2D>) {
        rows(described(&copy.get()?)?, None)
    }
    fn cuMemcpy2DUnaligned_v2(copy: In<CUDA_MEMCPY2D>) {
        rows(described(&copy.get()?)?, None)
    }
    fn cuMemcpy2DAsync_v2(copy: In<CUDA_MEMCPY2D>, stream: CUstream) {
        rows(described(&copy.get()?)?, Some(stream))
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
    fn cuMemPrefetchAsync(_address: CUdeviceptr, _bytes: usize, _device: c_int, _stream: CUstream) {
        Err(unsupported("managed memory"))
    }
}
