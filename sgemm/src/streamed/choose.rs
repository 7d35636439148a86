//! Into which blocks a GPU's part is cut: the cut with the least predicted time.

use std::ops::Range;

use super::build::Builder;
use super::geometry::{Geometry, Kept, Shape};
use super::kernels::Kernels;
use super::part::Part;
use super::simulate::Rates;
use crate::distributed::Chunks;
use crate::{Error, Problem};

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
    /// The best part for a GPU, with these rows and columns of C and so many bytes of memory; `None` where these are too few.
    pub fn best(&mut self, gpu: usize, block: &[Range<usize>; 2], limit: u64) -> Result<Option<Part>, Error> {
        for shortest in SHORTEST {
            let mut best: Option<(f64, Part)> = None;
            for (products, tile, piece) in self.cuts(block, shortest, limit) {
                if products > MANY_PRODUCTS && best.is_some() {
                    break;
                }
                for part in self.parts(gpu, block, (products, tile, piece), limit)? {
                    let time_us = part.predicted_us(self.factors);
                    if best.as_ref().is_none_or(|(least_us, _)| time_us < *least_us) {
                        best = Some((time_us, part));
                    }
                }
            }
            if let Some((_, part)) = best {
                return Ok(Some(part));
            }
        }
        Ok(None)
    }

    /// The part with the shape that is best for another of the same size.
    pub fn same(&mut self, gpu: usize, block: &[Range<usize>; 2], limit: u64, shape: Shape) -> Result<Part, Error> {
        let geometry = self.geometry(block, shape.tile, shape.piece, limit)?;
        Ok(Builder::new(gpu, &geometry, &self.kernels, &self.rates, shape).build())
    }

    /// The parts of a cut, with panels of A and with panels of B kept: none where the memory does not hold them.
    fn parts(
        &mut self,
        gpu: usize,
        block: &[Range<usize>; 2],
        (_, tile, piece): Cut,
        limit: u64,
    ) -> Result<Vec<Part>, Error> {
        let geometry = match self.geometry(block, tile, piece, limit) {
            Err(Error::WorkspaceLimit { .. }) => return Ok(Vec::new()),
            geometry => geometry?,
        };
        let shapes = Kept::ALL.into_iter().flat_map(|kept| {
            let slots = geometry.slots(kept, limit).into_iter().flatten();
            slots.map(move |slots| Shape { tile, piece, slots, kept })
        });
        Ok(shapes.map(|shape| Builder::new(gpu, &geometry, &self.kernels, &self.rates, shape).build()).collect())
    }

    fn geometry(
        &mut self,
        [rows, columns]: &[Range<usize>; 2],
        tile: [usize; 2],
        piece: usize,
        limit: u64,
    ) -> Result<Geometry<'a>, Error> {
        let block = [rows.clone(), columns.clone()];
        Geometry::new(self.problem, &mut self.kernels, block, tile, piece, limit)
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
