//! Kernels as the emulator runs them: read once, and launched as a plan says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use gpu_kernels::{SUPPORT_KERNELS, Step, Target};
use ptx_emu::{Kernel, Module};

use super::value::bytes;
use crate::plan::{Bindings, Launch, ModuleKind};
use crate::{Error, ModuleSource};

/// The kernels of a source, each read when it is first asked for, and kept. Any thread may use them.
pub struct Kernels {
    source: ModuleSource,
    /// By target and name.
    read: Mutex<HashMap<(&'static str, &'static str), Arc<Kernel>>>,
}

impl Kernels {
    /// Those of a source.
    #[must_use]
    pub fn new(source: ModuleSource) -> Self {
        Self { source, read: Mutex::default() }
    }

    /// Reads a step's kernels where that is not done yet.
    ///
    /// # Errors
    /// [`Error::NoModule`], [`Error::MissingKernel`] and [`Error::BadModule`] where the source has no module for it that can be read.
    pub fn load(&self, step: &Step) -> Result<(), Error> {
        self.get(step, ModuleKind::Step, step.kernel).map(drop)
    }

    /// The kernel of a launch of the step's plan.
    ///
    /// # Errors
    /// As of [`Self::load`].
    pub fn of(&self, step: &Step, launch: &Launch) -> Result<Arc<Kernel>, Error> {
        self.get(step, launch.module, launch.kernel)
    }

    /// A kernel; where it was not read yet, all of its module are.
    fn get(&self, step: &Step, module: ModuleKind, name: &'static str) -> Result<Arc<Kernel>, Error> {
        let target = step.target;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernel) = read.get(&(target.name(), name)) {
            return Ok(Arc::clone(kernel));
        }
        let (text, names) = match module {
            ModuleKind::Step => {
                let entry = step.fused.filter(|fused| *fused == name).unwrap_or(step.kernel);
                (self.source.module_of(step, entry)?, step.kernels_of(entry).collect())
            }
            ModuleKind::Support => (self.source.support(target)?, SUPPORT_KERNELS.to_vec()),
        };
        let module = Module::parse(&text).map_err(|error| self.unusable(target, error))?;
        for name in names {
            let kernel = module.kernel(name).map_err(|error| self.unusable(target, error))?;
            read.insert((target.name(), name), Arc::new(kernel));
        }
        let missing = || Error::MissingKernel { module: self.source.name(target), kernel: name.into() };
        read.get(&(target.name(), name)).cloned().ok_or_else(missing)
    }

    fn unusable(&self, target: Target, error: ptx_emu::Error) -> Error {
        let module = self.source.name(target);
        match error {
            ptx_emu::Error::NoKernel { name, .. } => Error::MissingKernel { module, kernel: name },
            error => Error::BadModule { module, reason: error.to_string() },
        }
    }
}

/// A launch of a plan as the emulator takes it: all blocks, under all checkers.
///
/// # Errors
/// [`Error::Emulated`] where TMA cannot read a matrix.
pub fn request(launch: &Launch, bindings: &Bindings, sm_count: u32) -> Result<ptx_emu::Launch, Error> {
    let arguments = launch.arguments.iter().map(|(_, argument)| bytes(argument.value(bindings)));
    Ok(ptx_emu::Launch {
        cluster: launch.shape.cluster,
        dynamic_shared_bytes: launch.shape.dynamic_smem_bytes,
        arguments: arguments.collect::<Result<_, _>>()?,
        sm_count,
        ..ptx_emu::Launch::new(launch.shape.grid, launch.shape.block)
    })
}
