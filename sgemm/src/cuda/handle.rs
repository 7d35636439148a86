//! A context's handle: kernels and choices, loaded and made once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{CudaContext, CudaStream, DevicePtr, DevicePtrMut};

use super::driver::{failed, open_driver, with_context};
use super::gemm::Gemm;
use super::group::Group;
use super::loaded::Loaded;
use super::module::Modules;
use super::workspace::Workspace;
use crate::plan::Plan;
use crate::select::{self, Table};
use crate::{Device, Error, ModuleSource, Problem, Scalar};

/// What plans are made with, for one context. Clones share what they have loaded; any thread may use them.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use sgemm::Problem;
/// use sgemm::cuda::{Handle, open};
///
/// let context = open(0)?;
/// let stream = context.default_stream();
/// let handle = Handle::new(&context)?;
/// let (a, b) = (stream.clone_htod(&[1.0_f32; 64 * 32])?, stream.clone_htod(&[2.0_f32; 32 * 16])?);
/// let mut c = stream.alloc_zeros::<f32>(64 * 16)?;
///
/// let gemm = handle.plan(&Problem::new(64, 16, 32))?;
/// let mut workspace = handle.workspace(&stream, gemm.workspace_bytes())?;
/// gemm.run(&stream, 1.0, &a, &b, 0.0, &mut c, &mut workspace)?; // as often as wanted
/// assert_eq!(stream.clone_dtoh(&c)?[0], 64.0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Handle(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    // Dropped in this order: what is loaded in the context goes before it.
    /// By problem and limit of workspace.
    plans: Mutex<HashMap<(Problem, u64), Arc<Loaded>>>,
    modules: Modules,
    device: Device,
    context: Arc<CudaContext>,
}

/// The primary context of the device of that number, as cudarc gives it: where there is no driver, that panics, and this does not.
///
/// ```
/// // On a machine without a GPU this says so.
/// match sgemm::cuda::open(0) {
///     Ok(context) => println!("device {}", context.ordinal()),
///     Err(error) => println!("{error}"),
/// }
/// ```
///
/// # Errors
/// [`Error::NoDriver`], [`Error::DriverTooOld`] or [`Error::NoDevice`] where there is nothing to run on, [`Error::Driver`] where the
/// driver refuses.
pub fn open(ordinal: usize) -> Result<Arc<CudaContext>, Error> {
    open_driver()?;
    CudaContext::new(ordinal).map_err(|error| failed(format!("use device {ordinal}"), error))
}

impl Handle {
    /// A handle for a context. Kernels are loaded as plans need them.
    ///
    /// # Errors
    /// [`Error::DriverTooOld`]; [`Error::Driver`] where the driver does not describe the device.
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, Error> {
        open_driver()?;
        let what = || "ask what device it is".to_owned();
        let name = context.name().map_err(|error| failed(what(), error))?;
        let attribute = |attribute| {
            let value = context.attribute(attribute).map_err(|error| failed(what(), error))?;
            Ok(u32::try_from(value).unwrap_or_default())
        };
        use CUdevice_attribute as Attribute;
        let compute_capability = (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        );
        let sm_count = attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
        // SAFETY: the context is held by `Inner` until the modules are dropped, and `Gemm` holds `Inner`.
        let modules = unsafe { with_context(context.cu_ctx(), || Modules::new(ModuleSource::BuiltIn)) }??;
        let device = Device::new(name, compute_capability, sm_count);
        Ok(Self(Arc::new(Inner { plans: Mutex::default(), modules, device, context: Arc::clone(context) })))
    }

    /// The device that plans are chosen for.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The plan for a problem. Its kernel is chosen and loaded here; the driver compiles a kernel's PTX when it is first loaded. Plans are
    /// kept, so that the same problem finds its plan again.
    ///
    /// # Errors
    /// Those of [`select::plan`] and [`Loaded::new`].
    pub fn plan(&self, problem: &Problem) -> Result<Gemm, Error> {
        self.plan_within(problem, u64::MAX)
    }

    /// The plan for a problem that needs no more than `limit` bytes of workspace.
    ///
    /// # Errors
    /// As of [`Self::plan`], and [`Error::WorkspaceLimit`] where no kernel does with so little.
    pub fn plan_within(&self, problem: &Problem, limit: u64) -> Result<Gemm, Error> {
        let Inner { plans, modules, device, .. } = &*self.0;
        let gemm = |loaded: &Arc<Loaded>| Gemm::new(Arc::clone(loaded), self.clone());
        // Whoever asks for the same at the same time waits, rather than to load it twice.
        let mut plans = plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = plans.get(&(*problem, limit)) {
            return Ok(gemm(loaded));
        }
        let plan = select::plan(Table::of(device), device, problem, limit)?;
        let loaded = Arc::new(Loaded::new(modules, plan)?);
        plans.insert((*problem, limit), Arc::clone(&loaded));
        Ok(gemm(&loaded))
    }

