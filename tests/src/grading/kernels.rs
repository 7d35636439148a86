//! Results of the library's plans, in its emulator of an H200.

use gpu_kernels::{Step, find};
use sgemm::emulator::{Arguments, Emulator};
use sgemm::plan::Plan;
use sgemm::{AccuracyClass, Error, Problem};

use super::Case;

/// What is graded.
#[derive(Debug, Clone, Copy)]
pub enum Graded {
    /// The plan that the library chooses for an accuracy class.
    Class(AccuracyClass),
    /// A kernel, or a variant of it, whatever the library would choose.
    Kernel(&'static Step),
}

impl Graded {
    /// Both classes, and both kernels of the class fp32 that split their operands.
    ///
    /// # Panics
    /// If one of them is not registered.
    #[must_use]
    pub fn all() -> [Self; 4] {
        let [fp16x3, tf32x3] = Self::split();
        [Self::Class(AccuracyClass::Fp32Strict), Self::Class(AccuracyClass::Fp32), fp16x3, tf32x3]
    }

    /// Those kernels alone.
    ///
    /// # Panics
    /// As [`Self::all`].
    #[must_use]
    pub fn split() -> [Self; 2] {
        ["fp16x3", "tf32x3"].map(|slug| Self::Kernel(find(slug).expect("it is registered")))
    }

    /// The class's or the kernel's.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Class(class) => class.name(),
            Self::Kernel(step) => step.slug,
        }
    }
}

impl Graded {
    /// The plan for a product of these sizes.
    ///
    /// # Errors
    /// Those of [`Emulator::plan`] and [`Plan::new`].
    pub fn plan(self, emulator: &Emulator, [m, n, k]: [usize; 3]) -> Result<Plan, Error> {
        let problem = Problem::new(m, n, k);
        match self {
            Self::Class(class) => emulator.plan(&problem.with_accuracy(class), u64::MAX),
            Self::Kernel(step) => {
                let class = AccuracyClass::of(step.precision);
                Plan::new(step, &problem.with_accuracy(class), emulator.device().sm_count)
            }
        }
    }
}

/// C' of a case.
///
/// # Errors
/// Those of [`Emulator::run`].
pub fn multiply(emulator: &Emulator, plan: &Plan, case: &Case) -> Result<Vec<f32>, Error> {
    let mut c = case.c.clone();
    emulator.run(plan, Arguments::new(case.alpha, &case.a, &case.b, case.beta, &mut c))?;
    Ok(c)
}
