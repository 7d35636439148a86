//! A plan with its kernels, run on the caller's stream and buffers.

use std::sync::Arc;

use cudarc::driver::sys::{self, CUstream, CUstreamCaptureStatus};
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};
use gpu_kernels::{Ab, Operand, Step, Uncertified};

use super::arguments::Arguments;
use super::driver::{checked, failed};
use super::graph::Graph;
use super::group::Group;
use super::handle::Handle;
use super::loaded::Loaded;
use super::prepared::PreparedOperand;
use super::workspace::{Location, Workspace, memory_bytes};
use crate::plan::{Bindings, Buffer, Plan};
use crate::{Error, Problem, Scalar};

/// A plan whose kernels are loaded: [`Handle::plan`] makes it. It keeps them loaded, and clones share them.
#[derive(Debug, Clone)]
pub struct Gemm {
    // Before the handle, which keeps the context.
    loaded: Arc<Loaded>,
    handle: Handle,
}

impl Gemm {
    pub(super) fn new(loaded: Arc<Loaded>, handle: Handle) -> Self {
        Self { loaded, handle }
    }

    /// What is launched, with the pre-passes and the post-pass that layouts, alignment and epilogue take.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.loaded.plan()
    }

    /// What it solves.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        self.plan().problem()
    }

    /// The step of the ladder that it runs.
    #[must_use]
    pub fn kernel(&self) -> &'static Step {
        self.plan().step()
    }

    /// Bytes that a [`Workspace`] must have; fewer do for a run with prepared operands.
    #[must_use]
    pub fn workspace_bytes(&self) -> u64 {
        memory_bytes(self.plan(), Ab::both(false))
    }

    /// Aligns, transposes or splits A once, as this plan's kernel reads it: for operands that are used many times. Runs with
    /// [`Arguments::with_prepared_a`], of this plan or of any that prepares the same A in the same way, skip that.
    ///
    /// # Errors
    /// [`Error::ShortBuffer`], [`Error::WrongDevice`], [`Error::Alignment`]; [`Error::Prepared`] where each problem of a batch has
    /// its own A; [`Error::Driver`] where the device has no room or the driver refuses.
    pub fn prepare_a<'a, I: Scalar>(
        &self,
        stream: &Arc<CudaStream>,
        a: &'a dyn DevicePtr<I>,
    ) -> Result<PreparedOperand<'a, I>, Error> {
        PreparedOperand::new(self, &self.loaded, stream, Buffer::A, a)
    }

    /// The same of B, such as weights.
    ///
    /// # Errors
    /// As of [`Self::prepare_a`].
    pub fn prepare_b<'a, I: Scalar>(
        &self,
        stream: &Arc<CudaStream>,
        b: &'a dyn DevicePtr<I>,
    ) -> Result<PreparedOperand<'a, I>, Error> {
        PreparedOperand::new(self, &self.loaded, stream, Buffer::B, b)
    }

    /// Queues C = alpha\*A\*B + beta\*C in the stream. It allocates nothing and does not synchronise: the result is there when the
    /// stream comes to it. All is checked before anything is launched.
    ///
    /// # Errors
    /// [`Error::Elements`], [`Error::ShortBuffer`], [`Error::Buffers`], [`Error::Alignment`], [`Error::WrongDevice`] and
    /// [`Error::WorkspaceTooSmall`] where the arguments do not fit the problem; [`Error::Capturing`] where the stream is being
    /// captured; [`Error::Driver`] where the driver refuses.
    #[allow(clippy::too_many_arguments, reason = "those of BLAS")]
    pub fn run<I: Scalar, O: Scalar>(
        &self,
        stream: &CudaStream,
        alpha: f32,
        a: &dyn DevicePtr<I>,
        b: &dyn DevicePtr<I>,
        beta: f32,
        c: &mut dyn DevicePtrMut<O>,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        self.run_with(stream, Arguments::new(alpha, a, b, beta, c), workspace)
    }

    /// The same with D, with a bias, or with alpha and beta in device memory, as the problem has it.
    ///
    /// # Errors
    /// As of [`Self::run`].
    pub fn run_with<I: Scalar, O: Scalar>(
        &self,
        stream: &CudaStream,
        mut arguments: Arguments<'_, I, O>,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        self.check(stream, &arguments, workspace)?;
        if is_capturing(stream.cu_stream())? {
            return Err(Error::Capturing);
        }
        let what = || format!("run {}", self.kernel().slug);
        stream.context().bind_to_thread().map_err(|error| failed(what(), error))?;
        // SAFETY: the stream's context is current. `check` found arguments and workspace fit for the plan. Flags are zero: `begin`
        // clears them for the first run and where one broke off, and each run leaves them so.
        unsafe {
            workspace.begin(stream)?;
            let (location, _used) = workspace.bind(stream);
            self.queue(stream, &mut arguments, location)?;
        }
        workspace.finish();
        Ok(())
    }

    /// Queues a run that was checked.
    ///
    /// # Safety
    /// The stream's context is current. Arguments and workspace passed [`Self::check`] with this stream; the workspace is bound to it, and
    /// its flags are zero in the stream's order.
    pub(super) unsafe fn queue<I: Scalar, O: Scalar>(
        &self,
        stream: &CudaStream,
        arguments: &mut Arguments<'_, I, O>,
        workspace: Location,
    ) -> Result<(), Error> {
        let (operands, _used) = arguments.bind(stream);
        let bindings = operands.with_parts(&workspace.parts(self.plan(), operands.are_prepared));
        // SAFETY: the stream's context is the handle's, as `check` found, and is current. `check` found each slice at least as
        // long as the problem reaches, and the workspace as large as the plan asks for. All of them are borrowed until all
        // is queued; after that they are freed, and others write to them, in the order that `_used`, and the caller's guard of the
        // workspace, establish for the stream. Modules are unloaded when the last `Gemm` and the handle are dropped, which waits for
        // their kernels. Flags are zero, upheld by the caller.
        unsafe { self.loaded.run(stream.cu_stream(), &bindings) }
    }

    /// How many elements of D the last run with this workspace computed by three bf16, by signs or in fp32, although its kernel splits into two
    /// parts: those for which two are not certified to keep the guarantee of [`AccuracyClass::Fp32`](crate::AccuracyClass::Fp32). It is of a run
    /// without prepared operands, and of the last problem of a batch. It waits for the stream.
    ///
    /// # Errors
    /// [`Error::WorkspaceTooSmall`] where it is not this plan's; [`Error::Driver`] where the driver refuses.
    pub fn uncertified(&self, stream: &Arc<CudaStream>, workspace: &Workspace) -> Result<Uncertified, Error> {
        let plan = self.plan();
        workspace.check(plan, Ab::both(false))?;
        let [Some(rows), Some(columns)] = [Operand::A, Operand::B].map(|operand| plan.certificates(operand)) else {
            return Ok(Uncertified::default());
        };
        let words = |of| workspace.words(stream, plan, of);
        Ok(Uncertified::of(&mut words(rows)?, &mut words(columns)?))
    }

    /// Captures the run in a CUDA graph, which borrows the buffers and can be launched as often as wanted: each launch reads what they
    /// hold then.
    ///
    /// # Errors
    /// As of [`Self::run`].
    pub fn capture<'a, I: Scalar, O: Scalar>(
        &self,
        arguments: Arguments<'a, I, O>,
        workspace: &'a mut Workspace,
    ) -> Result<Graph<'a, I, O>, Error> {
        let stream = self.handle.context().default_stream();
        self.check(&stream, &arguments, workspace)?;
        Graph::new(Group::new(vec![self.clone()], self.handle.clone()), vec![arguments], workspace)
    }

    /// The run on raw addresses, whoever allocated what is there, also within the capture of a graph. Flags of stream-K are cleared
    /// first, so that the workspace may hold anything.
    ///
    /// The workspace is one allocation of [`Plan::workspace_bytes`], aligned to [`WORKSPACE_ALIGNMENT`](crate::plan::WORKSPACE_ALIGNMENT):
    /// [`Buffers::at`](crate::plan::Buffers::at) of [`Plan::part_bytes`] gives the addresses of its parts, to which the operands' are
    /// added. The example `raw` of this crate does so.
    ///
    /// # Errors
    /// [`Error::Alignment`] before anything is launched; [`Error::Driver`] where the driver refuses.
    ///
    /// # Safety
    /// As of [`Loaded::run`], but for the flags.
    pub unsafe fn run_raw(&self, stream: CUstream, bindings: &Bindings) -> Result<(), Error> {
        // SAFETY: upheld by the caller.
        unsafe {
            self.loaded.clear_flags(stream, bindings)?;
            self.loaded.run(stream, bindings)
        }
    }

    /// The pre-passes of one operand alone.
    ///
    /// # Safety
    /// As of [`Loaded::prepare`].
    #[cfg(feature = "distributed")]
    pub(crate) unsafe fn prepare_raw(
        &self,
        stream: CUstream,
        operand: Operand,
        bindings: &Bindings,
    ) -> Result<(), Error> {
        // SAFETY: upheld by the caller.
        unsafe { self.loaded.prepare(stream, operand, bindings) }
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Checks all that can be told without addresses.
    pub(super) fn check<I: Scalar, O: Scalar>(
        &self,
        stream: &CudaStream,
        arguments: &Arguments<'_, I, O>,
        workspace: &Workspace,
    ) -> Result<(), Error> {
        self.handle.check_context("stream", stream.context())?;
        self.handle.check_context("workspace", workspace.context())?;
        let are_prepared = arguments.check(self.plan(), stream)?;
        workspace.check(self.plan(), are_prepared)
    }
}

/// Whether work that is queued in the stream goes into a graph instead.
pub(crate) fn is_capturing(stream: CUstream) -> Result<bool, Error> {
    let mut status = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream is alive, and `status` a place to write to.
    checked(unsafe { sys::cuStreamIsCapturing(stream, &raw mut status) }, || {
        "ask whether the stream is captured".into()
    })?;
    Ok(status != CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
}
