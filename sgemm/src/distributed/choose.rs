//! Which grid and which chunks: the scheme whose predicted time is the least.

use super::grid::Grid;
use super::machine::Machine;
use super::plan::{self, Plan};
use super::scheme::{Chunks, Scheme};
use super::simulate::{Span, simulate};
use crate::{Device, Error, Problem};

/// Layers at the most: each keeps partial sums of as many elements of C as a rank of one layer has.
const MOST_LAYERS: usize = 8;

/// In how many pieces ranks gather.
const CHUNKS: [usize; 5] = [1, 2, 4, 8, 16];

/// Times that differ by less are alike.
const ALIKE: f64 = 1.003;

/// A scheme, and what is predicted for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The scheme.
    pub scheme: Scheme,
    /// The time of a run, in microseconds.
    pub time_us: f64,
    /// The time of the products alone.
    pub compute_us: f64,
    /// Bytes of workspace of each device.
    pub workspace_bytes: u64,
}

/// The scheme for a problem on so many devices: of all grids with panels, and of some numbers of chunks, the one whose predicted time is
/// the least, of those whose plans do with `limit` bytes of workspace on each device; and where some are as fast, as far as a prediction
/// can tell, the one of fewest layers, fewest chunks and least workspace. Equal devices have about the same work, so rank 0 stands for all.
///
/// ```
/// use sgemm::distributed::{Machine, choose};
/// use sgemm::{Device, Problem};
///
/// let device = Device::new("NVIDIA H200", (9, 0), 132);
/// let best = choose(&Problem::new(16384, 16384, 16384), 4, &device, &Machine::h200(), u64::MAX)?;
/// // What is gathered is hidden behind the products, almost.
/// assert!(best.time_us < 1.1 * best.compute_us);
/// # Ok::<(), sgemm::Error>(())
/// ```
///
/// # Errors
/// [`Error::WorkspaceLimit`] where none does with so little; those of [`Plan::new`], where no scheme has a plan.
pub fn choose(
    problem: &Problem,
    ranks: usize,
    device: &Device,
    machine: &Machine,
    limit: u64,
) -> Result<Prediction, Error> {
    let mut failed = Error::Ranks { ranks: 1, given: ranks };
    let mut all = Vec::new();
    for scheme in schemes(problem, ranks) {
        match predict(problem, &scheme, device, machine) {
            Ok(prediction) => all.push(prediction),
            Err(error) => failed = error,
        }
    }
    let Some(least) = all.iter().map(|one| one.workspace_bytes).min() else { return Err(failed) };
    all.retain(|one| one.workspace_bytes <= limit);
    let fastest = all.iter().fold(f64::INFINITY, |fastest, one| fastest.min(one.time_us));
    all.retain(|one| one.time_us <= ALIKE * fastest);
    all.into_iter()
        .min_by_key(|one| {
            let Scheme { grid, chunks: Chunks { m, n }, .. } = one.scheme;
            (grid.layers, m * n, one.workspace_bytes)
        })
        .ok_or(Error::WorkspaceLimit { limit, least })
}

/// What a scheme takes, by its rank 0.
///
/// # Errors
/// Those of [`Plan::new`].
pub fn predict(problem: &Problem, scheme: &Scheme, device: &Device, machine: &Machine) -> Result<Prediction, Error> {
    let plan = Plan::new(problem, scheme, 0, device)?;
    let spans = timeline(std::slice::from_ref(&plan), device, machine)?;
    let end = |spans: &[Span]| spans.iter().fold(0.0, |end: f64, span| end.max(span.end_us));
    let is_product = |span: &&Span| matches!(plan.tasks()[span.task].work, super::Work::Product(_));
    let compute_us = spans.iter().filter(is_product).map(|span| span.end_us - span.start_us).sum();
    Ok(Prediction { scheme: *scheme, time_us: end(&spans), compute_us, workspace_bytes: plan.workspace_bytes() })
}

/// When the tasks of these ranks would run.
///
/// # Errors
/// Those of [`Machine::task_us`] and [`simulate`].
pub fn timeline(plans: &[Plan], device: &Device, machine: &Machine) -> Result<Vec<Span>, Error> {
    let mut times = plans
        .iter()
        .map(|plan| {
            (0..plan.tasks().len()).map(|task| machine.task_us(plan, task, device)).collect::<Result<Vec<_>, _>>()
        })
        .collect::<Result<Vec<_>, _>>()?
        .into_iter()
        .flatten();
    // In the order in which the simulation asks for them: by plan and task.
    simulate(plans, |_, _| times.next().unwrap_or(0.0))
}

