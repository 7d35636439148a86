//! Matrices in the host's memory, beside cuBLAS-XT and the host's own BLAS, and what a call costs through the library that is preloaded.

use std::fs;

use anyhow::{Context, Result};
use results::format::significant;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::markdown::{cell, table};
use crate::workspace::root;

/// The folder of the lines that `blas/bench/host_pointer.py` writes.
const PRODUCTS: &str = "docs/results/host-pointers";

/// The folder of the lines of `cublas/bench/overhead.c`.
const CALLS: &str = "docs/results/call-overhead";

/// A line of a product, as far as the book shows it.
#[derive(Debug, Deserialize)]
struct Product {
    kind: String,
    way: Option<String>,
    /// Rows and columns of a large product, all alike.
    n: Option<u32>,
    memory: Option<String>,
    tflops: Option<f64>,
    /// Of a small one.
    shape: Option<[u32; 3]>,
    gflop: Option<f64>,
    median_us: Option<f64>,
    cores: Option<u32>,
}

/// A line of calls.
#[derive(Debug, Deserialize)]
struct Call {
    way: String,
    what: String,
    median_ns: f64,
}

/// The newest file's lines.
fn rows<T: DeserializeOwned>(folder: &str) -> Result<Vec<T>> {
    let files = fs::read_dir(root().join(folder))?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let newest = files.iter().max().with_context(|| format!("{folder} is empty"))?;
    let rows = fs::read_to_string(newest)?.lines().map(serde_json::from_str).collect::<Result<_, _>>();
    rows.with_context(|| format!("cannot read {}", newest.display()))
}

/// What is shown where nothing was measured.
fn or_dash(figure: Option<f64>) -> String {
    figure.map_or_else(|| "-".into(), significant)
}

/// The block `host-pointers`: large products by the speed, small ones by the time.
pub fn block() -> Result<String> {
    let rows: Vec<Product> = rows(PRODUCTS)?;
    let of = |kind: &str, way: &str| {
        let (kind, way) = (kind.to_owned(), way.to_owned());
        rows.iter().filter(move |row| row.kind == kind && row.way.as_deref() == Some(way.as_str()))
    };
    let large = of("large", "sgemm").map(|row| {
        let theirs = of("large", "cublas-xt").find(|other| (other.n, &other.memory) == (row.n, &row.memory));
        let memory = row.memory.as_deref().unwrap_or_default().replace("pinned", "page-locked");
        let size = row.n.unwrap_or_default();
        [format!("{size} cubed, {memory}, TFLOPS"), or_dash(theirs.and_then(|row| row.tflops)), or_dash(row.tflops)]
    });
    let mut text = table(["", "cuBLAS-XT", "`libsgemm_blas.so`"], large);
    let small = of("small", "sgemm").map(|row| {
        let theirs = of("small", "host").find(|other| other.shape == row.shape);
        let [m, n, k] = row.shape.unwrap_or_default();
        let gflop = format!("{:.2}", row.gflop.unwrap_or(f64::NAN));
        [format!("{m} x {n} x {k}"), gflop, or_dash(theirs.and_then(|row| row.median_us)), or_dash(row.median_us)]
    });
    let cores = of("small", "host").find_map(|row| row.cores).unwrap_or_default();
    text +=
        &format!("\n{}", table(["Pageable, µs", "GFLOP", &format!("OpenBLAS, {cores} cores"), "on the GPU"], small));
    Ok(text + &format!("\nMedians in `fp32-strict`, measured on an NVIDIA H200. Every row: `{PRODUCTS}`.\n"))
}

/// The block `call-overhead`: the host's time for a call.
pub fn calls() -> Result<String> {
    let rows: Vec<Call> = rows(CALLS)?;
    let alone = rows.iter().filter(|row| row.way == "cublas");
    let lines = alone.filter_map(|row| {
        let ours = rows.iter().find(|other| other.way == "preloaded" && other.what == row.what)?;
        Some([cell(&row.what), significant(row.median_ns / 1e3), significant(ours.median_ns / 1e3)])
    });
    let text = table(["From C, µs of the host for a call", "cuBLAS", "preloaded"], lines);
    Ok(text + &format!("\nMedians of 300 batches of 200 calls, measured on an NVIDIA H200. Every row: `{CALLS}`.\n"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_ways_stand_side_by_side() {
        let (products, calls) = (super::block().unwrap(), super::calls().unwrap());
        assert!(
            products.contains("| 16384 cubed, page-locked, TFLOPS | ") && products.contains("| 1024 x 1024 x 1024 | ")
        );
        assert!(calls.contains("| 64 x 64 x 64 in f32, intercepted | "), "{calls}");
        assert!(![&products, &calls].iter().any(|text| text.contains("NaN")), "{products}{calls}");
    }
}
