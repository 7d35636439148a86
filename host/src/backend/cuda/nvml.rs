//! Clocks, power and temperature by NVML, which is optional: without it nothing else fails.

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};

use crate::backend::Conditions;

/// NVML's view of one device.
pub(super) struct Monitor {
    nvml: Nvml,
    pci_bus_id: String,
}

impl Monitor {
    /// Loads NVML for the device at that place on the PCI bus; `None` where there is no NVML.
    pub(super) fn new(pci_bus_id: String) -> Option<Self> {
        Some(Self { nvml: Nvml::init().ok()?, pci_bus_id })
    }

    /// The driver's version, such as `580.159.04`.
    pub(super) fn driver_version(&self) -> Option<String> {
        self.nvml.sys_driver_version().ok()
    }

    /// Highest SM clock, in MHz.
    pub(super) fn max_sm_clock_mhz(&self) -> Option<u32> {
        self.device()?.max_clock_info(Clock::SM).ok()
    }

    /// Clocks, power and temperature at this moment; `None` where one of them cannot be read.
    pub(super) fn conditions(&self) -> Option<Conditions> {
        let device = self.device()?;
        Some(Conditions {
            sm_clock_mhz: device.clock_info(Clock::SM).ok()?,
            memory_clock_mhz: device.clock_info(Clock::Memory).ok()?,
            power_w: f64::from(device.power_usage().ok()?) / 1000.0, // NVML counts milliwatts
            temperature_c: device.temperature(TemperatureSensor::Gpu).ok()?,
        })
    }

    fn device(&self) -> Option<nvml_wrapper::Device<'_>> {
        self.nvml.device_by_pci_bus_id(self.pci_bus_id.as_str()).ok()
    }
}
