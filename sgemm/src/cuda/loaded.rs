//! A plan with its kernels loaded: ready to be launched on any memory, as often as wanted.

use std::sync::Arc;

use cudarc::driver::sys::{self, CUstream};
use gpu_kernels::Operand;

use super::driver::checked;
use super::launch::{MAX_ARGUMENTS, Parameter, launch_raw};
use super::module::{Module, Modules, RawFunction};
use super::tensor_map;
use crate::Error;
use crate::plan::{Argument, Bindings, Buffer, Launch, ModuleKind, Plan, Role};

/// A plan and its kernels. Nothing of it depends on where operands and workspace are.
#[derive(Debug)]
pub struct Loaded {
    plan: Plan,
    /// Of each of the plan's launches.
    functions: Vec<RawFunction>,
    /// What the functions belong to.
    _modules: Vec<Arc<Module>>,
}

// SAFETY: the functions are handles of the driver, which any thread may use, and are not changed.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// Loads the plan's kernels.
    ///
    /// # Errors
    /// Those of [`Modules::load`]; [`Error::DriverTooOld`] where the driver cannot describe matrices for TMA.
    pub fn new(modules: &Modules, plan: Plan) -> Result<Self, Error> {
        let step = plan.step();
        if step.maps.is_some() {
            tensor_map::check_driver()?;
        }
        let own = modules.load_entry(step, plan.kernel())?;
        let needs_support = plan.launches().iter().any(|launch| launch.module == ModuleKind::Support);
        let support = needs_support.then(|| modules.load_support(step)).transpose()?;
        let function = |launch: &Launch| match (launch.module, &support) {
            (ModuleKind::Support, Some(support)) => modules.support_kernel(support, launch.kernel),
            _ => modules.kernel(&own, step, launch.kernel),
        };
        let functions = plan.launches().iter().map(|launch| Ok(function(launch)?.raw()));
        let functions = functions.collect::<Result<_, Error>>()?;
        Ok(Self { plan, functions, _modules: [Some(own), support].into_iter().flatten().collect() })
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Queues in the stream what stream-K needs before a [`Self::run`] where the workspace may hold anything: zeros in its flags. A run
    /// leaves them so.
    ///
    /// # Errors
    /// [`Error::Driver`] where the driver refuses.
    ///
    /// # Safety
    /// The context of the modules is current and the stream is one of it, or null. The part of the workspace for flags has as many
    /// bytes as the plan says, nothing else uses it at that time, and it lives until the stream has come past this.
    pub unsafe fn clear_flags(&self, stream: CUstream, bindings: &Bindings) -> Result<(), Error> {
        let words = (self.plan.part_bytes()[Buffer::Flags] / 4) as usize;
        if words == 0 {
            return Ok(());
        }
        // SAFETY: upheld by the caller: so many words, from an aligned address on.
        let status = unsafe { sys::cuMemsetD32Async(bindings.addresses[Buffer::Flags], 0, words, stream) };
        checked(status, || format!("clear the flags of {}", self.plan.step().slug))
    }

    /// Queues the whole problem in the stream; nothing where D has no elements. It neither allocates nor synchronises, and may be
    /// captured in a CUDA graph.
    ///
    /// # Errors
    /// [`Error::Alignment`] where an operand is not aligned as the problem says, or the workspace to [`OPERAND_ALIGNMENT`](crate::plan::OPERAND_ALIGNMENT), before
    /// anything is launched; [`Error::Driver`] where the driver refuses a launch: those before it are queued then.
    ///
    /// # Safety
    /// The context of the modules is current and the stream is one of it, or null. From the addresses of operands on, the elements of
    /// [`Problem::extents`](crate::Problem::extents) can be read, and D's written; the parts of the workspace have as many bytes as
    /// the plan says, and its flags are zero in the stream's order. All of these, the modules' context and this value live until
    /// the product is done, and as long as a graph that captured it is launched; nothing else writes to them meanwhile.
    pub unsafe fn run(&self, stream: CUstream, bindings: &Bindings) -> Result<(), Error> {
        self.plan.check_alignment(bindings)?;
        for index in 0..self.plan.rounds() {
            let bindings = Bindings { addresses: self.plan.addresses_of(index, &bindings.addresses), ..*bindings };
            let mut previous = None;
            for number in self.plan.needed(index, &bindings) {
                // SAFETY: upheld by the caller.
                unsafe { self.launch(number, previous, stream, &bindings) }?;
                previous = Some(number);
            }
        }
        Ok(())
    }

    /// Queues the pre-passes of one operand of the kernel, for the first problem of the batch.
    ///
    /// # Errors
    /// As of [`Self::run`].
    ///
    /// # Safety
    /// As of [`Self::run`], for that operand and the parts that its [`Preparation`](crate::plan::Preparation) writes.
    pub unsafe fn prepare(&self, stream: CUstream, operand: Operand, bindings: &Bindings) -> Result<(), Error> {
        self.plan.check_alignment(bindings)?;
        for (number, launch) in self.plan.launches().iter().enumerate() {
            if launch.role == Role::Prepass(operand) {
                // SAFETY: upheld by the caller.
                unsafe { self.launch(number, None, stream, bindings) }?;
            }
        }
        Ok(())
    }

    /// Queues the launch of that number, behind the one of `previous` where that is queued just before it.
    ///
    /// # Safety
    /// As of [`Self::run`].
    unsafe fn launch(
        &self,
        number: usize,
        previous: Option<usize>,
        stream: CUstream,
        bindings: &Bindings,
    ) -> Result<(), Error> {
        let launch = &self.plan.launches()[number];
        let function = self.functions[number];
        let is_dependent = function.is_dependent && self.plan.may_begin_early(number, previous);
        let what = || format!("run {}", self.plan.step().slug);
        let mut parameters = Parameters::default();
        for (_, argument) in &launch.arguments {
            parameters.push(*argument, bindings)?;
        }
        // SAFETY: a step's kernel has the parameters of `Step::arguments` or `fused_arguments`, pre- and post-passes those of
        // `PREPASS_ARGUMENTS` and `POSTPASS_ARGUMENTS`; a test compares the plan's arguments with these. The kernels
        // stay within the extents that the caller vouches for: the plan's tests and the contract hold them to that. The
        // modules are loaded as long as `self` lives.
        unsafe {
            launch_raw(RawFunction { is_dependent, ..function }, &launch.shape, parameters.as_slice(), stream, what)
        }
    }
}

/// A launch's arguments: on the stack, since a run allocates nothing.
struct Parameters {
    values: [Parameter; MAX_ARGUMENTS],
    len: usize,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { values: [Parameter::Word(0); MAX_ARGUMENTS], len: 0 }
    }
}

impl Parameters {
    fn push(&mut self, argument: Argument, bindings: &Bindings) -> Result<(), Error> {
        let parameter = Parameter::new(argument.value(bindings))?;
        let too_many =
            || Error::Driver { what: "launch a kernel".into(), code: format!("more than {MAX_ARGUMENTS} arguments") };
        *self.values.get_mut(self.len).ok_or_else(too_many)? = parameter;
        self.len += 1;
        Ok(())
    }

    fn as_slice(&self) -> &[Parameter] {
        &self.values[..self.len]
    }
}
