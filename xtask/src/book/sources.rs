//! What the documents show, read from the workspace.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use results::{Counters, Measurement, Peers, Run, Timeline};

/// The folder of committed results.
pub const FOLDER: &str = "docs/results";

/// The folder in it of sets of shapes.
pub const SHAPES: &str = "docs/results/shapes";

/// What several devices did over time: records of `host --gpus 4 --timeline FILE.svg --json FILE`.
pub const TIMELINES: &str = "docs/results/scale/timeline-2026-11-26-h200.jsonl";

/// Kernels in CUDA C++ that the steps stand beside.
pub const PEERS: &str = "docs/results/peers.json";

/// What Nsight Compute counted, and the names of its metrics.
pub const METRICS: &str = "tests/data/ncu-h200.json";

/// What the documents show.
pub struct Sources {
    /// The newest file of measurements, from the workspace's root.
    pub file: String,
    /// Its records.
    pub run: Run,
    /// Files of errors on hard inputs, by their name.
    pub accuracy: Vec<(String, Run)>,
    /// Sets of shapes, of the files in [`SHAPES`] by their names.
    pub shapes: Vec<Run>,
    /// The timelines of [`TIMELINES`].
    pub timelines: Vec<Timeline>,
    /// What others measured.
    pub peers: Peers,
    /// The text of [`METRICS`].
    pub metrics: String,
}

impl Sources {
    /// Reads them under `root`.
    ///
    /// # Errors
    /// Where one is missing or broken.
    pub fn read(root: &Path) -> Result<Self> {
        let folder = root.join(FOLDER);
        let newest = Run::newest_in(&folder)?;
        let file = newest.with_context(|| {
            format!("there are no results in {FOLDER}: put a file there that `cargo xtask bench` wrote")
        })?;
        let mut accuracy = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.starts_with("accuracy-") && name.ends_with(".jsonl") {
                accuracy.push((format!("{FOLDER}/{name}"), Run::read(&folder.join(&name))?));
            }
        }
        accuracy.sort_by(|(a, _), (b, _)| a.cmp(b));
        let shapes =
            fs::read_dir(root.join(SHAPES))?.map(|entry| Ok(entry?.path())).collect::<Result<BTreeSet<_>>>()?;
        Ok(Self {
            file: format!("{FOLDER}/{}", file.file_name().unwrap_or_default().to_string_lossy()),
            run: Run::read(&file)?,
            accuracy,
            shapes: shapes.iter().map(|file| Ok(Run::read(file)?)).collect::<Result<_>>()?,
            timelines: Run::read(&root.join(TIMELINES))?.timelines,
            peers: Peers::read(&root.join(PEERS))?,
            metrics: fs::read_to_string(root.join(METRICS)).with_context(|| format!("cannot read {METRICS}"))?,
        })
    }

    /// The measurements of a step at square sizes, the smallest first.
    pub fn squares(&self, step: &str) -> Vec<&Measurement> {
        let mut rows: Vec<_> =
            self.run.measurements.iter().filter(|row| row.step() == step && row.size().is_some()).collect();
        rows.sort_by_key(|row| row.m);
        rows
    }

    /// What was counted of a step.
    pub fn counters(&self, step: &str) -> Option<&Counters> {
        self.run.counters_of(step)
    }
}
