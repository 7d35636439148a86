//! What the workspace's tests share.

use std::time::Duration;

use gpu_kernels::Step;
use host::PtxSource;
use host::backend::emulator::{EmulatorBackend, MODELS, model_for};

pub mod conformance;
pub mod contract;
pub mod cpu;
pub mod launches;

/// An emulator of the first device that runs the step. All blocks run where there is no budget.
#[must_use]
pub fn emulator(step: &Step, ptx: PtxSource, budget: Option<Duration>) -> EmulatorBackend {
    EmulatorBackend::new(ptx, model_for(step).unwrap_or(&MODELS[0]), budget)
}
