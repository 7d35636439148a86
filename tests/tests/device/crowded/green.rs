//! A part of the device: a green context, which has some of the SMs, as a process has under MPS's limit.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use libtest_mimic::Failed;
use sgemm::cudarc::driver::CudaContext;
use sgemm::cudarc::driver::sys::{self, CUcontext, CUdevice, CUresult, CUstream, CUstream_flags};

/// `CU_DEV_RESOURCE_TYPE_SM`.
const SMS: c_uint = 1;

/// `CU_GREEN_CTX_DEFAULT_STREAM`, which the driver asks for.
const DEFAULT_STREAM: c_uint = 1;

/// `CUdevResource` of CUDA 12.4 and later: its kind, what the driver keeps there, the number of SMs, and what there is room for.
#[repr(C, align(8))]
#[derive(Clone, Copy)]
struct Resource {
    kind: c_uint,
    internal: [u8; 92],
    sm_count: c_uint,
    rest: [u8; 44],
}

const NONE: Resource = Resource { kind: 0, internal: [0; 92], sm_count: 0, rest: [0; 44] };

type Green = *mut c_void;
type Description = *mut c_void;

/// What the driver has for it since CUDA 12.5. The bindings' own are there only where they are made for so new a toolkit, and panic
/// where the driver is older.
#[derive(Clone, Copy)]
struct Driver {
    resource: unsafe extern "C" fn(CUdevice, *mut Resource, c_uint) -> CUresult,
    split: unsafe extern "C" fn(*mut Resource, *mut c_uint, *const Resource, *mut Resource, c_uint, c_uint) -> CUresult,
    describe: unsafe extern "C" fn(*mut Description, *mut Resource, c_uint) -> CUresult,
    create: unsafe extern "C" fn(*mut Green, Description, CUdevice, c_uint) -> CUresult,
    destroy: unsafe extern "C" fn(Green) -> CUresult,
    context: unsafe extern "C" fn(*mut CUcontext, Green) -> CUresult,
    stream: unsafe extern "C" fn(*mut CUstream, Green, c_uint, c_int) -> CUresult,
}

impl Driver {
    /// `None` where the driver is older.
    fn load() -> Option<Self> {
        // SAFETY: a context was made, so that the library is there. Each function has the type that `cuda.h` gives it.
        unsafe {
            let library = sys::culib();
            Some(Self {
                resource: *library.get(b"cuDeviceGetDevResource\0").ok()?,
                split: *library.get(b"cuDevSmResourceSplitByCount\0").ok()?,
                describe: *library.get(b"cuDevResourceGenerateDesc\0").ok()?,
                create: *library.get(b"cuGreenCtxCreate\0").ok()?,
                destroy: *library.get(b"cuGreenCtxDestroy\0").ok()?,
                context: *library.get(b"cuCtxFromGreenCtx\0").ok()?,
                stream: *library.get(b"cuGreenCtxStreamCreate\0").ok()?,
            })
        }
    }
}

/// Some SMs of a device, with a stream whose kernels run on these alone. It shares the memory of the device's primary context.
pub struct Part {
    driver: Driver,
    green: Green,
    context: CUcontext,
    /// To be used within [`Part::within`].
    pub stream: CUstream,
    pub sm_count: u32,
}

impl Part {
    /// At least so many SMs, rounded up as the device asks for; `None` where driver or device have no green contexts.
    pub fn new(of: &CudaContext, least: u32) -> Result<Option<Self>, Failed> {
        let Some(driver) = Driver::load() else { return Ok(None) };
        of.bind_to_thread()?;
        let (device, mut all, mut some, mut groups) = (of.cu_device(), NONE, NONE, 1);
        // SAFETY: `all` is a place to write to.
        match unsafe { (driver.resource)(device, &raw mut all, SMS) } {
            CUresult::CUDA_ERROR_NOT_SUPPORTED => return Ok(None),
            status => checked("list the device's SMs", status)?,
        }
        // SAFETY: there is room for one group, and nobody asks for those that are left.
        let status =
            unsafe { (driver.split)(&raw mut some, &raw mut groups, &raw const all, ptr::null_mut(), 0, least) };
        checked("split the device's SMs", status)?;
        let mut description = ptr::null_mut();
        // SAFETY: one resource, as the driver wrote it.
        checked("describe a part of the SMs", unsafe { (driver.describe)(&raw mut description, &raw mut some, 1) })?;
        let mut green = ptr::null_mut();
        // SAFETY: the description is of this device.
        let status = unsafe { (driver.create)(&raw mut green, description, device, DEFAULT_STREAM) };
        checked("create a green context", status)?;
        let (context, stream) = (ptr::null_mut(), ptr::null_mut());
        let mut part = Self { driver, green, context, stream, sm_count: some.sm_count };
        // SAFETY: the green context was created above.
        checked("use a green context", unsafe { (driver.context)(&raw mut part.context, green) })?;
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as c_uint;
        // SAFETY: as above.
        checked("create a stream", unsafe { (driver.stream)(&raw mut part.stream, green, flags, 0) })?;
        Ok(Some(part))
    }

    /// Does something with the part's context current. What cudarc's safe layer does would make its own context current instead.
    pub fn within<T>(&self, act: impl FnOnce() -> T) -> Result<T, Failed> {
        // SAFETY: the context lives as long as `self`.
        checked("enter a green context", unsafe { sys::cuCtxPushCurrent_v2(self.context) })?;
        let result = act();
        let mut popped = ptr::null_mut();
        // SAFETY: what is popped was pushed above.
        checked("leave a green context", unsafe { sys::cuCtxPopCurrent_v2(&raw mut popped) })?;
        Ok(result)
    }

    /// Whether all is done that was queued in the stream.
    pub fn is_idle(&self) -> Result<bool, Failed> {
        // SAFETY: the stream lives as long as `self`.
        match unsafe { sys::cuStreamQuery(self.stream) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            status => checked("run on a part of the SMs", status).map(|()| true),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.stream.is_null() {
            // SAFETY: created by `new`, and used no more.
            let _ = self.within(|| unsafe { sys::cuStreamDestroy_v2(self.stream) });
        }
        // SAFETY: as above; its stream is gone.
        let _ = unsafe { (self.driver.destroy)(self.green) };
    }
}

fn checked(what: &str, status: CUresult) -> Result<(), Failed> {
    match status {
        CUresult::CUDA_SUCCESS => Ok(()),
        status => Err(format!("cannot {what}: {status:?}").into()),
    }
}
