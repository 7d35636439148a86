//! Which backend, and how to come by it.

use super::{Backend, cuda::CudaBackend};
use crate::{Error, PtxSource};

/// A backend as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackendChoice {
    /// The best that there is on this machine: CUDA.
    Auto,
    /// A CUDA device.
    Cuda,
    /// The project's PTX emulator, on the CPU.
    Emulator,
}

/// Opens a backend. `device_ordinal` counts the devices that the driver shows, from 0.
///
/// # Errors
/// [`Error::UnavailableBackend`] for one that this version lacks, [`Error::NoDriver`] or [`Error::NoDevice`] where
/// there is no such device, [`Error::Cuda`] where it cannot be used.
pub fn open(choice: BackendChoice, device_ordinal: usize, ptx: PtxSource) -> Result<Box<dyn Backend>, Error> {
    match choice {
        BackendChoice::Auto | BackendChoice::Cuda => Ok(Box::new(CudaBackend::new(device_ordinal, ptx)?)),
        BackendChoice::Emulator => Err(Error::UnavailableBackend { name: "emulator" }),
    }
}
