//! What is known of a device: as much as the choice of a kernel and its plan take.

use gpu_kernels::Step;

use crate::Error;

/// A CUDA device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Device {
    /// Its name as the driver gives it.
    pub name: String,
    /// Compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sm_count: u32,
}

impl Device {
    /// A device of that description.
    #[must_use]
    pub fn new(name: impl Into<String>, compute_capability: (u32, u32), sm_count: u32) -> Self {
        Self { name: name.into(), compute_capability, sm_count }
    }

    /// Whether it has what the step's target asks for.
    #[must_use]
    pub fn runs(&self, step: &Step) -> bool {
        let (major, minor) = self.compute_capability;
        step.target.runs_on(major, minor)
    }

    /// The same as a result.
    ///
    /// # Errors
    /// [`Error::Unsupported`] where it has not.
    pub fn check_runs(&self, step: &Step) -> Result<(), Error> {
        if self.runs(step) {
            return Ok(());
        }
        Err(Error::Unsupported {
            kernel: step.slug,
            needs: step.target.devices(),
            device: self.name.clone(),
            compute_capability: self.compute_capability,
        })
    }
}

#[cfg(test)]
mod tests {
    use gpu_kernels::{STEPS, Target};

    use super::*;

    #[test]
    fn a_step_runs_where_its_target_does() {
        let hopper = Step { slug: "hopper", target: Target::Sm90a, ..STEPS[0] };
        for (capability, baseline_runs, hopper_runs) in [
            ((7, 5), false, false),
            ((8, 0), true, false),
            ((8, 9), true, false),
            ((9, 0), true, true),
            ((10, 0), true, false),
        ] {
            let device = Device::new("Test GPU", capability, 132);
            assert_eq!(device.check_runs(&STEPS[0]).is_ok(), baseline_runs, "{capability:?}");
            assert_eq!(device.runs(&hopper), hopper_runs, "{capability:?}");
        }
    }

    #[test]
    fn a_device_that_is_too_old_is_named_with_what_is_needed() {
        let error = Device::new("Test GPU", (7, 5), 132).check_runs(&STEPS[0]).unwrap_err();
        assert_eq!(error.to_string(), "naive needs compute capability 8.0 or later; Test GPU has 7.5");
    }
}
