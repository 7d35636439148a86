//! What the emulator counts of steps, side by side, whether or not there is a device.

use gpu_kernels::Step;

use super::complain;
use crate::backend::emulator::{EmulatorBackend, Model, model_for};
use crate::cli::progress::{Display, Work};
use crate::cli::request::RunRequest;
use crate::measure::bench::{Progress, Timing};
use crate::output::{self, Records};
use crate::{Error, Kernel, Problem};

/// Counts the steps on each problem.
pub fn counters(request: &RunRequest, steps: &[&'static Step]) -> Result<u8, Error> {
    let problems = request.problems.on(true)?;
    let options = &request.options;
    let mut records = Records::open(request.format, request.json.as_deref())?;
    let mut display = Display::new();
    let piece = |part: usize, problem: &Problem, step: &Step| Work { part, name: step.slug, flops: problem.flops() };
    let pieces = problems.iter().enumerate();
    let pieces = pieces.flat_map(|(part, problem)| steps.iter().map(move |step| piece(part, problem, step)));
    display.expect(pieces.collect(), Timing::default(), options.budget);
    let mut exit_code = 0;
    for problem in &problems {
        let mut counted = Vec::new();
        for &step in steps {
            display.show(Progress::Counting(*problem, Kernel::Step(step)));
            // A step that the device does not run is counted on one that does.
            let runs = |model: &&Model| step.target.runs_on(model.compute_capability.0, model.compute_capability.1);
            let model = Some(options.model).filter(runs).or_else(|| model_for(step)).unwrap_or(options.model);
            let emulator = EmulatorBackend::new(options.ptx.clone(), model, options.budget);
            match emulator.with_stop(display.stop()).count(step, problem) {
                Ok(counters) => {
                    counted.push(counters);
                    records.keep(&counted)?;
                }
                Err(Error::Interrupted) => break,
                Err(error) => exit_code = display.aside(|| complain(&[error], exit_code)),
            }
            display.finish(step.slug, None);
        }
        display.aside(|| records.write(&counted, |_| output::counters(&counted)))?;
        if display.is_interrupted() {
            break;
        }
    }
    Ok(display.end(exit_code, "runs"))
}
