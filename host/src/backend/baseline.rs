//! cuBLAS, the library that steps are measured against: in the arithmetic of each of them.

use gpu_kernels::{Element, Precision, Step};

use super::Kernel;
use crate::AccuracyClass;

/// A way to run cuBLAS. Sums are f32 in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Baseline {
    /// The name on the command line and in every table.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// What cuBLAS is told to do, for reports.
    pub math: &'static str,
    /// Its arithmetic, which says what A and B are made of.
    pub precision: Precision,
    /// What C is made of.
    pub output: Element,
}

/// Every way, SGEMM first: the only list of them.
pub const BASELINES: &[Baseline] = &[
    Baseline {
        name: "cublas",
        summary: "NVIDIA's library: the baseline, fp32 in its default math mode",
        // On the CUDA cores, without TF32 or emulation.
        math: "fp32, default math",
        precision: Precision::Fp32,
        output: Element::F32,
    },
    Baseline {
        name: "cublas-tf32",
        summary: "the same with TF32 allowed: the baseline of tf32",
        math: "tf32, fast TF32",
        precision: Precision::Tf32,
        output: Element::F32,
    },
    Baseline {
        name: "cublas-f16",
        summary: "the same on f16, C of f16: the baseline of f16",
        math: "f16, f32 sums",
        precision: Precision::F16,
        output: Element::F16,
    },
    Baseline {
        name: "cublas-bf16",
        summary: "the same on bf16, C of bf16: the baseline of bf16",
        math: "bf16, f32 sums",
        precision: Precision::Bf16,
        output: Element::Bf16,
    },
    Baseline {
        name: "cublas-f16-f32",
        summary: "the same on f16, C of f32",
        math: "f16, f32 sums and C",
        precision: Precision::F16,
        output: Element::F32,
    },
    Baseline {
        name: "cublas-bf16-f32",
        summary: "the same on bf16, C of f32",
        math: "bf16, f32 sums and C",
        precision: Precision::Bf16,
        output: Element::F32,
    },
];

impl Baseline {
    /// The one of that name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        BASELINES.iter().find(|baseline| baseline.name == name)
    }

    /// What a class is compared with: cuBLAS on the same operands, in the fastest arithmetic that the class admits and it has.
    #[must_use]
    pub fn of_class(class: AccuracyClass) -> &'static Self {
        let is_one = |baseline: &&Self| class.admits(baseline.precision) && baseline.output == class.input();
        BASELINES.iter().rfind(is_one).unwrap_or(&BASELINES[0])
    }

    /// What a kernel is compared with: cuBLAS in an arithmetic of the same accuracy, on the same operands. Where that is not
    /// there, SGEMM.
    #[must_use]
    pub fn of(kernel: Kernel) -> &'static Self {
        match kernel {
            Kernel::Cublas(baseline) => baseline,
            Kernel::Step(Step { precision, output, .. }) => {
                let class = AccuracyClass::of(*precision);
                let is_alike =
                    |baseline: &&Self| (AccuracyClass::of(baseline.precision), baseline.output) == (class, *output);
                BASELINES.iter().find(is_alike).unwrap_or(&BASELINES[0])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use gpu_kernels::STEPS;

    use super::*;

    fn of(precision: Precision, output: Element) -> &'static str {
        // A test's own steps live as long as the test.
        let step = Box::leak(Box::new(Step { precision, output, ..STEPS[0] }));
        Baseline::of(Kernel::Step(step)).name
    }

    #[test]
    fn kernels_are_compared_with_their_own_arithmetic() {
        for precision in [Precision::Fp32, Precision::Fp16x3, Precision::Tf32x3] {
            assert_eq!(of(precision, Element::F32), "cublas");
        }
        assert_eq!(of(Precision::Tf32, Element::F32), "cublas-tf32");
        assert_eq!(of(Precision::F16, Element::F16), "cublas-f16");
        assert_eq!(of(Precision::Bf16, Element::Bf16), "cublas-bf16");
        assert_eq!(of(Precision::Bf16, Element::F32), "cublas-bf16-f32");
    }

    #[test]
    fn classes_are_compared_with_their_own_arithmetic() {
        let names = AccuracyClass::ALL.map(|class| Baseline::of_class(class).name);
        assert_eq!(names, ["cublas", "cublas", "cublas-tf32", "cublas-f16", "cublas-bf16"]);
    }

    #[test]
    fn baselines_have_their_own_names_and_are_their_own_baselines() {
        for baseline in BASELINES {
            assert_eq!(Baseline::find(baseline.name), Some(baseline));
            assert_eq!(Baseline::of(Kernel::Cublas(baseline)), baseline);
            assert!(gpu_kernels::find(baseline.name).is_none(), "{} is a step", baseline.name);
        }
        assert_eq!(Baseline::find("cublas-fp64"), None);
    }
}
