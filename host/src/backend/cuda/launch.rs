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
use crate::{Error, Problem};

/// Blocks that a grid can have along y.
const MAX_GRID_Y: u32 = 65_535;

/// A kernel with the operands that it is to work on.
pub(super) struct Launch<'a> {
    code: Code<'a>,
    gemm: Gemm<'a>,
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
    ) -> Result<Self, Error> {
        let code = match kernel {
            Kernel::Step(step) => Code::Step(step, modules.function(step)?),
            Kernel::Cublas => {
                let missing = || Error::NoCublas { reason: "it was not loaded".into() };
                Code::Cublas(cublas.ok_or_else(missing)?)
            }
        };
        Ok(Self { code, gemm: Gemm::new(operands, problem)? })
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
                slabs.try_for_each(|slab| launch_slab(step, function, stream, &self.gemm, slab)).context(self.what())
            }
            Code::Cublas(cublas) => cublas.sgemm(&self.gemm),
        }
    }
}

/// Rows of C that one launch computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slab {
    first_row: u32,
    rows: u32,
}

/// Cuts m rows into slabs that a grid of blocks, each `bm` rows high, can cover.
fn slabs(m: u32, bm: u32) -> impl Iterator<Item = Slab> {
    let slab_rows = MAX_GRID_Y.saturating_mul(bm.max(1));
    (0..m).step_by(slab_rows as usize).map(move |first_row| Slab { first_row, rows: slab_rows.min(m - first_row) })
}

/// Queues the step's kernel on the rows of one slab.
fn launch_slab(step: &Step, function: &Function, stream: &Stream, gemm: &Gemm, slab: Slab) -> CudaResult<()> {
    let Slab { first_row, rows } = slab;
    let Problem { n, k, alpha, beta, lda, ldb, ldc, .. } = gemm.problem;
    let (a, b, c) = (gemm.a(first_row), gemm.b(), gemm.c(first_row));
    let [grid_x, grid_y, grid_z] = step.grid(rows, n);
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
    use super::*;
    use gpu_kernels::KERNEL_ARGUMENTS;

    /// Every row once, in order, and no slab higher than a grid.
    fn check(m: u32, bm: u32, count: usize) {
        let slabs: Vec<Slab> = slabs(m, bm).collect();
        assert_eq!(slabs.len(), count, "m = {m}, bm = {bm}");
        let mut next = 0;
        for slab in slabs {
            assert_eq!(slab.first_row, next);
            assert!(slab.rows > 0 && slab.rows.div_ceil(bm) <= MAX_GRID_Y);
            next += slab.rows;
        }
        assert_eq!(next, m);
    }

    #[test]
    fn the_kernels_take_what_is_passed() {
        let names = KERNEL_ARGUMENTS.map(|(name, _)| name);
        assert_eq!(names, ["m", "n", "k", "alpha", "a", "lda", "b", "ldb", "beta", "c", "ldc"]);
    }

    #[test]
    fn slabs_cover_every_row_once() {
        check(0, 128, 0);
        check(1, 128, 1);
        check(4096, 128, 1);
        check(MAX_GRID_Y * 32, 32, 1);
        check(MAX_GRID_Y * 32 + 1, 32, 2);
        check(MAX_GRID_Y * 3, 1, 3);
        check(u32::MAX, 1, 65_537);
        check(u32::MAX, 65_536, 2);
        check(u32::MAX, u32::MAX, 1);
    }
}
