//! Into which blocks a GPU's part is cut: the cut with the least predicted time.

use std::ops::Range;

use gpu_kernels::Element;

use super::build::Builder;
use super::geometry::{Geometry, Kept, Shape};
use super::grid::Place;
use super::kernels::{Kernels, ProductTime};
use super::part::Part;
use super::side::Built;
use super::simulate::{Rates, end_us, simulate};
use crate::distributed::{Chunks, Machine};
use crate::problem::Determinism;
use crate::{Device, Error, Problem};

/// A search among blocks, for one problem on GPUs of one kind.
pub(super) struct Search<'a> {
    pub problem: &'a Problem,
    pub kernels: Kernels<'a>,
    pub rates: Rates,
    /// Alpha and beta that it is to be fast with.
    pub factors: [f32; 2],
    /// Whether k may be cut: C is of f32, so that it holds sums, and their order is free.
    pub may_cut_k: bool,
}

/// A cut, and how many products it makes.
type Cut = (usize, [usize; 2], usize);

impl<'a> Search<'a> {
    pub fn new(
        problem: &'a Problem,
        device: &'a Device,
        rates: Rates,
        factors: [f32; 2],
        time: ProductTime<'a>,
    ) -> Self {
        let kernels = Kernels::new(device, Machine::h200().memory, time);
        let may_cut_k = problem.output == Element::F32 && problem.determinism == Determinism::PerProblem;
        Self { problem, kernels, rates, factors, may_cut_k }
    }

    /// The best shape for a GPU; `None` where it has too little memory. Those with which it shares panels are taken to be as far as it is.
    pub fn best(&mut self, place: &Place) -> Result<Option<Shape>, Error> {
        for shortest in SHORTEST {
            let mut best: Option<(f64, Shape)> = None;
            for (products, tile, piece) in self.cuts(&place.block, shortest, place.limit) {
                if products > MANY_PRODUCTS && best.is_some() {
                    break;
                }
                for part in self.parts(place, (products, tile, piece))? {
                    let time_us = end_us(&simulate(&[&part], self.factors));
                    if best.as_ref().is_none_or(|(least_us, _)| time_us < *least_us) {
                        best = Some((time_us, part.shape));
                    }
                }
            }
            if let Some((_, shape)) = best {
                return Ok(Some(shape));
            }
        }
        Ok(None)
    }

    /// The part of that shape, and into how many blocks each dimension is cut.
    pub fn built(&mut self, place: &Place, shape: Shape) -> Result<(Built, [usize; 3]), Error> {
        let geometry = self.geometry(place, shape.tile, shape.piece)?;
        let built = Builder::new(&place.groups, &geometry, &self.kernels, &self.rates, shape).build();
        Ok((built, geometry.counts()))
    }

    /// The parts of a cut, with panels of A and with panels of B kept: none where the memory does not hold them.
    fn parts(&mut self, place: &Place, (_, tile, piece): Cut) -> Result<Vec<Part>, Error> {
        let geometry = match self.geometry(place, tile, piece) {
            Err(Error::WorkspaceLimit { .. }) => return Ok(Vec::new()),
            geometry => geometry?,
        };
        let shapes = Kept::ALL.into_iter().flat_map(|kept| {
            let slots = geometry.slots(kept, place.limit).into_iter().flatten();
            slots.map(move |slots| Shape { tile, piece, slots, kept })
        });
        let part = |shape| Builder::new(&place.groups, &geometry, &self.kernels, &self.rates, shape).build().part;
        Ok(shapes.map(part).collect())
    }

    fn geometry(&mut self, place: &Place, tile: [usize; 2], piece: usize) -> Result<Geometry<'a>, Error> {
        Geometry::new(self.problem, &mut self.kernels, place.block.clone(), tile, piece, place.limit)
    }

    /// Cuts whose blocks have `shortest` elements along each dimension or more, where there are so many; those with few products first.
    fn cuts(&self, [rows, columns]: &[Range<usize>; 2], shortest: usize, limit: u64) -> Vec<Cut> {
        let [m, n, k] = [rows.len(), columns.len(), self.problem.k];
        let element = u64::from(self.problem.input.bytes());
        // Where all of A and B has room there is no reason to cut k, unless nothing else will do.
        let is_small = ((m + n) as u64).saturating_mul(k as u64).saturating_mul(element) <= limit / 2;
        let is_small = is_small && Some(&shortest) != SHORTEST.last();
        let pieces = if self.may_cut_k && !is_small { widths(k, shortest) } else { vec![k] };
        let mut cuts = Vec::new();
        for rows in widths(m, shortest) {
            for columns in widths(n, shortest) {
                for piece in &pieces {
                    let products = m.div_ceil(rows) * n.div_ceil(columns) * k.div_ceil((*piece).max(1)).max(1);
                    cuts.push((products, [rows, columns], *piece));
                }
            }
        }
        cuts.retain(|(products, ..)| *products <= MOST_PRODUCTS);
        cuts.sort_by_key(|(products, ..)| *products);
        cuts
    }
}

/// Elements of a block along a dimension, at least: of the next list where nothing of the one before has room.
const SHORTEST: [usize; 3] = [512, 64, 8];

/// Cuts into more products are left out where there are others.
const MANY_PRODUCTS: usize = 2048;

/// Cuts into more products are left out in any case: launches would take longer than what they compute.
const MOST_PRODUCTS: usize = 1 << 16;

/// The whole extent, half of it, and so on.
fn widths(whole: usize, shortest: usize) -> Vec<usize> {
    let counts = std::iter::successors(Some(1_usize), |count| count.checked_mul(2));
    let widths = counts.map(|count| Chunks::width(count, whole).min(whole).max(1));
    let mut widths: Vec<_> =
        widths.take_while(|width| *width >= shortest.min(whole)).take(usize::BITS as usize).collect();
    widths.dedup();
    widths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_halved() {
        assert_eq!(widths(4096, 512), [4096, 2048, 1024, 512]);
        assert_eq!(widths(1100, 512), [1100, 640]);
        assert_eq!(widths(100, 8), [100, 56, 32, 16, 8]);
        assert_eq!([widths(0, 512), widths(5, 8)], [vec![1], vec![5]]);
    }
}
