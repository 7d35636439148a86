//! The contract of every step: a complete SGEMM, as BLAS defines it. One table of cases, run on any backend.

use std::fmt;

use gpu_kernels::{Element, Schedule, Step};
use host::backend::{Backend, Kernel};
use host::verify::special;
use host::{Error, Operands, Problem, Verifier};

mod small;

/// A size and what is special about it.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The problem, with its own seed.
    pub problem: Problem,
    /// What A and B hold.
    pub inputs: Inputs,
}

/// What A and B hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inputs {
    /// Numbers in [-1, 1).
    Random,
    /// NaN: alpha or k is 0, and BLAS does not read them.
    Nan,
    /// Rows and columns with infinities, NaN, very large and very small numbers among them.
    Special,
    /// One number at each position of a fragment, in A or in B: an infinity among others, or 1 among zeros.
    Position {
        /// Whether it is in A.
        of_a: bool,
        /// Whether it is an infinity.
        is_infinite: bool,
    },
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem { gemm: sgemm::Product { m, n, k, lda, ldb, ldc, .. }, alpha, beta, seed } = self.problem;
        write!(f, "m = {m}, n = {n}, k = {k}, alpha = {alpha}, beta = {beta}, ")?;
        write!(f, "lda = {lda}, ldb = {ldb}, ldc = {ldc}, seed = {seed}, inputs: {:?}", self.inputs)
    }
}

/// The outcome of one case.
#[derive(Debug)]
pub struct CaseResult {
    /// The step's slug.
    pub step: &'static str,
    /// What was run.
    pub case: Case,
    /// What is wrong; `None` where the step keeps its contract.
    pub failure: Option<String>,
}

/// Runs every case on one step.
///
/// # Errors
/// Where a case itself cannot be made: out of memory, or a size that is none.
pub fn run(backend: &mut dyn Backend, step: &'static Step) -> Result<Vec<CaseResult>, Error> {
    cases(step, backend.device().sm_count, rand::random::<u32>().into())?
        .into_iter()
        .map(|case| check(backend, step, case))
        .collect()
}

/// The failures among the results, one line each.
#[must_use]
pub fn failures(results: &[CaseResult]) -> Vec<String> {
    let failure = |result: &CaseResult| Some(format!("{}: {}: {}", result.step, result.case, result.failure.as_ref()?));
    results.iter().filter_map(failure).collect()
}

/// Runs one case on one step, from fresh operands, and verifies the result.
///
/// # Errors
/// As of [`run`].
pub fn check(backend: &mut dyn Backend, step: &'static Step, case: Case) -> Result<CaseResult, Error> {
    let failure = outcome(backend, step, case)?.err();
    Ok(CaseResult { step: step.slug, case, failure })
}

/// The same: what the step made of the operands, where that is right, or what is wrong.
///
/// # Errors
/// As of [`run`].
pub fn outcome(backend: &mut dyn Backend, step: &'static Step, case: Case) -> Result<Result<Operands, String>, Error> {
    let kernel = Kernel::Step(step);
    let mut fresh = Operands::random(&case.problem)?;
    match case.inputs {
        Inputs::Random => {}
        Inputs::Nan => [&mut fresh.a, &mut fresh.b].into_iter().for_each(|matrix| matrix.fill(f32::NAN)),
        Inputs::Special => special::fill(&mut fresh),
        Inputs::Position { of_a, is_infinite } => small::fill(&mut fresh, of_a, is_infinite),
    }
    let mut launch = || {
        backend.prepare(kernel)?;
        backend.upload(&fresh)?;
        backend.run(kernel, &case.problem)?;
        backend.download()
    };
    let result = match launch() {
        Err(error) => return Ok(Err(error.to_string())),
        Ok(result) => result,
    };
    let failure = match case.inputs {
        Inputs::Special | Inputs::Position { is_infinite: true, .. } => special::fault(&case.problem, &fresh, &result),
        Inputs::Random | Inputs::Nan | Inputs::Position { .. } => {
            let verifier = Verifier::new(&case.problem, &fresh);
            verifier.verify(&result, kernel.precision()).fault
        }
    };
    Ok(failure.map_or(Ok(result), |fault| Err(fault.to_string())))
}

