//! The first thing on the page: the fastest step, how fast it is, and what was verified.

use maud::{Markup, html};
use results::Measurement;
use results::format::{error, percent, tflops, times};

use crate::data::{Data, View};
use crate::together;

/// The fastest step in fp32, and in any arithmetic, of the first run.
pub(crate) fn headline(data: &Data) -> Markup {
    let Some(((_, view), size)) = data.measured().next().zip(data.size) else { return together::headline(data) };
    let fastest = |is_it: fn(&Measurement) -> bool| {
        let rows = view.run.measurements.iter().filter(|row| !row.is_baseline() && row.size() == Some(size));
        rows.filter(|row| is_it(row)).max_by(|a, b| a.gflops.total_cmp(&b.gflops))
    };
    let mut rows: Vec<_> = [fastest(|row| row.precision == "fp32"), fastest(|_| true)].into_iter().flatten().collect();
    rows.dedup_by(|a, b| a.kernel == b.kernel && a.precision == b.precision);
    let cards = rows.iter().zip(["Fastest in IEEE fp32", "Fastest of all"]).map(|(row, what)| {
        let what = if row.precision == "fp32" { "Fastest in IEEE fp32" } else { what };
        card(data, view, row, what)
    });
    html! {
        @if !rows.is_empty() {
            div.headline { @for card in cards { (card) } }
            p.note { (verified(view)) }
        }
    }
}

fn card(data: &Data, view: &View, row: &Measurement, what: &str) -> Markup {
    let size = row.m;
    html! {
        div.card {
            p.what { (what) ": " b { (row.step()) } @if row.precision != "fp32" { " (" (row.precision) ")" } }
            p.speed { b { (tflops(row.gflops)) } " TFLOPS" @if row.modelled { ", modelled," } " at " (size) }
            p {
                @if let Some(share) = row.of_peak() { (percent(share)) " % of peak" }
                @if let Some((ratio, whose)) = beside_cublas(data, view, row) { " · " b { (times(ratio)) " x " (whose) } }
            }
            p { "relative error " (error(row.rel_error)) " against f64" }
        }
    }
}

/// Its speed as a multiple of cuBLAS's: in its own run, or else in the reference.
fn beside_cublas(data: &Data, view: &View, row: &Measurement) -> Option<(f64, &'static str)> {
    if let Some(share) = row.percent_of_cublas {
        return Some((share / 100.0, "cuBLAS"));
    }
    let reference = data.views.iter().find(|other| data.is_reference(other) && other.label != view.label)?;
    let same = reference.run.of(row.step(), &row.precision, row.shape())?;
    let cublas = same.percent_of_cublas.map(|share| 100.0 * same.gflops / share)?;
    Some((row.gflops / cublas, "cuBLAS as measured in the reference"))
}

fn verified(view: &View) -> String {
    let steps = || view.run.measurements.iter().filter(|row| !row.is_baseline());
    let (right, wrong) = (steps().count(), view.failed.len());
    let sampled = if steps().any(|row| row.sampled_blocks.is_some()) {
        " Where only a sample of the blocks ran, all that these computed is verified."
    } else {
        ""
    };
    let wrong = if wrong == 0 { String::new() } else { format!(" {wrong} failed, and are not shown.") };
    format!(
        "Verified against f64, each element of whole rows and the rest by Freivalds' method: {right} results of steps.{wrong}{sampled}"
    )
}
