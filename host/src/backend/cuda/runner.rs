//! Runs kernels of any PTX on plain buffers: what tests of the emulator compare it with.

use cust::context::Context;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use sgemm::cuda::{Module, launch};
use sgemm::plan::{LaunchShape, Value};

use super::device;
use super::failure::Context as _;
use super::nvml::Monitor;
use super::raw;
use crate::Error;
use crate::backend::Device;

/// A PTX module on a device.
pub struct PtxRunner {
    // Dropped in this order, the context last.
    module: Module,
    stream: Stream,
    ptx: String,
    device: Device,
    _context: Context,
}

impl PtxRunner {
    /// Opens device `ordinal` and compiles the PTX for it.
    ///
    /// # Errors
    /// Those of [`super::CudaBackend::new`], and [`sgemm::Error::BadModule`] where the driver does not compile it.
    pub fn new(ordinal: usize, ptx: &str) -> Result<Self, Error> {
        let handle = device::open(ordinal)?;
        let context = Context::new(handle).context("use the device")?;
        let stream = Stream::new(StreamFlags::DEFAULT, None).context("create a stream")?;
        let device = device::describe(handle, Monitor::new(device::pci_bus_id(handle)?).as_ref())?;
        // SAFETY: the context is the current one, and stands after the module in this struct.
        let module = unsafe { Module::compile("the PTX", ptx) }?;
        Ok(Self { module, stream, ptx: ptx.to_owned(), device, _context: context })
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Runs a kernel whose parameters are the address of each buffer and then `count`, and reads the buffers back.
    ///
    /// # Errors
    /// [`sgemm::Error::MissingKernel`] where there is no kernel of that name with these parameters, [`Error::Cuda`] where it
    /// fails.
    pub fn run(
        &self,
        entry: &str,
        grid: [u32; 3],
        block: [u32; 3],
        buffers: &mut [Vec<u8>],
        count: u32,
    ) -> Result<(), Error> {
        let missing = || sgemm::Error::MissingKernel { module: "the PTX".into(), kernel: entry.into() };
        if !has_parameters(&self.ptx, entry, buffers.len()) {
            return Err(missing().into());
        }
        let function = self.module.function(entry)?.ok_or_else(missing)?;
        let what = || format!("run {entry}");
        let upload = |buffer: &Vec<u8>| DeviceBuffer::from_slice(buffer).context(what());
        let on_device: Vec<DeviceBuffer<u8>> = buffers.iter().map(upload).collect::<Result<_, _>>()?;
        let addresses = on_device.iter().map(|buffer| Value::Address(raw::address(buffer)));
        let shape = LaunchShape { grid, block, cluster: [1; 3], dynamic_smem_bytes: 0 };
        // SAFETY: the kernel's parameters are as many addresses as there are buffers and one u32, which was checked.
        // Whatever the kernel does, it does to the device's memory: none of this process's is mapped there. The stream is
        // waited for before the buffers are freed.
        unsafe { launch(function, &shape, addresses.chain([Value::U32(count)]), raw::stream(&self.stream), what) }?;
        self.stream.synchronize().context(what())?;
        for (buffer, from) in buffers.iter_mut().zip(&on_device) {
            from.copy_to(buffer.as_mut_slice()).context(what())?;
        }
        Ok(())
    }
}

/// Whether the PTX has such an entry, and its parameters are so many `.u64` and a `.u32`.
fn has_parameters(ptx: &str, entry: &str, buffers: usize) -> bool {
    let Some((_, rest)) = ptx.split_once(&format!(".entry {entry}(")) else { return false };
    let signature = rest.split(')').next().unwrap_or_default();
    let types: Vec<&str> =
        signature.split(".param").skip(1).filter_map(|text| text.split_whitespace().next()).collect();
    matches!(&types[..], [addresses @ .., ".u32"] if addresses.len() == buffers && addresses.iter().all(|ty| *ty == ".u64"))
}

#[cfg(test)]
mod tests {
    use super::has_parameters;

    #[test]
    fn parameters_are_compared() {
        let ptx =
            ".visible .entry one(.param .u64 a, .param .u32 n)\n{ret;}\n.visible .entry two(.param .u32 n)\n{ret;}";
        assert!(has_parameters(ptx, "one", 1) && has_parameters(ptx, "two", 0));
        assert!(!has_parameters(ptx, "one", 2) && !has_parameters(ptx, "two", 1) && !has_parameters(ptx, "three", 0));
        assert!(!has_parameters(".entry x(.param .f64 a, .param .u32 n)", "x", 1));
    }
}
