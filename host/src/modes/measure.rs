//! Verifies and times kernels, cuBLAS beside them: what the program does unless it is asked for something else.

use host::backend::{Backend, Options};
use host::bench::{self, Comparison};
use host::kernels::Resolved;
use host::tuned::Table;
use host::{Error, Problem, report};

use super::{complain, open};
use crate::cli::{Args, Format};
use crate::output::{self, JsonFile};
use crate::progress::{Display, Work};

/// Runs what the arguments ask for. What the arguments alone can tell wrong is found before a device is touched.
/// Returns the exit code: 1 where a kernel failed while the others went on.
pub fn measure(args: &Args) -> Result<u8, Error> {
    let selection = args.selection()?;
    let runs = selection.most() * args.problems(true)?.len();
    let mut options = args.options()?;
    let given = args.table()?;
    for step in selection.steps() {
        options.ptx.module(step)?;
    }
    let mut json = args.json.as_deref().map(JsonFile::open).transpose()?;

    let mut display = Display::new();
    options.stop = display.stop();
    let budget = args.budget(&options, runs);
    let mut backend = open(args, Options { budget, ..options })?;
    let problems = args.problems(backend.is_modelled())?;
    for reason in selection.left_out(backend.device()) {
        output::complain(&format!("note: left out: {reason}"));
    }
    let table = given.as_ref().or_else(|| Table::of(backend.device()));
    let resolved: Vec<_> = problems.iter().map(|problem| selection.resolve(backend.device(), problem, table)).collect();
    display.expect(work(&problems, &resolved, backend.as_ref()), args.timing(), budget);
    let mut exit_code = 0;
    let mut first = true;
    for (part, (problem, Resolved { kernels, chosen })) in problems.iter().zip(resolved).enumerate() {
        display.aside(|| chosen.iter().for_each(|chosen| output::complain(&chosen.to_string())));
        let comparison =
            bench::compare(backend.as_mut(), &kernels, problem, args.timing(), &mut |progress| display.show(progress));
        let is_interrupted = comparison.as_ref().is_ok_and(|comparison| comparison.is_interrupted);
        let failures = match comparison {
            Ok(comparison) => {
                first &= !display.aside(|| show(&comparison, args, first))?;
                if let Some(json) = &mut json {
                    json.write(&report::json_lines(&comparison.rows))?;
                }
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

/// Prints what was found on one problem. Returns whether there was anything.
fn show(comparison: &Comparison, args: &Args, first: bool) -> Result<bool, Error> {
    if let (Some(reason), true) = (&comparison.no_baseline, args.format != Format::Table) {
        output::complain(&format!("note: no comparison: {reason}"));
    }
    let text = match args.format {
        Format::Table => table(comparison, args.quick, first),
        Format::Json => report::json_lines(&comparison.rows),
        Format::Csv => report::csv(&comparison.rows, first),
    };
    output::print(&text)?;
    Ok(!text.is_empty())
}

/// The table, if there is anything in it; an empty line before it if others were before.
fn table(comparison: &Comparison, is_quick: bool, first: bool) -> String {
    let table = report::table(comparison);
    if table.is_empty() {
        return table;
    }
    let quick =
        if is_quick { "A quick look: leave out --quick for times and samples that can be relied on\n" } else { "" };
    format!("{}{quick}{table}", if first { "" } else { "\n" })
}
