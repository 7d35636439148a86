//! What the emulator counts and predicts, beside what was measured on an H200.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gpu_kernels::{STEPS, Step};
use host::backend::emulator::{EmulatorBackend, MODELS, Model};
use host::backend::{Backend, Kernel};
use host::{Operands, Problem, PtxSource};
use results::{Counters, Metric};
use serde::Deserialize;
use serde_json::Value;

/// How far a predicted time may be from the measured one.
pub(crate) const TIME_TOLERANCE: f64 = 0.25;

/// How far apart two measured times must be for the predicted ones to be in their order.
const ORDER_TOLERANCE: f64 = 0.05;

/// Counts of one kernel at one size, by the hardware's counters: by the keys of [`METRICS`].
#[derive(Debug, Deserialize)]
struct Counted {
    kernel: String,
    size: u32,
    #[serde(flatten)]
    counts: BTreeMap<String, u64>,
}

#[derive(Debug, Deserialize)]
struct Profile {
    metrics: BTreeMap<String, String>,
    rows: Vec<Counted>,
}

fn profile() -> Profile {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/ncu-h200.json");
    let text = std::fs::read_to_string(path).expect("the hardware's counters");
    serde_json::from_str(&text).expect("rows")
}

fn h200() -> &'static Model {
    &MODELS[0]
}

/// Counts what the step does on a square problem.
fn count(step: &'static Step, size: u32, budget: Option<Duration>) -> Counters {
    let mut backend = EmulatorBackend::new(PtxSource::BuiltIn, h200(), budget);
    let problem = Problem::new(size, size, size).unwrap().with_seed(7);
    backend.count(step, &problem).unwrap_or_else(|error| panic!("{error}"))
}

fn compare(counters: &Counters, measured: &Counted) {
    for (key, &theirs) in &measured.counts {
        let metric = Metric::find(key).unwrap_or_else(|| panic!("{key} is no metric"));
        let (ours, theirs) = (metric.of(counters), theirs as f64);
        let Counted { kernel, size, .. } = measured;
        assert!(metric.agrees(ours, theirs), "{kernel} at {size}: {key}: {ours} in the emulator, {theirs} on the H200");
    }
}

/// The rows of one size, each with its step. A step that is new has none until it is profiled: CONTRIBUTING.md says how.
fn profiled(size: u32) -> Vec<(&'static Step, Counted)> {
    let rows: Vec<Counted> = profile().rows.into_iter().filter(|row| row.size == size).collect();
    assert!(!rows.is_empty(), "nothing was profiled at {size}");
    let step = |row: &Counted| gpu_kernels::find(&row.kernel).unwrap_or_else(|| panic!("{} is no step", row.kernel));
    rows.into_iter().map(|row| (step(&row), row)).collect()
}

/// Every row has all that the file names, by the names that `cargo xtask profile` asks Nsight Compute for.
#[test]
fn the_hardwares_counters_are_the_metrics_that_are_named() {
    let Profile { metrics, rows } = profile();
    assert!(metrics.len() > 10, "{metrics:?}");
    for (key, source) in &metrics {
        assert_eq!(Metric::find(key).map(Metric::of_nsight).as_ref(), Some(source), "{key}");
    }
    for Counted { kernel, size, counts } in rows {
        assert!(counts.keys().eq(metrics.keys()), "{kernel} at {size}: {counts:?}");
    }
}

/// Every step at two sizes, the second of which has edges.
#[test]
fn counters_are_those_of_the_hardware() {
    for (step, measured) in [256, 500].into_iter().flat_map(profiled) {
        compare(&count(step, measured.size, None), &measured);
    }
}

#[test]
fn a_sample_scales_up_to_the_whole() {
    for (step, measured) in profiled(500) {
        let counters = count(step, 500, Some(Duration::ZERO));
        assert!(counters.blocks_run < counters.blocks || counters.blocks <= 17, "{}", step.slug);
        compare(&counters, &measured);
    }
}

