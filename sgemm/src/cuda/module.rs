//! PTX modules on the device: one for each step, compiled by the driver when the step is first needed.

use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::sys::{self, CUcontext, CUfunction, CUfunction_attribute, CUjit_option, CUmodule, CUresult};
use gpu_kernels::Step;

use super::driver::{CudaVersion, checked, current_context, driver_version, with_context};
use crate::modules::wait_for_launches;
use crate::{Error, ModuleSource};

/// Dynamic shared memory that a block may have without asking, in bytes.
const DEFAULT_DYNAMIC_SMEM_BYTES: u32 = 48 << 10;

/// Blocks of a cluster on every device that has clusters; more only where a kernel asks for it.
const PORTABLE_CLUSTER_BLOCKS: u32 = 8;

/// What messages call the module of the kernels beside the steps.
const SUPPORT: &str = "the support module";

/// The first CUDA version whose graphs keep what a programmatic launch depends on.
const PROGRAMMATIC_GRAPHS: CudaVersion = CudaVersion(12030);

/// Bytes of the compiler's error log that are kept.
const LOG_BYTES: usize = 4096;

/// A module that is loaded in a context. It is unloaded when it is dropped, on whichever thread.
#[derive(Debug)]
pub struct Module {
    raw: CUmodule,
    context: CUcontext,
    /// Whether its kernels are [`RawFunction::is_dependent`].
    is_dependent: bool,
}

// SAFETY: handles of the driver, which any thread may use: it guards what they stand for.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

/// A kernel of a module.
#[derive(Debug, Clone, Copy)]
pub struct Function<'a> {
    raw: RawFunction,
    module: PhantomData<&'a Module>,
}

/// A kernel of a module that its user keeps loaded.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawFunction {
    pub(super) handle: CUfunction,
    /// Whether it waits for the launch before it, and so may begin before that one has ended: programmatic dependent launch.
    pub(super) is_dependent: bool,
}

impl Module {
    /// Has the driver compile PTX for the device of the current context. Where every kernel of it has `griddepcontrol.wait`, they are
    /// launched before the kernel ahead of them in the stream has ended: they access no global memory before they have waited.
    ///
    /// # Errors
    /// [`Error::BadModule`] with the compiler's first line; [`Error::Driver`] where there is no current context.
    ///
    /// # Safety
    /// The current context outlives the module.
    pub unsafe fn compile(name: &str, ptx: &str) -> Result<Self, Error> {
        let unusable = |reason| Error::BadModule { module: name.to_owned(), reason };
        let context = current_context()?;
        let is_dependent = wait_for_launches(ptx) && driver_version()? >= PROGRAMMATIC_GRAPHS;
        let ptx = CString::new(ptx).map_err(|_| unusable("it holds a NUL character".into()))?;
        let mut log = [0_u8; LOG_BYTES];
        let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast(), ptr::without_provenance_mut(log.len())];
        let mut raw = ptr::null_mut();
        // SAFETY: there are two options and two values, in the same order; the log is as long as the second one says and
        // outlives the call, and the image ends with a NUL.
        let status = unsafe {
            sys::cuModuleLoadDataEx(&raw mut raw, ptx.as_ptr().cast(), 2, options.as_mut_ptr(), values.as_mut_ptr())
        };
        if status == CUresult::CUDA_SUCCESS {
            return Ok(Self { raw, context, is_dependent });
        }
        let log = CStr::from_bytes_until_nul(&log).map(CStr::to_string_lossy).unwrap_or_default();
        Err(unusable(match log.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(line) => line.split_whitespace().collect::<Vec<_>>().join(" "),
            None => format!("the driver answers {status:?}"),
        }))
    }

    /// The kernel of that name; `None` where there is none.
    ///
    /// # Errors
    /// [`Error::Driver`] where the driver cannot load it.
    pub fn function(&self, kernel: &str) -> Result<Option<Function<'_>>, Error> {
        let Ok(name) = CString::new(kernel) else { return Ok(None) };
        let mut handle = ptr::null_mut();
        // SAFETY: the module is loaded in this context as long as `self` lives, `handle` is a place to write a pointer to, and the name
        // ends with a NUL. The driver may load the kernel only now, and asks for the context then, whichever thread this is.
        let status = unsafe {
            with_context(self.context, || sys::cuModuleGetFunction(&raw mut handle, self.raw, name.as_ptr()))
        }?;
        match status {
            CUresult::CUDA_ERROR_NOT_FOUND => Ok(None),
            status => {
                checked(status, || format!("load {kernel}"))?;
                let raw = RawFunction { handle, is_dependent: self.is_dependent };
                Ok(Some(Function { raw, module: PhantomData }))
            }
        }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: the module was loaded in this context, which is there, as `compile` asks for; nothing uses it after this, and
        // the driver waits where a kernel of it still runs. A failure leaves nothing to do.
        let _ = unsafe { with_context(self.context, || sys::cuModuleUnload(self.raw)) };
    }
}

