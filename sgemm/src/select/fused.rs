//! The kernel where the problem has an epilogue that a kernel's own may do.

use gpu_kernels::Step;

use super::{Choice, Table, is_usable, measured};
use crate::problem::Scalars;
use crate::{Device, Problem, Product};

/// In place of a kernel that would need a post-pass: one that has bias and activation in its own epilogue, at the nearest shape where it
/// is among the two fastest. `None` where the choice has, where a post-pass is needed all the same, and where operands would have to be
/// aligned first, which costs as much.
pub(super) fn fused(
    table: Option<&Table>,
    device: &Device,
    product: &Product,
    problem: &Problem,
    chosen: &Step,
) -> Option<Choice> {
    let is_in_place = problem.d.is_none() && problem.scalars == Scalars::Host;
    let is_aligned = [product.lda, product.ldb].iter().all(|ld| ld.is_multiple_of(16 / product.input.bytes()));
    if problem.epilogue.is_plain() || !is_in_place || !is_aligned || chosen.fused.is_some() {
        return None;
    }
    let suits = |step: &&Step| {
        let is_alike = step.precision == chosen.precision && step.output == chosen.output;
        is_alike && step.fused.is_some() && is_usable(device, step)
    };
    measured(table, product, |entry| {
        [Some(entry.first), entry.second].into_iter().flatten().map(|timed| timed.step).find(suits)
    })
}
