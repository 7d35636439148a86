//! What all ranks must have been given alike.

use gpu_kernels::Element;

use super::Plan;
use crate::problem::Order;
use crate::{AccuracyClass, Determinism};

impl Plan {
    /// The arguments that must be the same on all ranks, as numbers: always as many, in the same order.
    #[must_use]
    pub fn arguments(&self) -> Vec<(&'static str, u64)> {
        let Self { problem, scheme, .. } = self;
        let [m, n, k] = problem.sizes();
        let [a, b, c, _] = problem.views();
        let is_by_rows = |view: crate::problem::View| {
            let order = view.layout.order(view.name, view.rows, view.columns);
            usize::from(order.is_ok_and(|(order, _)| order == Order::RowMajor))
        };
        let element = |element: Element| element as usize;
        let class = AccuracyClass::ALL.iter().position(|class| *class == problem.class).unwrap_or_default();
        let (grid, blocks, chunks) = (scheme.grid, scheme.blocks, scheme.chunks);
        let arguments = [
            ("m", m),
            ("n", n),
            ("k", k),
            ("order of A", is_by_rows(a)),
            ("order of B", is_by_rows(b)),
            ("order of C", is_by_rows(c)),
            ("elements of A and B", element(problem.input)),
            ("elements of C", element(problem.output)),
            ("accuracy class", class),
            ("determinism", usize::from(problem.determinism == Determinism::PerElement)),
            ("rows of the grid", grid.rows),
            ("columns of the grid", grid.columns),
            ("layers of the grid", grid.layers),
            ("blocks of m", blocks.m),
            ("blocks of n", blocks.n),
            ("blocks of k", blocks.k),
            ("chunks of m", chunks.m),
            ("chunks of n", chunks.n),
        ];
        arguments.map(|(name, value)| (name, value as u64)).to_vec()
    }

    /// Fails where another rank was given other arguments.
    #[cfg(feature = "emulator")]
    pub(in crate::distributed) fn check_agreement(&self, other: &Self) -> Result<(), crate::Error> {
        let differs = |((name, own), (_, others)): (&(&'static str, u64), &(&'static str, u64))| {
            (own != others).then_some((*name, [*own, *others]))
        };
        match self.arguments().iter().zip(&other.arguments()).find_map(differs) {
            Some((argument, values)) => {
                Err(crate::Error::Disagreement { argument, ranks: [self.rank, other.rank], values })
            }
            None => Ok(()),
        }
    }
}