/// The table for a device of `sm_count` SMs, with seeds from the first one on.
///
/// # Errors
/// Where a size is none; a mistake in the table.
pub fn cases(step: &'static Step, sm_count: u32, first_seed: u64) -> Result<Vec<Case>, Error> {
    let mut problems = Vec::new();
    for (m, n, k) in shapes(step).into_iter().chain(stream_k_sizes(step, sm_count)) {
        problems.push(Problem::new(m, n, k)?);
    }
    let tile = step.tile;
    let interior = Problem::new(2 * tile.bm, 2 * tile.bn, 4 * tile.bk)?;
    let edge = Problem::new(tile.bm + 1, tile.bn + 3, 2 * tile.bk + 1)?;
    for problem in [interior, edge, Problem::new(5, 6, 0)?] {
        for (alpha, beta) in [(1.0, 1.0), (1.0, -0.5), (-0.75, 0.0), (2.5, 3.0), (0.0, 0.0), (0.0, 1.0), (0.0, -0.5)] {
            problems.push(problem.with_scalars(alpha, beta)?);
        }
    }
    for problem in [interior, edge] {
        for (a, b, c) in [(1, 1, 1), (3, 3, 3), (4, 4, 4), (32, 32, 32), (0, 4, 0), (4, 0, 1), (8, 3, 32)] {
            let sgemm::Product { lda, ldb, ldc, .. } = *problem;
            let padded = problem.with_leading_dimensions(lda + a, ldb + b, ldc + c)?;
            problems.extend([padded, padded.with_scalars(1.0, -0.5)?]);
        }
    }
    if matches!(step.schedule, Schedule::Persistent { .. }) && step.output != Element::F32 {
        // A block stores a tile during the mainloop of its next one, if that is long enough.
        let long = Problem::new(3 * tile.bm, 2 * tile.bn, 17 * tile.bk)?;
        problems.extend([long, long.with_scalars(-0.75, 0.0)?]);
    }
    let problems = problems.into_iter().map(|problem| (problem, Inputs::Random));
    let problems = problems.chain(small::problems(step, first_seed)?);
    let case = |(seed, (problem, inputs)): (u64, (Problem, Inputs))| {
        let problem = problem.with_seed(seed).for_kernel(Kernel::Step(step))?;
        Ok(Case { problem, inputs: if problem.reads_inputs() { inputs } else { Inputs::Nan } })
    };
    let cases = (first_seed..).zip(problems).map(case);
    let special = special::problems(step)?.into_iter().map(|problem| Ok(Case { problem, inputs: Inputs::Special }));
    cases.chain(special).collect()
}

/// Sizes (m, n, k) of which a stream-K step splits tiles, none for other steps: first one that leaves data-parallel tiles,
/// then, where a tile may have any number of splits, some with fewer tiles than CTA slots.
#[must_use]
pub fn stream_k_sizes(step: &Step, sm_count: u32) -> Vec<(u32, u32, u32)> {
    let Schedule::StreamK { blocks_per_sm, .. } = step.schedule else { return vec![] };
    let (tile, cta_slots) = (step.tile, sm_count * blocks_per_sm);
    let columns = cta_slots.div_ceil(11) + 1;
    let mut sizes = vec![(12 * tile.bm - 3, columns * tile.bn - 5, 2 * tile.bk + 3)];
    if step.has_many_splits() {
        // Two or three k-tiles in a work unit, which may end in the next tile; one k-tile or none; no k-tile at all.
        let depths = [cta_slots / 2 * tile.bk - 1, cta_slots / 8 * tile.bk, 0];
        sizes.extend(depths.map(|k| (5 * tile.bm - 3, tile.bn - 5, k)));
    }
    sizes
}

/// Sizes (m, n, k): fixed ones, and those around the step's own tile.
fn shapes(step: &Step) -> Vec<(u32, u32, u32)> {
    let tile = step.tile;
    let mut shapes = vec![
        (1, 1, 1),
        (31, 37, 41),
        (127, 131, 113),
        (200, 72, 150),
        (256, 256, 64),
        (1, 500, 300),
        (500, 1, 300),
        (7, 1000, 2),
        (5, 6, 4200), // sums that are long enough for two-level summation
        (2 * tile.bm, 3 * tile.bn, 4 * tile.bk),
        (tile.bm, tile.bn, tile.bk / 2),
        (tile.bm + 1, tile.bn, tile.bk.saturating_sub(1)),
        (4, 4, 0),
        (0, 4, 4),
        (4, 0, 4),
        (0, 0, 0),
    ];
    let around = |size: u32| [size - 1, size, size + 1];
    let depths = around(4 * tile.bk);
    for (i, m) in around(tile.bm).into_iter().enumerate() {
        for (j, n) in around(tile.bn).into_iter().enumerate() {
            // A variant has the code of its step: of its sizes, each pair occurs once.
            let depths = if is_variant(step) { &depths[(i + j) % 3..][..1] } else { &depths };
            shapes.extend(depths.iter().map(|&k| (m, n, k)));
        }
    }
    shapes
}

/// Whether a step is a variant of one, by its slug.
fn is_variant(step: &Step) -> bool {
    step.slug.contains('/')
}