    /// The plans for a group of problems, in their order. Equal problems are planned once.
    ///
    /// # Errors
    /// [`Error::InGroup`] with what [`Self::plan`] says of one of them.
    pub fn plan_group(&self, problems: &[Problem]) -> Result<Group, Error> {
        let plan = |(index, problem)| self.plan(problem).map_err(|error| error.in_group(index));
        let gemms = problems.iter().enumerate().map(plan).collect::<Result<_, _>>()?;
        Ok(Group::new(gemms, self.clone()))
    }

    /// Loads a plan that was made otherwise, such as for a kernel chosen by name.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where the device does not run its step; those of [`Loaded::new`].
    pub fn load(&self, plan: Plan) -> Result<Gemm, Error> {
        let Inner { modules, device, .. } = &*self.0;
        device.check_runs(plan.step())?;
        Ok(Gemm::new(Arc::new(Loaded::new(modules, plan)?), self.clone()))
    }

    /// Makes and loads the plans of problems that are to be solved soon, so that none of them waits for the driver's compiler.
    ///
    /// # Errors
    /// As of [`Self::plan`].
    pub fn warm_up(&self, problems: &[Problem]) -> Result<(), Error> {
        problems.iter().try_for_each(|problem| self.plan(problem).map(drop))
    }

    /// Memory for plans that need up to so many bytes ([`Gemm::workspace_bytes`]), allocated in the stream's order. Runs that share a
    /// workspace run one after the other: streams that are to overlap have one each.
    ///
    /// # Errors
    /// [`Error::WrongDevice`]; [`Error::Driver`] where the device has no room.
    pub fn workspace(&self, stream: &Arc<CudaStream>, bytes: u64) -> Result<Workspace, Error> {
        self.check_context("stream", stream.context())?;
        Workspace::new(stream, self.0.device.sm_count, bytes)
    }

    /// Plan, workspace and run in one call: C = alpha\*A\*B + beta\*C. The plan is kept for the next call; the workspace is
    /// allocated and freed in the stream's order.
    ///
    /// # Errors
    /// Those of [`Self::plan`], [`Self::workspace`] and [`Gemm::run`].
    #[allow(clippy::too_many_arguments, reason = "those of BLAS")]
    pub fn gemm<I: Scalar, O: Scalar>(
        &self,
        stream: &Arc<CudaStream>,
        problem: &Problem,
        alpha: f32,
        a: &dyn DevicePtr<I>,
        b: &dyn DevicePtr<I>,
        beta: f32,
        c: &mut dyn DevicePtrMut<O>,
    ) -> Result<(), Error> {
        let gemm = self.plan(problem)?;
        let mut workspace = self.workspace(stream, gemm.workspace_bytes())?;
        gemm.run(stream, alpha, a, b, beta, c, &mut workspace)
    }

    /// The same on the host's memory: operands are copied to the device and C back, and the call returns when it is done.
    ///
    /// # Errors
    /// As of [`Self::gemm`].
    pub fn gemm_host<I: Scalar, O: Scalar>(
        &self,
        problem: &Problem,
        alpha: f32,
        a: &[I],
        b: &[I],
        beta: f32,
        c: &mut [O],
    ) -> Result<(), Error> {
        let [least_a, least_b, least_c, ..] = problem.extents()?;
        for (operand, elements, least) in [("A", a.len(), least_a), ("B", b.len(), least_b), ("C", c.len(), least_c)] {
            if elements < least {
                return Err(Error::ShortBuffer { operand, elements, least });
            }
        }
        let stream = self.0.context.default_stream();
        let what = |error| failed("copy matrices".into(), error);
        // A copy of nothing would be refused: nothing is to be computed then, or C is scaled alone.
        let copied = |elements: &[I]| match elements {
            // SAFETY: nothing reads it.
            [] => unsafe { stream.alloc::<I>(1) },
            elements => stream.clone_htod(elements),
        };
        let (on_a, on_b) = (copied(a).map_err(what)?, copied(b).map_err(what)?);
        if problem.is_empty() {
            return Ok(());
        }
        let mut on_c = stream.clone_htod(c).map_err(what)?;
        self.gemm(&stream, problem, alpha, &on_a, &on_b, beta, &mut on_c)?;
        stream.memcpy_dtoh(&on_c, c).map_err(what)?;
        stream.synchronize().map_err(what)
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.0.context
    }

    pub(crate) fn check_context(&self, what: &'static str, found: &Arc<CudaContext>) -> Result<(), Error> {
        let expected = &self.0.context;
        if found == expected {
            return Ok(());
        }
        Err(Error::WrongDevice { what, found: found.ordinal(), expected: expected.ordinal() })
    }
}
