//! The contract can be kept, and it notices when it is not. Whether the steps keep it, the executables `emulator` and `device` test.

use gpu_kernels::STEPS;
use tests::contract::{self, failures};
use tests::cpu::{CpuBackend, Mistake};

#[test]
fn a_right_kernel_keeps_the_contract() {
    for step in STEPS {
        let results = contract::run(&mut CpuBackend::new(None), step).unwrap();
        assert!(results.len() > 80);
        assert_eq!(failures(&results), [""; 0]);
    }
}

#[test]
fn every_mistake_breaks_the_contract() {
    for mistake in Mistake::ALL {
        for step in STEPS {
            let mut backend = CpuBackend::new(Some(mistake));
            // From the end, where the cases are that combine factors and leading dimensions: most mistakes show at once.
            let mut cases = contract::cases(step, 132, 1).unwrap().into_iter().rev();
            let noticed = cases.any(|case| contract::check(&mut backend, step, case).unwrap().failure.is_some());
            assert!(noticed, "{mistake:?} in {} went unnoticed", step.slug);
        }
    }
}

#[test]
fn who_promises_fp32_keeps_what_is_at_its_ends() {
    let step = &STEPS[0];
    for mistake in Mistake::OF_RANGE {
        let results = contract::run(&mut CpuBackend::new(Some(mistake)), step).unwrap();
        let failures = failures(&results);
        assert!(!failures.is_empty() && failures.iter().all(|line| !line.contains("inputs: Random")), "{failures:?}");
    }
}
