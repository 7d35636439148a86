//! What the emulator counts and predicts of public kernels, beside what a GPU did.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use results::format::significant;
use results::{Metric, Tolerance};
use serde::Deserialize;

use super::markdown::table;
use crate::workspace::root;

/// Both figures of each kernel.
const FILE: &str = "tests/data/ncu-h100-public.json";

/// Metrics that are estimates, and have columns of their own.
const ESTIMATES: [&str; 2] = ["machine_instructions", "registers"];

#[derive(Deserialize)]
struct Recorded {
    device: String,
    driver: String,
    tool: String,
    date: String,
    compilers: String,
    times: String,
    rows: Vec<Kernel>,
}

#[derive(Deserialize)]
struct Kernel {
    what: String,
    time_ms: f64,
    predicted_ms: f64,
    measured: BTreeMap<String, f64>,
    emulator: BTreeMap<String, f64>,
}

impl Kernel {
    /// The emulator's figure and the hardware's.
    fn both(&self, key: &str) -> Result<[f64; 2]> {
        let of = |figures: &BTreeMap<String, f64>| figures.get(key).copied();
        let figures = of(&self.emulator).zip(of(&self.measured));
        let (ours, theirs) = figures.with_context(|| format!("{FILE}: {} has no {key}", self.what))?;
        Ok([ours, theirs])
    }

    /// Of the counts that are the same by definition, the difference of the one that is furthest off: a share of the hardware's.
    fn furthest(&self) -> Result<f64> {
        let mut furthest = 0.0;
        for key in self.measured.keys().filter(|key| !ESTIMATES.contains(&key.as_str())) {
            let metric = Metric::find(key).with_context(|| format!("{FILE}: `{key}` is no metric"))?;
            let [ours, theirs] = self.both(key)?;
            if metric.tolerance != Tolerance::Comparable && ours != theirs {
                furthest = f64::max(furthest, (ours / theirs - 1.0).abs());
            }
        }
        Ok(furthest)
    }

    fn cells(&self) -> Result<[String; 6]> {
        let furthest = match self.furthest()? {
            0.0 => "equal".to_owned(),
            share => format!("off by {:.1} %", 100.0 * share),
        };
        let [our_instructions, instructions] = self.both("machine_instructions")?;
        let [our_registers, registers] = self.both("registers")?;
        let Self { what, time_ms, predicted_ms, .. } = self;
        Ok([
            what.clone(),
            furthest,
            format!("{:+.1} %", 100.0 * (our_instructions / instructions - 1.0)),
            format!("{our_registers}, {registers}"),
            format!("{}, {}", significant(*predicted_ms), significant(*time_ms)),
            format!("{:.2}", predicted_ms / time_ms),
        ])
    }
}

/// The block `public-kernels`: a row for each.
pub fn block() -> Result<String> {
    let text = fs::read_to_string(root().join(FILE)).with_context(|| format!("cannot read {FILE}"))?;
    let recorded: Recorded = serde_json::from_str(&text).with_context(|| format!("{FILE} is broken"))?;
    let Recorded { device, driver, tool, date, compilers, times, rows } = recorded;
    ensure!(!rows.is_empty(), "{FILE} has no rows");
    let cells: Vec<_> = rows.iter().map(Kernel::cells).collect::<Result<_>>()?;
    let header =
        ["Kernel", "Count furthest off", "Machine instructions", "Registers", "Time, ms", "Predicted / measured"];
    let table = table(header, cells);
    Ok(format!(
        "{table}\nOf pairs, the first is the emulator's. {device}, driver {driver}; {tool}; {compilers}; {date}. Times: {times}. \
         Every figure: `{FILE}`.\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_furthest_count_is_neither_an_estimate_nor_of_another_definition() {
        let figures = |pairs: [(&str, f64); 4]| pairs.map(|(key, value)| (key.to_owned(), value)).into();
        let kernel = Kernel {
            what: "copy".into(),
            time_ms: 0.5,
            predicted_ms: 0.6,
            measured: figures([
                ("barriers", 1000.0),
                ("registers", 16.0),
                ("machine_instructions", 50.0),
                ("l2_bytes", 1.0),
            ]),
            emulator: figures([
                ("barriers", 1002.0),
                ("registers", 24.0),
                ("machine_instructions", 49.0),
                ("l2_bytes", 2.0),
            ]),
        };
        let cells = kernel.cells().unwrap();
        assert_eq!(cells, ["copy", "off by 0.2 %", "-2.0 %", "24, 16", "0.600, 0.500", "1.20"]);
        assert!(
            Kernel {
                measured: figures([("barriers", 1.0), ("blocks", 1.0), ("threads", 1.0), ("none", 1.0)]),
                ..kernel
            }
            .cells()
            .is_err()
        );
    }
}
