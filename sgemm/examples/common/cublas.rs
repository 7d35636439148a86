//! cuBLAS's SGEMM, for comparison.

use std::error::Error;
use std::ffi::{c_int, c_void};

use libloading::Library;
use sgemm::cuda::{CUdeviceptr, CUstream};
use sgemm::cudarc::driver::CudaStream;

/// A handle of cuBLAS.
pub struct Cublas {
    handle: *mut c_void,
    set_stream: SetStream,
    sgemm: Sgemm,
    // The functions are of it.
    _library: Library,
}

type Create = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type SetStream = unsafe extern "C" fn(*mut c_void, CUstream) -> c_int;
#[rustfmt::skip]
type Sgemm = unsafe extern "C" fn(
    *mut c_void, c_int, c_int, c_int, c_int, c_int, *const f32, CUdeviceptr, c_int, CUdeviceptr, c_int, *const f32, CUdeviceptr, c_int,
) -> c_int;

impl Cublas {
    /// For the current context; `None` where cuBLAS is not installed, or gives no handle.
    pub fn open() -> Result<Option<Self>, Box<dyn Error>> {
        let names = ["libcublas.so.13", "libcublas.so.12", "libcublas.so"];
        // SAFETY: initialising the library has no requirements.
        let library = names.into_iter().find_map(|name| unsafe { Library::new(name) }.ok());
        let Some(library) = library else { return Ok(None) };
        let mut handle = std::ptr::null_mut();
        // SAFETY: the functions' types are those of cublas_v2.h, and the library stays as long as they do.
        let (status, set_stream, sgemm) = unsafe {
            let status = library.get::<Create>(b"cublasCreate_v2\0")?(&raw mut handle);
            (status, *library.get::<SetStream>(b"cublasSetStream_v2\0")?, *library.get::<Sgemm>(b"cublasSgemm_v2\0")?)
        };
        Ok((status == 0).then_some(Self { handle, set_stream, sgemm, _library: library }))
    }

    /// Has it run in this stream.
    pub fn set_stream(&self, stream: &CudaStream) {
        // SAFETY: the handle is cuBLAS's, and the stream lives as long as calls are made in it.
        unsafe { (self.set_stream)(self.handle, stream.cu_stream()) };
    }

    /// Row-major C = A*B, which is C^T = B^T*A^T to cuBLAS.
    pub fn sgemm(&self, sizes: [usize; 3], [a, b, c]: [CUdeviceptr; 3]) -> Result<(), Box<dyn Error>> {
        let [m, n, k] = sizes.map(|size| size as c_int);
        let (one, zero) = (1.0, 0.0);
        // SAFETY: matrices are of these sizes, and live until the stream has passed.
        let status =
            unsafe { (self.sgemm)(self.handle, 0, 0, n, m, k, &raw const one, b, n, a, k, &raw const zero, c, n) };
        if status == 0 { Ok(()) } else { Err(format!("cublasSgemm answers {status}").into()) }
    }
}
