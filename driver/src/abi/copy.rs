//! Copies, between memories and arrays.

use std::ffi::c_void;

use cudarc::driver::sys::{
    CUDA_MEMCPY2D, CUDA_MEMCPY3D_st, CUarray, CUdeviceptr, CUmemorytype as MemoryType, CUstream,
};

use super::functions;
use super::pointers::In;
use crate::capture::submit;
use crate::copy::{Copy, Rows};
use crate::machine::{in_context, waited};
use crate::operation::Operation;
use crate::status::{Answer, require};

/// A copy of contiguous bytes in a stream, or at once in the default one.
fn copy(to: u64, from: u64, bytes: usize, stream: Option<CUstream>) -> Answer {
    let [to, from] = [to, from].map(Rows::one);
    enqueue(Copy { to, from, bytes: bytes as u64, rows: 1, slices: 1 }, stream)
}

fn enqueue(copy: Copy, stream: Option<CUstream>) -> Answer {
    if stream.is_none() {
        in_context()?.forbid_in_capture()?;
    }
    submit(stream.unwrap_or(std::ptr::null_mut()), Operation::Copy(copy))?;
    if stream.is_none() { waited().map(drop) } else { Ok(()) }
}

fn of<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}

/// Where a byte of an array of one dimension is, with so many behind it.
fn in_array(array: CUarray, offset: usize, bytes: usize) -> Answer<u64> {
    let machine = in_context()?;
    let array = machine.arrays.get(array)?;
    require(offset.checked_add(bytes).is_some_and(|end| end as u64 <= array.bytes()))?;
    Ok(array.address + offset as u64)
}

/// One side of a copy.
struct Side {
    kind: MemoryType,
    host: u64,
    device: u64,
    array: CUarray,
    /// Byte, row and slice where it begins.
    first: [usize; 3],
    /// Bytes from a row to the next, and rows from a slice to the next; 0 where there are no gaps.
    pitch: usize,
    height: usize,
}

impl Side {
    /// Its rows, of which so many bytes, rows and slices are copied.
    fn rows(&self, [width, height, depth]: [usize; 3]) -> Answer<Rows> {
        let [x, y, z] = self.first.map(|at| at as u64);
        let or = |given: usize, without: usize| if given == 0 { without as u64 } else { given as u64 };
        let (address, pitch, rows) = match self.kind {
            MemoryType::CU_MEMORYTYPE_ARRAY => {
                let machine = in_context()?;
                let array = machine.arrays.get(self.array)?;
                let extents = [array.row_bytes(), array.rows(), array.slices()];
                let counts = [width, height, depth].map(|count| count as u64);
                let holds = |axis: usize| {
                    self.first[axis] as u64 <= extents[axis] && counts[axis] <= extents[axis] - self.first[axis] as u64
                };
                require((0..3).all(holds))?;
                (array.address, array.row_bytes(), array.rows())
            }
            MemoryType::CU_MEMORYTYPE_HOST => (self.host, or(self.pitch, width), or(self.height, height)),
            _ => (self.device, or(self.pitch, width), or(self.height, height)),
        };
        let slice = pitch.wrapping_mul(rows);
        let first = x.wrapping_add(y.wrapping_mul(pitch)).wrapping_add(z.wrapping_mul(slice));
        Ok(Rows { address: address.wrapping_add(first), pitch, slice })
    }
}

/// A copy of slices of rows, as its description says.
pub(super) fn described(it: &CUDA_MEMCPY3D_st) -> Answer<Copy> {
    let to = Side {
        kind: it.dstMemoryType,
        host: of(it.dstHost),
        device: it.dstDevice,
        array: it.dstArray,
        first: [it.dstXInBytes, it.dstY, it.dstZ],
        pitch: it.dstPitch,
        height: it.dstHeight,
    };
    let from = Side {
        kind: it.srcMemoryType,
        host: of(it.srcHost),
        device: it.srcDevice,
        array: it.srcArray,
        first: [it.srcXInBytes, it.srcY, it.srcZ],
        pitch: it.srcPitch,
        height: it.srcHeight,
    };
    let size = [it.WidthInBytes, it.Height, it.Depth];
    let [bytes, rows, slices] = size.map(|count| count as u64);
    Ok(Copy { to: to.rows(size)?, from: from.rows(size)?, bytes, rows, slices })
}

