//! Handles: a GPU, or an emulated one.
#![allow(non_camel_case_types, reason = "C's names")]

use std::ffi::{CStr, CString, c_char};
use std::ptr;
use std::sync::Arc;

use sgemm::cuda::Handle;
use sgemm::emulator::{Emulator, MODELS};

use crate::constants::*;
use crate::cuda::{self, Restore};
use crate::registry::Registry;
use crate::status::{Failure, boundary};

/// What a handle stands for.
pub struct sgemm_handle {
    _private: [u8; 0],
}

/// A device, with the kernels that were loaded on it. Any thread may use it, several at a time. It is no address: a handle that was
/// destroyed, and NULL, are SGEMM_INVALID_HANDLE.
pub type sgemm_handle_t = *mut sgemm_handle;

/// The device of a handle.
pub(crate) struct Device {
    pub backend: Backend,
    name: CString,
}

/// What runs kernels.
#[derive(Clone)]
pub(crate) enum Backend {
    Cuda(Handle),
    Emulator(Arc<Emulator>),
}

static HANDLES: Registry<Device> = Registry::new("handle");

/// The device of a handle that C holds.
pub(crate) fn device(handle: sgemm_handle_t) -> Result<Arc<Device>, Failure> {
    HANDLES.get(handle.addr())
}

/// Keeps a device, and writes its handle.
///
/// # Safety
/// `place` is null, or a place to write a handle to.
unsafe fn keep(
    place: *mut sgemm_handle_t,
    make: impl FnOnce() -> Result<(Backend, String), Failure>,
) -> Result<(), Failure> {
    if place.is_null() {
        return Err(Failure::null("handle"));
    }
    // SAFETY: upheld by the caller.
    unsafe { place.write(ptr::null_mut()) };
    let (backend, name) = make()?;
    let number = HANDLES.insert(Device { backend, name: CString::new(name).unwrap_or_default() });
    // SAFETY: as above.
    unsafe { place.write(ptr::without_provenance_mut(number)) };
    Ok(())
}

/// Makes a handle for a GPU: in the primary context of the device with that ordinal, which is the context of the CUDA runtime. With
/// SGEMM_CURRENT_DEVICE, of the device whose primary context is current on this thread. The current context stays as it was. Writes NULL
/// where it fails.
///
/// # Safety
/// `handle` is null, or a place to write a handle to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sgemm_create_cuda(handle: *mut sgemm_handle_t, ordinal: i32) -> sgemm_status_t {
    boundary(|| {
        let make = || {
            sgemm::cuda::open_driver()?;
            let _restore = Restore::current()?;
            let library = Handle::new(&cuda::context(ordinal)?)?;
            let name = library.device().name.clone();
            Ok((Backend::Cuda(library), name))
        };
        // SAFETY: upheld by the caller.
        unsafe { keep(handle, make) }
    })
}

/// Makes a handle for an emulated GPU of that name, such as "h200": of another, the message lists those that there are. Its memory is the
/// host's: pointers of a run are the host's, and a run is done when it returns. Writes NULL where it fails.
///
/// # Safety
/// `handle` is null, or a place to write a handle to; `device` is null, or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sgemm_create_emulator(handle: *mut sgemm_handle_t, device: *const c_char) -> sgemm_status_t {
    boundary(|| {
        let make = || {
            if device.is_null() {
                return Err(Failure::null("device"));
            }
            // SAFETY: upheld by the caller: it ends with a zero.
            let name = unsafe { CStr::from_ptr(device) }.to_string_lossy();
            let unknown = || {
                let known: Vec<_> = MODELS.iter().map(|model| model.slug).collect();
                Failure::new(SGEMM_INVALID_VALUE, format!("no device '{name}': give one of {}", known.join(", ")))
            };
            let emulator = Emulator::of(&name).ok_or_else(unknown)?;
            let name = emulator.device().name.clone();
            Ok((Backend::Emulator(Arc::new(emulator)), name))
        };
        // SAFETY: upheld by the caller.
        unsafe { keep(handle, make) }
    })
}

/// Destroys a handle. Plans that were made with it can be run on, and keep what they need of it.
#[unsafe(no_mangle)]
pub extern "C" fn sgemm_destroy(handle: sgemm_handle_t) -> sgemm_status_t {
    boundary(|| {
        let device = HANDLES.remove(handle.addr())?;
        // The last one to let go of a context makes it current first.
        let _restore = matches!(device.backend, Backend::Cuda(_)).then(|| Restore::current().ok());
        drop(device);
        Ok(())
    })
}

/// What a handle runs kernels on.
///
/// # Safety
/// `backend` is null, or a place to write a number to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sgemm_backend(handle: sgemm_handle_t, backend: *mut sgemm_backend_t) -> sgemm_status_t {
    boundary(|| {
        let device = device(handle)?;
        if backend.is_null() {
            return Err(Failure::null("backend"));
        }
        let number = match device.backend {
            Backend::Cuda(_) => SGEMM_BACKEND_CUDA,
            Backend::Emulator(_) => SGEMM_BACKEND_EMULATOR,
        };
        // SAFETY: upheld by the caller.
        unsafe { backend.write(number) };
        Ok(())
    })
}

/// The name of a handle's device, such as "NVIDIA H200". It is valid until the handle is destroyed.
///
/// # Safety
/// `name` is null, or a place to write a pointer to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sgemm_device_name(handle: sgemm_handle_t, name: *mut *const c_char) -> sgemm_status_t {
    boundary(|| {
        let device = device(handle)?;
        if name.is_null() {
            return Err(Failure::null("name"));
        }
        // SAFETY: upheld by the caller.
        unsafe { name.write(device.name.as_ptr()) };
        Ok(())
    })
}
