//! The device that is modelled, and how long a launch would take on it.

use gpu_kernels::Step;
use ptx_emu::device::{DEVICES, Device as Model};
use ptx_emu::model::{self, Prediction};
use ptx_emu::occupancy::{Resources, estimate_registers};
use ptx_emu::{Kernel, Report};

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

/// What a launch would come to on the device, from what was counted: the only place where a modelled time comes from.
pub(super) fn predict(
    kernel: &Kernel,
    step: &Step,
    report: &Report,
    model: &Model,
) -> Result<(Resources, Prediction), Error> {
    let threads = step.threads();
    let registers = estimate_registers(model, kernel.live_registers(), threads, kernel.bounds());
    let shared_bytes = kernel.shared_bytes() + step.dynamic_smem_bytes;
    let needs = Resources { threads, registers, shared_bytes };
    let too_large = || Error::Emulator {
        what: format!("model {} on {}", step.slug, model.name),
        reason: "a multiprocessor has not enough threads, registers or shared memory for a block".into(),
    };
    let prediction = model::predict(model, &report.counters, report.blocks, &needs).ok_or_else(too_large)?;
    Ok((needs, prediction))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_their_slug() {
        assert_eq!(find_model("H200").unwrap().name, "NVIDIA H200");
        let error = find_model("tpu").unwrap_err();
        assert_eq!((error.exit_code(), error.to_string().contains("h200, a100")), (2, true));
    }
}
