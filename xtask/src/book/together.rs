//! What products over several GPUs took, beside one GPU of the same run and the libraries of others.

use std::fs;

use anyhow::{Context, Result};
use results::format::{significant, times};
use results::{Measurement, Run};
use serde::Deserialize;

use super::markdown::{cell, table};
use crate::workspace::root;

/// Where they are: the records of `host --gpus` as `NAME.jsonl`, and lines of others' times beside them as `NAME-peers.jsonl`.
const FOLDER: &str = "docs/results/scale";

/// The run of the headline, and its row.
const HEADLINE: (&str, u32, usize) = ("2026-11-26-h200", 16_384, 4);

/// The ways of others to multiply over several GPUs, in the order of columns.
const WAYS: [&str; 4] = [
    "PyTorch, gathered, then multiplied",
    "PyTorch, overlapped",
    "cuBLASMp 0.7.0, block-cyclic",
    "cuBLASMp 0.7.0, B gathered in panels",
];

/// A line of the second file: fp32 in square products.
#[derive(Debug, Deserialize)]
struct Peer {
    way: String,
    size: u32,
    gpus: usize,
    tflops: f64,
}

fn run(name: &str) -> Result<Run> {
    Ok(Run::read(&root().join(FOLDER).join(format!("{name}.jsonl")))?)
}

/// The products over several GPUs, each with the one of the same size that one GPU did alone after it.
fn pairs(run: &Run) -> impl Iterator<Item = (&Measurement, Option<&Measurement>)> {
    let rows = run.distributed.iter().enumerate();
    rows.filter(|(_, row)| row.gpus.is_some_and(|gpus| gpus > 1)).map(|(at, row)| {
        let is_alone = |next: &&Measurement| (next.gpus, next.m, &next.precision) == (Some(1), row.m, &row.precision);
        (row, run.distributed.get(at + 1).filter(is_alone))
    })
}

/// The block `together NAME`: sizes in both classes of f32.
pub fn block(name: &str) -> Result<String> {
    let run = run(name)?;
    let file = format!("{FOLDER}/{name}-peers.jsonl");
    let text = fs::read_to_string(root().join(&file)).with_context(|| format!("cannot read {file}"))?;
    let peers = text.lines().map(serde_json::from_str).collect::<Result<Vec<Peer>, _>>();
    let peers = peers.with_context(|| format!("cannot read {file}"))?;
    let rows = pairs(&run).map(|(row, alone)| {
        let tflops = |row: &Measurement| significant(row.gflops / 1e3);
        let efficiency = row.efficiency.map_or("-".into(), |efficiency| format!("{efficiency:.2}"));
        let peer = |way: &str| {
            let is_its = |peer: &&Peer| {
                row.precision == "fp32" && peer.way == way && peer.size == row.m && Some(peer.gpus) == row.gpus
            };
            peers.iter().find(is_its).map_or("-".into(), |peer| significant(peer.tflops))
        };
        let gpus = row.gpus.unwrap_or_default().to_string();
        let alone = alone.map_or("-".into(), tflops);
        let [plain, overlapped, cyclic, panels] = WAYS.map(peer);
        let size = row.m.to_string();
        [size, cell(&row.precision), gpus, alone, tflops(row), efficiency, plain, overlapped, cyclic, panels]
    });
    let first = run.distributed.first().with_context(|| format!("{name} is empty"))?;
    let [plain, overlapped, cyclic, panels] = WAYS;
    let heads = ["n", "Precision", "GPUs", "One GPU", "All", "Efficiency", plain, overlapped, cyclic, panels];
    Ok(format!(
        "{}\nTFLOPS, medians, measured on {}, NCCL 2.28.9. Efficiency is over as many times one GPU, in the same run. \
         Every row: `{FOLDER}/{name}.jsonl`, `{file}`.\n",
        table(heads, rows),
        first.device,
    ))
}

/// The block `headline several-gpus`: a product on the devices of one host.
pub fn headline() -> Result<String> {
    let (name, size, gpus) = HEADLINE;
    let run = run(name)?;
    let is_it = |row: &&Measurement| (row.m, row.gpus, row.precision.as_str()) == (size, Some(gpus), "fp32");
    let row = run.distributed.iter().find(is_it);
    let row = row.with_context(|| format!("{name} has no row of {gpus} devices at {size}"))?;
    Ok(format!(
        "**{} x the speed of one {} on {gpus}, at {size} in `fp32-strict`**: what each device receives takes less time than what it \
        computes, so all transfers but the first are hidden.\n\n*Measured, {} TFLOPS. Every row: `{FOLDER}/{name}.jsonl`.*\n",
        times(row.efficiency.unwrap_or_default() * gpus as f64),
        row.device,
        significant(row.gflops / 1e3),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_product_has_its_peers() {
        // The first of these runs was not beside all ways of others.
        for (name, gpus, missing) in [("2026-11-25-h100", 2, 1), (HEADLINE.0, 4, 0)] {
            let block = block(name).unwrap();
            let row = block.lines().find(|line| line.starts_with(&format!("| 16384 | fp32 | {gpus} |"))).unwrap();
            assert_eq!(row.matches(" - ").count(), missing, "{row}");
        }
        let headline = headline().unwrap();
        assert!(
            headline.contains(" on 4, at 16384 in `fp32-strict`**: ") && headline.contains("*Measured"),
            "{headline}"
        );
    }

    #[test]
    fn every_way_of_others_has_a_column() {
        for name in ["2026-11-25-h100", HEADLINE.0] {
            let text = fs::read_to_string(root().join(FOLDER).join(format!("{name}-peers.jsonl"))).unwrap();
            for line in text.lines() {
                let peer: Peer = serde_json::from_str(line).unwrap();
                assert!(WAYS.contains(&peer.way.as_str()), "{line}");
            }
        }
    }
}
