//! Compares errors with SGEMM's.

use super::{complain, open};
use crate::backend::{Backend, Options};
use crate::cli::progress::{Display, Work};
use crate::cli::request::{RunRequest, Study};
use crate::measure::accuracy;
use crate::measure::bench::Timing;
use crate::measure::kernels::Selection;
use crate::measure::tables::Table;
use crate::output::{self, Format, Records};
use crate::{Error, Kernel, Problem};

/// Compares the kernels on each problem and kind of inputs. The exit code is 1 too where a kernel's errors are larger than its
/// accuracy class admits.
pub fn accuracy(request: &RunRequest, study: &Study) -> Result<u8, Error> {
    let Study { kernels: selection, inputs: kinds } = study;
    let mut records = Records::open(request.format, request.json.as_deref())?;
    let mut display = Display::new();
    let mut backend = open(request.backend, Options { stop: display.stop(), ..request.options.clone() })?;
    let problems = request.problems.on(backend.is_modelled())?;
    if selection.is_none() && !accuracy::kernels(backend.device()).into_iter().any(accuracy::is_fp32_class) {
        let device = &backend.device().name;
        output::complain(&format!("note: no step that {device} runs is of accuracy class fp32 in another arithmetic"));
    }

    let of = |problem| kernels(selection.as_ref(), backend.as_ref(), problem);
    let resolved: Vec<_> = problems.iter().map(of).collect();
    display.expect(work(&problems, &resolved, kinds.len(), backend.as_ref()), Timing::default(), None);
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
            records.keep(&rows)?;
            if measured.is_interrupted {
                break;
            }
        }
        display.aside(|| records.write(&rows, |_| output::accuracy(&rows) + "\n"))?;
        all.extend(rows);
        if display.is_interrupted() {
            break;
        }
    }
    if request.format == Format::Table {
        display.aside(|| output::print(&output::accuracy_summary(&all)))?;
    }
    failures.extend(accuracy::outside_class(&all));
    let exit_code = display.aside(|| complain(&failures, 0));
    Ok(display.end(exit_code, "runs"))
}

/// The kernels to compare on the problem: those that were named, or those of a class that is to be shown.
fn kernels(selection: Option<&Selection>, backend: &dyn Backend, problem: &Problem) -> Vec<Kernel> {
    let Some(selection) = selection else { return accuracy::kernels(backend.device()) };
    let table = Table::of(&backend.device().gpu());
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
