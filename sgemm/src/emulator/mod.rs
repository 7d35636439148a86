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
mod value;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use arguments::Arguments;
pub use ptx_emu::device::{DEVICES as MODELS, Device as Model};
use ptx_emu::{Checks, GlobalMemory, Kernel, Module};
pub use value::bytes;

use crate::plan::{Address, Bindings, Buffer, Buffers, Launch, ModuleKind, Plan};
use crate::problem::check_count;
use crate::select::{self, Table};
use crate::{Device, Error, ModuleSource, Problem, Scalar};
use gpu_kernels::Step;

/// A word in which nothing is a number, whatever its elements are: what a workspace holds before a kernel writes there.
pub const POISON: u32 = 0x7fc0_7fc0;

/// The parts of a plan's workspace, each by itself, so that the checkers know where it ends: flags are zero, the rest is poisoned. A
/// part without bytes is at 0.
pub fn allocate_parts(plan: &Plan, memory: &mut GlobalMemory) -> Buffers<Address> {
    let mut parts = Buffers::default();
    for part in Buffer::PARTS {
        let fill = if part == Buffer::Flags { 0 } else { POISON };
        match plan.part_bytes()[part].div_ceil(4) {
            0 => {}
            words => parts[part] = memory.allocate_words((0..words).map(|_| fill)),
        }
    }
    parts
}

/// An emulated device. Kernels that were read once are kept; any thread may use it.
pub struct Emulator {
    model: Model,
    device: Device,
    source: ModuleSource,
    kernels: Mutex<HashMap<&'static str, Arc<Kernel>>>,
}

impl Emulator {
    /// An emulator of that device.
    #[must_use]
    pub fn new(model: Model) -> Self {
        let device = Device::new(model.name, model.compute_capability, model.sm_count);
        Self { model, device, source: ModuleSource::BuiltIn, kernels: Mutex::default() }
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
        select::plan(Table::of(&self.device.name), &self.device, problem, limit)
    }

    /// Runs the plan on these operands, and returns when it is done. Every launch is checked: accesses out of bounds, races and what else
    /// [`Checks`] knows are errors. What a kernel must not read is NaN.
    ///
    /// # Errors
    /// [`Error::Elements`], [`Error::ShortBuffer`] and [`Error::Buffers`] where the arguments do not fit the problem;
    /// [`Error::Emulated`] where a kernel does what it must not.
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

    fn run_checked<I: Scalar, O: Scalar>(&self, plan: &Plan, arguments: &mut Arguments<'_, I, O>) -> Result<(), Error> {
        let mut memory = GlobalMemory::default();
        let bindings = arguments.upload(plan.problem(), &mut memory);
        let bindings = bindings.with_parts(&allocate_parts(plan, &mut memory));
        for index in 0..plan.batch() {
            let bindings = Bindings { addresses: plan.addresses_of(index, &bindings.addresses), ..bindings };
            for number in plan.needed(index, &bindings) {
                self.launch(plan.step(), &plan.launches()[number], &bindings, &mut memory)?;
            }
        }
        arguments.download(&bindings, &mut memory);
        Ok(())
    }

    fn launch(
        &self,
        step: &'static Step,
        launch: &Launch,
        bindings: &Bindings,
        memory: &mut GlobalMemory,
    ) -> Result<(), Error> {
        let shape = launch.shape;
        let kernel = self.kernel(step, launch)?;
        let values = launch.arguments.iter().map(|(_, argument)| bytes(argument.value(bindings)));
        let emulated = |finding: String| Error::Emulated { kernel: launch.kernel, finding };
        let request = ptx_emu::Launch {
            cluster: shape.cluster,
            dynamic_shared_bytes: shape.dynamic_smem_bytes,
            arguments: values.collect::<Result<_, _>>()?,
            checks: Checks::ALL,
            sm_count: self.model.sm_count,
            ..ptx_emu::Launch::new(shape.grid, shape.block)
        };
        let report = kernel.launch(memory, &request).map_err(|error| emulated(error.to_string()))?;
        match report.fault.as_ref().or(report.findings.first()) {
            None => Ok(()),
            Some(finding) => Err(emulated(finding.to_string())),
        }
    }

    fn kernel(&self, step: &'static Step, launch: &Launch) -> Result<Arc<Kernel>, Error> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = kernels.get(launch.kernel) {
            return Ok(Arc::clone(kernel));
        }
        let (target, text) = match launch.module {
            ModuleKind::Step => (step.target, self.source.module(step)?),
            ModuleKind::Support => {
                let target = self.source.support_target(step);
                (target, self.source.support(target)?)
            }
        };
        let bad =
            |error: ptx_emu::Error| Error::BadModule { module: self.source.name(target), reason: error.to_string() };
        let kernel = Arc::new(Module::parse(&text).and_then(|module| module.kernel(launch.kernel)).map_err(bad)?);
        kernels.insert(launch.kernel, Arc::clone(&kernel));
        Ok(kernel)
    }
}
