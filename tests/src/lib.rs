//! What the workspace's tests share.

use std::time::Duration;

use gpu_kernels::Step;
use host::PtxSource;
use host::backend::emulator::{EmulatorBackend, MODELS, Model, model_for};

pub mod adversary;
#[allow(clippy::missing_errors_doc, reason = "a test fails with what went wrong in the browser")]
pub mod browser;
pub mod conformance;
pub mod contract;
pub mod cpu;
pub mod fused;
pub mod grading;
pub mod launches;
pub mod layouts;
pub mod mutants;
pub mod orders;
pub mod paths;
pub mod rules;

/// The code of the book's chapter on the library.
#[cfg(doctest)]
#[doc = include_str!("../../docs/src/library.md")]
mod library {}

/// The code of the book's chapter on shapes.
#[cfg(doctest)]
#[doc = include_str!("../../docs/src/shapes.md")]
mod shapes {}

/// The code of the book's chapter on batches.
#[cfg(doctest)]
#[doc = include_str!("../../docs/src/batches.md")]
mod batches {}

/// The code of the book's chapter on memory.
#[cfg(doctest)]
#[doc = include_str!("../../docs/src/memory.md")]
mod memory {}

/// The code of the book's chapter on several GPUs.
#[cfg(doctest)]
#[doc = include_str!("../../docs/src/several-gpus.md")]
mod several_gpus {}

/// An emulator of the first device that runs the step. All blocks run where there is no budget; for those that persist the
/// device then has so few SMs that they go on to further tiles of small problems.
#[must_use]
pub fn emulator(step: &Step, ptx: PtxSource, budget: Option<Duration>) -> EmulatorBackend {
    let model = model_for(step).unwrap_or(&MODELS[0]);
    let persists = step.persists() && budget.is_none();
    EmulatorBackend::new(
        ptx,
        if persists { Box::leak(Box::new(Model { sm_count: 2, ..*model })) } else { model },
        budget,
    )
}
