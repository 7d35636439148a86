//! `ptx_emu._native`: what the Python package `ptx_emu` is written on. It takes and gives bytes; arrays are the package's.
#![forbid(unsafe_code)]

mod launch;
mod report;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(ptx_emu, Error, PyException, "The PTX cannot be run, or a launch does not fit the kernel.");

/// The Python exception for a reason.
fn error(reason: impl ToString) -> PyErr {
    Error::new_err(reason.to_string())
}

/// A module, with the memory that its variables are in.
#[pyclass(frozen)]
struct Module {
    module: ptx_emu::Module,
    memory: Mutex<ptx_emu::GlobalMemory>,
}

/// A kernel of a module.
#[pyclass(frozen)]
struct Kernel {
    kernel: Arc<ptx_emu::Kernel>,
}

impl Module {
    fn memory(&self) -> MutexGuard<'_, ptx_emu::GlobalMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn info(&self, name: &str) -> PyResult<&ptx_emu::VariableInfo> {
        self.module.variable(name).ok_or_else(|| {
            let names: Vec<_> = self.module.variables().map(|variable| variable.name.as_str()).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            error(format!("there is no variable `{name}`; the module has {has}"))
        })
    }
}

#[pymethods]
impl Module {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        let mut memory = ptx_emu::GlobalMemory::default();
        let module = ptx_emu::Module::load(text.trim_end_matches('\0'), &mut memory).map_err(error)?;
        Ok(Self { module, memory: Mutex::new(memory) })
    }

    /// Names of the kernels.
    fn kernels(&self) -> Vec<&str> {
        self.module.kernels().collect()
    }

    fn kernel(&self, name: &str) -> PyResult<Kernel> {
        Ok(Kernel { kernel: Arc::new(self.module.kernel(name).map_err(error)?) })
    }

    /// Names of the `.global` and `.const` variables.
    fn variables(&self) -> Vec<&str> {
        self.module.variables().map(|variable| variable.name.as_str()).collect()
    }

    /// The bytes of a variable.
    fn read(&self, name: &str) -> PyResult<Vec<u8>> {
        let address = self.info(name)?.address;
        self.memory().read(address).ok_or_else(|| error(format!("`{name}` is not in memory")))
    }

    /// Sets the first bytes of a variable.
    fn write(&self, name: &str, bytes: &[u8]) -> PyResult<()> {
        let variable = self.info(name)?;
        let (size, given) = (variable.bytes, bytes.len());
        if given as u64 > size || !self.memory().write(variable.address, bytes) {
            return Err(error(format!("`{name}` has {size} bytes, {given} are given")));
        }
        Ok(())
    }
}

#[pymethods]
impl Kernel {
    #[getter]
    fn name(&self) -> &str {
        self.kernel.name()
    }

    /// Type and bytes of each parameter; of an array, the type of its elements.
    fn parameters(&self) -> Vec<(&str, u32, u32)> {
        self.kernel.params().iter().map(|param| (param.ty.name(), param.ty.bytes(), param.bytes)).collect()
    }

    #[getter]
    fn shared_bytes(&self) -> u32 {
        self.kernel.shared_bytes()
    }

    /// The most 32-bit registers of a thread that are live at once.
    #[getter]
    fn live_registers(&self) -> u32 {
        self.kernel.live_registers()
    }
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::launch::launch;
    #[pymodule_export]
    use super::report::{Finding, Report};
    #[pymodule_export]
    use super::{Error, Kernel, Module};
}
