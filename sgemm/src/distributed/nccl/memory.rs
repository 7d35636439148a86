//! Device memory of a rank's workspace: by NCCL, where collectives read and write it, by the driver otherwise.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::CudaContext;
use cudarc::driver::sys;

use super::comm::Comm;
use super::library::Library;
use super::sys::{NcclWindow, SUCCESS};
use crate::Error;
use crate::cuda::{checked, failed};
use crate::distributed::patience::Patience;
use crate::plan::Address;

/// An allocation; of no bytes, none.
#[derive(Debug)]
pub struct Memory {
    address: Address,
    bytes: usize,
    context: Arc<CudaContext>,
    /// By whom it was allocated, where that was not the driver.
    library: Option<&'static Library>,
    windows: Vec<(Arc<Comm>, Window)>,
    /// Left to the end of the process: something may still use it.
    is_leaked: bool,
}

/// NCCL's handle of registered memory.
#[derive(Debug)]
struct Window(NcclWindow);

// SAFETY: only a name for memory, which NCCL is handed back.
unsafe impl Send for Window {}
// SAFETY: as above.
unsafe impl Sync for Window {}

impl Memory {
    /// From the driver.
    pub fn plain(context: &Arc<CudaContext>, bytes: u64) -> Result<Self, Error> {
        let mut memory = Self::empty(context, bytes);
        if bytes > 0 {
            memory.bind()?;
            // SAFETY: the context is current, and `address` a place to write to.
            let status = unsafe { sys::cuMemAlloc_v2(&raw mut memory.address, memory.bytes) };
            checked(status, || format!("allocate {bytes} bytes of workspace"))?;
        }
        Ok(memory)
    }

    /// From NCCL, such that it can be registered.
    pub fn shared(context: &Arc<CudaContext>, library: &'static Library, bytes: u64) -> Result<Self, Error> {
        let mut memory = Self::empty(context, bytes);
        if bytes > 0 {
            memory.bind()?;
            let mut address = ptr::null_mut();
            // SAFETY: the device's context is current, and `address` a place to write a pointer to.
            let status = unsafe { (library.mem_alloc)(&raw mut address, memory.bytes) };
            if status != SUCCESS {
                let what = format!("allocate {bytes} bytes of workspace by NCCL");
                return Err(Error::Driver { what, code: library.text(status) });
            }
            memory.address = address.addr() as Address;
            memory.library = Some(library);
        }
        Ok(memory)
    }

    fn empty(context: &Arc<CudaContext>, bytes: u64) -> Self {
        // What no address can count, no allocator has.
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self { address: 0, bytes, context: Arc::clone(context), library: None, windows: Vec::new(), is_leaked: false }
    }

    /// Makes it a symmetric window of a communicator, where this version of NCCL has those. All ranks of it do so.
    pub fn register(&mut self, comm: &Arc<Comm>, patience: Patience) -> Result<(), Error> {
        if self.bytes == 0 || self.library.is_none() {
            return Ok(());
        }
        self.bind()?;
        // SAFETY: NCCL allocated it, and `drop` ends the window before it is freed.
        let window = unsafe { comm.register(self.address, self.bytes, patience) }?;
        self.windows.push((Arc::clone(comm), Window(window)));
        Ok(())
    }

    pub fn address(&self) -> Address {
        self.address
    }

    /// Leaves it to the end of the process.
    pub fn leak(&mut self) {
        self.is_leaked = true;
    }

    fn bind(&self) -> Result<(), Error> {
        self.context.bind_to_thread().map_err(|error| failed("use the device".into(), error))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.address == 0 || self.is_leaked || self.bind().is_err() {
            return;
        }
        for (comm, window) in self.windows.drain(..) {
            // SAFETY: of that communicator. Whoever drops this has waited for what uses it, or has leaked it.
            unsafe { comm.deregister(window.0) };
        }
        // SAFETY: allocated by this type, and used no more, as above.
        unsafe {
            match self.library {
                Some(library) => drop((library.mem_free)(ptr::without_provenance_mut(self.address as usize))),
                None => drop(sys::cuMemFree_v2(self.address)),
            }
        }
    }
}
