//! A plan on the caller's memory: ready to be launched, as often as wanted.

use std::sync::Arc;

use cudarc::driver::sys::{self, CUdeviceptr, CUfunction, CUstream};
use gpu_kernels::Step;

use super::driver::checked;
use super::launch::{Parameter, launch_raw};
use super::module::{Module, Modules};
use crate::plan::{Launch, LaunchShape, OPERAND_ALIGNMENT, Plan, WORKSPACE_ALIGNMENT};
use crate::{Abc, Error};

/// The launches of a plan, with operands and workspace.
///
/// [`Self::initialise`] once, then [`Self::run`] as often as wanted, in the order of one stream or of streams that wait for each
/// other: two runs at a time would share the workspace.
#[derive(Debug)]
pub struct Prepared {
    step: &'static Step,
    /// Pre-passes, and the step's kernel for each slab.
    launches: Vec<(CUfunction, LaunchShape, Vec<Parameter>)>,
    reduction_at: CUdeviceptr,
    reduction_bytes: u64,
    /// What the functions belong to.
    _module: Arc<Module>,
}

// SAFETY: the functions are handles of the driver, which any thread may use, and are not changed.
unsafe impl Send for Prepared {}
// SAFETY: as above.
unsafe impl Sync for Prepared {}

impl Prepared {
    /// A plan on operands that begin at these addresses, and on [`Plan::workspace_bytes`] at `workspace`, which may be 0 where that
    /// is 0. Nothing is launched or written yet.
    ///
    /// # Errors
    /// [`Error::Alignment`] where an operand is not aligned to [`OPERAND_ALIGNMENT`] or the workspace not to
    /// [`WORKSPACE_ALIGNMENT`]; those of [`Modules::load`]; [`Error::Driver`] and [`Error::DriverTooOld`] where the driver does not
    /// describe the matrices.
    pub fn new(
        modules: &Modules,
        plan: &Plan,
        operands: Abc<CUdeviceptr>,
        workspace: CUdeviceptr,
    ) -> Result<Self, Error> {
        let aligned = [("A", operands.a), ("B", operands.b), ("C", operands.c)]
            .map(|(operand, at)| (operand, at, OPERAND_ALIGNMENT));
        for (operand, address, bytes) in aligned.into_iter().chain([("workspace", workspace, WORKSPACE_ALIGNMENT)]) {
            if !address.is_multiple_of(bytes) {
                return Err(Error::Alignment { operand, address, bytes });
            }
        }
        let step = plan.step();
        let module = modules.load(step)?;
        let parts = plan.parts();
        let workspace = parts.at(workspace);
        let launches = plan.prepasses(operands, &workspace).into_iter().chain(plan.launches(operands, &workspace));
        let prepare = |Launch { kernel, shape, arguments, .. }: Launch| {
            let function = modules.kernel(&module, step, kernel)?.raw();
            let parameters = arguments.into_iter().map(|(_, argument)| Parameter::new(argument));
            Ok((function, shape, parameters.collect::<Result<_, Error>>()?))
        };
        let launches = launches.map(prepare).collect::<Result<_, Error>>()?;
        Ok(Self {
            step,
            launches,
            reduction_at: workspace.reduction,
            reduction_bytes: parts.reduction,
            _module: module,
        })
    }

    /// The step that it runs.
    #[must_use]
    pub fn step(&self) -> &'static Step {
        self.step
    }

    /// Whether there is nothing to launch: C has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.launches.is_empty()
    }

    /// Queues in the stream what the workspace must hold before the first [`Self::run`]: zeros in the reduction workspace. Once,
    /// whatever the workspace held before; again where something else has written there.
    ///
    /// # Errors
    /// [`Error::Driver`] where the driver refuses.
    ///
    /// # Safety
    /// The context of the modules is current and the stream is one of it, or null. The workspace has as many bytes as the plan asks
    /// for, nothing else uses it at that time, and it lives until the stream has come past this.
    pub unsafe fn initialise(&self, stream: CUstream) -> Result<(), Error> {
        if self.reduction_bytes == 0 {
            return Ok(());
        }
        // A partial tile and a flag are whole words each.
        let words = (self.reduction_bytes / 4) as usize;
        // SAFETY: upheld by the caller: this part of the workspace has `reduction_bytes`, from an aligned address on.
        let status = unsafe { sys::cuMemsetD32Async(self.reduction_at, 0, words, stream) };
        checked(status, || format!("initialise the workspace of {}", self.step.slug))
    }

    /// Queues the whole product in the stream; nothing where C has no elements. It neither allocates nor synchronises, and may be
    /// captured in a CUDA graph.
    ///
    /// # Errors
    /// [`Error::Driver`] where the driver refuses a launch: those before it are queued then.
    ///
    /// # Safety
    /// The context of the modules is current and the stream is one of it, or null. [`Self::initialise`] comes before this in the
    /// stream's order. From the operands' addresses on, the problem's m * lda and k * ldb elements can be read, and m * ldc read and
    /// written, and the workspace has as many bytes as the plan asks for. All of these, the modules' context and this value live until the
    /// product is done, and as long as a graph that captured it is launched; nothing else writes to them meanwhile.
    pub unsafe fn run(&self, stream: CUstream) -> Result<(), Error> {
        for (function, shape, parameters) in &self.launches {
            let what = || format!("run {}", self.step.slug);
            // SAFETY: a step's kernel has the parameters of `Step::arguments`, and a pre-pass those of `PREPASS_ARGUMENTS`; a test
            // compares the plan's arguments with these. The kernel reads the slab's rows x k of A and k x n of B, or the copies of
            // these in the workspace, and reads and writes rows x n of C: since first_row + rows <= m, that lies inside of the
            // m * lda, k * ldb and m * ldc elements that the caller vouches for. The module is loaded as long as `self` lives.
            unsafe { launch_raw(*function, shape, parameters, stream, what) }?;
        }
        Ok(())
    }
}
