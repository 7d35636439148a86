//! Compares errors with SGEMM's.

use host::accuracy::{self, Inputs};
use host::backend::Backend;
use host::kernels::Selection;
use host::tuned::Table;
use host::{Error, Kernel, Problem, report};

use super::{complain, open};
use crate::cli::{Args, Format};
use crate::output::{self, JsonFile};
use crate::progress::{Display, Work};

/// `--accuracy`: compares errors with SGEMM's. Returns the exit code: 1 where a promise is broken, or a kernel failed.
pub fn accuracy(args: &Args) -> Result<u8, Error> {
    let selection = args.selection()?;
    selection.kernels().try_for_each(accuracy::check_comparable)?;
    args.accuracy_problems(false)?;
    let mut options = args.options()?;
    let mut json = args.json.as_deref().map(JsonFile::open).transpose()?;
    let mut display = Display::new();
    options.stop = display.stop();
    let mut backend = open(args, options)?;
    let kinds = if args.inputs.is_empty() { Inputs::ALL.to_vec() } else { args.inputs.clone() };
    let problems = args.accuracy_problems(backend.is_modelled())?;
    if !args.names_kernels() && !accuracy::kernels(backend.device()).into_iter().any(accuracy::promises) {
        let device = &backend.device().name;
        output::complain(&format!("note: no step that {device} runs promises fp32's accuracy in another arithmetic"));
    }

    let resolved: Vec<_> =
        problems.iter().map(|problem| kernels(args, &selection, backend.as_ref(), problem)).collect();
    display.expect(work(&problems, &resolved, kinds.len(), backend.as_ref()), args.timing(), None);
    let (mut all, mut failures, mut no_baseline) = (Vec::new(), Vec::new(), None);
    for (problem, kernels) in problems.iter().zip(&resolved) {
        let mut rows = Vec::new();
        for (inputs, number) in kinds.iter().zip(1..) {
            display.set_part(&format!("{}, {number} of {}, ", inputs.name(), kinds.len()));
            let mut watch = |progress| display.show(progress);
            let measured = accuracy::measure(backend.as_mut(), kernels, *inputs, problem, &mut watch)?;
            rows.extend(measured.rows);
            failures.extend(measured.failures);
            if let (None, Some(reason)) = (&no_baseline, measured.no_baseline) {
                display.aside(|| output::complain(&format!("note: {reason}")));
                no_baseline = Some(reason);
            }
            if measured.is_interrupted {
                break;
            }
        }
        let text = match args.format {
            Format::Table => report::accuracy(&rows) + "\n",
            Format::Json => report::json_lines(&rows),
            Format::Csv => report::csv(&rows, all.is_empty()),
        };
        display.aside(|| output::print(&text))?;
        if let Some(json) = &mut json {
            json.write(&report::json_lines(&rows))?;
        }
        all.extend(rows);
        if display.is_interrupted() {
            break;
        }
    }
    if args.format == Format::Table {
        display.aside(|| output::print(&report::accuracy_summary(&all)))?;
    }
    failures.extend(accuracy::broken_promises(&all));
    let exit_code = display.aside(|| complain(&failures, 0));
    Ok(display.end(exit_code, "runs"))
}

/// The kernels to compare on the problem: those that were named, or those that promise something.
fn kernels(args: &Args, selection: &Selection, backend: &dyn Backend, problem: &Problem) -> Vec<Kernel> {
    if !args.names_kernels() {
        return accuracy::kernels(backend.device());
    }
    let table = Table::of(backend.device());
    let mut kernels = selection.resolve(backend.device(), problem, table).kernels;
    kernels.retain(|kernel| accuracy::check_comparable(*kernel).is_ok());
    kernels
}

/// What is to be run: the kernels of each problem, once for each kind of inputs.
fn work(problems: &[Problem], resolved: &[Vec<Kernel>], kinds: usize, backend: &dyn Backend) -> Vec<Work> {
    let of_problem = |(part, (problem, kernels)): (usize, (&Problem, &Vec<Kernel>))| {
        let runs = kernels.iter().filter(|kernel| !(backend.is_modelled() && kernel.is_library()));
        let pieces: Vec<_> = runs.map(|kernel| Work { part, name: kernel.name(), flops: problem.flops() }).collect();
        std::iter::repeat_n(pieces, kinds).flatten()
    };
    problems.iter().zip(resolved).enumerate().flat_map(of_problem).collect()
}
