//! What runs a kernel. One trait, so that everything above it (verification, timing, reports) knows no device.

use crate::{Error, Operands, Problem};
use gpu_kernels::Step;

pub mod cuda;
mod open;

pub use open::{BackendChoice, open};

/// What can be run: a step of the ladder, or the library that it is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// A step out of [`gpu_kernels::STEPS`].
    Step(&'static Step),
    /// cuBLAS SGEMM in its default math mode: fp32 on the CUDA cores, no TF32.
    Cublas,
}

/// The device that a backend runs on.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    /// Its name as the driver gives it.
    pub name: String,
    /// Compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sm_count: u32,
    /// Highest SM clock, in MHz.
    pub max_clock_mhz: u32,
    /// L2 cache, in bytes.
    pub l2_bytes: u64,
    /// Device memory in all, in bytes.
    pub memory_bytes: u64,
    /// The driver's version, such as `580.159.04`; empty where it cannot be read.
    pub driver: String,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub cuda: String,
    /// cuBLAS's version, such as `13.1.0`; `None` where the library cannot be loaded.
    pub cublas: Option<String>,
}

/// Clocks and power, read during a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// SM clock, in MHz.
    pub sm_clock_mhz: u32,
    /// Memory clock, in MHz.
    pub memory_clock_mhz: u32,
    /// Board power, in watts.
    pub power_w: f64,
    /// Temperature, in degrees Celsius.
    pub temperature_c: u32,
}

/// Runs kernels on one problem at a time.
pub trait Backend {
    /// The backend's name in JSON: `cuda` or `emulator`.
    fn name(&self) -> &'static str;

    /// The device it runs on.
    fn device(&self) -> &Device;

    /// Clocks and power at this moment, where the device tells them.
    fn conditions(&self) -> Option<Conditions>;

    /// Whether the kernel can run here: the device has its instructions, its module loads, the library is present.
    fn prepare(&mut self, kernel: Kernel) -> Result<(), Error>;

    /// Puts the operands, guard bands included, into device memory, in place of those of the call before.
    fn upload(&mut self, operands: &Operands) -> Result<(), Error>;

    /// Launches the kernel once on the uploaded operands and waits for it. Nothing is launched when m or n is 0.
    fn run(&mut self, kernel: Kernel, problem: &Problem) -> Result<(), Error>;

    /// Reads the operands back, guard bands included.
    fn download(&mut self, operands: &mut Operands) -> Result<(), Error>;

    /// Times `iterations` launches after `warmup` untimed ones, each between its own pair of events with the L2 cache
    /// flushed before it. Returns milliseconds, one per launch; `launched` is called after each launch, for a progress bar.
    fn time(
        &mut self,
        kernel: Kernel,
        problem: &Problem,
        warmup: u32,
        iterations: u32,
        launched: &mut dyn FnMut(),
    ) -> Result<Vec<f32>, Error>;
}
