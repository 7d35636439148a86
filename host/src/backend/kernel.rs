//! What can be run, and on which matrices.

use gpu_kernels::Step;
use sgemm::plan::Plan;

use super::{BASELINES, Baseline};
use crate::{Error, Problem};

/// What can be run: a step of the ladder, or the library that it is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    /// A step or a variant of one: see [`gpu_kernels::runnable`].
    Step(&'static Step),
    /// cuBLAS, in one of its ways.
    Cublas(&'static Baseline),
}

impl Kernel {
    /// cuBLAS SGEMM in its default math mode: fp32 on the CUDA cores, no TF32.
    pub const CUBLAS: Self = Self::Cublas(&BASELINES[0]);

    /// Whether it is one that steps are measured against.
    #[must_use]
    pub fn is_library(&self) -> bool {
        matches!(self, Self::Cublas(_))
    }
}

impl Problem {
    /// The same problem with matrices as the kernel has them.
    ///
    /// # Errors
    /// As of [`Self::with_elements`].
    pub fn for_kernel(self, kernel: Kernel) -> Result<Self, Error> {
        let [input, output] = kernel.elements();
        self.with_elements(input, output)
    }

    /// Checks that the matrices are made of what the kernel takes.
    pub(crate) fn check_kernel(&self, kernel: Kernel) -> Result<(), Error> {
        let (takes, found) = (kernel.elements(), [self.input, self.output]);
        if takes == found { Ok(()) } else { Err(sgemm::Error::Elements { kernel: kernel.name(), takes, found }.into()) }
    }
}

/// Bytes of device memory that a kernel takes beside the operands, on a device of so many SMs; `None` of cuBLAS, which does not
/// say, and of a step that does not run on the problem.
pub(crate) fn workspace_bytes(kernel: Kernel, problem: &Problem, sm_count: u32) -> Option<u64> {
    match kernel {
        Kernel::Step(step) => Some(Plan::new(step, &problem.gemm.into(), sm_count).ok()?.workspace_bytes()),
        Kernel::Cublas(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_say_what_they_take_beside_the_operands() {
        let problem = Problem::new(4, 4, 4).unwrap();
        assert_eq!(workspace_bytes(Kernel::CUBLAS, &problem, 3), None);
        assert_eq!(workspace_bytes(Kernel::Step(&gpu_kernels::STEPS[0]), &problem, 3), Some(0));
        let halves = problem.with_elements(gpu_kernels::Element::F16, gpu_kernels::Element::F32).unwrap();
        assert_eq!(workspace_bytes(Kernel::Step(&gpu_kernels::STEPS[0]), &halves, 3), None);
    }
}
