//! What `auto` stands for, and how the tables come about that it is looked up in.

use crate::program::{assert_fails, host, no_device, rows, write};
use gpu_kernels::STEPS;
use host::{AccuracyClass, Error};
use tempfile::TempDir;

#[test]
fn auto_says_what_it_stands_for() {
    let auto = |arguments: &[&str]| {
        let emulated = ["--backend", "emulator", "--kernel", "auto", "--format", "json"];
        let outcome = host(&[&emulated[..], arguments].concat());
        let line = outcome.stderr.lines().next().unwrap().to_owned();
        let rows = rows(&outcome.stdout);
        assert_eq!((outcome.code, rows.len()), (0, 1), "{}", outcome.stderr);
        assert!(line.starts_with(&format!("auto: {}, ", rows[0]["kernel"].as_str().unwrap())), "{line}");
        line
    };
    // No table of this device is there.
    assert!(auto(&["--size", "70x60x50", "--model", "rtx3090"]).contains(", by a rule: "));
    let folder = TempDir::new().unwrap();
    let header = ["device", "driver", "cublas", "date", "commit", "how"].map(|key| format!("{key} = -\n")).concat();
    let path = write(&folder, header + "64 64 64 fp32-strict 2d-tiling 1.0 - - - - -\n");
    let line = auto(&["--size", "70x60x50", "--tuned", &path]);
    assert_eq!(line, "auto: 2d-tiling, measured to be the fastest at 64x64x64");
}

#[test]
fn a_precision_rules_kernels_out() {
    let emulated = ["--backend", "emulator", "--size", "32", "--format", "json", "--precision"];
    for class in AccuracyClass::ALL {
        let arguments = [&emulated[..], &[class.name(), "--kernel"]].concat();
        if !gpu_kernels::runnable().any(|step| class.meets(step)) {
            assert_fails(&[&arguments[..], &["auto"]].concat(), 2, &["no step computes in", class.name()]);
            continue;
        }
        let outcome = host(&[&arguments[..], &["auto"]].concat());
        let precision = rows(&outcome.stdout)[0]["precision"].as_str().unwrap().to_owned();
        let precisions = class.precisions().iter().map(|precision| precision.name());
        assert!(precisions.clone().any(|name| name == precision), "{}: {precision}", class.name());
        // Nothing that `all` names has another one.
        let all = host(&[&arguments[..], &["all"]].concat());
        for row in rows(&all.stdout) {
            assert!(precisions.clone().any(|name| row["precision"] == name), "{}: {row}", class.name());
        }
    }
}

#[test]
fn a_precision_that_contradicts_a_kernel_is_refused() {
    let refused = |kernel, precision, words: &[&str]| {
        assert_fails(&["--kernel", kernel, "--precision", precision], 2, words);
    };
    refused("naive", "tf32", &["naive computes in fp32, which --precision tf32 rules out: --precision fp32 allows it"]);
    refused("auto,cublas-tf32", "fp32", &["cublas-tf32 computes in tf32", "--precision tf32 allows it"]);
    refused("cublas", "bf16", &["cublas computes in fp32"]);
    refused("naive", "fp64", &["there is no accuracy class 'fp64'", "fp32-strict, fp32, tf32, f16, bf16"]);
    for step in STEPS.iter().filter(|step| !AccuracyClass::Fp32Strict.admits(step.precision)) {
        refused(step.slug, "fp32-strict", &[step.precision.name(), "--precision fp32-strict rules out"]);
    }
    assert_fails(&["accuracy", "--precision", "fp32"], 2, &["unexpected argument '--precision'"]);
    assert_fails(&["tune", "--precision", "fp64"], 2, &["there is no accuracy class"]);
}

#[test]
fn tables_that_are_none_are_refused() {
    let folder = TempDir::new().unwrap();
    let path = write(&folder, "shapes = 1");
    assert_fails(
        &["--tuned", &path, "--size", "8"],
        1,
        &["kernels.ptx is not a table that `host tune` wrote", "line 1"],
    );
    let missing = folder.path().join("missing.txt");
    assert_fails(&["--tuned", missing.to_str().unwrap(), "--size", "8"], 1, &["missing.txt", "No such file"]);
}

#[test]
fn tuning_needs_a_device() {
    assert_fails(&["tune", "--size", "4x4"], 2, &["'4x4' is not a size"]);
    assert_fails(&["tune", "--kernel", "naive"], 2, &["unexpected argument '--kernel'"]);
    assert_fails(&["--output", "x.txt"], 2, &["unexpected argument '--output'"]);
    match no_device() {
        Some(Error::NoDriver | Error::NoDevice { .. }) => {
            assert_fails(&["tune"], 1, &["`host tune` measures kernels, and no CUDA device was found"]);
        }
        Some(_) => assert_fails(&["tune"], 1, &[]),
        None => {
            let folder = TempDir::new().unwrap();
            let path = folder.path().join("table.txt");
            let outcome = host(&["tune", "--size", "64", "--output", path.to_str().unwrap()]);
            assert!(outcome.code == 0 && outcome.stdout.starts_with("64x64x64: "), "{}", outcome.stderr);
            let again = host(&["--tuned", path.to_str().unwrap(), "--size", "64"]);
            assert!(again.stderr.contains("measured to be the fastest at 64x64x64"), "{}", again.stderr);
        }
    }
}