/// The same of one slice.
fn slice(it: &CUDA_MEMCPY2D) -> Answer<Copy> {
    described(&CUDA_MEMCPY3D_st {
        srcXInBytes: it.srcXInBytes,
        srcY: it.srcY,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: it.srcMemoryType,
        srcHost: it.srcHost,
        srcDevice: it.srcDevice,
        srcArray: it.srcArray,
        reserved0: std::ptr::null_mut(),
        srcPitch: it.srcPitch,
        srcHeight: 0,
        dstXInBytes: it.dstXInBytes,
        dstY: it.dstY,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: it.dstMemoryType,
        dstHost: it.dstHost,
        dstDevice: it.dstDevice,
        dstArray: it.dstArray,
        reserved1: std::ptr::null_mut(),
        dstPitch: it.dstPitch,
        dstHeight: 0,
        WidthInBytes: it.WidthInBytes,
        Height: it.Height,
        Depth: 1,
    })
}

functions! {
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
    fn cuMemcpyHtoA_v2(to: CUarray, offset: usize, from: *const c_void, bytes: usize) {
        copy(in_array(to, offset, bytes)?, of(from), bytes, None)
    }
    fn cuMemcpyHtoAAsync_v2(to: CUarray, offset: usize, from: *const c_void, bytes: usize, stream: CUstream) {
        copy(in_array(to, offset, bytes)?, of(from), bytes, Some(stream))
    }
    fn cuMemcpyAtoH_v2(to: *mut c_void, from: CUarray, offset: usize, bytes: usize) {
        copy(of(to), in_array(from, offset, bytes)?, bytes, None)
    }
    fn cuMemcpyAtoHAsync_v2(to: *mut c_void, from: CUarray, offset: usize, bytes: usize, stream: CUstream) {
        copy(of(to), in_array(from, offset, bytes)?, bytes, Some(stream))
    }
    fn cuMemcpyDtoA_v2(to: CUarray, offset: usize, from: CUdeviceptr, bytes: usize) {
        copy(in_array(to, offset, bytes)?, from, bytes, None)
    }
    fn cuMemcpyAtoD_v2(to: CUdeviceptr, from: CUarray, offset: usize, bytes: usize) {
        copy(to, in_array(from, offset, bytes)?, bytes, None)
    }
    fn cuMemcpyAtoA_v2(to: CUarray, to_offset: usize, from: CUarray, from_offset: usize, bytes: usize) {
        copy(in_array(to, to_offset, bytes)?, in_array(from, from_offset, bytes)?, bytes, None)
    }
    fn cuMemcpy2D_v2(copy: In<CUDA_MEMCPY2D>) {
        enqueue(slice(&copy.get()?)?, None)
    }
    fn cuMemcpy2DUnaligned_v2(copy: In<CUDA_MEMCPY2D>) {
        enqueue(slice(&copy.get()?)?, None)
    }
    fn cuMemcpy2DAsync_v2(copy: In<CUDA_MEMCPY2D>, stream: CUstream) {
        enqueue(slice(&copy.get()?)?, Some(stream))
    }
    fn cuMemcpy3D_v2(copy: In<CUDA_MEMCPY3D_st>) {
        enqueue(described(&copy.get()?)?, None)
    }
    fn cuMemcpy3DAsync_v2(copy: In<CUDA_MEMCPY3D_st>, stream: CUstream) {
        enqueue(described(&copy.get()?)?, Some(stream))
    }
}
