//! Products over several GPUs: how fast they were, and what each GPU did over time.

use maud::{Markup, html};
use results::Measurement;
use results::format::{error, or_dash, percent, significant, tflops};

use crate::data::{Data, View, run_mark};
use crate::picture::Picture;
use crate::table::Table;

/// The section of the page; nothing where no run has any.
pub(crate) fn section(data: &Data, timelines: &[&Picture]) -> Markup {
    let has_rows = rows(data).next().is_some();
    html! {
        @if data.views.iter().any(View::has_together) {
            section #several-gpus {
                h2 { "Several GPUs" }
                @if has_rows {
                    p.note { (note(data)) }
                    (table(data).html("Several GPUs"))
                }
                @for picture in timelines {
                    div id=(picture.name) class={ "picture " (picture.name) } {
                        h3 { (picture.title) }
                        p.note { (picture.note) }
                        p.note { (picture.source) "." }
                        figure { (picture.inline()) }
                        (picture.details())
                    }
                }
            }
        }
    }
}

/// The fastest product of all; nothing where none was timed.
pub(crate) fn headline(data: &Data) -> Markup {
    let fastest = rows(data).map(|(_, row)| row).max_by(|one, other| one.gflops.total_cmp(&other.gflops));
    html! {
        @if let Some(row) = fastest {
            div.headline {
                div.card {
                    p.what { "Fastest over " b { (gpus(row)) } " (" (row.precision) ")" }
                    p.speed { b { (tflops(row.gflops)) } " TFLOPS" @if row.modelled { ", modelled," } " at " (shape(row)) }
                    p {
                        @if let Some(share) = row.of_peak() { (percent(share)) " % of the peak of all" }
                        @if let Some(efficiency) = row.efficiency { " · " b { (percent(100.0 * efficiency)) } " % efficiency" }
                    }
                    p { "relative error " (error(row.rel_error)) " against f64" }
                }
            }
        }
    }
}

/// The rows of all runs, with the places of these.
fn rows<'a>(data: &'a Data) -> impl Iterator<Item = (usize, &'a Measurement)> {
    let of = |(i, view): (usize, &'a View)| view.run.distributed.iter().map(move |row| (i, row));
    data.views.iter().enumerate().flat_map(of)
}

fn note(data: &Data) -> String {
    let mut note =
        "Efficiency is the speed of all GPUs over that of as many, each as fast as one alone in the same run."
            .to_owned();
    if rows(data).all(|(_, row)| row.modelled) {
        note += " All times are modelled: the emulator ran the products.";
    }
    note
}

fn table(data: &Data) -> Table {
    let is_mixed =
        |is: fn(&Measurement) -> bool| rows(data).any(|(_, row)| is(row)) && rows(data).any(|(_, row)| !is(row));
    let (has_runs, has_how) = (data.views.len() > 1, is_mixed(|row| row.modelled));
    let optional = [(has_runs, "Run"), (has_how, "Times")].into_iter().filter(|(is_there, _)| *is_there);
    let texts = ["m x n x k", "Precision", "Scheme", "Kernel"].into_iter().chain(optional.map(|(_, name)| name));
    let texts: Vec<_> = texts.collect();
    let numbers = ["GPUs", "ms", "TFLOPS", "Efficiency, %", "of peak, %", "rel. error"];
    let mut table = Table::new(texts.len(), texts.into_iter().chain(numbers));
    for (view, row) in rows(data) {
        let mut line =
            vec![shape(row), row.precision.clone(), row.scheme.clone().unwrap_or_default(), row.kernel.clone()];
        line.extend(has_runs.then(|| run_mark(view)));
        line.extend(has_how.then(|| if row.modelled { "modelled" } else { "measured" }.to_owned()));
        line.extend([
            row.gpus.unwrap_or(1).to_string(),
            significant(row.time_ms),
            tflops(row.gflops),
            or_dash(row.efficiency, |efficiency| percent(100.0 * efficiency)),
            or_dash(row.of_peak(), percent),
            error(row.rel_error),
        ]);
        table.lines.push(line);
    }
    table
}

fn gpus(row: &Measurement) -> String {
    let count = row.gpus.unwrap_or(1);
    if count == 1 { "1 GPU".to_owned() } else { format!("{count} GPUs") }
}

fn shape(row: &Measurement) -> String {
    let [m, n, k] = row.shape();
    row.size().map_or_else(|| format!("{m} x {n} x {k}"), |size| size.to_string())
}
