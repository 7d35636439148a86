//! The `host` program: see `host --help`.

mod cli;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;
use gpu_kernels::{STEPS, Step};
use host::accuracy::Inputs;
use host::backend::emulator::{EmulatorBackend, Estimator, Model, model_for};
use host::backend::{self, Backend, BackendChoice, Opened, Options};
use host::bench::{self, Comparison, Progress};
use host::kernels::Resolved;
use host::tuned::Table;
use host::{BASELINES, Error, Kernel, accuracy, explain, kernels, report, tune};

use crate::cli::{Args, Format};
use crate::output::JsonFile;
use crate::progress::Display;

fn main() -> ExitCode {
    let result = match Args::try_parse() {
        Ok(args) if args.list => output::print(&list()).map(|()| 0),
        Ok(args) if args.tune => tune(&args),
        Ok(args) if args.accuracy => accuracy(&args),
        Ok(args) if args.counters => counters(&args),
        Ok(args) => args.explain().and_then(|step| match step {
            Some(step) => explain(&args, step),
            None => run(&args),
        }),
        Err(message) => output::print_clap(&message),
    };
    match result {
        Ok(code) => code.into(),
        Err(error) if output::reader_has_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&format!("error: {error}"));
            error.exit_code().into()
        }
    }
}

/// Runs what the arguments ask for. What the arguments alone can tell wrong is found before a device is touched.
/// Returns the exit code: 1 where a kernel failed while the others went on.
fn run(args: &Args) -> Result<u8, Error> {
    let selection = args.selection()?;
    let problems = args.problems()?;
    let options = args.options()?;
    let given = args.table()?;
    for step in selection.steps() {
        options.ptx.module(step)?;
    }
    let mut json = args.json.as_deref().map(JsonFile::open).transpose()?;

    let mut backend = open(args, options)?;
    for reason in selection.left_out(backend.device()) {
        output::complain(&format!("note: left out: {reason}"));
    }
    let mut display = Display::new();
    let mut exit_code = 0;
    let mut first = true;
    for problem in &problems {
        let table = given.as_ref().or_else(|| Table::of(backend.device()));
        let Resolved { kernels, chosen } = selection.resolve(backend.device(), problem, table);
        for chosen in chosen {
            output::complain(&chosen.to_string());
        }
        let comparison =
            bench::compare(backend.as_mut(), &kernels, problem, args.timing(), &mut |progress| display.show(progress));
        display.clear();
        let failures = match comparison {
            Ok(comparison) => {
                let text = format(&comparison, args.format, first);
                output::print(&text)?;
                first &= text.is_empty();
                if let Some(json) = &mut json {
                    json.write(&report::json_lines(&comparison.rows))?;
                }
                comparison.failures
            }
            Err(error) => vec![error],
        };
        for error in &failures {
            output::complain(&format!("error: {error}"));
            exit_code = exit_code.max(error.exit_code());
        }
    }
    Ok(exit_code)
}

/// Opens the backend that was asked for, and says so where it is not the one that one would expect.
fn open(args: &Args, options: Options) -> Result<Box<dyn Backend>, Error> {
    let Opened { backend, no_cuda } = backend::open(args.backend.into(), options)?;
    if let Some(reason) = no_cuda {
        let reason = match reason {
            Error::NoDriver | Error::NoDevice { .. } => "no CUDA device was found".to_owned(),
            other => other.to_string(),
        };
        let device = &backend.device().name;
        let instead = "the emulator runs the kernels on the CPU, and times are modelled for";
        output::complain(&format!("note: {reason}: {instead} {device}"));
    }
    Ok(backend)
}

/// `--accuracy`: compares errors with SGEMM's. Returns the exit code: 1 where a promise is broken, or a kernel failed.
fn accuracy(args: &Args) -> Result<u8, Error> {
    let selection = args.selection()?;
    selection.kernels().try_for_each(accuracy::check_comparable)?;
    args.accuracy_problems(false)?;
    let options = args.options()?;
    let mut json = args.json.as_deref().map(JsonFile::open).transpose()?;
    let mut backend = open(args, options)?;
    let kinds = if args.inputs.is_empty() { Inputs::ALL.to_vec() } else { args.inputs.clone() };
    let problems = args.accuracy_problems(backend.is_modelled())?;
    if !args.names_kernels() && !accuracy::kernels(backend.device()).into_iter().any(accuracy::promises) {
        let device = &backend.device().name;
        output::complain(&format!("note: no step that {device} runs promises fp32's accuracy in another arithmetic"));
    }

    let mut display = Display::new();
    let (mut all, mut failures, mut no_baseline) = (Vec::new(), Vec::new(), None);
    for problem in &problems {
        let kernels = if args.names_kernels() {
            let table = Table::of(backend.device());
            let mut kernels = selection.resolve(backend.device(), problem, table).kernels;
            kernels.retain(|kernel| accuracy::check_comparable(*kernel).is_ok());
            kernels
        } else {
            accuracy::kernels(backend.device())
        };
        let mut rows = Vec::new();
        for (inputs, number) in kinds.iter().zip(1..) {
            display.set_part(&format!("{}, {number} of {}, ", inputs.name(), kinds.len()));
            let mut watch = |progress| display.show(progress);
            let measured = accuracy::measure(backend.as_mut(), &kernels, *inputs, problem, &mut watch);
            display.clear();
            let measured = measured?;
            rows.extend(measured.rows);
            failures.extend(measured.failures);
            if let (None, Some(reason)) = (&no_baseline, measured.no_baseline) {
                output::complain(&format!("note: {reason}"));
                no_baseline = Some(reason);
            }
        }
        output::print(&match args.format {
            Format::Table => report::accuracy(&rows) + "\n",
            Format::Json => report::json_lines(&rows),
            Format::Csv => report::csv(&rows, all.is_empty()),
        })?;
        if let Some(json) = &mut json {
            json.write(&report::json_lines(&rows))?;
        }
        all.extend(rows);
    }
    if args.format == Format::Table {
        output::print(&report::accuracy_summary(&all))?;
    }
    failures.extend(accuracy::broken_promises(&all));
    failures.iter().for_each(|error| output::complain(&format!("error: {error}")));
    Ok(failures.iter().map(Error::exit_code).max().unwrap_or(0))
}

