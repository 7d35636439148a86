//! Plans: a problem on the device of a handle.
#![allow(non_camel_case_types, reason = "C's names")]

use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::Arc;

use sgemm::cuda::Gemm;
use sgemm::cudarc::driver::CudaContext;
use sgemm::emulator::Emulator;
use sgemm::plan::Plan;

use crate::constants::sgemm_status_t;
use crate::cuda::Restore;
use crate::handle::{Backend, device, sgemm_handle_t};
use crate::problem::sgemm_problem_t;
use crate::registry::Registry;
use crate::status::{Failure, boundary};

/// What a plan stands for.
pub struct sgemm_plan {
    _private: [u8; 0],
}

/// A problem with the kernel that was chosen for it. Any thread may use it, several at a time. It is no address: a plan that was
/// destroyed, and NULL, are SGEMM_INVALID_HANDLE.
pub type sgemm_plan_t = *mut sgemm_plan;

/// A plan, and what it runs on.
pub(crate) struct Planned {
    pub problem: sgemm_problem_t,
    pub runner: Runner,
    kernel: CString,
}

/// What runs it.
pub(crate) enum Runner {
    Cuda(Arc<CudaContext>, Gemm),
    Emulator(Arc<Emulator>, Box<Plan>),
}

impl Planned {
    /// The library's plan.
    pub fn plan(&self) -> &Plan {
        match &self.runner {
            Runner::Cuda(_, gemm) => gemm.plan(),
            Runner::Emulator(_, plan) => plan,
        }
    }
}

static PLANS: Registry<Planned> = Registry::new("plan");

/// The plan that C holds.
pub(crate) fn planned(plan: sgemm_plan_t) -> Result<Arc<Planned>, Failure> {
    PLANS.get(plan.addr())
}

/// Chooses a kernel for a problem, and loads it. workspace_limit is the most bytes of workspace that it may ask for, SGEMM_UNLIMITED
/// for any. Writes NULL where it fails.
///
/// # Safety
/// `problem` is null, or that of a problem; `plan` is null, or a place to write a plan to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sgemm_plan_create(
    handle: sgemm_handle_t,
    problem: *const sgemm_problem_t,
    workspace_limit: u64,
    plan: *mut sgemm_plan_t,
) -> sgemm_status_t {
    boundary(|| {
        if plan.is_null() {
            return Err(Failure::null("plan"));
        }
        // SAFETY: upheld by the caller.
        unsafe { plan.write(ptr::null_mut()) };
        let device = device(handle)?;
        if problem.is_null() {
            return Err(Failure::null("problem"));
        }
        // SAFETY: upheld by the caller: all values of its fields are numbers, of which any bits are one.
        let problem = unsafe { problem.read() };
        let described = problem.problem()?;
        let runner = match &device.backend {
            Backend::Cuda(handle) => {
                let _restore = Restore::current()?;
                Runner::Cuda(Arc::clone(handle.context()), handle.plan_within(&described, workspace_limit)?)
            }
            Backend::Emulator(emulator) => {
                let plan = emulator.plan(&described, workspace_limit)?;
                Runner::Emulator(Arc::clone(emulator), Box::new(plan))
            }
        };
        let mut planned = Planned { problem, runner, kernel: CString::default() };
        planned.kernel = CString::new(planned.plan().step().slug).unwrap_or_default();
        let number = PLANS.insert(planned);
        // SAFETY: as above.
        unsafe { plan.write(ptr::without_provenance_mut(number)) };
        Ok(())
    })
}

/// Destroys a plan. On a GPU, it waits for the kernels of the plan where it is the last that uses them.
#[unsafe(no_mangle)]
pub extern "C" fn sgemm_plan_destroy(plan: sgemm_plan_t) -> sgemm_status_t {
    boundary(|| {
        let planned = PLANS.remove(plan.addr())?;
        // As where a handle is destroyed: a plan may be the last that has the context.
        let _restore = matches!(planned.runner, Runner::Cuda(..)).then(|| Restore::current().ok());
        drop(planned);
        Ok(())
    })
}

/// Bytes that the workspace of a run must have: 0 where the plan does without.
///
/// # Safety
/// `bytes` is null, or a place to write a number to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sgemm_plan_workspace_bytes(plan: sgemm_plan_t, bytes: *mut u64) -> sgemm_status_t {
    boundary(|| {
        let planned = planned(plan)?;
        if bytes.is_null() {
            return Err(Failure::null("bytes"));
        }
        // SAFETY: upheld by the caller.
        unsafe { bytes.write(planned.plan().workspace_bytes()) };
        Ok(())
    })
}

/// The name of the kernel that was chosen, such as "stream-k". It is valid until the plan is destroyed.
///
/// # Safety
/// `name` is null, or a place to write a pointer to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sgemm_plan_kernel(plan: sgemm_plan_t, name: *mut *const c_char) -> sgemm_status_t {
    boundary(|| {
        let planned = planned(plan)?;
        if name.is_null() {
            return Err(Failure::null("name"));
        }
        // SAFETY: upheld by the caller.
        unsafe { name.write(planned.kernel.as_ptr()) };
        Ok(())
    })
}
