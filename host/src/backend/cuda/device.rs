//! Finding a CUDA device, and what it says about itself.

use cust::device::{Device as Handle, DeviceAttribute};

use super::failure::Context as _;
use super::nvml::Monitor;
use crate::Error;
use crate::backend::Device;

/// Starts the driver, and finds device `ordinal`.
pub(super) fn open(ordinal: usize) -> Result<Handle, Error> {
    // Not `cust::init`: its errors lack the ones that a new user meets, such as a driver that does not match its module.
    sgemm::cuda::open_driver().map_err(|error| match error {
        sgemm::Error::NoDriver => Error::NoDriver,
        sgemm::Error::NoDevice => Error::NoDevice { ordinal, count: 0 },
        other => other.into(),
    })?;
    let count = Handle::num_devices().context("count the CUDA devices")?;
    match u32::try_from(ordinal) {
        Ok(number) if number < count => Handle::get_device(number).context("open the device"),
        _ => Err(Error::NoDevice { ordinal, count: count as usize }),
    }
}

/// How many devices the driver sees.
///
/// # Errors
/// [`Error::NoDriver`], [`Error::NoDevice`] without any, and what the driver says.
pub fn device_count() -> Result<usize, Error> {
    open(0)?;
    Ok(Handle::num_devices().context("count the CUDA devices")? as usize)
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
        cuda: sgemm::cuda::driver_version()?.to_string(),
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
        if !sgemm::cuda::driver_is_present() {
            assert!(matches!(open(0), Err(Error::NoDriver)));
        }
    }
}
