//! What opaque pointers of the interface stand for.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use cudarc::driver::sys::CUresult;

use crate::status::Answer;

/// The number of the next handle, of whichever kind: none stands for two things, ever. The first few are constants of the interface.
static NEXT: AtomicUsize = AtomicUsize::new(0x1000);

/// A number that stands for nothing yet.
pub fn fresh() -> usize {
    NEXT.fetch_add(0x10, Ordering::Relaxed)
}

/// Things of one kind, by the numbers that handles are.
#[derive(Debug)]
pub struct Handles<T>(BTreeMap<usize, T>);

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> Handles<T> {
    /// Keeps a thing, and gives its handle.
    pub fn insert<H>(&mut self, thing: T) -> *mut H {
        let handle = fresh();
        self.0.insert(handle, thing);
        std::ptr::without_provenance_mut(handle)
    }

    /// What a handle stands for.
    pub fn get<H>(&self, handle: *mut H) -> Answer<&T> {
        self.0.get(&handle.addr()).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    }

    /// The same, to change it.
    pub fn get_mut<H>(&mut self, handle: *mut H) -> Answer<&mut T> {
        self.0.get_mut(&handle.addr()).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    }

    /// Forgets a thing.
    pub fn remove<H>(&mut self, handle: *mut H) -> Answer<T> {
        self.0.remove(&handle.addr()).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.values_mut()
    }
}
