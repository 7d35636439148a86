//! Plans run in [`ptx_emu`], on the host's memory: the same kernels with the same arguments as on a GPU, checked, without one. For
//! tests of programs that multiply on GPUs, where there is none.
//!
//! ```
//! use sgemm::emulator::{Arguments, Emulator};
//! use sgemm::{Layout, Problem};
//!
//! let emulator = Emulator::of("h200").expect("it is known");
//! // C = 2*A*B with A by columns.
//! let problem =
//!     Problem::new(2, 2, 3).with_layouts(Layout::column_major(2), Layout::row_major(2), Layout::row_major(2));
//! let plan = emulator.plan(&problem, u64::MAX)?;
//! let (a, b, mut c) = ([1.0_f32, 4.0, 2.0, 5.0, 3.0, 6.0], [1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0], [f32::NAN; 4]);
//! emulator.run(&plan, Arguments::new(2.0, &a, &b, 0.0, &mut c))?;
//! assert_eq!(c, [8.0, 10.0, 20.0, 22.0]);
//! # Ok::<(), sgemm::Error>(())
//! ```

mod arguments;
mod kernels;
mod memory;
mod value;

pub use arguments::Arguments;
pub use kernels::{Kernels, request};
pub use memory::{DeviceMemory, POISON};
pub use ptx_emu::device::{DEVICES as MODELS, Device as Model};
pub use value::bytes;

#[cfg(feature = "distributed")]
use gpu_kernels::Operand;

#[cfg(feature = "distributed")]
use crate::plan::Role;
use crate::plan::{Bindings, Launch, Plan};
use crate::problem::check_count;
use crate::select::{self, Table};
use crate::{Device, Error, ModuleSource, Problem, Scalar};

/// An emulated device. Kernels that were read once are kept; any thread may use it.
pub struct Emulator {
    model: Model,
    device: Device,
    kernels: Kernels,
}

impl Emulator {
    /// An emulator of that device.
    #[must_use]
    pub fn new(model: Model) -> Self {
        Self::with_modules(model, ModuleSource::BuiltIn)
    }

    /// The same with kernels out of this source.
    #[must_use]
    pub fn with_modules(model: Model, source: ModuleSource) -> Self {
        let device = Device::new(model.name, model.compute_capability, model.sm_count);
        Self { model, device, kernels: Kernels::new(source) }
    }

    /// An emulator of the device of that name, such as `h200`; `None` where there is none among [`MODELS`].
    #[must_use]
    pub fn of(slug: &str) -> Option<Self> {
        Model::find(slug).map(|model| Self::new(*model))
    }

    /// The device that plans are chosen for.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The plan that a [`Handle`](crate::cuda::Handle) on such a device makes, with no more than `limit` bytes of workspace.
    ///
    /// # Errors
    /// Those of [`select::plan`].
    pub fn plan(&self, problem: &Problem, limit: u64) -> Result<Plan, Error> {
        select::plan(Table::of(&self.device), &self.device, problem, limit)
    }

    /// Runs the plan on these operands, and returns when it is done. Every launch is checked: accesses out of bounds, races and what else
    /// [`ptx_emu::Checks`] knows are errors. What a kernel must not read is NaN.
    ///
    /// # Errors
    /// [`Error::Elements`], [`Error::ShortBuffer`] and [`Error::Buffers`] where the arguments do not fit the problem;
    /// [`Error::OutOfMemory`] where the host has no room for a copy of them; [`Error::Emulated`] where a kernel does what it must not.
    pub fn run<I: Scalar, O: Scalar>(&self, plan: &Plan, mut arguments: Arguments<'_, I, O>) -> Result<(), Error> {
        arguments.check(plan.problem())?;
        self.run_checked(plan, &mut arguments)
    }

