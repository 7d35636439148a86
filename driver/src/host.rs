//! Memory of the host that a program gets from here.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::slice;
use std::sync::atomic::AtomicU32;

use cudarc::driver::sys::CUresult;

use crate::status::{Answer, require};

/// It begins at a multiple of so many bytes, as the driver's does.
const PAGE: usize = 4096;

/// An allocation, which ends with this.
#[derive(Debug)]
pub struct HostMemory {
    address: usize,
    bytes: usize,
    layout: Layout,
}

impl HostMemory {
    /// Zeros, as the operating system gives them.
    pub fn new(bytes: usize) -> Answer<Self> {
        require(bytes > 0)?;
        // Whole pages.
        let layout = Layout::from_size_align(bytes, PAGE).map(|layout| layout.pad_to_align());
        let layout = layout.map_err(|_| CUresult::CUDA_ERROR_INVALID_VALUE)?;
        // SAFETY: the layout is not empty.
        let allocated = unsafe { alloc_zeroed(layout) };
        if allocated.is_null() {
            return Err(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        }
        Ok(Self { address: allocated.expose_provenance(), bytes, layout })
    }

    /// Its address.
    pub fn address(&self) -> usize {
        self.address
    }

    /// Bytes that were asked for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its words, to be shared with the program, which has their address.
    ///
    /// # Safety
    /// They are not used once this is dropped.
    pub unsafe fn words(&self) -> &'static [AtomicU32] {
        let (first, count) = (std::ptr::with_exposed_provenance::<AtomicU32>(self.address), self.layout.size() / 4);
        // SAFETY: `count` words were allocated, at a multiple of a page, and set to zeros; the caller keeps them no longer than they are
        // there.
        unsafe { slice::from_raw_parts(first, count) }
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: allocated by `new` with this layout, and freed once.
        unsafe { dealloc(std::ptr::with_exposed_provenance_mut(self.address), self.layout) };
    }
}
