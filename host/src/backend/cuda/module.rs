//! PTX modules on the device: one for each step, compiled by the driver when the step is first needed.

use std::ffi::{CStr, CString};
use std::ptr;

use cudarc::driver::sys::{self, CUfunction_attribute, CUjit_option};
use cust::error::CudaError;
use cust::function::Function;
use cust::module::Module;
use gpu_kernels::Step;

use super::failure::Context as _;
use crate::Error;
use crate::ptx::PtxSource;

/// Dynamic shared memory that a block may have without asking, in bytes.
const DEFAULT_DYNAMIC_SMEM_BYTES: u32 = 48 << 10;

/// Blocks of a cluster on every device that has clusters; more only where a kernel asks for it.
const PORTABLE_CLUSTER_BLOCKS: u32 = 8;

/// The modules loaded so far, by their step's kernel, and where the others come from.
pub(super) struct Modules {
    ptx: PtxSource,
    loaded: Vec<(&'static str, Module)>,
}

impl Modules {
    pub(super) fn new(ptx: PtxSource) -> Self {
        Self { ptx, loaded: Vec::new() }
    }

    /// Loads the step's module where it is not loaded yet, and allows its kernel what the launches ask for.
    pub(super) fn load(&mut self, step: &Step) -> Result<(), Error> {
        if self.loaded.iter().any(|(kernel, _)| *kernel == step.kernel) {
            return Ok(());
        }
        let unusable = |reason| Error::BadPtx { path: self.ptx.name(step), reason };
        let module = compile(&self.ptx.module(step)?).map_err(unusable)?;
        self.loaded.push((step.kernel, module));
        allow(step, &self.function(step, step.kernel)?)
    }

    /// A kernel of a step that is loaded.
    pub(super) fn function(&self, step: &Step, kernel: &str) -> Result<Function<'_>, Error> {
        let missing = || Error::MissingKernel { path: self.ptx.name(step), kernel: kernel.into() };
        let (_, module) = self.loaded.iter().find(|(loaded, _)| *loaded == step.kernel).ok_or_else(missing)?;
        match module.get_function(kernel) {
            Err(CudaError::NotFound) => Err(missing()),
            function => function.context(format!("load {kernel}")),
        }
    }
}

/// Has the driver compile PTX for the current device; the error is the compiler's first line.
pub(super) fn compile(ptx: &str) -> Result<Module, String> {
    let ptx = CString::new(ptx).map_err(|_| "it holds a NUL character".to_owned())?;
    Module::from_ptx_cstr(&ptx, &[]).map_err(|_| compiler_error(&ptx))
}

/// Compiles PTX that does not compile once more, for the compiler's error log, which `cust` does not ask for.
fn compiler_error(ptx: &CStr) -> String {
    let mut log = [0_u8; 4096];
    let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len())];
    let mut module = ptr::null_mut();
    // SAFETY: there are two options and two values, in the same order; the log is as long as the second one says and
    // outlives the call, and the image ends with a NUL.
    let status = unsafe {
        sys::cuModuleLoadDataEx(&raw mut module, ptx.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
    };
    if !module.is_null() {
        // SAFETY: the module was loaded above, against expectation, and nothing has come to use it.
        let _ = unsafe { sys::cuModuleUnload(module) };
    }
    let log = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
    match log.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => line.split_whitespace().collect::<Vec<_>>().join(" "),
        None => format!("the driver answers {status:?}"),
    }
}

/// Allows the kernel as much dynamic shared memory and as large a cluster as its step asks for.
fn allow(step: &Step, function: &Function) -> Result<(), Error> {
    let set = |attribute, value: u32, what: &str| {
        // SAFETY: the function belongs to a module that is loaded; both values are far below `i32::MAX`.
        let status = unsafe { sys::cuFuncSetAttribute(function.to_raw().cast(), attribute, value as i32) };
        status.result().context(format!("give {} {what}", step.slug))
    };
    let bytes = step.dynamic_smem_bytes;
    if bytes > DEFAULT_DYNAMIC_SMEM_BYTES {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        set(attribute, bytes, &format!("its {bytes} bytes of shared memory"))?;
    }
    let blocks = step.cluster.iter().product::<u32>();
    if blocks > PORTABLE_CLUSTER_BLOCKS {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        set(attribute, 1, &format!("clusters of {blocks} blocks"))?;
    }
    Ok(())
}