/// Every grid of so many ranks, with every number of chunks that can make a difference.
fn schemes(problem: &Problem, ranks: usize) -> impl Iterator<Item = Scheme> {
    let sizes = problem.sizes();
    let most_layers = if plan::allows_layers(problem) { MOST_LAYERS } else { 1 };
    let divides = move |rest: usize| (1..=rest).filter(move |divisor| rest.is_multiple_of(*divisor));
    let grids = divides(ranks).filter(move |layers| *layers <= most_layers).flat_map(move |layers| {
        divides(ranks / layers).map(move |rows| Grid { rows, columns: ranks / layers / rows, layers })
    });
    grids.flat_map(move |grid| {
        let along_m = if grid.columns > 1 { CHUNKS.as_slice() } else { &[1] };
        let along_n = if grid.rows > 1 || grid.layers > 1 { CHUNKS.as_slice() } else { &[1] };
        let chunks = along_m.iter().flat_map(move |m| along_n.iter().map(move |n| Chunks { m: *m, n: *n }));
        chunks.map(move |chunks| Scheme::panels(sizes, grid).with_chunks(chunks))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AccuracyClass;
    use crate::distributed::Link;

    fn device() -> Device {
        Device::new("NVIDIA H200", (9, 0), 132)
    }

    /// The closed forms of one- and two-dimensional grids: what is gathered takes W, what is multiplied F.
    #[test]
    fn large_problems_hide_what_is_gathered() {
        let machine = Machine::h200();
        for (class, tflops) in [(AccuracyClass::Fp32Strict, 57.2), (AccuracyClass::Fp32, 201.0)] {
            let problem = Problem::new(32768, 32768, 32768).with_accuracy(class);
            let one_us = problem.flops() / (tflops * 1e6);
            for ranks in [2, 4, 8] {
                let best = choose(&problem, ranks, &device(), &machine, u64::MAX).unwrap();
                let efficiency = one_us / best.time_us / ranks as f64;
                assert!(efficiency > 0.95 && efficiency <= 1.0, "{ranks} {}: {efficiency}", class.name());
                let whole = Scheme::row_panels(problem.sizes(), ranks).with_chunks(Chunks { m: 1, n: 1 });
                let gathered = predict(&problem, &whole, &device(), &machine).unwrap();
                // Gathered at once, nothing is hidden but by the pre-pass of the other operand.
                let bytes = problem.sizes()[1] * problem.sizes()[2] * 4 / ranks;
                let all: Vec<_> = (0..ranks).collect();
                let gather_us = machine.gather_us(&all, bytes as u64);
                let [waits, best_waits] = [&gathered, &best].map(|one| one.time_us - one_us / ranks as f64);
                assert!(waits > 0.7 * gather_us, "{ranks}: {waits} of {gather_us}");
                assert!(best_waits < 0.5 * waits, "{ranks}: {best_waits} of {waits}");
            }
        }
    }

    /// PyTorch 2.11 on four H200: B gathered whole by NCCL's kernels, then multiplied by cuBLAS. Against what was measured, where the
    /// model is given the rate of the products alone, and the bandwidth of that AllGather.
    #[test]
    fn the_model_gives_what_others_measured() {
        let large = Link { latency_us: 60.0, gbps: 340.0 };
        let host = vec![(2, Link { latency_us: 40.0, gbps: 290.0 }), (4, large)];
        for (ranks, size, alone, measured) in [
            (2, 8192, 102.0, 97.8),
            (2, 16384, 106.0, 103.8),
            (2, 32768, 105.0, 104.0),
            (4, 8192, 203.0, 179.9),
            (4, 16384, 206.0, 194.9),
            (4, 32768, 208.0, 202.7),
        ] {
            let rates = vec![(AccuracyClass::Fp32Strict, alone / f64::from(ranks))];
            let machine = Machine { rates, host: host.clone(), ..Machine::h200() };
            let problem = Problem::new(size, size, size);
            let whole = Scheme::row_panels(problem.sizes(), ranks as usize).with_chunks(Chunks { m: 1, n: 1 });
            let predicted = problem.flops() / predict(&problem, &whole, &device(), &machine).unwrap().time_us / 1e6;
            assert!((predicted / measured - 1.0).abs() < 0.02, "{ranks} at {size}: {predicted:.1}, not {measured}");
        }
    }

    #[test]
    fn long_sums_are_divided_along_k() {
        let problem = Problem::new(512, 512, 4_000_000);
        let best = choose(&problem, 8, &device(), &Machine::h200(), u64::MAX).unwrap();
        assert_eq!(best.scheme.grid, Grid { rows: 1, columns: 1, layers: 8 });
    }

    #[test]
    fn less_memory_is_found_or_refused() {
        let (problem, machine) = (Problem::new(8192, 8192, 8192), Machine::h200());
        let best = choose(&problem, 4, &device(), &machine, u64::MAX).unwrap();
        let limit = best.workspace_bytes - 1;
        let frugal = choose(&problem, 4, &device(), &machine, limit).unwrap();
        assert!(frugal.workspace_bytes <= limit && frugal.time_us * ALIKE >= best.time_us);
        let Err(Error::WorkspaceLimit { least, .. }) = choose(&problem, 4, &device(), &machine, 0) else {
            panic!("there is a plan without workspace")
        };
        assert!(choose(&problem, 4, &device(), &machine, least).is_ok());
    }
}