/// `--tune`: searches the fastest kernel for each problem. Returns the exit code: 1 where a kernel failed.
fn tune(args: &Args) -> Result<u8, Error> {
    let promise = args.precision.unwrap_or_default();
    args.selection()?;
    let problems = args.problems()?;
    let options = args.options()?;
    let ptx = options.ptx.clone();
    let opened = backend::open(BackendChoice::Cuda, options).map_err(|error| match error {
        Error::NoDriver | Error::NoDevice { count: 0, .. } => Error::NothingToTune,
        other => other,
    });
    let mut backend = opened?.backend;
    // Its version stands in the table.
    if let Err(error) = backend.prepare(Kernel::CUBLAS) {
        output::complain(&format!("note: no comparison: {error}"));
    }
    let mut file = tune::Output::open(args.output.as_deref(), backend.device())?;
    let mut estimator = Estimator::new(ptx, backend.device());
    let mut display = Display::new();
    let mut exit_code = 0;
    for (problem, number) in problems.iter().zip(1..) {
        display.set_part(&format!("{number} of {}, ", problems.len()));
        let found =
            tune::search(backend.as_mut(), &mut estimator, problem, promise, &mut |progress| display.show(progress));
        display.clear();
        let failures = match found {
            Ok(found) => {
                file.insert(found.entry, backend.device())?;
                output::print(&format!("{found}\n"))?;
                found.failures
            }
            Err(error) => vec![error],
        };
        for error in &failures {
            output::complain(&format!("error: {error}"));
            exit_code = exit_code.max(error.exit_code());
        }
    }
    output::complain(&format!("table: {}", file.path().display()));
    Ok(exit_code)
}

/// `--explain`: what the emulator counts, whether or not there is a device. Returns the exit code.
fn explain(args: &Args, step: &'static Step) -> Result<u8, Error> {
    let options = args.options()?;
    let mut emulator = EmulatorBackend::new(options.ptx, options.model, options.budget);
    for problem in &args.problems()? {
        let explanation = explain::explain(&mut emulator, step, problem)?;
        output::print(&match args.format {
            Format::Json => report::explanation_json(&explanation),
            Format::Table | Format::Csv => report::explanation(&explanation),
        })?;
    }
    Ok(0)
}

/// `--counters`: what the emulator counts of steps, side by side. Returns the exit code: 1 where a step failed.
fn counters(args: &Args) -> Result<u8, Error> {
    let selection = args.selection()?;
    let problems = args.problems()?;
    let options = args.options()?;
    let steps: Vec<_> =
        if args.names_kernels() { selection.steps().collect() } else { STEPS.iter().collect::<Vec<&Step>>() };
    let mut json = args.json.as_deref().map(JsonFile::open).transpose()?;
    let mut display = Display::new();
    let mut exit_code = 0;
    for problem in &problems {
        let mut counted = Vec::new();
        for step in &steps {
            display.show(Progress::Emulating(Kernel::Step(step)));
            // A step that the device does not run is counted on one that does.
            let runs = |model: &&Model| step.target.runs_on(model.compute_capability.0, model.compute_capability.1);
            let model = Some(options.model).filter(runs).or_else(|| model_for(step)).unwrap_or(options.model);
            let mut emulator = EmulatorBackend::new(options.ptx.clone(), model, options.budget);
            match emulator.count(step, problem) {
                Ok(counters) => counted.push(counters),
                Err(error) => {
                    output::complain(&format!("error: {error}"));
                    exit_code = exit_code.max(error.exit_code());
                }
            }
        }
        display.clear();
        output::print(&match args.format {
            Format::Table => report::counters(&counted),
            Format::Json => report::json_lines(&counted),
            Format::Csv => report::csv(&counted, true),
        })?;
        if let Some(json) = &mut json {
            json.write(&report::json_lines(&counted))?;
        }
    }
    Ok(exit_code)
}

fn format(comparison: &Comparison, format: Format, first: bool) -> String {
    if let (Some(reason), true) = (&comparison.no_baseline, format != Format::Table) {
        output::complain(&format!("note: no comparison: {reason}"));
    }
    match format {
        Format::Table => {
            let table = report::table(comparison);
            if first || table.is_empty() { table } else { format!("\n{table}") }
        }
        Format::Json => report::json_lines(&comparison.rows),
        Format::Csv => report::csv(&comparison.rows, first),
    }
}

/// `--list`: the name first, so that scripts can cut it out.
fn list() -> String {
    let steps = STEPS.iter().map(|step| (step.slug, step.summary));
    let baselines = BASELINES.iter().map(|baseline| (baseline.name, baseline.summary));
    let names: Vec<_> = steps.chain(baselines).chain(kernels::GROUPS).collect();
    let width = names.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    names.iter().map(|(name, summary)| format!("{name:width$}  {summary}\n")).collect()
}
