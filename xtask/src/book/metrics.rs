//! Our counters' names beside those of Nsight Compute.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::markdown::{cell, texts};
use super::schema::Keys;
use super::sources::{METRICS, Sources};

/// Names of the recorded rows that are not keys of the records.
const RENAMED: [(&str, &str); 1] = [("instructions", "machine_instructions")];

#[derive(Deserialize)]
struct Recorded {
    tool: String,
    device: String,
    metrics: BTreeMap<String, String>,
}

/// The block `metrics`: for each counter that was compared with the hardware's, what Nsight Compute calls it.
pub fn block(sources: &Sources) -> Result<String> {
    let recorded: Recorded = serde_json::from_str(&sources.metrics).with_context(|| format!("{METRICS} is broken"))?;
    let keys = Keys::of("counters")?;
    let ours = |name: &str| {
        RENAMED.iter().find(|(theirs, _)| *theirs == name).map_or(name.to_owned(), |(_, key)| (*key).into())
    };
    let mut rows: Vec<_> =
        recorded.metrics.iter().map(|(name, metric)| (keys.place(&ours(name)), ours(name), metric)).collect();
    rows.sort();
    let rows = rows.into_iter().map(|(_, key, metric)| {
        let meaning =
            keys.meaning(&key).with_context(|| format!("{METRICS} names `{key}`, which is no key of the counters"))?;
        Ok([format!("`{key}`"), format!("`{metric}`"), cell(meaning)])
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let Recorded { tool, device, .. } = recorded;
    let table = texts(["Ours", "Nsight Compute's", "What it counts"], rows);
    Ok(format!("{table}\nCompared by the tests with what {tool}, counted on {device}: `{METRICS}`.\n"))
}
