//! Work that holds SMs: blocks that spin for a while, with all the shared memory of an SM, so that no block fits beside one of them.

use std::ffi::{CString, c_void};
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use sgemm::cudarc::driver::result::{function, launch_kernel, module};
use sgemm::cudarc::driver::sys::{CUdevice_attribute, CUfunction, CUfunction_attribute, CUmodule};
use sgemm::cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DevicePtr};

/// How long they spin.
const DURATION: Duration = Duration::from_millis(1500);

/// After which they are given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The kernel, loaded in a context, with streams of its own.
pub struct Spinner {
    context: Arc<CudaContext>,
    module: CUmodule,
    function: CUfunction,
    smem_bytes: i32,
    /// How many blocks there are.
    counter: CudaSlice<u32>,
    /// In which they spin.
    spins: Arc<CudaStream>,
    /// In which they are counted.
    counts: Arc<CudaStream>,
}

impl Spinner {
    pub fn new(context: &Arc<CudaContext>) -> Result<Self, Failed> {
        let smem_bytes =
            context.attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?;
        let (spins, counts) = (context.new_stream()?, context.new_stream()?);
        let counter = spins.alloc_zeros(1)?;
        let image = CString::new(include_str!("spin.ptx"))?;
        context.bind_to_thread()?;
        // SAFETY: the context is current, and the image ends with a NUL.
        let module = unsafe { module::load_data(image.as_ptr().cast()) }?;
        // SAFETY: the module was loaded above.
        let function = unsafe { module::get_function(module, CString::new("spin")?) }?;
        let spinner = Self { context: Arc::clone(context), module, function, smem_bytes, counter, spins, counts };
        let attribute = CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is of the module that `spinner` keeps.
        unsafe { function::set_function_attribute(function, attribute, smem_bytes) }?;
        Ok(spinner)
    }

    /// Starts so many blocks and waits until all of them spin, each on an SM of its own. The event comes when they have ended.
    pub fn start(&mut self, blocks: u32) -> Result<CudaEvent, Failed> {
        self.spins.memset_zeros(&mut self.counter)?;
        // The guard ends here, before the launch: counting would wait for the kernel otherwise.
        let (mut counter, _) = self.counter.device_ptr(&self.spins);
        let mut nanoseconds = u64::try_from(DURATION.as_nanos())?;
        let mut parameters: [*mut c_void; 2] =
            [ptr::from_mut(&mut counter).cast(), ptr::from_mut(&mut nanoseconds).cast()];
        let (grid, smem) = ((blocks, 1, 1), u32::try_from(self.smem_bytes)?);
        self.context.bind_to_thread()?;
        // SAFETY: the context is current, and the function's module is loaded. The kernel takes an address and a u64, and adds to the u32
        // that is there: it lives until `drop` has waited for the stream.
        unsafe { launch_kernel(self.function, grid, (1, 1, 1), smem, self.spins.cu_stream(), &mut parameters) }?;
        let ended = self.spins.record_event(None)?;
        let start = Instant::now();
        let mut found = [0];
        while found[0] < blocks {
            self.counts.memcpy_dtoh(&self.counter, &mut found)?;
            self.counts.synchronize()?;
            if start.elapsed() > PATIENCE {
                return Err(format!("{} of {blocks} blocks that spin are there after {PATIENCE:?}", found[0]).into());
            }
        }
        Ok(ended)
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        let _ = self.spins.synchronize();
        let _ = self.context.bind_to_thread();
        // SAFETY: it was loaded in this context, and the stream in which its kernel runs has come to its end.
        let _ = unsafe { module::unload(self.module) };
    }
}
