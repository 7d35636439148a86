//! What the emulator counts, whether or not there is a device.

use gpu_kernels::{STEPS, Step};
use host::backend::emulator::{EmulatorBackend, Model, model_for};
use host::bench::Progress;
use host::{Error, Kernel, Problem, explain, report};

use super::complain;
use crate::cli::{Args, Format};
use crate::output::{self, JsonFile};
use crate::progress::{Display, Work};

/// `--explain`: what the emulator counts, whether or not there is a device. Returns the exit code.
pub fn explain(args: &Args, step: &'static Step) -> Result<u8, Error> {
    let options = args.options()?;
    let stop = Display::new().stop();
    let mut emulator = EmulatorBackend::new(options.ptx, options.model, options.budget).with_stop(stop);
    for problem in &args.problems(true)? {
        let explanation = explain::explain(&mut emulator, step, problem)?;
        output::print(&match args.format {
            Format::Json => report::explanation_json(&explanation),
            Format::Table | Format::Csv => report::explanation(&explanation),
        })?;
    }
    Ok(0)
}

/// `--counters`: what the emulator counts of steps, side by side. Returns the exit code: 1 where a step failed.
pub fn counters(args: &Args) -> Result<u8, Error> {
    let selection = args.selection()?;
    let problems = args.problems(true)?;
    let options = args.options()?;
    let steps: Vec<_> =
        if args.names_kernels() { selection.steps().collect() } else { STEPS.iter().collect::<Vec<&Step>>() };
    let mut json = args.json.as_deref().map(JsonFile::open).transpose()?;
    let mut display = Display::new();
    let piece = |part: usize, problem: &Problem, step: &Step| Work { part, name: step.slug, flops: problem.flops() };
    let pieces = problems.iter().enumerate();
    let pieces = pieces.flat_map(|(part, problem)| steps.iter().map(move |step| piece(part, problem, step)));
    display.expect(pieces.collect(), args.timing(), options.budget);
    let (mut exit_code, mut first) = (0, true);
    for problem in &problems {
        let mut counted = Vec::new();
        for step in &steps {
            display.show(Progress::Counting(*problem, Kernel::Step(step)));
            // A step that the device does not run is counted on one that does.
            let runs = |model: &&Model| step.target.runs_on(model.compute_capability.0, model.compute_capability.1);
            let model = Some(options.model).filter(runs).or_else(|| model_for(step)).unwrap_or(options.model);
            let emulator = EmulatorBackend::new(options.ptx.clone(), model, options.budget);
            match emulator.with_stop(display.stop()).count(step, problem) {
                Ok(counters) => counted.push(counters),
                Err(Error::Interrupted) => break,
                Err(error) => exit_code = display.aside(|| complain(&[error], exit_code)),
            }
            display.finish(step.slug, None);
        }
        let text = match args.format {
            Format::Table => report::counters(&counted),
            Format::Json => report::json_lines(&counted),
            Format::Csv => report::csv(&counted, first),
        };
        display.aside(|| output::print(&text))?;
        first &= counted.is_empty();
        if let Some(json) = &mut json {
            json.write(&report::json_lines(&counted))?;
        }
        if display.is_interrupted() {
            break;
        }
    }
    Ok(display.end(exit_code, "runs"))
}
