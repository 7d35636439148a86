//! What the emulator counts of a step beside its base, whether or not there is a device.

use gpu_kernels::Step;

use crate::Error;
use crate::backend::emulator::EmulatorBackend;
use crate::cli::progress::Display;
use crate::cli::request::RunRequest;
use crate::measure::explain;
use crate::output::{self, Format};

/// Explains the step on each problem.
pub fn explain(request: &RunRequest, step: &'static Step) -> Result<u8, Error> {
    let options = request.options.clone();
    let stop = Display::new().stop();
    let mut emulator = EmulatorBackend::new(options.ptx, options.model, options.budget).with_stop(stop);
    for problem in &request.problems.on(true)? {
        let explanation = explain::explain(&mut emulator, step, problem)?;
        output::print(&match request.format {
            Format::Json => output::explanation_json(&explanation),
            Format::Table | Format::Csv => output::explanation(&explanation),
        })?;
    }
    Ok(0)
}
