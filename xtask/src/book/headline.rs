//! The first line of the chapters that are not steps: the result, out of docs/results, and its cause.

use anyhow::{Context, Result, bail};
use results::format::{percent, times};
use results::{Distribution, ShapeTiming};

use super::sources::{SHAPES, Sources};
use super::{drop_in, together};

/// The class that changes no arithmetic.
const STRICT: &str = "fp32-strict";

/// The square size of the comparisons.
const LARGE: u32 = 4096;

/// The block `headline NAME`.
pub fn block(name: &str, sources: &Sources) -> Result<String> {
    match name {
        "library" => library(sources),
        "shapes" => shapes(sources),
        "drop-in" => drop_in::headline(),
        "accuracy" => accuracy(sources),
        "several-gpus" => together::headline(),
        _ => bail!("there is no such headline: take library, shapes, drop-in, accuracy or several-gpus"),
    }
}

/// Ratios to cuBLAS over all shapes of the class.
fn ratios(sources: &Sources, ratio: fn(&ShapeTiming) -> Option<f64>) -> Result<Distribution> {
    let rows = sources.shapes.iter().flat_map(|run| &run.shapes).filter(|row| row.class == STRICT && row.verified);
    Distribution::new(rows.filter_map(ratio)).with_context(|| format!("{SHAPES} has no rows of {STRICT}"))
}

/// The device of the shapes.
fn device(sources: &Sources) -> &str {
    sources.shapes.iter().flat_map(|run| &run.shapes).next().map_or("no device", |row| &row.device)
}

fn library(sources: &Sources) -> Result<String> {
    let calls = ratios(sources, |row| Some(row.calls_ratio))?;
    Ok(format!(
        "**{} x the speed of cuBLAS in plain calls of `{STRICT}`, the geometric mean over {} shapes**: each shape gets the kernel that is \
        predicted to be the fastest, and a call checks its arguments, launches, and does nothing else.\n\n\
        *Measured on {}, through the crate, from the call to the result. Every row: `{SHAPES}`.*\n",
        times(calls.geometric_mean()),
        calls.sorted().len(),
        device(sources),
    ))
}

fn shapes(sources: &Sources) -> Result<String> {
    let all = ratios(sources, |row| Some(row.ratio))?;
    Ok(format!(
        "**{} x the speed of cuBLAS in `{STRICT}`, the geometric mean over {} shapes, and {} x at least**: small and narrow shapes have \
        kernels of their own, and the choice among all kernels is made by predicted time.\n\n\
        *Measured on {}, as CUDA graphs, operands not in L2. Every row: `{SHAPES}`.*\n",
        times(all.geometric_mean()),
        all.sorted().len(),
        times(all.sorted()[0]),
        device(sources),
    ))
}

fn accuracy(sources: &Sources) -> Result<String> {
    let (file, run) =
        sources.accuracy.iter().max_by_key(|(_, run)| run.accuracy.first().map(|row| row.m)).context("no errors")?;
    let row = run.accuracy.iter().find(|row| row.kernel == "fp16x3" && row.inputs == "uniform" && row.k == LARGE);
    let row = row.with_context(|| format!("{file} has no fp16x3 of uniform inputs at k = {LARGE}"))?;
    let speed = sources.squares("fp16x3").into_iter().find(|row| row.m == LARGE && row.verified);
    let speed = speed.and_then(|row| row.percent_of_cublas);
    let speed = speed.with_context(|| format!("{} has no fp16x3 at {LARGE}", sources.file))?;
    Ok(format!(
        "**{} % of cuBLAS SGEMM's speed at {LARGE}, with {} x its error on uniform inputs**: three MMAs on the tensor cores replace each \
        product of fp32, and short sums of short sums round less than one long sum.\n\n\
        *Measured on {}. Every row: `{}` and `{file}`.*\n",
        percent(speed),
        times(row.rel_error_ratio),
        row.device,
        sources.file,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

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
