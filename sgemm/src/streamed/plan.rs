//! A product of matrices in the host's memory: what each GPU does.

use std::collections::HashMap;
use std::ops::Range;

use gpu_kernels::Element;

use super::choose::Search;
use super::geometry::Shape;
use super::kernels::{Kernels, ProductTime};
use super::part::Part;
use super::simulate::Rates;
use crate::distributed::Machine;
use crate::problem::{Determinism, Given, Scalars};
use crate::{Device, Error, Problem};

/// How a product is streamed through one or several GPUs. It knows no address.
///
/// Where all of k is multiplied at once, the result has the same bits as that of one run on one device, where the problem has
/// [`Determinism::PerElement`]: the plan never cuts k then. Otherwise it may, where C is of f32: pieces are added to the tile in the
/// GPU's memory, in the order of k: a rounding more of the sum, and of beta\*C, for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    problem: Problem,
    device: Device,
    parts: Vec<Part>,
}

impl Plan {
    /// The plan for GPUs like this one, each of which may use as many bytes of its memory as `limits` has for it. It is the one with the
    /// least predicted time where C is written and not read, on [`Machine::h200`] with [`Rates::h200`].
    ///
    /// # Errors
    /// Those of [`Problem::validate`]; [`Error::NotDistributed`] for what only one device can do: batches, D apart from C, an epilogue,
    /// alpha and beta in device memory; [`Error::NoDevice`] without limits; [`Error::DeviceMemory`] where the memory does not
    /// hold a small tile of C and panels of A and B; those of [`select::plan`](crate::select::plan), of local products.
    pub fn new(problem: &Problem, device: &Device, limits: &[u64]) -> Result<Self, Error> {
        Self::with_factors(problem, device, limits, [1.0, 0.0])
    }

    /// The same, for the least time with these factors alpha and beta. It runs with any.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn with_factors(problem: &Problem, device: &Device, limits: &[u64], factors: [f32; 2]) -> Result<Self, Error> {
        let machine = Machine::h200();
        let time = |gemm: &crate::plan::Plan, are_prepared| machine.product_us(gemm, are_prepared, device);
        Self::with_times(problem, device, limits, factors, Rates::h200(limits.len()), &time)
    }

    /// The same with other rates, and times of products.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn with_times(
        problem: &Problem,
        device: &Device,
        limits: &[u64],
        factors: [f32; 2],
        rates: Rates,
        time: ProductTime<'_>,
    ) -> Result<Self, Error> {
        check(problem)?;
        let kernels = Kernels::new(device, Machine::h200().memory, time);
        let may_cut_k = problem.output == Element::F32 && problem.determinism == Determinism::PerProblem;
        let mut search = Search { problem, kernels, rates, factors, may_cut_k };
        let Some(limit) = limits.iter().copied().min() else { return Err(Error::NoDevice) };
        let Some(parts) = best(&mut search, limits)? else {
            let enough = enough(&mut search, limits.len(), limit)?;
            return Err(Error::DeviceMemory { limit, enough });
        };
        Ok(Self { problem: *problem, device: device.clone(), parts })
    }

    /// The whole problem.
    #[must_use]
    pub const fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The GPUs that it is for.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// What each GPU does.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The predicted time with these factors alpha and beta, in microseconds.
    #[must_use]
    pub fn predicted_us(&self, factors: [f32; 2]) -> f64 {
        self.parts.iter().fold(0.0, |latest, part| latest.max(part.predicted_us(factors)))
    }

    /// Checks the elements that a run was given, and how many of A, B and C.
    pub(super) fn check_given(&self, elements: [Element; 2], [a, b, c]: [usize; 3]) -> Result<(), Error> {
        let given = Given { elements, a, b, c: Some(c), d: None, bias: None, scalars: None, ignores_c: false };
        given.check(&self.problem)
    }
}

/// The parts of the best grid of GPUs; `None` where their memory is too small for any.
fn best(search: &mut Search<'_>, limits: &[u64]) -> Result<Option<Vec<Part>>, Error> {
    let mut best: Option<(f64, Vec<Part>)> = None;
    for rows in (1..=limits.len()).filter(|rows| limits.len().is_multiple_of(*rows)) {
        let Some(parts) = parts(search, [rows, limits.len() / rows], limits)? else { continue };
        let time_us = parts.iter().fold(0.0_f64, |latest, part| latest.max(part.predicted_us(search.factors)));
        if best.as_ref().is_none_or(|(least_us, _)| time_us < *least_us) {
            best = Some((time_us, parts));
        }
    }
    Ok(best.map(|(_, parts)| parts))
}

/// Bytes of each GPU's memory that would do, where `limit` does not: at most twice the least.
fn enough(search: &mut Search<'_>, gpus: usize, limit: u64) -> Result<u64, Error> {
    let mut enough = limit.max(1);
    while enough < u64::MAX / 2 {
        enough *= 2;
        if best(search, &vec![enough; gpus])?.is_some() {
            return Ok(enough);
        }
    }
    Ok(u64::MAX)
}

/// The parts of a grid of GPUs: C is divided among its rows and columns. `None` where a GPU's memory is too small.
fn parts(search: &mut Search<'_>, [rows, columns]: [usize; 2], limits: &[u64]) -> Result<Option<Vec<Part>>, Error> {
    let problem = search.problem;
    let mut shapes: HashMap<([usize; 2], u64), Shape> = HashMap::new();
    let mut parts = Vec::with_capacity(limits.len());
    for (gpu, limit) in limits.iter().enumerate() {
        let block = [share(problem.m, rows, gpu / columns), share(problem.n, columns, gpu % columns)];
        let key = ([block[0].len(), block[1].len()], *limit);
        let part = match shapes.get(&key) {
            Some(shape) => Some(search.same(gpu, &block, *limit, *shape)?),
            None => search.best(gpu, &block, *limit)?,
        };
        let Some(part) = part else { return Ok(None) };
        shapes.insert(key, *part.shape());
        parts.push(part);
    }
    Ok(Some(parts))
}

/// The elements of a dimension that one of `count` GPUs has: equal, but for a vector.
fn share(extent: usize, count: usize, index: usize) -> Range<usize> {
    let vectors = extent.div_ceil(VECTOR);
    let first = |index: usize| (vectors * index / count * VECTOR).min(extent);
    first(index)..first(index + 1)
}

/// Shares begin at a multiple of so many elements: a vector load of 16-bit ones.
const VECTOR: usize = 8;

fn check(problem: &Problem) -> Result<(), Error> {
    problem.validate()?;
    let refused = [
        (problem.batch.count != 1, "a batch"),
        (problem.d.is_some(), "a D apart from C"),
        (!problem.epilogue.is_plain(), "an epilogue"),
        (problem.scalars == Scalars::Device, "alpha and beta in device memory"),
    ];
    match refused.into_iter().find(|(is_asked_for, _)| *is_asked_for) {
        Some((_, what)) => Err(Error::NotDistributed { what }),
        None => Ok(()),
    }
}
