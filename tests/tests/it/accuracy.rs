//! Errors beside those of SGEMM: on the CPU backend, one of whose kernels is spoiled.

use gpu_kernels::{Element, Precision, STEPS, Step};
use host::backend::{Backend, Conditions, Device, Kernel};
use host::measure::accuracy::{self, AccuracyRow, Inputs, Measured, Verdict};
use host::verify::{Coverage, Fault};
use host::{Baseline, Error, Matrix, Operands, Problem, output};
use tests::cpu::CpuBackend;

/// What a kernel of accuracy class fp32 would be.
static FP32_CLASS: Step = Step { slug: "fp32-class", precision: Precision::Fp16x3, ..STEPS[0] };
static TF32: Step = Step { slug: "short", precision: Precision::Tf32, ..STEPS[0] };
static HALF: Step = Step { slug: "half", precision: Precision::F16, output: Element::F16, ..STEPS[0] };

/// A backend that spoils each element that one kernel computes.
struct Spoiled {
    inner: CpuBackend,
    slug: &'static str,
    spoil: fn(f32) -> f32,
    is_it: bool,
}

impl Backend for Spoiled {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn device(&self) -> &Device {
        self.inner.device()
    }

    fn is_modelled(&self) -> bool {
        false
    }

    fn conditions(&self) -> Option<Conditions> {
        None
    }

    fn prepare(&mut self, kernel: Kernel) -> Result<(), Error> {
        self.inner.prepare(kernel)
    }

    fn upload(&mut self, operands: &Operands) -> Result<(), Error> {
        self.inner.upload(operands)
    }

    fn run(&mut self, kernel: Kernel, problem: &Problem) -> Result<Coverage, Error> {
        self.is_it = kernel.name() == self.slug;
        self.inner.run(kernel, problem)
    }

    fn restore(&mut self, c: &Matrix) -> Result<(), Error> {
        self.inner.restore(c)
    }

    fn download(&mut self) -> Result<Operands, Error> {
        let mut result = self.inner.download()?;
        for i in (0..result.c.rows()).filter(|_| self.is_it) {
            result.c.row_mut(i).iter_mut().for_each(|x| *x = (self.spoil)(*x));
        }
        Ok(result)
    }

    fn time(
        &mut self,
        kernel: Kernel,
        problem: &Problem,
        warmup: u32,
        iterations: u32,
        launched: &mut dyn FnMut(),
    ) -> Result<Vec<f32>, Error> {
        self.inner.time(kernel, problem, warmup, iterations, launched)
    }
}

/// `vectorized`, and this step with its results spoiled, on these inputs.
fn measured(step: &'static Step, spoil: fn(f32) -> f32, inputs: Inputs) -> Measured {
    let mut backend = Spoiled { inner: CpuBackend::new(None), slug: step.slug, spoil, is_it: false };
    let plain = Kernel::Step(gpu_kernels::find("vectorized").unwrap());
    let kernels = [Kernel::CUBLAS, plain, Kernel::Step(step)];
    let problem = Problem::new(30, 40, 60).unwrap().with_seed(7);
    accuracy::measure(&mut backend, &kernels, inputs, &problem, &mut |_| ()).unwrap()
}

fn verdicts(rows: &[AccuracyRow]) -> Vec<Verdict> {
    rows.iter().map(|row| row.verdict).collect()
}

#[test]
fn right_kernels_meet_their_accuracy_class_on_all_inputs() {
    for inputs in Inputs::ALL {
        let Measured { rows, no_baseline, failures, .. } = measured(&FP32_CLASS, |x| x, inputs);
        assert!(failures.is_empty(), "{}: {failures:?}", inputs.name());
        assert!(no_baseline.unwrap().contains("this is a CPU"));
        assert_eq!(verdicts(&rows), [Verdict::Same, Verdict::NoLarger]);
        assert_eq!((&*rows[1].compared_with, rows[1].rel_error_ratio, rows[1].promises), ("vectorized", 1.0, true));
        assert!(rows.iter().all(|row| row.inputs == inputs.name() && row.max_error > 0.0));
        assert!(accuracy::outside_class(&rows).is_empty());
    }
}

#[test]
fn a_kernel_that_is_less_accurate_is_outside_its_class() {
    // Where sums cancel, what was lost before is much more than what is lost after.
    for inputs in Inputs::ALL.into_iter().filter(|inputs| *inputs != Inputs::NearCancelling) {
        let Measured { rows, failures, .. } = measured(&FP32_CLASS, |x| x * (1.0 + 2e-6), inputs);
        assert!(failures.is_empty(), "no more than an fp32 sum can be off: {failures:?}");
        assert_eq!(verdicts(&rows), [Verdict::Same, Verdict::Larger], "{}", inputs.name());
        let [error] = &accuracy::outside_class(&rows)[..] else { panic!("{}", inputs.name()) };
        assert_eq!(error.exit_code(), 1);
        assert!(error.to_string().contains("larger than those of vectorized in 1 of 1 cases"), "{error}");
    }
}

#[test]
fn what_guarantees_nothing_is_never_outside_its_class() {
    let Measured { rows, failures, .. } = measured(&TF32, |x| x * 1.001, Inputs::Normal);
    assert_eq!((verdicts(&rows), failures.len()), (vec![Verdict::Same, Verdict::Larger], 0));
    assert!(accuracy::outside_class(&rows).is_empty());
}

#[test]
fn a_wrong_kernel_is_larger_and_a_failure() {
    for (spoil, is_nan) in [((|x| x + 1.0) as fn(f32) -> f32, false), (|_| f32::NAN, true)] {
        let Measured { rows, failures, .. } = measured(&FP32_CLASS, spoil, Inputs::Uniform);
        assert_eq!(verdicts(&rows), [Verdict::Same, Verdict::Larger]);
        assert!(
            matches!(failures[..], [Error::NotVerified { kernel: "fp32-class", fault: Fault::Element { got, .. }, .. }] if got.is_nan() == is_nan)
        );
    }
}

#[test]
fn only_what_takes_and_gives_f32_is_compared() {
    let Measured { rows, failures, .. } = measured(&HALF, |x| x, Inputs::Uniform);
    assert_eq!(rows.len(), 1);
    assert!(matches!(failures[..], [Error::NotComparable { kernel: "half" }]));
    let refused = accuracy::check_comparable(Kernel::Cublas(Baseline::find("cublas-bf16-f32").unwrap()));
    assert_eq!(refused.unwrap_err().exit_code(), 2);
}

#[test]
fn the_table_shows_every_row_and_the_summary_counts() {
    let rows = |spoil, inputs| measured(&FP32_CLASS, spoil, inputs).rows;
    let all = [rows(|x| x, Inputs::Uniform), rows(|x| x * 1.00001, Inputs::Normal)].concat();
    let table = output::accuracy(&all);
    for text in ["m = 30, n = 40, k = 60", "uniform", "fp32-class", "fp16x3", "no larger", "LARGER", "stands for SGEMM"]
    {
        assert!(table.contains(text), "'{text}' is missing in:\n{table}");
    }
    let summary = output::accuracy_summary(&all);
    assert_eq!(summary, "fp32-class: errors no larger than those of vectorized in 1 of 2 cases\n");
    assert_eq!(output::json_lines(&all).lines().count(), 4);
    assert!(output::accuracy(&[]).is_empty());
}
