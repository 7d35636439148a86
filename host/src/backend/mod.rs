//! What runs a kernel. One trait, so that everything above it (verification, timing, reports) knows no device.

use gpu_kernels::Step;

use crate::verify::Coverage;
use crate::{Error, Matrix, Operands, Problem};

mod baseline;
mod case;
pub mod cuda;
pub mod emulator;
mod kernel;
mod open;
mod provenance;
pub mod ptx;
mod ranks;
mod rotation;
mod stop;

pub use baseline::{BASELINES, Baseline};
pub(crate) use case::CASE_ALIGNMENT;
pub use case::{Case, Op, Order};
pub use kernel::Kernel;
pub(crate) use kernel::workspace_bytes;
pub use open::{BackendChoice, Opened, Options, open};
pub(crate) use provenance::now;
pub use ptx::{PtxSource, directed_rounding};
pub use ranks::Ranks;
pub use rotation::Rotation;
pub use stop::Stop;

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

impl Device {
    /// Whether this device has what the step's target asks for.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where it has not.
    pub fn check_runs(&self, step: &Step) -> Result<(), Error> {
        let model = || emulator::model_for(step).map(|model| model.slug);
        self.gpu().check_runs(step).map_err(|reason| Error::Unsupported { reason, model: model() })
    }

    /// What the library needs to know of it.
    #[must_use]
    pub fn gpu(&self) -> sgemm::Device {
        sgemm::Device::new(self.name.clone(), self.compute_capability, self.sm_count)
    }
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

/// Runs kernels on one problem at a time: [`upload`](Self::upload) its operands, [`run`](Self::run) a kernel,
/// [`download`](Self::download) what became of them, [`time`](Self::time) it. [`open`] gives one, and an example.
pub trait Backend {
    /// The backend's name in JSON: `cuda` or `emulator`.
    fn name(&self) -> &'static str;

    /// The device it runs on, or whose times it models.
    fn device(&self) -> &Device;

    /// Whether times come out of a model of the device: one run gives the only time that there is.
    fn is_modelled(&self) -> bool;

    /// Whether all that a step launches is handed to the device in one piece, as a CUDA graph.
    fn launches_graphs(&self) -> bool {
        false
    }

    /// Clocks and power at this moment, where the device tells them.
    fn conditions(&self) -> Option<Conditions>;

    /// Whether the kernel can run here: the device has its instructions, its module loads, the library is present.
    ///
    /// # Errors
    /// [`Error::Unsupported`], [`sgemm::Error::MissingKernel`], [`Error::NoCublas`], or what the device or the emulator says of the
    /// module.
    fn prepare(&mut self, kernel: Kernel) -> Result<(), Error>;

    /// Puts the operands, guard bands included, into device memory, in place of those of the call before.
    ///
    /// # Errors
    /// Where the device has no room for them, or fails.
    fn upload(&mut self, operands: &Operands) -> Result<(), Error>;

    /// Launches the kernel once on the uploaded operands and waits for it. Nothing is launched when m or n is 0. Returns what
    /// part of C was computed: all of it, or in the emulator a sample of its tiles.
    ///
    /// # Errors
    /// Those of [`prepare`](Self::prepare); [`sgemm::Error::Elements`] where the kernel takes other matrices; where no operands of that
    /// shape are there, the device fails, or the emulator finds a mistake in the kernel ([`Error::Emulated`]);
    /// [`Error::Interrupted`].
    fn run(&mut self, kernel: Kernel, problem: &Problem) -> Result<Coverage, Error>;

    /// As if nothing had run on the operands yet: C is what it was when they were uploaded, and the workspace of the last kernel
    /// is poisoned, but for its flags, which each run leaves as it found them. So what the next run leaves in C, that run wrote,
    /// of what it computed itself.
    ///
    /// # Errors
    /// Where no operands with such a C are there, or the device fails.
    fn restore(&mut self, c: &Matrix) -> Result<(), Error>;

    /// Hands the operands back, guard bands included. They may be gone from device memory then: the next
    /// [`run`](Self::run) needs an [`upload`](Self::upload).
    ///
    /// # Errors
    /// Where there are none, the host has no room for them, or the device fails.
    fn download(&mut self) -> Result<Operands, Error>;

    /// As [`download`](Self::download), of C alone: A and B may be far larger.
    ///
    /// # Errors
    /// Those of [`download`](Self::download).
    fn download_c(&mut self) -> Result<Matrix, Error> {
        self.download().map(|operands| operands.c)
    }

    /// Times `iterations` launches after `warmup` untimed ones, each between its own pair of events with the L2 cache
    /// flushed before it; where times are modelled, each is that of the last [`run`](Self::run) of the kernel on the
    /// problem. Returns milliseconds, one per launch; `launched` is called after each launch, for a progress bar.
    ///
    /// # Errors
    /// Those of [`run`](Self::run); where times are modelled, where the kernel has not run on the problem.
    fn time(
        &mut self,
        kernel: Kernel,
        problem: &Problem,
        warmup: u32,
        iterations: u32,
        launched: &mut dyn FnMut(),
    ) -> Result<Vec<f32>, Error>;
}

#[cfg(test)]
impl Device {
    /// A device as large and as fast as an H200, of some compute capability.
    pub(crate) fn of_capability(compute_capability: (u32, u32)) -> Self {
        Self {
            name: "Test GPU".into(),
            compute_capability,
            sm_count: 132,
            max_clock_mhz: 1980,
            l2_bytes: 0,
            memory_bytes: 0,
            driver: String::new(),
            cuda: String::new(),
            cublas: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use gpu_kernels::{STEPS, Target};

    use super::*;

    #[test]
    fn steps_of_each_target_have_a_model() {
        for (target, model) in [(Target::Sm80, "h200"), (Target::Sm90a, "h200"), (Target::Sm100, "b200")] {
            let step = Step { target, ..STEPS[0] };
            assert_eq!(emulator::model_for(&step).map(|model| model.slug), Some(model));
        }
    }

    #[test]
    fn a_device_that_is_too_old_is_named_with_what_is_needed() {
        let error = Device::of_capability((7, 5)).check_runs(&STEPS[0]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "naive needs compute capability 8.0 or later; Test GPU has 7.5: --backend emulator --model h200 runs it"
        );
        assert_eq!(error.exit_code(), 1);
    }
}
