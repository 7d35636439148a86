use std::time::Duration;

use gpu_kernels::STEPS;

use super::*;
use crate::PtxSource;
use crate::backend::emulator::{EmulatorBackend, MODELS};

fn timed(slug: &str, ms: f64) -> Timed {
    Timed { step: gpu_kernels::find(slug).unwrap(), ms }
}

#[test]
fn the_model_drops_what_is_far_behind_and_the_rest_is_ordered() {
    let mut backend = EmulatorBackend::new(PtxSource::BuiltIn, &MODELS[0], Some(Duration::from_millis(20)));
    let mut estimator = Estimator::new(PtxSource::BuiltIn, backend.device());
    let problem = Problem::new(256, 256, 64).unwrap();
    let found = search(&mut backend, &mut estimator, &problem, AccuracyClass::Fp32Strict, &mut |_| {}).unwrap();
    assert!(found.failures.is_empty(), "{:?}", found.failures);
    assert!(found.timed > 0 && found.dropped > 0);
    let Entry { shape, first, second, cublas_ms, .. } = found.entry;
    assert_eq!((shape, cublas_ms), ([256, 256, 64], None));
    assert!(first.step.slug != STEPS[0].slug && first.ms <= second.unwrap().ms);
}

#[test]
fn the_close_ones_are_timed_again() {
    let all =
        [("vectorized", 1.0), ("2d-tiling", 1.1), ("1d-tiling", 1.14), ("coalesced", 1.5)].map(|(s, ms)| timed(s, ms));
    let again = |timed: &[Timed]| finalists(timed).iter().map(|timed| timed.step.slug).collect::<Vec<_>>();
    assert_eq!(again(&all), ["vectorized", "2d-tiling", "1d-tiling"]);
    assert_eq!(again(&[all[0], all[3]]), ["vectorized", "coalesced"], "there is a runner-up");
    assert_eq!(again(&[]), [""; 0]);
}

#[test]
fn files_are_named_after_the_device() {
    assert_eq!(file_name("NVIDIA H200"), "nvidia-h200.txt");
    assert_eq!(file_name("NVIDIA A100-SXM4-80GB"), "nvidia-a100-sxm4-80gb.txt");
}

#[test]
fn files_keep_the_shapes_of_before_and_no_others_devices() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tuned/table.txt");
    let device = Device::of_capability((9, 0));
    let entry = |size| Entry {
        shape: [size; 3],
        class: AccuracyClass::default(),
        first: timed("vectorized", 1.5),
        second: None,
        autotuned: None,
        cublas_ms: None,
    };
    for size in [4096, 64] {
        let mut output = Output::open(Some(&path), &device).unwrap();
        output.insert(entry(size), &device).unwrap();
    }
    assert_eq!(tables::from_file(&path).unwrap().entries, [entry(64), entry(4096)]);
    let other = Device { name: "Other GPU".into(), ..device.clone() };
    let error = Output::open(Some(&path), &other).unwrap_err();
    assert!(
        error.to_string().ends_with("is the table of Test GPU, and this is Other GPU: give another file by --output")
    );
    let mut newer = Output::open(Some(&path), &Device { driver: "999".into(), ..device.clone() }).unwrap();
    newer.insert(entry(128), &device).unwrap();
    assert_eq!(tables::from_file(&path).unwrap().entries, [entry(128)], "times of another driver are not kept");
}
