//! PTX modules, one per target, read when a step first needs them.

use gpu_kernels::{Step, Target};
use ptx_emu::{Kernel, Module};

use crate::Error;
use crate::ptx::PtxSource;

/// The modules and kernels read so far, and where the others come from.
pub(super) struct Modules {
    ptx: PtxSource,
    modules: Vec<(Target, Module)>,
    kernels: Vec<(&'static str, Kernel)>,
}

impl Modules {
    pub(super) fn new(ptx: PtxSource) -> Self {
        Self { ptx, modules: Vec::new(), kernels: Vec::new() }
    }

    /// Reads the step's kernel where that is not done yet.
    pub(super) fn load(&mut self, step: &Step) -> Result<(), Error> {
        if self.kernels.iter().any(|(name, _)| *name == step.kernel) {
            return Ok(());
        }
        let unusable = |error: ptx_emu::Error| match error {
            ptx_emu::Error::NoKernel { name, .. } => Error::MissingKernel { path: self.ptx.name(step), kernel: name },
            error => Error::BadPtx { path: self.ptx.name(step), reason: error.to_string() },
        };
        let loaded = self.modules.iter().find(|(target, _)| *target == step.target);
        let (kernel, module) = match loaded {
            Some((_, module)) => (module.kernel(step.kernel).map_err(unusable)?, None),
            None => {
                let module = Module::parse(self.ptx.module(step)?).map_err(unusable)?;
                (module.kernel(step.kernel).map_err(unusable)?, Some((step.target, module)))
            }
        };
        self.modules.extend(module);
        self.kernels.push((step.kernel, kernel));
        Ok(())
    }

    /// The kernel of a step that was loaded.
    pub(super) fn kernel(&self, step: &Step) -> Result<&Kernel, Error> {
        let missing = || Error::MissingKernel { path: self.ptx.name(step), kernel: step.kernel.into() };
        self.kernels.iter().find(|(name, _)| *name == step.kernel).map(|(_, kernel)| kernel).ok_or_else(missing)
    }
}
