//! `host accuracy`.

use crate::program::{assert_fails, host, no_device, rows, write};
use host::measure::accuracy::{EMULATED, Inputs};
use tempfile::TempDir;

const EMULATED_PLAIN: [&str; 5] = ["accuracy", "--backend", "emulator", "--kernel", "vectorized,naive"];

#[test]
fn every_kind_of_inputs_is_measured_at_every_length() {
    let outcome = host(&[&EMULATED_PLAIN[..], &["--size", "20", "--format", "json", "--seed", "5"]].concat());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let rows = rows(&outcome.stdout);
    assert_eq!(rows.len(), EMULATED.1.len() * Inputs::ALL.len() * 2);
    for (row, i) in rows.iter().zip(0..) {
        assert_eq!(row["kernel"], ["vectorized", "naive"][i % 2]);
        assert_eq!(row["verdict"], ["same", "no-larger"][i % 2], "both add up in the same order: {row}");
        assert_eq!((&row["m"], &row["n"], &row["seed"]), (&20.into(), &20.into(), &5.into()));
        assert!(row["rel_error"].as_f64() > Some(0.0) && row["max_error_ratio"] == 1.0, "{row}");
        for key in ["precision", "inputs", "compared_with", "backend", "device", "compute_capability", "date", "commit"]
        {
            assert!(row[key].is_string(), "{key}");
        }
    }
    for inputs in Inputs::ALL {
        assert_eq!(rows.iter().filter(|row| row["inputs"] == inputs.name()).count(), 2 * EMULATED.1.len());
    }
}

#[test]
fn tables_csv_and_files_hold_the_rows() {
    let folder = TempDir::new().unwrap();
    let file = write(&folder, "");
    let arguments = [&EMULATED_PLAIN[..], &["--size", "8x9x10", "--inputs", "uniform,huge-elements"]].concat();
    let table = host(&[&arguments[..], &["--json", &file]].concat());
    assert_eq!((table.code, table.stderr.as_str()), (0, ""));
    for text in ["m = 8, n = 9, k = 10", "No GPU", "stands for SGEMM", "huge-elements", "no larger", "in 2 of 2 cases"]
    {
        assert!(table.stdout.contains(text), "'{text}' is missing in: {}", table.stdout);
    }
    assert_eq!(rows(&std::fs::read_to_string(&file).unwrap()).len(), 4);
    let csv = host(&[&arguments[..], &["--format", "csv"]].concat()).stdout;
    assert!(csv.starts_with("schema,kernel,precision,inputs,m,n,k,") && csv.lines().count() == 5, "{csv}");
}

#[test]
fn sgemm_and_its_accuracy_class_are_the_default() {
    let outcome = host(&["accuracy", "--backend", "emulator", "--size", "8x8x8", "--inputs", "normal"]);
    // So few elements say nothing about accuracy classes: kernels may meet them or not.
    assert!(outcome.code <= 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("note: cuBLAS is not there") && outcome.stdout.contains("vectorized"));
    if no_device().is_none() {
        let measured = host(&["accuracy", "--backend", "cuda", "--size", "64x64x64", "--inputs", "normal"]);
        assert!(measured.stdout.contains("cublas"), "{}", measured.stdout);
    }
    // What a device does not run is not among them.
    let old = host(&["accuracy", "--backend", "emulator", "--model", "a100", "--size", "8x8x8", "--inputs", "normal"]);
    assert!(old.stderr.contains("of accuracy class fp32 in another arithmetic"), "{}", old.stderr);
}

#[test]
fn bad_arguments_are_one_line() {
    assert_fails(&["accuracy", "--inputs", "gaussian"], 2, &["there are no inputs 'gaussian'", "near-cancelling"]);
    assert_fails(&["--inputs", "normal"], 2, &["unexpected argument '--inputs'"]);
    assert_fails(&["accuracy", "--beta", "1"], 2, &["unexpected argument '--beta'"]);
    assert_fails(&["accuracy", "--kernel", "cublas-f16"], 2, &["cublas-f16 does not take and give f32"]);
    assert_fails(&["accuracy", "--kernel", "vectorised"], 2, &["did you mean 'vectorized'?"]);
    assert_fails(&["accuracy", "--size", "2147483647"], 2, &["overflow"]);
}
