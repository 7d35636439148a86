//! Devices with their plans, made when a call first needs them.

use std::collections::HashMap;
use std::ffi::c_ulonglong;
use std::ptr;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use sgemm::cuda::{CUstream, Gemm, Handle, open, open_driver};
use sgemm::cudarc::driver::sys::{self, CUcontext, CUresult, CUstreamCaptureMode, CUstreamCaptureStatus};
use sgemm::plan::Plan;
use sgemm::select::{self, Table};
use sgemm::{AccuracyClass, Device, Error, Problem};

use crate::memory::Pool;
use crate::next::{DRIVER, Next};
use crate::reason::Reason;
use crate::settings::Settings;

/// Compute capability, major, of devices on which kernels were measured beside cuBLAS: elsewhere it may well be faster.
const MEASURED: u32 = 9;

/// Most plans that a device keeps: a program with ever new shapes begins anew then.
const MOST_PLANS: usize = 2048;

/// A problem of a batch that is not launched at once should take so many microseconds, to be worth a launch of its own.
const LEAST_LAUNCH_US: f64 = 20.0;

/// The primary context of a device, with what was loaded into it. It stays until the process ends, or the device is reset.
pub struct Gpu {
    handle: Handle,
    pub pool: Option<Pool>,
    plans: RwLock<HashMap<Problem, Result<Arc<Planned>, Reason>>>,
}

/// A plan whose kernels are loaded.
pub struct Planned {
    pub gemm: Gemm,
    pub workspace_bytes: u64,
    /// Predicted time, in microseconds.
    pub us: f64,
    /// The same of the plan in `fp32-strict`, which stands for cuBLAS's SGEMM.
    pub strict_us: f64,
    /// Where the pool never holds that workspace: a plan that does with what it holds, and is predicted to take no longer than cuBLAS.
    pub frugal: Option<Box<Planned>>,
}

/// A context. One that a reset of the device made may be where the former one was: its number is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Context {
    address: usize,
    /// 0 before CUDA 12, which has no such numbers.
    id: c_ulonglong,
}

impl Context {
    /// # Safety
    /// The context is current, and the driver is open.
    unsafe fn new(context: CUcontext) -> Self {
        type GetId = unsafe extern "C" fn(CUcontext, *mut c_ulonglong) -> CUresult;
        static NEXT: Next = Next::new(&DRIVER, c"cuCtxGetId");
        // Looked up once, also where there is none.
        static GET_ID: OnceLock<Option<GetId>> = OnceLock::new();
        let mut id = 0;
        // SAFETY: that is the function's type.
        if let Some(get) = GET_ID.get_or_init(|| unsafe { NEXT.get() }) {
            // SAFETY: a context, upheld by the caller, and a place for a number, which stays 0 where the driver refuses.
            let _ = unsafe { get(context, &raw mut id) };
        }
        Self { address: context.addr(), id }
    }
}

/// Devices by their contexts; none where there is something in the way.
type Known = Vec<(Context, Result<&'static Gpu, Reason>)>;

static GPUS: RwLock<Known> = RwLock::new(Vec::new());

/// The device of the current context. `stream` is that of the call.
///
/// # Safety
/// The stream is one of the driver's.
pub unsafe fn current(stream: CUstream) -> Result<&'static Gpu, Reason> {
    static HAS_DRIVER: OnceLock<bool> = OnceLock::new();
    if !*HAS_DRIVER.get_or_init(|| open_driver().is_ok()) {
        return Err(Reason::Device);
    }
    let mut context = ptr::null_mut();
    // SAFETY: the driver is there, and `context` a place for a pointer.
    if unsafe { sys::cuCtxGetCurrent(&raw mut context) } != CUresult::CUDA_SUCCESS || context.is_null() {
        return Err(Reason::Context);
    }
    // SAFETY: it is current.
    let key = unsafe { Context::new(context) };
    let find = |known: &Known| known.iter().find(|(of, _)| *of == key).map(|(_, gpu)| *gpu);
    if let Some(gpu) = find(&GPUS.read().unwrap_or_else(PoisonError::into_inner)) {
        return gpu;
    }
    // SAFETY: upheld by the caller.
    if unsafe { is_capturing(stream) } {
        return Err(Reason::Capturing);
    }
    let mut known = GPUS.write().unwrap_or_else(PoisonError::into_inner);
    if let Some(gpu) = find(&known) {
        return gpu;
    }
    let gpu = relaxed(|| Gpu::new(context));
    // What was loaded into a context that is no more is not freed: the driver did that.
    known.retain(|(of, _)| of.address != key.address);
    known.push((key, gpu));
    gpu
}

