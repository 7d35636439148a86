//! What one GPU does for its part of C.

use std::ops::Range;

use gpu_kernels::Operand;

use super::geometry::Shape;
use super::task::{Product, Task, Work};
use crate::Abc;
use crate::plan::{Address, Bindings, Plan as Gemm};

/// The part of one GPU: a rectangle of C, and the tasks that compute it.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    pub(super) gpu: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
    pub(super) shape: Shape,
    pub(super) tasks: Vec<Task>,
    pub(super) gemms: Vec<Gemm>,
    pub(super) memory_bytes: u64,
    /// Microseconds of each task.
    pub(super) times_us: Vec<f64>,
}

impl Part {
    /// The GPU, counted from 0.
    #[must_use]
    pub const fn gpu(&self) -> usize {
        self.gpu
    }

    /// Rows of C.
    #[must_use]
    pub const fn rows(&self) -> &Range<usize> {
        &self.rows
    }

    /// Columns of C.
    #[must_use]
    pub const fn columns(&self) -> &Range<usize> {
        &self.columns
    }

    /// Into which blocks it is cut.
    #[must_use]
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What the GPU does, such that each task comes after those of the GPU that it waits for.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    /// The plans of local products, by the numbers that tasks have for them.
    #[must_use]
    pub fn gemms(&self) -> &[Gemm] {
        &self.gemms
    }

    /// Bytes of the GPU's memory that it takes, from a multiple of [`WORKSPACE_ALIGNMENT`](crate::plan::WORKSPACE_ALIGNMENT) on.
    #[must_use]
    pub const fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// Bytes that go from the host to the GPU with these factors alpha and beta.
    #[must_use]
    pub fn uploaded_bytes(&self, factors: [f32; 2]) -> u64 {
        let needed = self.tasks.iter().filter(|task| task.is_needed(factors));
        let bytes = needed.map(|task| if let Work::Upload(transfer) = task.work { transfer.total_bytes() } else { 0 });
        bytes.sum()
    }

    /// The arguments of a product, where the GPU's memory begins at `base`.
    pub(super) fn bindings_of(&self, product: &Product, [alpha, beta]: [f32; 2], base: Address) -> Bindings {
        let at = |place: u64| base + place;
        let operands = Abc { a: at(product.a), b: at(product.b), c: at(product.c) };
        // Where alpha is 0, nothing was prepared, and no pre-pass runs. The workspace of products comes first.
        let prepared = product.prepared.map(|place| place.map(at));
        self.gemms[product.gemm].bindings(operands, prepared, base, [alpha, product.beta(beta)])
    }

    /// The arguments of the pre-passes of a panel.
    pub(super) fn bindings_of_prepass(
        &self,
        gemm: usize,
        operand: Operand,
        [source, target]: [u64; 2],
        base: Address,
    ) -> Bindings {
        self.gemms[gemm].bindings_of_prepass(operand, [base + source, base + target])
    }
}
