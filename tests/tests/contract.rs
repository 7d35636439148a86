//! Every step keeps the contract; and the contract notices when one does not.

use gpu_kernels::STEPS;
use host::backend::{BackendChoice, open};
use host::{Error, PtxSource};
use tests::contract::{self, CaseResult};
use tests::cpu::{CpuBackend, Mistake};

fn failures(results: &[CaseResult]) -> Vec<String> {
    let failure = |result: &CaseResult| Some(format!("{}: {}: {}", result.step, result.case, result.failure.as_ref()?));
    results.iter().filter_map(failure).collect()
}

#[test]
fn every_step_keeps_the_contract_on_the_device() {
    let mut backend = match open(BackendChoice::Cuda, 0, PtxSource::BuiltIn) {
        Ok(backend) => backend,
        Err(error @ (Error::NoDriver | Error::NoDevice { .. })) => {
            println!("the contract was not run on a device: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let (results, skipped) = contract::run_all(backend.as_mut()).unwrap();
    println!("{} cases ran; steps that this device cannot run: {skipped:?}", results.len());
    assert_eq!(failures(&results), [""; 0]);
}

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
            let mut cases = contract::cases(step).unwrap().into_iter().rev();
            let noticed = cases.any(|case| contract::check(&mut backend, step, case).unwrap().failure.is_some());
            assert!(noticed, "{mistake:?} in {} went unnoticed", step.slug);
        }
    }
}
