//! Kernels, read when a step first needs them: a module for each step, that holds nothing else.

use gpu_kernels::Step;
use ptx_emu::{Kernel, Module};
use sgemm::ModuleSource;

use crate::Error;
use crate::backend::ptx::PtxSource;

/// The kernels read so far, and where the others come from.
pub(super) struct Modules {
    source: ModuleSource,
    loaded: Vec<(&'static str, Vec<Kernel>)>,
}

impl Modules {
    pub(super) fn new(ptx: &PtxSource) -> Self {
        Self { source: ptx.modules(), loaded: Vec::new() }
    }

    /// Reads the step's kernels where that is not done yet.
    pub(super) fn load(&mut self, step: &Step) -> Result<(), Error> {
        if self.loaded.iter().any(|(name, _)| *name == step.kernel) {
            return Ok(());
        }
        let unusable = |error: ptx_emu::Error| match error {
            ptx_emu::Error::NoKernel { name, .. } => {
                sgemm::Error::MissingKernel { module: self.source.name(step.target), kernel: name }
            }
            error => sgemm::Error::BadModule { module: self.source.name(step.target), reason: error.to_string() },
        };
        let module = Module::parse(&self.source.module(step)?).map_err(unusable)?;
        let kernels: Result<_, _> = step.kernels().map(|name| module.kernel(name)).collect();
        self.loaded.push((step.kernel, kernels.map_err(unusable)?));
        Ok(())
    }

    /// A kernel of a step that was loaded.
    pub(super) fn kernel(&self, step: &Step, name: &str) -> Result<&Kernel, Error> {
        let missing = || sgemm::Error::MissingKernel { module: self.source.name(step.target), kernel: name.into() };
        let (_, kernels) = self.loaded.iter().find(|(loaded, _)| *loaded == step.kernel).ok_or_else(missing)?;
        Ok(kernels.iter().find(|kernel| kernel.name() == name).ok_or_else(missing)?)
    }
}
