//! Several problems in one call: of different sizes, layouts and accuracy classes, or of one size at unrelated addresses.

use cudarc::driver::CudaStream;
use cudarc::driver::sys::CUstream;

use super::arguments::Arguments;
use super::driver::failed;
use super::gemm::{Gemm, is_capturing};
use super::graph::Graph;
use super::handle::Handle;
use super::workspace::Workspace;
use crate::plan::Bindings;
use crate::problem::check_count;
use crate::{Error, Scalar};

/// The plans of a group of problems: [`Handle::plan_group`] makes it. A run queues one product after the other, in the workspace of
/// the one that needs most.
///
/// Matrices lie wherever the caller has them: what BLAS calls a batch of an array of pointers is a group of equal problems.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use sgemm::Problem;
/// use sgemm::cuda::{Arguments, Handle, open};
///
/// let context = open(0)?;
/// let (stream, handle) = (context.default_stream(), Handle::new(&context)?);
/// let group = handle.plan_group(&[Problem::new(10, 20, 30), Problem::new(5, 5, 400)])?;
/// let ones = stream.clone_htod(&[1.0_f32; 2000])?;
/// let (mut c, mut other) = (stream.alloc_zeros::<f32>(10 * 20)?, stream.alloc_zeros::<f32>(5 * 5)?);
/// let mut workspace = handle.workspace(&stream, group.workspace_bytes())?;
/// let mut arguments = [
///     Arguments::new(1.0, &ones, &ones, 0.0, &mut c),
///     Arguments::new(1.0, &ones, &ones, 0.0, &mut other),
/// ];
/// group.run(&stream, &mut arguments, &mut workspace)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Group {
    gemms: Vec<Gemm>,
    handle: Handle,
}

impl Group {
    pub(super) fn new(gemms: Vec<Gemm>, handle: Handle) -> Self {
        Self { gemms, handle }
    }

    /// The plans, in the order of the problems. Equal problems have one.
    #[must_use]
    pub fn gemms(&self) -> &[Gemm] {
        &self.gemms
    }

    /// Bytes that a [`Workspace`] must have: those of the plan that needs most.
    #[must_use]
    pub fn workspace_bytes(&self) -> u64 {
        self.gemms.iter().map(Gemm::workspace_bytes).max().unwrap_or(0)
    }

    /// Queues all products in the stream, in their order; `arguments` has the buffers of each. It allocates nothing and does not
    /// synchronise. All is checked, of all problems, before anything is launched. Nothing is done for a group of no problems.
    ///
    /// No two products write to the same elements: arguments borrow their results, so that these lie apart.
    ///
    /// # Errors
    /// [`Error::GroupCount`] where there are arguments for more or fewer problems; [`Error::InGroup`] with what [`Gemm::run`] would
    /// say of one of them; [`Error::WrongDevice`], [`Error::Capturing`] and [`Error::Driver`] as there.
    pub fn run<I: Scalar, O: Scalar>(
        &self,
        stream: &CudaStream,
        arguments: &mut [Arguments<'_, I, O>],
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        self.check(stream, arguments, workspace)?;
        if is_capturing(stream.cu_stream())? {
            return Err(Error::Capturing);
        }
        stream.context().bind_to_thread().map_err(|error| failed("run a group".into(), error))?;
        for (index, (gemm, arguments)) in self.gemms.iter().zip(&mut *arguments).enumerate() {
            gemm.plan().check_alignment(&arguments.addresses(stream)).map_err(|error| error.in_group(index))?;
        }
        // SAFETY: the stream's context is current.
        unsafe { workspace.begin(stream) }?;
        {
            let (location, _used) = workspace.bind(stream);
            for (gemm, arguments) in self.gemms.iter().zip(arguments) {
                // SAFETY: the context is current. `check` found arguments and workspace fit for this plan. `begin` saw to it that flags
                // are zero, and the runs before this one left them so.
                unsafe { gemm.queue(stream, arguments, location) }?;
            }
        }
        workspace.finish();
        Ok(())
    }

    /// Captures the run in a CUDA graph: many small products cost the host one launch then. The graph borrows the buffers, and reads
    /// in each launch what they hold then.
    ///
    /// # Errors
    /// As of [`Self::run`].
    pub fn capture<'a, I: Scalar, O: Scalar>(
        &self,
        arguments: Vec<Arguments<'a, I, O>>,
        workspace: &'a mut Workspace,
    ) -> Result<Graph<'a, I, O>, Error> {
        self.check(&self.handle.context().default_stream(), &arguments, workspace)?;
        Graph::new(self.clone(), arguments, workspace)
    }

    /// The run on raw addresses, also within the capture of a graph: [`Gemm::run_raw`] of each of [`Self::gemms`]. They run in their
    /// order, so that all may have the same workspace, and each may read what those before it wrote.
    ///
    /// # Errors
    /// [`Error::GroupCount`] where there are bindings for more or fewer problems, and [`Error::InGroup`] with [`Error::Alignment`], before
    /// anything is launched; [`Error::Driver`] where the driver refuses.
    ///
    /// # Safety
    /// As of [`Gemm::run_raw`], for each problem.
    pub unsafe fn run_raw(&self, stream: CUstream, bindings: &[Bindings]) -> Result<(), Error> {
        check_count(self.gemms.len(), bindings.len())?;
        for (index, (gemm, bindings)) in self.gemms.iter().zip(bindings).enumerate() {
            gemm.plan().check_alignment(bindings).map_err(|error| error.in_group(index))?;
        }
        // SAFETY: upheld by the caller.
        self.gemms.iter().zip(bindings).try_for_each(|(gemm, bindings)| unsafe { gemm.run_raw(stream, bindings) })
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }

    fn check<I: Scalar, O: Scalar>(
        &self,
        stream: &CudaStream,
        arguments: &[Arguments<'_, I, O>],
        workspace: &Workspace,
    ) -> Result<(), Error> {
        check_count(self.gemms.len(), arguments.len())?;
        self.handle.check_context("stream", stream.context())?;
        self.handle.check_context("workspace", workspace.context())?;
        for (index, (gemm, arguments)) in self.gemms.iter().zip(arguments).enumerate() {
            gemm.check(stream, arguments, workspace).map_err(|error| error.in_group(index))?;
        }
        Ok(())
    }
}