impl Function<'_> {
    pub(super) fn raw(self) -> RawFunction {
        self.raw
    }
}

/// The modules of a context: loaded when a step first needs them, and kept.
#[derive(Debug)]
pub struct Modules {
    source: ModuleSource,
    context: CUcontext,
    /// By their step's entry point, or by their target those of the kernels beside its steps.
    loaded: Mutex<Vec<(&'static str, Arc<Module>)>>,
}

// SAFETY: the context is a handle of the driver, which any thread may use.
unsafe impl Send for Modules {}
// SAFETY: as above; what is loaded is behind a lock.
unsafe impl Sync for Modules {}

impl Modules {
    /// None yet, for the current context, out of this source.
    ///
    /// # Errors
    /// [`Error::Driver`] where there is no current context.
    ///
    /// # Safety
    /// The current context outlives the modules, and all that is prepared with them. The driver is there: [`super::open_driver`].
    pub unsafe fn new(source: ModuleSource) -> Result<Self, Error> {
        Ok(Self { source, context: current_context()?, loaded: Mutex::default() })
    }

    /// The module of a step, loaded where it is not loaded yet. Its kernel is allowed what its launches ask for.
    ///
    /// # Errors
    /// [`Error::MissingKernel`] and [`Error::BadModule`] where the source has no module for it that the driver accepts,
    /// [`Error::Driver`] where the driver fails.
    pub fn load(&self, step: &Step) -> Result<Arc<Module>, Error> {
        self.load_entry(step, step.kernel)
    }

    /// The same with one of the step's entry points in place of its kernel.
    pub(super) fn load_entry(&self, step: &Step, entry: &'static str) -> Result<Arc<Module>, Error> {
        self.load_as(entry, || {
            let text = self.source.module_of(step, entry)?;
            // SAFETY: the context that is current here outlives this, as `new` asks for.
            let module = unsafe { Module::compile(&self.source.name(step.target), &text) }?;
            allow(step, self.kernel(&module, step, entry)?)?;
            Ok(module)
        })
    }

    /// The module of the kernels beside the steps of this one's target, loaded where it is not loaded yet.
    ///
    /// # Errors
    /// As of [`Self::load`].
    pub(super) fn load_support(&self, step: &Step) -> Result<Arc<Module>, Error> {
        let text = || self.source.support(step.target);
        // SAFETY: as in `load`.
        self.load_as(step.target.name(), || unsafe { Module::compile(SUPPORT, &text()?) })
    }

    fn load_as(
        &self,
        name: &'static str,
        compile: impl FnOnce() -> Result<Module, Error>,
    ) -> Result<Arc<Module>, Error> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, module)) = loaded.iter().find(|(known, _)| *known == name) {
            return Ok(Arc::clone(module));
        }
        // SAFETY: the context is there, as `new` asks for.
        let module = Arc::new(unsafe { with_context(self.context, compile) }??);
        loaded.push((name, Arc::clone(&module)));
        Ok(module)
    }

    /// A kernel of the support module.
    pub(super) fn support_kernel<'a>(&self, module: &'a Module, kernel: &str) -> Result<Function<'a>, Error> {
        let missing = || Error::MissingKernel { module: SUPPORT.into(), kernel: kernel.to_owned() };
        module.function(kernel)?.ok_or_else(missing)
    }

    /// A kernel of a step's module.
    pub(super) fn kernel<'a>(&self, module: &'a Module, step: &Step, kernel: &str) -> Result<Function<'a>, Error> {
        let missing = || Error::MissingKernel { module: self.source.name(step.target), kernel: kernel.to_owned() };
        module.function(kernel)?.ok_or_else(missing)
    }
}

/// Allows the kernel as much dynamic shared memory and as large a cluster as its step asks for.
fn allow(step: &Step, function: Function<'_>) -> Result<(), Error> {
    let set = |attribute, value: u32, what: &dyn Fn() -> String| {
        // SAFETY: the function belongs to a module that is loaded; both values are far below `i32::MAX`.
        let status = unsafe { sys::cuFuncSetAttribute(function.raw.handle, attribute, value as i32) };
        checked(status, || format!("give {} {}", step.slug, what()))
    };
    let bytes = step.most_smem_bytes();
    if bytes > DEFAULT_DYNAMIC_SMEM_BYTES {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        set(attribute, bytes, &|| format!("its {bytes} bytes of shared memory"))?;
    }
    let blocks = step.cluster.iter().product::<u32>();
    if blocks > PORTABLE_CLUSTER_BLOCKS {
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        set(attribute, 1, &|| format!("clusters of {blocks} blocks"))?;
    }
    Ok(())
}
