//! Where, when and how the figures came about: a column for each run.

use std::collections::BTreeSet;

use results::Run;
use results::format::trimmed;

use crate::data::{Data, View, run_mark};
use crate::table::Table;

/// The table of all runs.
pub(crate) fn table(data: &Data) -> Table {
    let heads = data.views.iter().enumerate().map(|(i, view)| {
        if data.views.len() == 1 { view.label.clone() } else { format!("{}: {}", run_mark(i), view.label) }
    });
    let mut table = Table::new(1 + data.views.len(), std::iter::once(String::new()).chain(heads));
    let facts: Vec<Vec<(&str, String)>> = data.views.iter().map(facts).collect();
    for (i, (name, _)) in facts.first().into_iter().flatten().enumerate() {
        let values: Vec<_> = facts.iter().map(|facts| facts[i].1.clone()).collect();
        if values.iter().any(|value| !value.is_empty()) {
            let dash = |value: String| if value.is_empty() { "-".to_owned() } else { value };
            table.lines.push(std::iter::once((*name).to_owned()).chain(values.into_iter().map(dash)).collect());
        }
    }
    table
}

fn facts(view: &View) -> Vec<(&'static str, String)> {
    let rows = Rows(&view.run, &view.failed);
    let clock = |values: Vec<f64>| range(values, "MHz");
    vec![
        ("File", view.run.name.clone()),
        (
            "Device",
            rows.texts(|r| Some(r.device.clone()), |a| Some(a.device.clone()), |_| None, |s| Some(s.device.clone())),
        ),
        ("Counted for", rows.texts(|_| None, |_| None, |c| Some(c.device.clone()), |_| None)),
        ("Times", how(view)),
        (
            "Compute capability",
            rows.texts(
                |r| Some(r.compute_capability.clone()),
                |a| Some(a.compute_capability.clone()),
                |_| None,
                |s| Some(s.compute_capability.clone()),
            ),
        ),
        (
            "SMs",
            rows.texts(
                |r| r.sm_count.map(|count| count.to_string()),
                |_| None,
                |_| None,
                |s| Some(s.sm_count.to_string()),
            ),
        ),
        (
            "Driver",
            rows.texts(|r| Some(r.driver.clone()), |a| Some(a.driver.clone()), |_| None, |s| Some(s.driver.clone())),
        ),
        ("CUDA", rows.texts(|r| Some(r.cuda.clone()), |a| Some(a.cuda.clone()), |_| None, |s| Some(s.cuda.clone()))),
        ("cuBLAS", rows.texts(|r| r.cublas.clone(), |a| a.cublas.clone(), |_| None, |s| s.cublas.clone())),
        ("cuBLAS math", rows.texts(|r| r.cublas_math.clone(), |_| None, |_| None, |s| Some(s.cublas_math.clone()))),
        ("SM clock", clock(rows.numbers(|r| r.sm_clock_mhz.map(f64::from), |s| s.sm_clock_mhz.map(f64::from)))),
        (
            "Highest SM clock",
            clock(rows.numbers(|r| r.max_sm_clock_mhz.map(f64::from), |s| Some(s.max_sm_clock_mhz.into()))),
        ),
        ("Memory clock", clock(rows.numbers(|r| r.memory_clock_mhz.map(f64::from), |_| None))),
        ("Power", range(rows.numbers(|r| r.power_w, |s| s.power_w), "W")),
        ("Temperature", range(rows.numbers(|r| r.temperature_c.map(f64::from), |_| None), "°C")),
        ("L2 cache", rows.texts(|r| Some(r.l2.clone()), |_| None, |_| None, |s| Some(s.l2.clone()))),
        (
            "CUDA graphs",
            rows.texts(
                |r| Some(if r.graphs { "yes" } else { "no" }.into()),
                |_| None,
                |_| None,
                |_| Some("yes".into()),
            ),
        ),
        (
            "Date (UTC)",
            dates(rows.all(
                |r| Some(r.date.clone()),
                |a| Some(a.date.clone()),
                |c| Some(c.date.clone()),
                |s| Some(s.date.clone()),
            )),
        ),
        (
            "Commit",
            rows.texts(
                |r| Some(r.commit.clone()),
                |a| Some(a.commit.clone()),
                |c| Some(c.commit.clone()),
                |s| Some(s.commit.clone()),
            ),
        ),
        (
            "Toolchain",
            rows.texts(
                |r| r.toolchain.clone(),
                |a| a.toolchain.clone(),
                |c| c.toolchain.clone(),
                |s| s.toolchain.clone(),
            ),
        ),
        ("Records", records(&view.run, view.failed.len())),
        (
            "Schema",
            rows.texts(
                |r| Some(r.schema.to_string()),
                |a| Some(a.schema.to_string()),
                |c| Some(c.schema.to_string()),
                |s| Some(s.schema.to_string()),
            ),
        ),
    ]
}

