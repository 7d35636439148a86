//! Where, when and how the figures came about: a column for each run.

use std::collections::BTreeSet;

use results::format::trimmed;
use results::{Accuracy, Counters, Measurement, Run, ShapeTiming, Timeline};

use crate::data::{Data, View, run_mark};
use crate::table::Table;

/// What a record says of where it comes from. What it does not say is not there, or empty.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin<'a> {
    pub(crate) device: &'a str,
    counted_for: Option<&'a str>,
    pub(crate) modelled: bool,
    compute_capability: &'a str,
    sm_count: Option<u32>,
    driver: &'a str,
    cuda: &'a str,
    pub(crate) cublas: Option<&'a str>,
    cublas_math: Option<&'a str>,
    sm_clock_mhz: Option<u32>,
    max_sm_clock_mhz: Option<u32>,
    memory_clock_mhz: Option<u32>,
    power_w: Option<f64>,
    temperature_c: Option<u32>,
    l2: &'a str,
    graphs: Option<bool>,
    pub(crate) date: &'a str,
    pub(crate) commit: &'a str,
    toolchain: Option<&'a str>,
    schema: u32,
}

impl<'a> From<&'a Measurement> for Origin<'a> {
    fn from(row: &'a Measurement) -> Self {
        Self {
            device: &row.device,
            counted_for: None,
            modelled: row.modelled,
            compute_capability: &row.compute_capability,
            sm_count: row.sm_count,
            driver: &row.driver,
            cuda: &row.cuda,
            cublas: row.cublas.as_deref(),
            cublas_math: row.cublas_math.as_deref(),
            sm_clock_mhz: row.sm_clock_mhz,
            max_sm_clock_mhz: row.max_sm_clock_mhz,
            memory_clock_mhz: row.memory_clock_mhz,
            power_w: row.power_w,
            temperature_c: row.temperature_c,
            l2: &row.l2,
            graphs: Some(row.graphs),
            date: &row.date,
            commit: &row.commit,
            toolchain: row.toolchain.as_deref(),
            schema: row.schema,
        }
    }
}

impl<'a> From<&'a ShapeTiming> for Origin<'a> {
    fn from(row: &'a ShapeTiming) -> Self {
        Self {
            device: &row.device,
            compute_capability: &row.compute_capability,
            sm_count: Some(row.sm_count),
            driver: &row.driver,
            cuda: &row.cuda,
            cublas: row.cublas.as_deref(),
            cublas_math: Some(&row.cublas_math),
            sm_clock_mhz: row.sm_clock_mhz,
            max_sm_clock_mhz: Some(row.max_sm_clock_mhz),
            power_w: row.power_w,
            l2: &row.l2,
            graphs: Some(true),
            date: &row.date,
            commit: &row.commit,
            toolchain: row.toolchain.as_deref(),
            schema: row.schema,
            ..Self::default()
        }
    }
}

impl<'a> From<&'a Accuracy> for Origin<'a> {
    fn from(row: &'a Accuracy) -> Self {
        Self {
            device: &row.device,
            compute_capability: &row.compute_capability,
            driver: &row.driver,
            cuda: &row.cuda,
            cublas: row.cublas.as_deref(),
            date: &row.date,
            commit: &row.commit,
            toolchain: row.toolchain.as_deref(),
            schema: row.schema,
            ..Self::default()
        }
    }
}

impl<'a> From<&'a Counters> for Origin<'a> {
    fn from(row: &'a Counters) -> Self {
        Self {
            counted_for: Some(&row.device),
            date: &row.date,
            commit: &row.commit,
            toolchain: row.toolchain.as_deref(),
            schema: row.schema,
            ..Self::default()
        }
    }
}

impl<'a> From<&'a Timeline> for Origin<'a> {
    fn from(row: &'a Timeline) -> Self {
        Self {
            device: &row.device,
            modelled: row.modelled,
            date: &row.date,
            commit: &row.commit,
            schema: row.schema,
            ..Self::default()
        }
    }
}

