//! The first line of the chapters that are not steps: the result, out of docs/results, and its cause.

use std::fs;

use anyhow::{Context, Result, bail};
use results::format::{percent, times};
use results::{Distribution, ShapeTiming};
use serde::Deserialize;

use super::scale;
use super::sources::{SHAPES, Sources};
use crate::workspace::root;

/// What an unmodified PyTorch took, with and without the library that is preloaded.
const DROP_IN: &str = "docs/results/drop-in";

/// The class that changes no arithmetic.
const STRICT: &str = "fp32-strict";

/// The square size of the comparisons.
const LARGE: u32 = 4096;

/// The block `headline NAME`.
pub fn block(name: &str, sources: &Sources) -> Result<String> {
    match name {
        "library" => library(sources),
        "shapes" => shapes(sources),
        "drop-in" => drop_in(),
        "accuracy" => accuracy(sources),
        "several-gpus" => scale::headline(),
        _ => bail!("there is no such headline: take library, shapes, drop-in, accuracy or several-gpus"),
    }
}

/// Ratios to cuBLAS over all shapes of the class.
fn ratios(sources: &Sources, ratio: fn(&ShapeTiming) -> Option<f64>) -> Result<Distribution> {
    let rows = sources.shapes.iter().flat_map(|run| &run.shapes).filter(|row| row.class == STRICT && row.verified);
    Distribution::new(rows.filter_map(ratio)).with_context(|| format!("{SHAPES} has no rows of {STRICT}"))
}

fn library(sources: &Sources) -> Result<String> {
    let calls = ratios(sources, |row| Some(row.calls_ratio))?;
    Ok(format!(
        "**{} x the speed of cuBLAS in plain calls of `{STRICT}`, the geometric mean over {} shapes**: each shape gets the kernel that is \
        predicted to be the fastest, and a call checks its arguments, launches, and does nothing else.\n\n\
        *Measured on an NVIDIA H200, from the call to the result. Every row: `{SHAPES}`.*\n",
        times(calls.geometric_mean()),
        calls.sorted().len(),
    ))
}

fn shapes(sources: &Sources) -> Result<String> {
    let all = ratios(sources, |row| Some(row.ratio))?;
    Ok(format!(
        "**{} x the speed of cuBLAS in `{STRICT}`, the geometric mean over {} shapes, and {} x at least**: small and narrow shapes have \
        kernels of their own, and the choice among all kernels is made by predicted time.\n\n\
        *Measured on an NVIDIA H200, as CUDA graphs, operands not in L2. Every row: `{SHAPES}`.*\n",
        times(all.geometric_mean()),
        all.sorted().len(),
        times(all.sorted()[0]),
    ))
}

/// A line of [`DROP_IN`], as far as the headline shows it.
#[derive(Debug, Deserialize)]
struct Row {
    way: String,
    what: String,
    shape: Option<Vec<u32>>,
    tflops: Option<f64>,
}

fn drop_in() -> Result<String> {
    let folder = root().join(DROP_IN);
    let files = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let newest = files.iter().max().with_context(|| format!("{DROP_IN} is empty"))?;
    let text = fs::read_to_string(newest)?;
    let rows = text.lines().map(serde_json::from_str).collect::<Result<Vec<Row>, _>>();
    let rows = rows.with_context(|| format!("cannot read {}", newest.display()))?;
    let tflops = |way: &str| {
        let is_it = |row: &&Row| row.way == way && row.what == "torch.mm" && row.shape.as_deref() == Some(&[LARGE; 3]);
        rows.iter()
            .find(is_it)
            .and_then(|row| row.tflops)
            .with_context(|| format!("{DROP_IN} has no torch.mm of {way}"))
    };
    let [theirs, strict, fp32] = [tflops("cublas")?, tflops(STRICT)?, tflops("fp32")?];
    Ok(format!(
        "**{} x cuBLAS's speed in `{STRICT}` and {} x in `fp32`, for `torch.mm` at {LARGE} in a PyTorch that nobody changed**: cuBLAS's \
        products of f32 go to these kernels, and in `fp32` those may use the tensor cores.\n\n\
        *Measured on an NVIDIA H200. Every row: `{DROP_IN}`.*\n",
        times(strict / theirs),
        times(fp32 / theirs),
    ))
}

fn accuracy(sources: &Sources) -> Result<String> {
    let (file, run) =
        sources.accuracy.iter().max_by_key(|(_, run)| run.accuracy.first().map(|row| row.m)).context("no errors")?;
    let row = run.accuracy.iter().find(|row| row.kernel == "fp16x3" && row.inputs == "uniform" && row.k == LARGE);
    let error = row.with_context(|| format!("{file} has no fp16x3 of uniform inputs at k = {LARGE}"))?.rel_error_ratio;
    let speed = sources.squares("fp16x3").into_iter().find(|row| row.m == LARGE && row.verified);
    let speed = speed.and_then(|row| row.percent_of_cublas);
    let speed = speed.with_context(|| format!("{} has no fp16x3 at {LARGE}", sources.file))?;
    Ok(format!(
        "**{} % of cuBLAS SGEMM's speed at {LARGE}, with {} x its error on uniform inputs**: three MMAs on the tensor cores replace each \
        product of fp32, and short sums of short sums round less than one long sum.\n\n\
        *Measured on an NVIDIA H200. Every row: `{}` and `{file}`.*\n",
        percent(speed),
        times(error),
        sources.file,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_headline_has_its_figures_first() {
        let sources = Sources::read(root()).unwrap();
        for name in ["library", "shapes", "drop-in", "accuracy", "several-gpus"] {
            let text = block(name, &sources).unwrap();
            assert!(text.starts_with("**") && text.contains("**: "), "{text}");
            assert!(text.contains("`docs/results/"), "{text}");
        }
        assert!(block("speed", &sources).unwrap_err().to_string().contains("no such headline"));
    }
}