    /// Runs a group of plans, one after the other; `arguments` has the operands of each. What was given for all of them is checked before
    /// anything runs.
    ///
    /// Results lie apart, for arguments borrow them:
    /// ```compile_fail,E0499
    /// # use sgemm::emulator::Arguments;
    /// let (ones, mut c) = ([1.0_f32; 4], [0.0_f32; 4]);
    /// let _ = [Arguments::new(1.0, &ones, &ones, 0.0, &mut c), Arguments::new(1.0, &ones, &ones, 0.0, &mut c)];
    /// ```
    ///
    /// # Errors
    /// [`Error::GroupCount`] where there are arguments for more or fewer plans; [`Error::InGroup`] with what [`Self::run`] would say of
    /// one of them.
    pub fn run_group<I: Scalar, O: Scalar>(
        &self,
        plans: &[Plan],
        arguments: &mut [Arguments<'_, I, O>],
    ) -> Result<(), Error> {
        check_count(plans.len(), arguments.len())?;
        for (index, (plan, arguments)) in plans.iter().zip(&*arguments).enumerate() {
            arguments.check(plan.problem()).map_err(|error| error.in_group(index))?;
        }
        for (index, (plan, arguments)) in plans.iter().zip(arguments).enumerate() {
            self.run_checked(plan, arguments).map_err(|error| error.in_group(index))?;
        }
        Ok(())
    }

    /// The run on addresses of an emulated device's memory, as [`Gemm::run_raw`](crate::cuda::Gemm::run_raw) has it on a device's, but that
    /// a wrong address is an error. Flags of stream-K are cleared first, so that the workspace may hold anything. Its parts may lie
    /// anywhere: in one allocation as there, or as [`DeviceMemory::allocate_parts`] has it.
    ///
    /// ```
    /// use sgemm::Problem;
    /// use sgemm::emulator::{DeviceMemory, Emulator};
    /// use sgemm::plan::{Bindings, Buffer};
    ///
    /// let emulator = Emulator::of("h200").expect("it is known");
    /// let plan = emulator.plan(&Problem::new(1, 1, 2), u64::MAX)?;
    /// let mut memory = DeviceMemory::default();
    /// let [a, b] = [[1.0_f32, 2.0], [3.0, 4.0]].map(|row| memory.allocate_words(row.map(f32::to_bits)));
    /// let c = memory.allocate(4)?;
    /// let parts = memory.allocate_parts(&plan)?;
    /// let addresses = parts.with(Buffer::A, a).with(Buffer::B, b).with(Buffer::C, c);
    /// emulator.run_raw(&plan, &Bindings::new(addresses, 1.0, 0.0), &mut memory)?;
    /// let mut result = [0; 4];
    /// memory.read(c, &mut result)?;
    /// assert_eq!(f32::from_le_bytes(result), 11.0);
    /// # Ok::<(), sgemm::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Alignment`] and [`Error::BadAddress`], of flags, before anything runs; [`Error::Emulated`] where a kernel does what it
    /// must not, such as to access what is not allocated.
    pub fn run_raw(&self, plan: &Plan, bindings: &Bindings, memory: &mut DeviceMemory) -> Result<(), Error> {
        plan.check_alignment(bindings)?;
        memory.clear_flags(plan, &bindings.addresses)?;
        for index in 0..plan.rounds() {
            let bindings = Bindings { addresses: plan.addresses_of(index, &bindings.addresses), ..*bindings };
            for number in plan.needed(index, &bindings) {
                self.launch(plan, &plan.launches()[number], &bindings, memory)?;
            }
        }
        Ok(())
    }

    /// The pre-passes of an operand of the kernel, on addresses of an emulated device's memory.
    ///
    /// # Errors
    /// As of [`Self::run_raw`].
    #[cfg(feature = "distributed")]
    pub(crate) fn prepare_raw(
        &self,
        plan: &Plan,
        operand: Operand,
        bindings: &Bindings,
        memory: &mut DeviceMemory,
    ) -> Result<(), Error> {
        plan.check_alignment(bindings)?;
        let of_operand = plan.launches().iter().filter(|launch| launch.role == Role::Prepass(operand));
        of_operand.into_iter().try_for_each(|launch| self.launch(plan, launch, bindings, memory))
    }

    fn run_checked<I: Scalar, O: Scalar>(&self, plan: &Plan, arguments: &mut Arguments<'_, I, O>) -> Result<(), Error> {
        let mut memory = DeviceMemory::default();
        let bindings = arguments.upload(plan.problem(), &mut memory)?;
        let bindings = bindings.with_parts(&memory.allocate_parts(plan)?);
        self.run_raw(plan, &bindings, &mut memory)?;
        arguments.download(&bindings, &memory)
    }

    fn launch(
        &self,
        plan: &Plan,
        launch: &Launch,
        bindings: &Bindings,
        memory: &mut DeviceMemory,
    ) -> Result<(), Error> {
        let kernel = self.kernels.of(plan.step(), launch)?;
        let request = request(launch, bindings, self.model.sm_count)?;
        let emulated = |finding: String| Error::Emulated { kernel: launch.kernel, finding };
        let report = kernel.launch(memory.global(), &request).map_err(|error| emulated(error.to_string()))?;
        match report.failures().next() {
            None => Ok(()),
            Some(finding) => Err(emulated(finding.to_string())),
        }
    }
}
