//! A GPU's memory, which other GPUs may read.

use std::sync::Arc;

use cudarc::driver::{CudaContext, DriverError, result};

use crate::cuda::CUdeviceptr;

/// Memory that is freed with this. It is from no pool: another GPU that has access to the context has access to it.
pub(super) struct Memory {
    start: CUdeviceptr,
    bytes: usize,
    context: Arc<CudaContext>,
}

impl Memory {
    /// So many bytes, which are at least 1.
    pub fn new(context: &Arc<CudaContext>, bytes: usize) -> Result<Self, DriverError> {
        context.bind_to_thread()?;
        // SAFETY: the context is current, and there are bytes; no task reads what none has written.
        let start = unsafe { result::malloc_sync(bytes) }?;
        Ok(Self { start, bytes, context: Arc::clone(context) })
    }

    pub const fn start(&self) -> CUdeviceptr {
        self.start
    }

    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: `malloc_sync` gave it, and every run waits for all GPUs before it returns. Nobody hears of a failure here.
            let _ = unsafe { result::free_sync(self.start) };
        }
    }
}
