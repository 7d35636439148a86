//! Verifies and times kernels, cuBLAS beside them: what the program does unless it is asked for something else.

use crate::backend::{Backend, Options};
use crate::measure::bench::{self, Comparison};
use crate::measure::kernels::Resolved;
use crate::measure::tables::Table;
use crate::{Error, Problem, output};

use super::{complain, open};
use crate::cli::progress::{Display, Work};
use crate::cli::request::{Measurement, RunRequest};
use crate::output::{Format, Records, Row};

/// Verifies and times the kernels on each problem.
pub fn measure(request: &RunRequest, measurement: &Measurement) -> Result<u8, Error> {
    let Measurement { kernels: selection, timing, table: given, baseline, is_quick } = measurement;
    let mut records = Records::open(request.format, request.json.as_deref())?;
    let mut display = Display::new();
    let options = Options { stop: display.stop(), ..request.options.clone() };
    let budget = options.budget;
    let mut backend = open(request.backend, options)?;
    if let Some(baseline) = baseline {
        let (device, is_modelled) = (&backend.device().name, backend.is_modelled());
        results::check_comparable(baseline, device, is_modelled).map_err(Error::Records)?;
    }
    let problems = request.problems.on(backend.is_modelled())?;
    for reason in selection.left_out(backend.device()) {
        output::complain(&format!("note: left out: {reason}"));
    }
    let table = given.as_ref().unwrap_or_else(|| Table::of(&backend.device().gpu()));
    let resolved: Vec<_> = problems.iter().map(|problem| selection.resolve(backend.device(), problem, table)).collect();
    display.expect(work(&problems, &resolved, backend.as_ref()), *timing, budget);
    let mut exit_code = 0;
    for (part, (problem, Resolved { kernels, chosen })) in problems.iter().zip(resolved).enumerate() {
        display.aside(|| chosen.iter().for_each(|chosen| output::complain(&chosen.to_string())));
        let mut kept = Ok(());
        let mut keep = |rows: &[Row]| kept = std::mem::replace(&mut kept, Ok(())).and_then(|()| records.keep(rows));
        let mut watch = |progress| display.show(progress);
        let comparison = bench::compare_and_keep(backend.as_mut(), &kernels, problem, *timing, &mut watch, &mut keep);
        kept?;
        let is_interrupted = comparison.as_ref().is_ok_and(|comparison| comparison.is_interrupted);
        let failures = match comparison {
            Ok(comparison) => {
                display.aside(|| {
                    if request.format != Format::Table {
                        complain_of_baselines(&comparison);
                    }
                    records.write(&comparison.rows, |is_first| as_table(&comparison, *is_quick, is_first))
                })?;
                comparison.failures
            }
            Err(error) => vec![error],
        };
        exit_code = display.aside(|| complain(&failures, exit_code));
        if is_interrupted {
            break;
        }
        display.leave_part(part);
    }
    Ok(display.end(exit_code, "runs"))
}

/// What is to be run on each problem.
fn work(problems: &[Problem], resolved: &[Resolved], backend: &dyn Backend) -> Vec<Work> {
    let of_problem = |(part, (problem, resolved)): (usize, (&Problem, &Resolved))| {
        let (flops, is_modelled) = (problem.flops(), backend.is_modelled());
        let kernels = bench::in_order(&resolved.kernels).into_iter();
        let runs = kernels.filter(move |kernel| !(is_modelled && kernel.is_library()));
        runs.map(move |kernel| Work { part, name: kernel.name(), flops })
    };
    problems.iter().zip(resolved).enumerate().flat_map(of_problem).collect()
}

/// Says what became of cuBLAS, which a table shows.
fn complain_of_baselines(comparison: &Comparison) {
    if let Some(reason) = &comparison.no_baseline {
        output::complain(&format!("note: no comparison: {reason}"));
    }
    let complain = |error| output::complain(&format!("note: a baseline failed its check: {error}"));
    comparison.failed_baselines.iter().for_each(complain);
}

/// The table, if there is anything in it; an empty line before it if others were before.
fn as_table(comparison: &Comparison, is_quick: bool, is_first: bool) -> String {
    let table = output::table(comparison);
    if table.is_empty() {
        return table;
    }
    let quick =
        if is_quick { "A quick look: leave out --quick for times and samples that can be relied on\n" } else { "" };
    format!("{}{quick}{table}", if is_first { "" } else { "\n" })
}
