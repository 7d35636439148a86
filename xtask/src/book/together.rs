//! What products over several GPUs took, beside one GPU of the same run and the libraries of others.

use std::fs;

use anyhow::{Context, Result};
use results::format::significant;
use results::{Measurement, Run};
use serde::Deserialize;

use super::markdown::{cell, table};
use crate::workspace::root;

/// The records of `host --gpus`, and lines of others' times beside them.
const FILES: [&str; 2] = ["docs/results/scale/2026-11-25-h100.jsonl", "docs/results/scale/2026-11-25-h100-peers.jsonl"];

/// The ways of others to multiply over several GPUs, in the order of columns.
const WAYS: [&str; 3] = [
    "PyTorch, gathered, then multiplied",
    "PyTorch, overlapped",
    "cuBLASMp 0.7.0, the best of two grids and two blocks",
];

/// A line of the second file: fp32 in square products.
#[derive(Debug, Deserialize)]
struct Peer {
    way: String,
    size: u32,
    gpus: usize,
    tflops: f64,
}

/// The block `together`: sizes in both classes of f32.
pub fn block() -> Result<String> {
    let [own, others] = FILES.map(|file| root().join(file));
    let run = Run::read(&own)?;
    let text = fs::read_to_string(&others).with_context(|| format!("cannot read {}", FILES[1]))?;
    let peers = text.lines().map(serde_json::from_str).collect::<Result<Vec<Peer>, _>>();
    let peers = peers.with_context(|| format!("cannot read {}", FILES[1]))?;
    let several = run.distributed.iter().filter(|row| row.gpus.is_some_and(|gpus| gpus > 1));
    let rows = several.map(|row| {
        let tflops = |row: &Measurement| significant(row.gflops / 1e3);
        let is_alone =
            |other: &&Measurement| other.gpus == Some(1) && (other.m, &other.precision) == (row.m, &row.precision);
        let alone = run.distributed.iter().find(is_alone).map_or("-".into(), tflops);
        let efficiency = row.efficiency.map_or("-".into(), |efficiency| format!("{efficiency:.2}"));
        let peer = |way: &str| {
            let is_its = |peer: &&Peer| {
                row.precision == "fp32" && peer.way == way && peer.size == row.m && Some(peer.gpus) == row.gpus
            };
            peers.iter().find(is_its).map_or("-".into(), |peer| significant(peer.tflops))
        };
        let [plain, overlapped, mp] = WAYS.map(peer);
        [row.m.to_string(), cell(&row.precision), alone, tflops(row), efficiency, plain, overlapped, mp]
    });
    let first = run.distributed.first().with_context(|| format!("{} is empty", FILES[0]))?;
    let [plain, overlapped, mp] = WAYS;
    let heads = ["n", "Precision", "One GPU", "Two GPUs", "Efficiency", plain, overlapped, mp];
    Ok(format!(
        "{}\nTFLOPS, medians, measured on two {}, NCCL 2.28.9, all in one run. Efficiency is over two times one GPU. \
         Every row: `{}`, `{}`.\n",
        table(heads, rows),
        first.device,
        FILES[0],
        FILES[1]
    ))
}

#[cfg(test)]
mod tests {
    #[test]
    fn each_product_has_its_peers() {
        let block = super::block().unwrap();
        let row = block.lines().find(|line| line.starts_with("| 16384 | fp32 |")).unwrap();
        assert_eq!(row.matches('|').count(), 9, "{row}");
        assert!(!row.contains(" - "), "{row}");
        assert!(block.contains("measured on two NVIDIA H100"), "{block}");
    }
}
