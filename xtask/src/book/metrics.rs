//! Our counters' names beside those of Nsight Compute.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use results::{Figure, Metric};
use serde::Deserialize;

use super::markdown::{cell, texts};
use super::sources::{METRICS, Sources};

#[derive(Deserialize)]
struct Recorded {
    tool: String,
    device: String,
    metrics: BTreeMap<String, String>,
}

/// The block `metrics`: for each counter that was compared with the hardware's, what Nsight Compute calls it.
pub fn block(sources: &Sources) -> Result<String> {
    let recorded: Recorded = serde_json::from_str(&sources.metrics).with_context(|| format!("{METRICS} is broken"))?;
    if let Some(name) = recorded.metrics.keys().find(|name| Metric::find(name).is_none()) {
        bail!("{METRICS} names `{name}`, which is no counter that Nsight Compute has");
    }
    let rows = results::METRICS.iter().filter_map(|metric| {
        let Figure { key, name, meaning, .. } = metric.figure;
        let theirs = recorded.metrics.get(*key)?;
        Some([(*name).to_owned(), format!("`{theirs}`"), cell(meaning)])
    });
    let Recorded { tool, device, .. } = recorded;
    let table = texts(["Ours", "Nsight Compute's", "What it counts"], rows);
    Ok(format!("{table}\nCompared by the tests with what {tool}, counted on {device}: `{METRICS}`.\n"))
}
