//! Measurements become rows, tables, JSON and CSV: on the CPU backend, whose times are made up.

use host::backend::Kernel;
use host::measure::bench::{Comparison, Timing, compare};
use host::{Error, Problem, output};
use results::Run;
use serde_json::Value;
use tests::cpu::{CpuBackend, Mistake};
use tests::launches::ALL;

fn comparison(kernels: &[Kernel], mistake: Option<Mistake>) -> Comparison {
    let problem = Problem::new(40, 50, 60).unwrap().with_seed(1);
    let timing = Timing { warmup: 0, iterations: Some(4) };
    compare(&mut CpuBackend::new(mistake), kernels, &problem, timing, &mut |_| ()).unwrap()
}

fn steps() -> Vec<Kernel> {
    gpu_kernels::STEPS.iter().map(Kernel::Step).collect()
}

#[test]
fn json_has_the_fixed_keys() {
    let lines = output::json_lines(&comparison(&steps(), None).rows);
    assert_eq!(lines.lines().count(), steps().len());
    for (line, step) in lines.lines().zip(gpu_kernels::STEPS) {
        let row: Value = serde_json::from_str(line).unwrap();
        for key in ["precision", "backend", "device"] {
            assert!(row[key].is_string(), "{key}");
        }
        for key in ["m", "n", "k", "alpha", "beta", "iterations", "time_ms_min", "time_ms_max", "gflops", "rel_error"] {
            assert!(row[key].is_number(), "{key}");
        }
        assert_eq!(row["kernel"], step.slug);
        assert_eq!((&row["verified"], &row["modelled"]), (&Value::Bool(true), &Value::Bool(false)));
        assert!(row["workspace_bytes"].is_number());
        assert_eq!((&row["sampled_blocks"], &row["blocks"]), (&Value::Null, &Value::Null));
        // The median of 1, 2, 3, and of 1 for the last, which is timed by itself.
        assert_eq!(row["time_ms"], 1.5);
        assert_eq!(row["percent_of_cublas"], Value::Null);
        // A base in another arithmetic is none to be compared with.
        let base = step.base.and_then(gpu_kernels::find).filter(|base| base.precision == step.precision);
        let speedup = if base.is_some() { Value::from(1.0) } else { Value::Null };
        assert_eq!(row["speedup_over_base"], speedup);
    }
}

#[test]
fn records_are_read_as_they_were_written_and_every_key_is_documented() {
    let mut rows = comparison(&steps(), None).rows;
    rows[0].rel_error = f64::NAN;
    let lines = output::json_lines(&rows);
    let run = Run::parse("rows", &lines).unwrap();
    assert_eq!(run.measurements[1..], rows[1..]);
    assert!(run.measurements[0].rel_error.is_nan());

    let schema = results::schema();
    let documented = |key: &str| schema["$defs"]["Measurement"]["properties"][key]["description"].is_string();
    let row: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    for key in row.as_object().unwrap().keys().filter(|key| *key != "record") {
        assert!(documented(key), "{key}");
    }
    let newer = lines.replacen(&format!("\"schema\":{}", results::SCHEMA), "\"schema\":99", 1);
    assert!(matches!(Run::parse("rows", &newer), Err(results::Error::Newer { line: 1, schema: 99, .. })));
}

#[test]
fn csv_has_one_header() {
    let rows = comparison(&steps(), None).rows;
    let text = output::csv(&rows, true) + &output::csv(&rows, false);
    assert_eq!(text.lines().count(), 1 + 2 * rows.len());
    assert!(text.starts_with("schema,kernel,precision,backend,device,"));
    let columns = text.lines().next().unwrap().split(',').count();
    assert!(text.lines().all(|line| line.split(',').count() >= columns));
}

#[test]
fn the_table_names_every_kernel_and_what_is_missing() {
    let table = output::table(&comparison(&steps(), None));
    assert!(gpu_kernels::STEPS.iter().all(|step| table.contains(step.slug)));
    assert!(table.contains("No comparison: cuBLAS is not there: this is a CPU"));
}

#[test]
fn cublas_alone_must_be_there() {
    let comparison = comparison(&[Kernel::CUBLAS], None);
    assert!(matches!(comparison.failures[..], [Error::NoCublas { .. }]));
    assert!(output::table(&comparison).is_empty());
}

#[test]
fn a_wrong_result_is_shown_and_is_a_failure() {
    let comparison = comparison(&steps(), Some(Mistake::ForgetsLastProduct));
    assert_eq!(comparison.failures.len(), steps().len());
    assert!(comparison.failures.iter().all(|error| matches!(error, Error::NotVerified { .. })));
    assert!(comparison.rows.iter().all(|row| !row.verified));
    assert!(output::table(&comparison).contains("NO"));
}

#[test]
fn json_stays_json_where_a_result_is_nan() {
    let lines = output::json_lines(&comparison(&steps(), Some(Mistake::ReadsCAtBeta0)).rows);
    let row: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&row["rel_error"], &row["verified"]), (&Value::Null, &Value::Bool(false)));
}

#[test]
fn a_workspace_that_does_not_fit_is_one_kernels_failure() {
    let step = |slug| ALL.iter().map(|launched| launched.step).find(|step| step.slug == slug).unwrap();
    let problem = Problem::new(40, 50, 60).unwrap();
    let mut backend = CpuBackend::new(None).with_memory_bytes(problem.bytes() + 60 * 40 * 4);
    let timing = Timing { warmup: 0, iterations: Some(1) };
    let kernels = ["plain", "transposed-a"].map(|slug| Kernel::Step(step(slug)));
    let comparison = compare(&mut backend, &kernels, &problem, timing, &mut |_| ()).unwrap();
    let bytes: Vec<_> = comparison.rows.iter().map(|row| (&*row.kernel, row.workspace_bytes)).collect();
    assert_eq!(bytes, [("plain", Some(0))]);
    assert!(!output::table(&comparison).contains("workspace"));
    // Beside A's transpose, B is copied: 50 columns are no whole number of 16 bytes.
    let parts: [u64; 2] = [60 * 40 * 4, 60 * 52 * 4];
    let padded = parts.map(|bytes| bytes.next_multiple_of(sgemm::plan::WORKSPACE_ALIGNMENT));
    let needed = problem.bytes() + padded.iter().sum::<u64>();
    assert!(matches!(comparison.failures[..], [Error::OutOfMemory { needed: n, .. }] if n == needed));
    let comparison = compare(&mut CpuBackend::new(None), &kernels, &problem, timing, &mut |_| ()).unwrap();
    let table = output::table(&comparison);
    assert!(table.contains("workspace MiB") && table.contains(" 0.02 "), "{table}");
}

#[test]
fn operands_that_do_not_fit_are_refused_before_they_are_made() {
    let problem = Problem::new(10_000_000, 10_000_000, 10_000_000).unwrap();
    let timing = Timing { warmup: 0, iterations: Some(1) };
    let refusal = |backend: CpuBackend| compare(&mut { backend }, &steps(), &problem, timing, &mut |_| ()).unwrap_err();
    let small_device = refusal(CpuBackend::new(None));
    assert!(matches!(small_device, Error::OutOfMemory { .. }));
    let small_host = refusal(CpuBackend::new(None).with_memory_bytes(u64::MAX));
    assert!(matches!(small_host, Error::OutOfHostMemory { .. }));
    assert_eq!((small_device.exit_code(), small_host.exit_code()), (1, 1));
}