/// Whether the stream is captured, or cannot tell, as the default stream while another one is.
///
/// # Safety
/// The stream is one of the driver's.
pub unsafe fn is_capturing(stream: CUstream) -> bool {
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream is one of the driver's, upheld by the caller, and `status` a place to write to.
    let answer = unsafe { sys::cuStreamIsCapturing(stream, &raw mut status) };
    answer != CUresult::CUDA_SUCCESS || status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE
}

/// Does something that other threads' captures would forbid, and that is none of their work.
fn relaxed<T>(act: impl FnOnce() -> T) -> T {
    let mut mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    // SAFETY: a place for a mode, which becomes the thread's former one. A driver that refuses leaves it as it is.
    let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    let result = act();
    // SAFETY: as above.
    let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut mode) };
    result
}

impl Gpu {
    /// The device whose primary context this is, which is current and stays so.
    fn new(context: CUcontext) -> Result<&'static Self, Reason> {
        let (mut device, mut flags, mut is_active) = (0, 0, 0);
        // SAFETY: places for numbers.
        let statuses = unsafe {
            let of = sys::cuCtxGetDevice(&raw mut device);
            [of, sys::cuDevicePrimaryCtxGetState(device, &raw mut flags, &raw mut is_active)]
        };
        // Not `open` at once, which would make a primary context where there is none.
        if statuses != [CUresult::CUDA_SUCCESS; 2] || is_active == 0 {
            return Err(Reason::Context);
        }
        let opened = usize::try_from(device).ok().and_then(|ordinal| open(ordinal).ok());
        // SAFETY: it was current when this began.
        let _ = unsafe { sys::cuCtxSetCurrent(context) };
        let primary = opened.filter(|primary| primary.cu_ctx() == context).ok_or(Reason::Context)?;
        let handle = Handle::new(&primary).map_err(|_| Reason::Device)?;
        if handle.device().compute_capability.0 != MEASURED {
            return Err(Reason::Device);
        }
        let pool = Pool::new(device, Settings::get().most_bytes);
        Ok(Box::leak(Box::new(Self { handle, pool, plans: RwLock::default() })))
    }

    fn device(&self) -> &Device {
        self.handle.device()
    }

    /// The plan for a problem. What cannot be planned is remembered as well.
    ///
    /// # Safety
    /// The stream is one of the driver's.
    pub unsafe fn plan(&self, problem: &Problem, stream: CUstream) -> Result<Arc<Planned>, Reason> {
        if let Some(planned) = self.plans.read().unwrap_or_else(PoisonError::into_inner).get(problem) {
            return planned.clone();
        }
        // SAFETY: upheld by the caller.
        if unsafe { is_capturing(stream) } {
            return Err(Reason::Capturing);
        }
        let planned = relaxed(|| self.load(problem)).map(Arc::new);
        let mut plans = self.plans.write().unwrap_or_else(PoisonError::into_inner);
        if plans.len() >= MOST_PLANS {
            plans.clear();
        }
        plans.insert(*problem, planned.clone());
        planned
    }

    fn load(&self, problem: &Problem) -> Result<Planned, Reason> {
        let strict = problem.with_accuracy(AccuracyClass::Fp32Strict);
        let (_, strict_us) = self.predict(&strict, u64::MAX)?;
        let planned = self.load_within(problem, u64::MAX, strict_us)?;
        let limit = self.pool.as_ref().map_or(0, Pool::most_bytes);
        if planned.workspace_bytes <= limit {
            return Ok(planned);
        }
        let frugal = self.load_within(problem, limit, strict_us).ok().filter(|frugal| frugal.us <= strict_us);
        Ok(Planned { frugal: frugal.map(Box::new), ..planned })
    }

    /// The best plan with so much workspace, and its predicted time in microseconds.
    fn predict(&self, problem: &Problem, limit: u64) -> Result<(Plan, f64), Reason> {
        let (device, table) = (self.device(), Table::of(self.device()));
        let plan = select::plan(table, device, problem, limit).map_err(refused)?;
        let us = select::predicted_us(table, device, &plan).map_err(refused)?;
        Ok((plan, us))
    }

    fn load_within(&self, problem: &Problem, limit: u64, strict_us: f64) -> Result<Planned, Reason> {
        let (plan, us) = self.predict(problem, limit)?;
        if plan.rounds() > 1 && us < LEAST_LAUNCH_US * plan.rounds() as f64 {
            return Err(Reason::ManySmall);
        }
        let workspace_bytes = plan.workspace_bytes();
        let gemm = self.handle.load(plan).map_err(refused)?;
        Ok(Planned { gemm, workspace_bytes, us, strict_us, frugal: None })
    }
}

/// Why what cannot be planned or loaded is cuBLAS's.
fn refused(error: Error) -> Reason {
    match error {
        Error::Driver { .. } | Error::BadModule { .. } | Error::DriverTooOld { .. } => Reason::Device,
        Error::BatchStride { .. } | Error::LeadingDimension { .. } => Reason::Invalid,
        _ => Reason::Unsupported,
    }
}