/// The median time of each step at this size, as it is in the published results, or in the steps' own measurements.
fn measured_times(size: u32) -> Vec<(&'static Step, f64)> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<_> =
        std::fs::read_dir(manifest.join("../docs/results")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.to_string_lossy().ends_with("-h200.jsonl"));
    files.sort();
    let rows = |path: &Path| -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let published = rows(files.last().expect("results of an H200"));
    let own = rows(&manifest.join("data/times-h200.jsonl"));
    let time = |step: &'static Step| {
        let is_published = |row: &&Value| {
            let sizes = ["m", "n", "k"].map(|dimension| row[dimension].as_u64());
            row["kernel"] == step.slug && sizes == [Some(size.into()); 3] && row["modelled"] == false
        };
        let is_own = |row: &&Value| row["kernel"] == step.slug && row["size"] == size;
        let row = published.iter().find(is_published).or_else(|| own.iter().find(is_own))?;
        Some((step, row["time_ms"].as_f64()?))
    };
    // Blocks that stream tiles all run, which takes minutes.
    let is_sampled = |step: &&Step| step.stream_k_tiles(size, size, h200().sm_count).blocks == 0;
    STEPS.iter().filter(is_sampled).filter(|step| is_priced(step, size)).filter_map(time).collect()
}

/// Whether the model knows what the step does: not what clusters cost, such as a plan may ask for, where they are placed and what
/// their blocks exchange, nor boxes whose rows begin between two sectors.
fn is_priced(step: &Step, size: u32) -> bool {
    const SECTOR_BYTES: u32 = 32;
    let between_sectors = !(size * step.precision.input().bytes()).is_multiple_of(SECTOR_BYTES);
    step.cluster == [1; 3] && !step.is_planned() && !(step.maps.is_some() && between_sectors)
}

/// The model's times for the steps on a square problem, from samples of their blocks. Steps that read the same elements share
/// the operands.
fn predicted_times(steps: &[&'static Step], size: u32) -> Vec<f64> {
    let mut backend = EmulatorBackend::new(PtxSource::BuiltIn, h200(), Some(Duration::ZERO));
    let mut uploaded = None;
    let mut time = |step: &&'static Step| {
        let kernel = Kernel::Step(step);
        let problem = Problem::new(size, size, size).unwrap().with_seed(7).for_kernel(kernel).unwrap();
        if uploaded != Some(problem) {
            backend.upload(&Operands::random(&problem).unwrap()).unwrap();
            uploaded = Some(problem);
        }
        backend.run(kernel, &problem).unwrap_or_else(|error| panic!("{error}"));
        backend.time(kernel, &problem, 0, 1, &mut || {}).unwrap()[0].into()
    };
    steps.iter().map(&mut time).collect()
}

#[test]
fn predicted_times_are_near_the_measured_ones_and_in_their_order() {
    let mut wrong = Vec::new();
    for size in [512, 1024, 2048, 4092, 4096] {
        let measured = measured_times(size);
        assert!(measured.len() > 10, "little was measured at {size}");
        let steps: Vec<_> = measured.iter().map(|(step, _)| *step).collect();
        let predicted = predicted_times(&steps, size);
        let mut times: Vec<_> =
            measured.iter().zip(predicted).map(|((step, measured), time)| (step.slug, *measured, time)).collect();
        times.sort_by(|one, other| one.1.total_cmp(&other.1));
        for (index, &(slug, measured, predicted)) in times.iter().enumerate() {
            let ratio = predicted / measured;
            println!("{slug} at {size}: {measured:.4} ms measured, {predicted:.4} ms predicted, {ratio:.3}");
            if (ratio - 1.0).abs() > TIME_TOLERANCE {
                wrong.push(format!("{slug} at {size}: {ratio:.3} of the measured {measured} ms"));
            }
            for (slower, ..) in times[index..]
                .iter()
                .filter(|other| other.1 > measured * (1.0 + ORDER_TOLERANCE) && other.2 <= predicted)
            {
                wrong.push(format!("{slug} at {size} is faster than {slower}, but not in the model"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