/// The records of a run, those that failed among them.
struct Rows<'a>(&'a Run, &'a [results::Measurement]);

impl Rows<'_> {
    fn all(
        &self,
        measurement: impl Fn(&results::Measurement) -> Option<String>,
        accuracy: impl Fn(&results::Accuracy) -> Option<String>,
        counters: impl Fn(&results::Counters) -> Option<String>,
        shape: impl Fn(&results::ShapeTiming) -> Option<String>,
    ) -> BTreeSet<String> {
        let measured = self.0.measurements.iter().chain(self.1).filter_map(measurement);
        let others = self.0.accuracy.iter().filter_map(accuracy).chain(self.0.counters.iter().filter_map(counters));
        let others = others.chain(self.0.shapes.iter().filter_map(shape));
        measured.chain(others).filter(|text| !text.is_empty()).collect()
    }

    /// All different texts, one after another.
    fn texts(
        &self,
        measurement: impl Fn(&results::Measurement) -> Option<String>,
        accuracy: impl Fn(&results::Accuracy) -> Option<String>,
        counters: impl Fn(&results::Counters) -> Option<String>,
        shape: impl Fn(&results::ShapeTiming) -> Option<String>,
    ) -> String {
        self.all(measurement, accuracy, counters, shape).into_iter().collect::<Vec<_>>().join("; ")
    }

    fn numbers(
        &self,
        measurement: impl Fn(&results::Measurement) -> Option<f64>,
        shape: impl Fn(&results::ShapeTiming) -> Option<f64>,
    ) -> Vec<f64> {
        let measured = self.0.measurements.iter().chain(self.1).filter_map(measurement);
        measured.chain(self.0.shapes.iter().filter_map(shape)).collect()
    }
}

fn how(view: &View) -> String {
    let rows = &view.run.measurements;
    let modelled = rows.iter().filter(|row| row.modelled).count();
    match (rows.len(), modelled) {
        (0, _) if view.run.shapes.is_empty() => String::new(),
        (_, 0) => "measured".into(),
        (all, modelled) if all == modelled => "modelled by the emulator, not measured".into(),
        _ => "measured, but for those labelled modelled".into(),
    }
}

fn range(values: Vec<f64>, unit: &str) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // Clocks are names of settings: they stand as they are.
    let text = |value: f64| if value >= 1000.0 { format!("{value:.0}") } else { trimmed(value) };
    match values.len() {
        0 => String::new(),
        _ if text(least) == text(most) => format!("{} {unit}", text(least)),
        _ => format!("{} to {} {unit}", text(least), text(most)),
    }
}

/// The first and the last.
fn dates(all: BTreeSet<String>) -> String {
    let minutes = |date: &String| date.get(..16).unwrap_or(date).replace('T', " ");
    match (all.first().map(minutes), all.last().map(minutes)) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(first), _) => first,
        _ => String::new(),
    }
}

fn records(run: &Run, failed: usize) -> String {
    let parts = [
        (run.measurements.len() + failed, "measurements"),
        (run.counters.len(), "of counters"),
        (run.accuracy.len(), "of accuracy"),
        (run.shapes.len(), "of shapes"),
    ];
    let parts: Vec<_> = parts.iter().filter(|part| part.0 > 0).map(|(count, what)| format!("{count} {what}")).collect();
    parts.join(", ")
}
