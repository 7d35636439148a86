//! A build that leaves targets out: `cargo xtask check package` runs this with the feature of each target alone, and with none.

use sgemm::emulator::{Arguments, Emulator, MODELS};
use sgemm::gpu_kernels::{Step, Target, runnable};
use sgemm::plan::ModuleKind;
use sgemm::{AccuracyClass, Error, Layout, Problem, modules};

fn is_built_in(target: Target) -> bool {
    match target {
        Target::Sm80 => cfg!(feature = "sm80"),
        Target::Sm90a => cfg!(feature = "sm90"),
        Target::Sm100 => cfg!(feature = "sm100"),
    }
}

#[test]
fn a_feature_brings_its_targets_module() {
    for target in Target::ALL {
        let module = modules::built_in(target);
        assert_eq!(module.is_ok(), is_built_in(target), "{target:?}");
        assert!(module.is_err() || module.is_ok_and(|text| text.contains(&format!(".target {}\n", target.name()))));
    }
}

#[test]
fn plans_launch_what_is_built_in_and_errors_name_the_feature() {
    for emulator in MODELS.iter().copied().map(Emulator::new) {
        let device = emulator.device();
        for class in AccuracyClass::ALL {
            let problem = Problem::new(300, 200, 100).with_elements(class.input(), class.input()).with_accuracy(class);
            let of_device = || runnable().filter(|step| class.meets(step) && device.runs(step));
            let is_there = |step: &Step| is_built_in(step.target);
            match emulator.plan(&problem, u64::MAX) {
                Ok(plan) => assert!(is_there(plan.step()), "{}: {class:?}: {}", device.name, plan.step().slug),
                Err(Error::NoModule { feature, .. }) => {
                    assert!(of_device().next().is_some() && !of_device().any(is_there), "{}: {class:?}", device.name);
                    assert!(["sm80", "sm90", "sm100"].contains(&feature));
                }
                Err(error) => {
                    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
                    assert!(of_device().next().is_none(), "{}: {class:?}", device.name);
                }
            }
        }
    }
}

/// With D apart from C, which a kernel of the support module writes.
#[test]
fn support_kernels_come_from_a_module_that_is_built_in() {
    const SIZE: usize = 5;
    let a: Vec<f32> = (0..SIZE * SIZE).map(|i| (i % 7) as f32).collect();
    let b: Vec<f32> = (0..SIZE * SIZE).map(|i| (i % 4) as f32 - 1.0).collect();
    let problem = Problem::new(SIZE, SIZE, SIZE).with_d(Layout::row_major(SIZE));
    for emulator in MODELS.iter().copied().map(Emulator::new) {
        let Ok(plan) = emulator.plan(&problem, u64::MAX) else { continue };
        assert!(plan.launches().iter().any(|launch| launch.module == ModuleKind::Support));
        let mut d = [f32::NAN; SIZE * SIZE];
        emulator.run(&plan, Arguments::with_d(1.0, &a, &b, 0.0, None, &mut d)).unwrap();
        for (index, found) in d.into_iter().enumerate() {
            let (i, j) = (index / SIZE, index % SIZE);
            let expected: f32 = (0..SIZE).map(|k| a[i * SIZE + k] * b[k * SIZE + j]).sum();
            assert_eq!(found, expected, "{} at ({i}, {j})", plan.step().slug);
        }
    }
}
