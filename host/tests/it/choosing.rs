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
    // No table of this device is there: a guess.
    assert!(auto(&["--size", "70x60x50", "--model", "rtx3090"]).contains(", predicted to be the fastest, with "));
    let folder = TempDir::new().unwrap();
    let header = ["device", "driver", "cublas", "date", "commit", "how"].map(|key| format!("{key} = -\n")).concat();
    let costs = "memory = 1 1000 2000\nnaive 1 5 0 0 0 0 0 9 0 0 0 0 0 0 0 0 0 yes\n1d-tiling 1 2.5 0 0 0 0 0 1e9 0 0 0 0 0 0 0 0 0 yes\n";
    let path = write(&folder, header + costs + "64 64 64 fp32-strict 2d-tiling\n");
    let of_size = |size| auto(&["--size", size, "--tuned", &path]);
    assert_eq!(of_size("64"), "auto: 2d-tiling, measured to be the fastest at this shape");
    assert!(of_size("70x60x50").starts_with("auto: 1d-tiling, predicted to be the fastest, with 2.5"));
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
    refused("naive", "f16", &["naive computes in fp32, which --precision f16 rules out: --precision fp32 allows it"]);
    refused("auto,cublas-tf32", "fp32", &["cublas-tf32 computes in tf32", "--precision tf32 allows it"]);
    refused("cublas", "bf16", &["cublas computes in fp32"]);
    refused("naive", "fp64", &["there is no accuracy class 'fp64'", "fp32-strict, fp32, tf32, f16, bf16"]);
    for step in STEPS.iter().filter(|step| !AccuracyClass::Fp32Strict.admits(step.precision)) {
        refused(step.slug, "fp32-strict", &[step.precision.name(), "--precision fp32-strict rules out"]);
    }
    assert_fails(&["accuracy", "--precision", "fp32"], 2, &["unexpected argument '--precision'"]);
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
    assert_fails(&["tune", "--kernel", "naive"], 2, &["unexpected argument '--kernel'"]);
    assert_fails(&["tune", "--records", "missing.jsonl"], 1, &["missing.jsonl"]);
    assert_fails(&["--output", "x.txt"], 2, &["unexpected argument '--output'"]);
    match no_device() {
        Some(Error::NoDriver | Error::NoDevice { .. }) => {
            assert_fails(&["tune"], 1, &["`host tune` measures kernels, and no CUDA device was found"]);
        }
        Some(_) => assert_fails(&["tune"], 1, &[]),
        None => {
            let folder = TempDir::new().unwrap();
            let [table, records] = ["table.txt", "records.jsonl"].map(|name| folder.path().join(name));
            let [table, records] = [&table, &records].map(|path| path.to_str().unwrap());
            let outcome = host(&["shapes", "random:12:1", "--regret", "--json", records]);
            assert_eq!(outcome.code, 0, "{}", outcome.stderr);
            let outcome = host(&["tune", "--records", records, "--output", table]);
            assert!(outcome.code == 0 && outcome.stdout.contains("predictions are off by"), "{}", outcome.stderr);
            let again = host(&["--tuned", table, "--size", "64"]);
            assert!(again.stderr.contains("predicted to be the fastest"), "{}", again.stderr);
        }
    }
}
