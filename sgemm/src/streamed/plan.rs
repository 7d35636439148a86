//! A product of matrices in the host's memory: what each GPU does.

use gpu_kernels::Element;

use super::choose::Search;
use super::geometry::Shape;
use super::grid::Grid;
use super::kernels::ProductTime;
use super::part::Part;
use super::simulate::{Rates, end_us, simulate};
use crate::distributed::{Machine, Span};
use crate::problem::{Given, Scalars};
use crate::{Device, Error, Problem};

/// How a product is streamed through one or several GPUs. It knows no address.
///
/// Where all of k is multiplied at once, the result has the same bits as that of one run on one device, where the problem has
/// [`PerElement`](crate::Determinism::PerElement): the plan never cuts k then. Otherwise it may, where C is of f32: pieces are added to
/// the tile in the GPU's memory, in the order of k: a rounding more of the sum, and of beta\*C, for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    problem: Problem,
    device: Device,
    grid: [usize; 2],
    is_shared: bool,
    parts: Vec<Part>,
}

impl Plan {
    /// The plan for GPUs like this one, each of which may use as many bytes of its memory as `limits` has for it. It is the one with the
    /// least predicted time where C is written and not read, on [`Machine::h200`] with [`Rates::h200`]. Several GPUs have access to each
    /// other's memory: where that is to be asked, [`Streamer::plan`](super::Streamer::plan) asks.
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
        Self::with_rates(problem, device, limits, factors, Rates::h200(limits.len()))
    }

    /// The same with other rates.
    ///
    /// # Errors
    /// As of [`Self::new`].
    pub fn with_rates(
        problem: &Problem,
        device: &Device,
        limits: &[u64],
        factors: [f32; 2],
        rates: Rates,
    ) -> Result<Self, Error> {
        let machine = Machine::h200();
        let time = |gemm: &crate::plan::Plan, are_prepared| machine.product_us(gemm, are_prepared, device);
        Self::with_times(problem, device, limits, factors, rates, &time)
    }

    /// The same with other times of products, too.
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
        let mut search = Search::new(problem, device, rates, factors, time);
        let Some(limit) = limits.iter().copied().min() else { return Err(Error::NoDevice) };
        let Some((grid, parts)) = best(&mut search, limits)? else {
            let enough = enough(&mut search, limits.len(), limit)?;
            return Err(Error::DeviceMemory { limit, enough });
        };
        Ok(Self::of_grid(problem, device, &grid, parts))
    }

    /// The plan with a given cut and grid of GPUs, row after row, which [share panels](Self::is_shared) or not: to compare plans. `None` where
    /// a GPU's memory is too small, and where GPUs would share panels of which some have more than others.
    ///
    /// # Errors
    /// As of [`Self::new`], but for [`Error::DeviceMemory`].
    pub fn of_shape(
        problem: &Problem,
        device: &Device,
        limits: &[u64],
        ([rows, columns], is_shared): ([usize; 2], bool),
        shape: Shape,
    ) -> Result<Option<Self>, Error> {
        check(problem)?;
        if limits.is_empty() || rows * columns != limits.len() {
            return Err(Error::NoDevice);
        }
        let machine = Machine::h200();
        let time = |gemm: &crate::plan::Plan, are_prepared| machine.product_us(gemm, are_prepared, device);
        let mut search = Search::new(problem, device, Rates::h200(limits.len()), [1.0, 0.0], &time);
        let grid = Grid { rows, columns, limits, is_shared };
        let parts = grid.of_shape(&mut search, shape)?;
        Ok(parts.map(|parts| Self::of_grid(problem, device, &grid, parts)))
    }

    fn of_grid(problem: &Problem, device: &Device, grid: &Grid<'_>, parts: Vec<Part>) -> Self {
        let Grid { rows, columns, is_shared, .. } = *grid;
        Self { problem: *problem, device: device.clone(), grid: [rows, columns], is_shared, parts }
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

    /// Rows and columns of the grid of GPUs, which is filled row by row.
    #[must_use]
    pub const fn grid(&self) -> [usize; 2] {
        self.grid
    }

    /// Whether panels of A that a row of the grid needs, and panels of B that a column needs, are read from the host once, and handed on
    /// between GPUs.
    #[must_use]
    pub const fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// What each GPU does.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The predicted time with these factors alpha and beta, in microseconds.
    #[must_use]
    pub fn predicted_us(&self, factors: [f32; 2]) -> f64 {
        predicted_us(&self.parts, factors)
    }

    /// When each task of each part is predicted to run, with these factors alpha and beta. One that is not needed takes no time.
    #[must_use]
    pub fn spans(&self, factors: [f32; 2]) -> Vec<Vec<Span>> {
        simulate(&self.parts.iter().collect::<Vec<_>>(), factors)
    }

    /// Checks the elements that a run was given, and how many of A, B and C.
    pub(super) fn check_given(&self, elements: [Element; 2], [a, b, c]: [usize; 3]) -> Result<(), Error> {
        let given = Given { elements, a, b, c: Some(c), d: None, bias: None, scalars: None, ignores_c: false };
        given.check(&self.problem)
    }
}

/// The best grid of GPUs, and its parts; `None` where their memory is too small for any.
fn best<'a>(search: &mut Search<'_>, limits: &'a [u64]) -> Result<Option<(Grid<'a>, Vec<Part>)>, Error> {
    let mut best: Option<(f64, Grid<'a>, Vec<Part>)> = None;
    for grid in Grid::all(limits, search.rates.peers.is_some()) {
        let Some(parts) = grid.best(search)? else { continue };
        let time_us = predicted_us(&parts, search.factors);
        if best.as_ref().is_none_or(|(least_us, ..)| time_us < *least_us) {
            best = Some((time_us, grid, parts));
        }
    }
    Ok(best.map(|(_, grid, parts)| (grid, parts)))
}

fn predicted_us(parts: &[Part], factors: [f32; 2]) -> f64 {
    end_us(&simulate(&parts.iter().collect::<Vec<_>>(), factors))
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
