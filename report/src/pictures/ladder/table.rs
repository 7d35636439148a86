//! The figures of the ladder: of one run the table of the README, of several a column for each.

use results::format::{tflops, times};
use results::{Measurement, Run, compare};

use crate::data::{Data, Entry, View, run_mark};
use crate::table::Table;

pub(super) fn table(data: &Data, size: u32) -> Table {
    let runs: Vec<_> = data.measured().collect();
    let Some((&(first, reference), others)) = runs.split_first() else { return Table::default() };
    if others.is_empty() {
        return reference.ladder(data.peers).as_ref().map(Table::of_ladder).unwrap_or_default();
    }
    let mut columns = vec!["Step".to_owned(), "Precision".to_owned()];
    columns.extend(runs.iter().map(|(i, view)| {
        let role = data.role(view);
        format!("{}: TFLOPS at {size}{role}", run_mark(*i))
    }));
    columns.extend(others.iter().map(|(i, _)| format!("{} over {}", run_mark(*i), run_mark(first))));
    let verdicts: Vec<_> =
        others.iter().filter_map(|(i, view)| Some((*i, compare(&whole(reference), &whole(view)).ok()?))).collect();
    columns.extend(verdicts.iter().map(|(i, _)| format!("{}, all sizes", run_mark(*i))));
    let mut table = Table::new(2, columns);
    for entry in &data.entries {
        let rows: Vec<_> = runs.iter().map(|(_, view)| data.row(view, entry)).collect();
        if rows.iter().all(Option::is_none) {
            continue;
        }
        let mut line = vec![name(entry), entry.precision.clone()];
        line.extend(rows.iter().map(|row| row.map_or_else(|| "-".into(), speed)));
        line.extend(rows.iter().skip(1).map(|row| {
            let ratio = row.zip(rows[0]).map(|(row, first)| format!("{} x", times(row.gflops / first.gflops)));
            ratio.unwrap_or_else(|| "-".into())
        }));
        for (_, changes) in &verdicts {
            let change = changes.iter().find(|step| step.step == entry.slug && step.precision == entry.precision);
            line.push(change.map_or_else(|| "-".into(), |step| step.verdict().name().to_owned()));
        }
        table.lines.push(line);
    }
    table
}

/// The run with the rows that are not shown: a comparison says that they are wrong.
fn whole(view: &View) -> Run {
    let mut run = view.run.clone();
    run.measurements.extend(view.failed.iter().cloned());
    run
}

fn name(entry: &Entry) -> String {
    if entry.is_baseline { "cuBLAS".into() } else { entry.slug.clone() }
}

fn speed(row: &Measurement) -> String {
    tflops(row.gflops)
}
