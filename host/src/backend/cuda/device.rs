//! Finding a CUDA device, and what it says about itself.

use std::fmt;

use cudarc::driver::result;
use cudarc::driver::sys::{self, CUresult};
use cust::device::{Device as Handle, DeviceAttribute};

use super::failure::Context as _;
use super::nvml::Monitor;
use crate::Error;
use crate::backend::Device;

/// The oldest CUDA version that a driver may support: the first with `cuLaunchKernelEx`. Bindings load functions at the
/// first call, `cust`'s all those of CUDA 11.4, and panic where one is missing.
const OLDEST_CUDA: CudaVersion = CudaVersion(11080);

/// A version as the driver counts: 13000 is 13.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CudaVersion(pub(super) i32);

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// Whether the driver's library is there. Every other call into CUDA panics where it is not.
pub(super) fn driver_is_present() -> bool {
    // SAFETY: loads the driver's library, by the names that every later call loads it by, and runs only what NVIDIA's
    // library does when it is loaded.
    unsafe { sys::is_culib_present() }
}

/// Starts the driver, and finds device `ordinal`.
pub(super) fn open(ordinal: usize) -> Result<Handle, Error> {
    if !driver_is_present() {
        return Err(Error::NoDriver);
    }
    require(OLDEST_CUDA)?;
    // Not `cust::init`: its errors lack the ones that a new user meets, such as a driver that does not match its module.
    match result::init().map_err(|error| error.0) {
        Ok(()) => (),
        Err(CUresult::CUDA_ERROR_NO_DEVICE) => return Err(Error::NoDevice { ordinal, count: 0 }),
        Err(code) => return Err(Error::Cuda { what: "start the NVIDIA driver".into(), reason: format!("{code:?}") }),
    }
    let count = Handle::num_devices().context("count the CUDA devices")?;
    match u32::try_from(ordinal) {
        Ok(number) if number < count => Handle::get_device(number).context("open the device"),
        _ => Err(Error::NoDevice { ordinal, count: count as usize }),
    }
}

/// Fails where the driver does not support this version of CUDA. The driver need not be started.
pub(super) fn require(oldest: CudaVersion) -> Result<(), Error> {
    let version = driver_version()?;
    if version < oldest {
        let reason = format!("it supports CUDA {version}; install one that supports CUDA {oldest} or later");
        return Err(Error::Cuda { what: "use the NVIDIA driver".into(), reason });
    }
    Ok(())
}

/// The newest CUDA version that the driver supports.
fn driver_version() -> Result<CudaVersion, Error> {
    let mut version = 0;
    // SAFETY: `version` is a place to write an int to.
    unsafe { sys::cuDriverGetVersion(&raw mut version) }.result().context("ask the NVIDIA driver's version")?;
    Ok(CudaVersion(version))
}

/// Asks the device what a report says about it. cuBLAS's version is left open until cuBLAS is loaded.
pub(super) fn describe(handle: Handle, monitor: Option<&Monitor>) -> Result<Device, Error> {
    let attribute = |which| attribute(handle, which);
    // Newer drivers may drop the clock rate's attribute, which the newest runtime API no longer has.
    let clock_khz = attribute(DeviceAttribute::ClockRate).unwrap_or(0);
    let max_clock_mhz = match clock_khz / 1000 {
        0 => monitor.and_then(Monitor::max_sm_clock_mhz).unwrap_or(0),
        mhz => mhz,
    };
    Ok(Device {
        name: handle.name().context("ask the device's name")?,
        compute_capability: (
            attribute(DeviceAttribute::ComputeCapabilityMajor)?,
            attribute(DeviceAttribute::ComputeCapabilityMinor)?,
        ),
        sm_count: attribute(DeviceAttribute::MultiprocessorCount)?,
        max_clock_mhz,
        l2_bytes: attribute(DeviceAttribute::L2CacheSize)?.into(),
        memory_bytes: handle.total_memory().context("ask the device's memory")? as u64,
        driver: monitor.and_then(Monitor::driver_version).unwrap_or_default(),
        cuda: driver_version()?.to_string(),
        cublas: None,
    })
}

/// The device's place on the PCI bus, as NVML writes it: other than ordinals, CUDA and NVML agree on that.
pub(super) fn pci_bus_id(handle: Handle) -> Result<String, Error> {
    let domain = attribute(handle, DeviceAttribute::PciDomainId)?;
    let bus = attribute(handle, DeviceAttribute::PciBusId)?;
    let device = attribute(handle, DeviceAttribute::PciDeviceId)?;
    Ok(format!("{domain:08x}:{bus:02x}:{device:02x}.0"))
}

/// An attribute that is never negative.
fn attribute(handle: Handle, which: DeviceAttribute) -> Result<u32, Error> {
    let value = handle.get_attribute(which).context(format!("ask the device's {which:?}"))?;
    Ok(u32::try_from(value).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_driver_is_an_error() {
        if !driver_is_present() {
            assert!(matches!(open(0), Err(Error::NoDriver)));
        }
    }

    #[test]
    fn versions_are_compared_and_formatted() {
        assert_eq!(CudaVersion(13000).to_string(), "13.0");
        assert_eq!(CudaVersion(12080).to_string(), "12.8");
        assert!(CudaVersion(11020) < OLDEST_CUDA && OLDEST_CUDA < CudaVersion(13000));
    }
}
