//! The functions that would have been called otherwise: those of the cuBLAS that the process has loaded.

use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A library of NVIDIA's, by the names of its versions, the newest first.
pub struct Library(&'static [&'static CStr]);

/// cuBLAS.
pub static CUBLAS: Library = Library(&[c"libcublas.so.13", c"libcublas.so.12", c"libcublas.so.11"]);

/// cublasLt.
pub static CUBLAS_LT: Library = Library(&[c"libcublasLt.so.13", c"libcublasLt.so.12", c"libcublasLt.so.11"]);

/// The driver.
pub static DRIVER: Library = Library(&[c"libcuda.so.1"]);

/// A function of a library, looked up when it is first needed.
pub struct Next {
    library: &'static Library,
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Next {
    /// The function of that name.
    pub const fn new(library: &'static Library, name: &'static CStr) -> Self {
        Self { library, name, found: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Its address, as a function of type `F`; `None` where the process has not loaded the library, or it has no such function.
    ///
    /// # Safety
    /// `F` is the function's type.
    pub unsafe fn get<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let mut found = self.found.load(Ordering::Acquire);
        if found.is_null() {
            found = self.find();
            self.found.store(found, Ordering::Release);
        }
        // SAFETY: `F` is a function pointer of its type, upheld by the caller.
        (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
    }

    fn find(&self) -> *mut c_void {
        // Python loads libraries for itself alone, so that RTLD_NEXT does not find them: it is for a library that has another name.
        // SAFETY: the names end with a zero. A library that is open already is not loaded, but kept.
        unsafe {
            let open = |name: &&CStr| libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            let handles = self.library.0.iter().map(open).filter(|handle| !handle.is_null());
            let symbols = handles.chain([libc::RTLD_NEXT]).map(|handle| libc::dlsym(handle, self.name.as_ptr()));
            symbols.into_iter().find(|symbol| !symbol.is_null()).unwrap_or(ptr::null_mut())
        }
    }
}
