//! The caller's matrices in the host's memory, and memory there that devices can read and write by themselves.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use cudarc::driver::CudaContext;
use cudarc::driver::sys::{self, CUpointer_attribute, CUresult};

use crate::cuda::{checked, failed};
use crate::plan::Buffer;
use crate::{Error, Scalar};

/// A slice of the host's memory that is page-locked while this lives, so that devices copy from and to it by themselves: that takes time
/// once, and pays where a matrix is used more than once. All contexts may use it.
///
/// Plain slices are copied through page-locked buffers by the CPU instead. What was allocated page-locked is recognised.
#[derive(Debug)]
pub struct Registered<'a, T> {
    elements: &'a mut [T],
    /// Whether it was this that locked it.
    is_own: bool,
    context: Arc<CudaContext>,
}

impl<'a, T: Scalar> Registered<'a, T> {
    /// Page-locks a slice. What is locked already, in whole or in part, stays as it is.
    ///
    /// # Errors
    /// [`Error::Driver`] where the driver refuses, such as for more than the system lets it lock.
    pub fn new(context: &Arc<CudaContext>, elements: &'a mut [T]) -> Result<Self, Error> {
        let what = || "page-lock memory".to_owned();
        context.bind_to_thread().map_err(|error| failed(what(), error))?;
        if elements.is_empty() {
            return Ok(Self { elements, is_own: false, context: Arc::clone(context) });
        }
        let (start, bytes) = (elements.as_mut_ptr().cast(), size_of_val(elements));
        // SAFETY: the context is current; the slice is borrowed until it is unregistered.
        let status = unsafe { sys::cuMemHostRegister_v2(start, bytes, sys::CU_MEMHOSTREGISTER_PORTABLE) };
        let is_own = status != CUresult::CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
        if is_own {
            checked(status, what)?;
        }
        Ok(Self { elements, is_own, context: Arc::clone(context) })
    }
}

impl<T> Drop for Registered<'_, T> {
    fn drop(&mut self) {
        if self.is_own && self.context.bind_to_thread().is_ok() {
            // SAFETY: it was registered, from there on; runs have ended that used it, since they borrowed it. Nobody hears of a failure here.
            let _ = unsafe { sys::cuMemHostUnregister(self.elements.as_mut_ptr().cast()) };
        }
    }
}

impl<T> Deref for Registered<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.elements
    }
}

impl<T> DerefMut for Registered<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.elements
    }
}

/// The matrices of a run, shared by the threads of all GPUs. What lies between their lines is never touched.
pub(super) struct Host {
    a: Matrix,
    b: Matrix,
    c: Matrix,
}

/// Where a matrix begins, and whether devices can read and write it by themselves.
#[derive(Clone, Copy)]
struct Matrix {
    start: *mut u8,
    is_locked: bool,
}

// SAFETY: threads only read A and B; of C each writes the elements of its GPU's part, which are no other's.
unsafe impl Sync for Host {}

impl Host {
    /// Of A, B and C at these addresses, with so many bytes from their first to their last element. A context is current.
    pub fn new([a, b, c]: [*mut u8; 3], bytes: [usize; 3]) -> Self {
        let matrix = |start: *mut u8, bytes| Matrix { start, is_locked: is_locked(start, bytes) };
        Self { a: matrix(a, bytes[0]), b: matrix(b, bytes[1]), c: matrix(c, bytes[2]) }
    }

    fn matrix(&self, matrix: Buffer) -> Matrix {
        match matrix {
            Buffer::A => self.a,
            Buffer::B => self.b,
            _ => self.c,
        }
    }

    /// The address of so many bytes into a matrix.
    pub fn at(&self, matrix: Buffer, bytes: u64) -> *mut u8 {
        self.matrix(matrix).start.wrapping_add(bytes as usize)
    }

    /// Whether all of a matrix is page-locked.
    pub fn is_locked(&self, matrix: Buffer) -> bool {
        self.matrix(matrix).is_locked
    }
}

/// Whether the driver knows all of this memory as one range of page-locked memory of the host.
fn is_locked(start: *const u8, bytes: usize) -> bool {
    let ask = |attribute, value: *mut std::ffi::c_void| {
        // SAFETY: `value` is a place for what the attribute is: 4 bytes for the kind of memory, 8 for address and size.
        unsafe { sys::cuPointerGetAttribute(value, attribute, start as u64) == CUresult::CUDA_SUCCESS }
    };
    let (mut kind, mut first, mut size) = (0_u32, 0_u64, 0_usize);
    let is_known = ask(CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (&raw mut kind).cast())
        && ask(CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, (&raw mut first).cast())
        && ask(CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE, (&raw mut size).cast());
    let end = |first: u64, bytes: usize| first.checked_add(bytes as u64);
    let has_all = first <= start as u64 && end(first, size) >= end(start as u64, bytes);
    is_known && kind == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32 && has_all
}
