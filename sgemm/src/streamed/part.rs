//! What one GPU does for its part of C.

use std::ops::Range;

use gpu_kernels::Operand;

use super::geometry::Shape;
use super::simulate::simulate;
use super::task::{Product, Task, Work};
use crate::distributed::Span;
use crate::plan::{Address, Bindings, Buffer, Buffers, Plan as Gemm};

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

    /// What the GPU does, such that each task comes after those that it waits for.
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

    /// Bytes that go to the GPU with these factors alpha and beta.
    #[must_use]
    pub fn uploaded_bytes(&self, factors: [f32; 2]) -> u64 {
        let needed = self.tasks.iter().filter(|task| task.is_needed(factors));
        let bytes = needed.map(|task| if let Work::Upload(transfer) = task.work { transfer.total_bytes() } else { 0 });
        bytes.sum()
    }

    /// When each task is predicted to run, with these factors alpha and beta. One that is not needed takes no time.
    #[must_use]
    pub fn spans(&self, factors: [f32; 2]) -> Vec<Span> {
        simulate(self.gpu, &self.tasks, &self.times_us, factors)
    }

    /// The predicted time of all, in microseconds.
    #[must_use]
    pub fn predicted_us(&self, factors: [f32; 2]) -> f64 {
        self.spans(factors).iter().fold(0.0, |latest, span| latest.max(span.end_us))
    }

    /// The arguments of a product, where the GPU's memory begins at `base`.
    pub(super) fn bindings_of(&self, product: &Product, [alpha, beta]: [f32; 2], base: Address) -> Bindings {
        let gemm = &self.gemms[product.gemm];
        // Where alpha is 0, nothing was prepared, and no pre-pass runs.
        let are_prepared = product.are_prepared();
        // The workspace of products comes first.
        let mut addresses = gemm.part_bytes_with(are_prepared).at(base);
        for (operand, place) in [(Operand::A, product.prepared.a), (Operand::B, product.prepared.b)] {
            let Some(place) = place else { continue };
            add_prepared(&mut addresses, gemm, operand, base + place);
        }
        for (buffer, place) in [(Buffer::A, product.a), (Buffer::B, product.b), (Buffer::C, product.c)] {
            addresses[buffer] = base + place;
        }
        Bindings { are_prepared, ..Bindings::new(addresses, alpha, product.beta(beta)) }
    }

    /// The arguments of the pre-passes of a panel.
    pub(super) fn bindings_of_prepass(
        &self,
        gemm: usize,
        operand: Operand,
        [source, target]: [u64; 2],
        base: Address,
    ) -> Bindings {
        let mut addresses = Buffers::default();
        let buffer = add_prepared(&mut addresses, &self.gemms[gemm], operand, base + target);
        if let Some(buffer) = buffer {
            addresses[buffer] = base + source;
        }
        Bindings::new(addresses, 1.0, 0.0)
    }
}

/// Adds the addresses of what was prepared of a kernel's operand, and says which of the caller's that is.
fn add_prepared(addresses: &mut Buffers<Address>, gemm: &Gemm, operand: Operand, place: Address) -> Option<Buffer> {
    let preparation = gemm.preparation_of(operand)?;
    let there = preparation.bytes().at(place);
    preparation.parts().for_each(|part| addresses[part] = there[part]);
    Some(preparation.source)
}
