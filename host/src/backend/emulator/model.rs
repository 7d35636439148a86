//! The device that is modelled, and how long a launch would take on it.

use gpu_kernels::Step;
use ptx_emu::device::{DEVICES, Device as Model};
use ptx_emu::model::{self, Prediction};
use ptx_emu::occupancy::{Resources, estimate_registers};
use ptx_emu::{Kernel, Launch, Report};

use crate::Error;
use crate::backend::Device;

/// The device of that slug, in upper or lower case.
///
/// # Errors
/// [`Error::UnknownModel`] where there is none.
pub fn find_model(slug: &str) -> Result<&'static Model, Error> {
    let models = || DEVICES.map(|model| model.slug).join(", ");
    let unknown = || Error::UnknownModel { name: slug.to_owned(), models: models() };
    Model::find(&slug.to_lowercase()).ok_or_else(unknown)
}

/// The first device whose times can be modelled that runs the step; `None` where none does.
#[must_use]
pub fn model_for(step: &Step) -> Option<&'static Model> {
    DEVICES.iter().find(|model| {
        let (major, minor) = model.compute_capability;
        step.target.runs_on(major, minor)
    })
}

/// What a report says about the device.
pub(super) fn describe(model: &Model) -> Device {
    Device {
        name: model.name.to_owned(),
        compute_capability: model.compute_capability,
        sm_count: model.sm_count,
        max_clock_mhz: model.clock_mhz,
        l2_bytes: model.l2_bytes,
        memory_bytes: model.memory_bytes,
        driver: String::new(),
        cuda: String::new(),
        cublas: None,
    }
}

/// What a block takes of an SM of the device.
pub(super) fn needs(kernel: &Kernel, launch: &Launch, model: &Model) -> Resources {
    let threads = launch.block.iter().product();
    let registers = estimate_registers(model, kernel.live_registers(), threads, kernel.bounds());
    Resources { threads, registers, shared_bytes: kernel.shared_bytes() + launch.dynamic_shared_bytes }
}

/// What a launch would come to on the device, from what was counted: the only place where a modelled time comes from.
pub(super) fn predict(name: &str, report: &Report, needs: &Resources, model: &Model) -> Result<Prediction, Error> {
    let too_large = || Error::Emulator {
        what: format!("model {name} on {}", model.name),
        reason: "an SM has not enough threads, registers or shared memory for a block".into(),
    };
    model::predict(model, &report.counters, report.blocks, needs).ok_or_else(too_large)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The emulator knows no other crate, so its units' throughput stands there too.
    #[test]
    fn models_have_the_peaks_that_figures_are_shares_of() {
        let peak = |model: &Model, precision| {
            results::peak_gflops(precision, model.compute_capability, model.sm_count, model.clock_mhz)
        };
        let of = |model: &Model, fmas: f64| 2.0 * fmas * f64::from(model.sm_count) * f64::from(model.clock_mhz) / 1e3;
        let is_near = |one: Option<f64>, other: f64| one.is_some_and(|one| (one / other - 1.0).abs() < 1e-12);
        for model in &DEVICES {
            assert!(is_near(peak(model, "fp32"), of(model, model.fp32_lanes.into())), "{}", model.name);
        }
        // Of the model's devices, this one has the tensor cores that it knows.
        let h200 = find_model("h200").unwrap();
        assert!(is_near(peak(h200, "bf16"), of(h200, model::TENSOR_CORE_FMAS)));
        assert!(is_near(peak(h200, "tf32"), of(h200, model::TENSOR_CORE_FMAS / 2.0)));
    }

    #[test]
    fn models_are_found_by_their_slug() {
        assert_eq!(find_model("H200").unwrap().name, "NVIDIA H200");
        let error = find_model("tpu").unwrap_err();
        assert_eq!((error.exit_code(), error.to_string().contains("h200, h100, a100")), (2, true));
    }
}
