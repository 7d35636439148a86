//! What is timed is verified: the last timed launch is checked, on operands that are fresh again.

use gpu_kernels::STEPS;
use host::backend::{Backend, Kernel};
use host::measure::bench::{Comparison, Timing, compare};
use host::{Error, Operands, Problem, PtxSource, Verifier};
use tests::cpu::{CpuBackend, Mistake};

const KERNEL: Kernel = Kernel::Step(&STEPS[0]);

fn compared(mistake: Option<Mistake>, beta: f32, timing: Timing) -> Comparison {
    let problem = Problem::new(17, 19, 23).unwrap().with_leading_dimensions(23, 19, 30).unwrap();
    let problem = problem.with_scalars(0.5, beta).unwrap();
    compare(&mut CpuBackend::new(mistake), &[KERNEL], &problem, timing, &mut |_| ()).unwrap()
}

/// With any number of launches, warm-up included, and whether C is an input or not.
fn timings() -> impl Iterator<Item = (f32, Timing)> {
    let of = |warmup, iterations| Timing { warmup, iterations };
    let timings = [of(0, Some(1)), of(2, Some(1)), of(0, Some(4)), of(1, Some(3)), of(1, None)];
    [0.0, -0.75].into_iter().flat_map(move |beta| timings.map(|timing| (beta, timing)))
}

#[test]
fn a_kernel_that_works_every_time_is_verified() {
    for (beta, timing) in timings() {
        let comparison = compared(None, beta, timing);
        assert!(comparison.failures.is_empty() && comparison.rows[0].verified, "{timing:?}: {:?}", comparison.failures);
        assert_eq!(comparison.rows[0].iterations, timing.iterations.unwrap_or(200) as usize);
    }
}

#[test]
fn a_kernel_that_works_once_is_not_verified() {
    for (mistake, (beta, timing)) in
        Mistake::LATER.into_iter().flat_map(|mistake| timings().map(move |timing| (mistake, timing)))
    {
        let comparison = compared(Some(mistake), beta, timing);
        assert!(matches!(comparison.failures[..], [Error::NotVerified { .. }]), "{mistake:?}: {timing:?}");
        assert!(!comparison.rows[0].verified);
    }
}

/// Naive, but that it does nothing where sums are long: right on every small problem.
#[test]
fn a_kernel_that_is_wrong_elsewhere_is_not_verified() {
    let step = &STEPS[0];
    let text = PtxSource::BuiltIn.module(step).unwrap();
    let entry = text.find(&format!(".entry {}(", step.kernel)).expect("its kernel");
    let body = entry + text[entry..].find("\n{\n").expect("its body") + "\n{\n".len();
    let k = gpu_kernels::KERNEL_ARGUMENTS.iter().position(|(name, _)| *name == "k").expect("k");
    let end = format!(
        ".reg .pred %is_long;\n.reg .b32 %length;\nld.param.u32 %length, [{}_param_{k}];\n\
         setp.gt.u32 %is_long, %length, 4000;\n@%is_long ret;\n",
        step.kernel
    );
    let text = format!("{}{end}{}", &text[..body], &text[body..]);
    let ptx = PtxSource::File { path: "wrong.ptx".into(), text };
    let timing = Timing { warmup: 0, iterations: Some(1) };
    let problem = Problem::new(17, 19, 23).unwrap();
    let comparison = compare(&mut tests::emulator(step, ptx, None), &[KERNEL], &problem, timing, &mut |_| ()).unwrap();
    let [error] = &comparison.failures[..] else { panic!("{:?}", comparison.failures) };
    assert!(error.to_string().starts_with("naive at m = 5, n = 6, k = 4200 is not verified: "), "{error}");
    assert!(comparison.rows.is_empty());
}

/// The emulator too runs a kernel on fresh operands again; k is split, so that it has a workspace.
#[test]
fn the_emulator_restores_operands_and_poisons_the_workspace() {
    let step = gpu_kernels::find("stream-k").expect("a step");
    let mut backend = tests::emulator(step, PtxSource::BuiltIn, None);
    let sm_count = backend.device().sm_count;
    let (m, n, k) = tests::contract::stream_k_sizes(step, sm_count)[0];
    let problem = Problem::new(m, n, k).unwrap().with_scalars(1.5, -0.5).unwrap();
    let fresh = Operands::random(&problem).unwrap();
    assert!(backend.restore(&fresh.c).is_err(), "nothing was uploaded");
    backend.upload(&fresh).unwrap();
    for _ in 0..2 {
        backend.restore(&fresh.c).unwrap();
        backend.run(Kernel::Step(step), &problem).unwrap();
    }
    let other = Problem::new(m, n + 1, k).unwrap();
    assert!(backend.restore(&Operands::random(&other).unwrap().c).is_err(), "of another problem");
    let result = backend.download().unwrap();
    assert_eq!(Verifier::new(&problem, &fresh).verify(&result, step.precision).fault, None);
}