impl<'a> Origin<'a> {
    /// Of the first record that has times.
    pub(crate) fn first(run: &'a Run) -> Option<Self> {
        let rows = run.measurements.iter().map(Self::from).chain(run.shapes.iter().map(Self::from));
        rows.chain(run.distributed.iter().map(Self::from)).chain(run.timelines.iter().map(Self::from)).next()
    }

    /// Of all records, those that failed among them.
    fn all(view: &'a View) -> Vec<Self> {
        let Run { measurements, distributed, accuracy, counters, shapes, timelines, .. } = &view.run;
        let rows = [measurements, distributed, &view.failed, &view.failed_together].into_iter().flatten();
        let rows = rows.map(Self::from).chain(accuracy.iter().map(Self::from)).chain(counters.iter().map(Self::from));
        rows.chain(shapes.iter().map(Self::from)).chain(timelines.iter().map(Self::from)).collect()
    }
}

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
    let all = Origin::all(view);
    let texts = |of: fn(&Origin) -> Option<String>| {
        let different: BTreeSet<String> = all.iter().filter_map(of).filter(|text| !text.is_empty()).collect();
        different.into_iter().collect::<Vec<_>>().join("; ")
    };
    let numbers = |of: fn(&Origin) -> Option<f64>, unit| range(all.iter().filter_map(of).collect(), unit);
    vec![
        ("File", view.run.name.clone()),
        ("Device", texts(|of| Some(of.device.into()))),
        ("Counted for", texts(|of| of.counted_for.map(Into::into))),
        ("Times", how(view)),
        ("Compute capability", texts(|of| Some(of.compute_capability.into()))),
        ("SMs", texts(|of| of.sm_count.map(|count| count.to_string()))),
        ("Driver", texts(|of| Some(of.driver.into()))),
        ("CUDA", texts(|of| Some(of.cuda.into()))),
        ("cuBLAS", texts(|of| of.cublas.map(Into::into))),
        ("cuBLAS math", texts(|of| of.cublas_math.map(Into::into))),
        ("SM clock", numbers(|of| of.sm_clock_mhz.map(f64::from), "MHz")),
        ("Highest SM clock", numbers(|of| of.max_sm_clock_mhz.map(f64::from), "MHz")),
        ("Memory clock", numbers(|of| of.memory_clock_mhz.map(f64::from), "MHz")),
        ("Power", numbers(|of| of.power_w, "W")),
        ("Temperature", numbers(|of| of.temperature_c.map(f64::from), "°C")),
        ("L2 cache", texts(|of| Some(of.l2.into()))),
        ("CUDA graphs", texts(|of| of.graphs.map(|graphs| if graphs { "yes" } else { "no" }.into()))),
        ("Date (UTC)", dates(&all)),
        ("Commit", texts(|of| Some(of.commit.into()))),
        ("Toolchain", texts(|of| of.toolchain.map(Into::into))),
        ("Records", records(view)),
        ("Schema", texts(|of| Some(of.schema.to_string()))),
    ]
}

fn how(view: &View) -> String {
    let modelled = view.are_modelled().filter(|modelled| *modelled).count();
    match (view.are_modelled().count(), modelled) {
        (0, _) => String::new(),
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
fn dates(all: &[Origin]) -> String {
    let minutes = |date: &str| date.get(..16).unwrap_or(date).replace('T', " ");
    let dates = || all.iter().map(|of| of.date).filter(|date| !date.is_empty());
    match (dates().min().map(minutes), dates().max().map(minutes)) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(first), _) => first,
        _ => String::new(),
    }
}

fn records(view: &View) -> String {
    let run = &view.run;
    let parts = [
        (run.measurements.len() + view.failed.len(), "measurements"),
        (run.distributed.len() + view.failed_together.len(), "of several GPUs"),
        (run.timelines.len(), "of timelines"),
        (run.counters.len(), "of counters"),
        (run.accuracy.len(), "of accuracy"),
        (run.shapes.len(), "of shapes"),
    ];
    let parts: Vec<_> = parts.iter().filter(|part| part.0 > 0).map(|(count, what)| format!("{count} {what}")).collect();
    parts.join(", ")
}
