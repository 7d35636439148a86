use super::*;
use crate::AccuracyClass;

#[test]
fn kernels_are_timed_on_shapes_of_all_kinds_and_always_the_same() {
    let Set { cases, .. } = set();
    assert_eq!(cases, set().cases);
    assert!(SHAPES.iter().all(|shape| cases.contains(&Case::new(*shape))));
    let count = |is: fn(&Case) -> bool| cases.iter().filter(|case| is(case)).count();
    assert!(count(|case| case.ops != [Op::N; 2]) >= 3 * TURNED as usize);
    assert!(count(|case| case.sizes[..2].contains(&1)) >= VECTORS as usize / 2);
    assert!(count(|case| case.batch > 1) >= BATCHES as usize);
    let bytes = |case: &Case| case.bytes(gpu_kernels::Element::F32).iter().sum::<u64>();
    assert!(cases.iter().all(|case| bytes(case) < 16 << 30), "a small device has room for them");
}

#[test]
fn files_are_named_after_the_device() {
    assert_eq!(file_name("NVIDIA H200"), "nvidia-h200.txt");
    assert_eq!(file_name("NVIDIA A100-SXM4-80GB"), "nvidia-a100-sxm4-80gb.txt");
}

/// A record as a device's, with times of two kernels: one of them the faster where k is long.
fn row(size: u32, k: u32) -> ShapeTiming {
    let json = include_str!("row.json");
    let row: ShapeTiming = serde_json::from_str(json).unwrap();
    let time = |kernel: &str, time_ms: f64| KernelTime { kernel: kernel.into(), time_ms };
    let tiles = f64::from(size.div_ceil(128) * size.div_ceil(128)) / 132.0;
    let slow = 0.002 + 1e-4 * f64::from(k) * tiles.max(1.0);
    let fast = 0.020 + 1e-5 * f64::from(k) * tiles.max(1.0);
    let best = if slow < fast { "2d-tiling" } else { "vectorized" };
    let kernels = vec![time("2d-tiling", slow), time("vectorized", fast)];
    // A clock at which an SM's units are as fast.
    let max_sm_clock_mhz = 20_000;
    ShapeTiming { m: size, n: size, k, best_kernel: Some(best.into()), kernels, max_sm_clock_mhz, ..row }
}

#[test]
fn a_table_predicts_what_was_measured() {
    let sizes = [128, 512, 1024, 4096];
    let rows: Vec<_> = sizes.iter().flat_map(|size| [16, 64, 300, 1024, 4096].map(|k| row(*size, k))).collect();
    let table = table(&rows).unwrap();
    assert_eq!(table.header.device, rows[0].device);
    let fit = Fit::of(&table, &rows);
    assert_eq!((fit.kernels, fit.times, fit.regrets.iter().count()), (2, 40, 20));
    assert!(fit.error < 0.2, "{fit}");
    assert!(fit.regrets.iter().filter(|regret| regret.factor > 1.0).count() <= 2, "{fit}");
    let entry = |shape| table.entries.iter().find(|entry| entry.shape == shape).map(|entry| entry.step.slug);
    assert_eq!((entry([4096; 3]), entry([4096, 4096, 16])), (Some("vectorized"), None), "of listed shapes only");
    let mut slower = row(4096, 4096);
    slower.kernels[1].time_ms *= 1e3;
    let newer = super::table(&[&rows[..], &[slower]].concat()).unwrap();
    let of_shape: Vec<_> =
        newer.entries.iter().filter(|entry| entry.shape == [4096; 3]).map(|entry| entry.step.slug).collect();
    assert_eq!(of_shape, ["2d-tiling"], "the newest row's, once");
    let folder = tempfile::tempdir().unwrap();
    let path = write(&table, Some(&folder.path().join("table.txt"))).unwrap();
    assert_eq!(crate::measure::tables::from_file(&path).unwrap(), table);
}

#[test]
fn kernels_that_may_not_be_chosen_for_a_shape_are_neither_fitted_nor_named() {
    let times = [("gemv/8", 0.01), ("gemv/row", 0.02)];
    let kernels = times.map(|(kernel, time_ms)| KernelTime { kernel: kernel.into(), time_ms }).to_vec();
    let vector = ShapeTiming { m: 1, n: 4096, kernels, ..row(4096, 4096) };
    let slugs = |row: &ShapeTiming| {
        let samples = samples(0, row).into_iter().map(|sample| sample.step.slug).collect::<Vec<_>>();
        (samples, entries(row).into_iter().map(|entry| entry.step.slug).collect::<Vec<_>>())
    };
    assert_eq!(slugs(&vector), (vec!["gemv/row"], vec!["gemv/row"]));
    let vectors = ShapeTiming { m: 2, ..vector };
    assert_eq!(slugs(&vectors), (vec!["gemv/8", "gemv/row"], vec!["gemv/8"]));
}

#[test]
fn records_of_no_kernels_or_of_several_devices_are_refused() {
    let plain = ShapeTiming { kernels: Vec::new(), ..row(64, 64) };
    assert!(matches!(table(&[plain]), Err(Error::NoRows)));
    let other = ShapeTiming { device: "Other GPU".into(), ..row(64, 64) };
    assert!(matches!(table(&[row(64, 64), other]), Err(Error::NoRows)));
    assert_eq!(AccuracyClass::find(&row(64, 64).class), Some(AccuracyClass::Fp32Strict));
}
