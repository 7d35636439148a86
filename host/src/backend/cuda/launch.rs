//! Launching kernels: the only place where one is.

use cust::error::CudaResult;
use cust::function::Function;
use cust::launch;
use cust::stream::Stream;
use gpu_kernels::Step;

use super::cublas::Cublas;
use super::failure::Context as _;
use super::module::Modules;
use super::operands::{DeviceOperands, Gemm};
use crate::backend::Kernel;
use crate::backend::slabs::{Slab, slabs};
use crate::{Error, Problem};

/// A kernel with the operands that it is to work on.
pub(super) struct Launch<'a> {
    code: Code<'a>,
    gemm: Gemm<'a>,
    sm_count: u32,
}

enum Code<'a> {
    Step(&'static Step, Function<'a>),
    Cublas(&'a Cublas),
}

impl<'a> Launch<'a> {
    /// Puts a kernel that was prepared together with operands that were uploaded for this problem.
    pub(super) fn new(
        kernel: Kernel,
        modules: &'a Modules,
        cublas: Option<&'a Cublas>,
        operands: Option<&'a DeviceOperands>,
        problem: &Problem,
        sm_count: u32,
    ) -> Result<Self, Error> {
        let code = match kernel {
            Kernel::Step(step) => Code::Step(step, modules.function(step)?),
            Kernel::Cublas => {
                let missing = || Error::NoCublas { reason: "it was not loaded".into() };
                Code::Cublas(cublas.ok_or_else(missing)?)
            }
        };
        Ok(Self { code, gemm: Gemm::new(operands, problem)?, sm_count })
    }

    /// What an error says was being done.
    pub(super) fn what(&self) -> String {
        match &self.code {
            Code::Step(step, _) => format!("run {}", step.slug),
            Code::Cublas(_) => "run cuBLAS".into(),
        }
    }

    /// Queues the whole product in the stream; nothing where m or n is 0.
    pub(super) fn enqueue(&self, stream: &Stream) -> Result<(), Error> {
        if self.gemm.problem.m == 0 || self.gemm.problem.n == 0 {
            return Ok(());
        }
        match &self.code {
            Code::Step(step, function) => {
                let mut slabs = slabs(self.gemm.problem.m, step.tile.bm);
                slabs
                    .try_for_each(|slab| launch_slab(step, function, stream, &self.gemm, slab, self.sm_count))
                    .context(self.what())
            }
            Code::Cublas(cublas) => cublas.sgemm(&self.gemm),
        }
    }
}

/// Queues the step's kernel on the rows of one slab.
fn launch_slab(
    step: &Step,
    function: &Function,
    stream: &Stream,
    gemm: &Gemm,
    slab: Slab,
    sm_count: u32,
) -> CudaResult<()> {
    let Slab { first_row, rows } = slab;
    let Problem { n, k, alpha, beta, lda, ldb, ldc, .. } = gemm.problem;
    let (a, b, c) = (gemm.a(first_row), gemm.b(), gemm.c(first_row));
    let [grid_x, grid_y, grid_z] = step.grid(rows, n, sm_count);
    let [block_x, block_y, block_z] = step.block;
    // SAFETY: the kernel has the parameters of `gpu_kernels::KERNEL_ARGUMENTS`, which are passed in that order and of
    // those types. It reads `rows` x k of A and k x n of B, and reads and writes `rows` x n of C, within its leading
    // dimensions: since first_row + rows <= m, that lies inside of the m * lda, k * ldb and m * ldc elements that `gemm`
    // vouches for. It runs asynchronously, and freeing the operands or unloading the module waits for it.
    unsafe {
        launch!(function<<<(grid_x, grid_y, grid_z), (block_x, block_y, block_z), step.dynamic_smem_bytes, stream>>>(
            rows, n, k, alpha, a, lda, b, ldb, beta, c, ldc
        ))
    }
}

#[cfg(test)]
mod tests {
    use gpu_kernels::KERNEL_ARGUMENTS;

    #[test]
    fn the_kernels_take_what_is_passed() {
        let names = KERNEL_ARGUMENTS.map(|(name, _)| name);
        assert_eq!(names, ["m", "n", "k", "alpha", "a", "lda", "b", "ldb", "beta", "c", "ldc"]);
    }
}
