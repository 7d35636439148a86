//! Plans run in the emulator, against f64 and against one run on one device.

use std::sync::LazyLock;

use super::*;
use crate::Scalar;
use crate::emulator::{Arguments, Emulator};
use crate::streamed::emulated::Emulation;

static EMULATOR: LazyLock<Emulator> = LazyLock::new(|| Emulator::of("h200").expect("it is known"));

/// Numbers from -1 to 1 that a seed gives; the bits of the gaps between lines are numbers, too.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    (0..count).map(|_| crate::distributed::next_random(&mut state) as f32 * 2.0 - 1.0).collect()
}

struct Case {
    problem: Problem,
    gpus: usize,
    /// Whether GPUs exchange data with each other much faster than with the host, or not at all.
    may_share: bool,
    /// Of the least memory that will do, in eighths.
    memory: u64,
    seed: u64,
    factors: [f32; 2],
}

impl Case {
    /// With little memory, so that there are many tiles.
    fn plan(&self) -> Plan {
        let rates = if self.may_share { sharing_rates() } else { Rates::h200(self.gpus).without_peers() };
        let device = EMULATOR.device();
        let plan = |limit| Plan::with_rates(&self.problem, device, &vec![limit; self.gpus], self.factors, rates);
        match plan(1) {
            Err(Error::DeviceMemory { enough, .. }) => plan(enough * self.memory / 8).unwrap(),
            plan => plan.unwrap(),
        }
    }

    /// Runs it, and gives A, B, and C before and after that. Where beta is 0, C is NaN before.
    fn run<T: Scalar>(&self, plan: &Plan, of: impl Fn(f32) -> T) -> [Vec<T>; 4] {
        let [a, b, c, ..] = self.problem.extents().unwrap();
        let [a, b, mut c] = [a, b, c].map(|count| numbers(count, self.seed ^ count as u64));
        if self.factors[1] == 0.0 {
            c.fill(f32::NAN);
        }
        let [a, b, c] = [a, b, c].map(|numbers| numbers.into_iter().map(&of).collect::<Vec<_>>());
        let mut result = c.clone();
        let [alpha, beta] = self.factors;
        Emulation::new(&EMULATOR, self.seed).run(plan, alpha, &a, &b, beta, &mut result).unwrap();
        [a, b, c, result]
    }
}

/// The host is what is waited for.
fn sharing_rates() -> Rates {
    let mut rates = Rates::h200(1);
    rates.up.gbps = 0.1;
    rates
}

/// Compares with f64; what is between the lines of C is as it was.
fn check(case: &Case, matrices: &[Vec<f32>; 4]) -> Result<(), TestCaseError> {
    let ([m, n, k], [alpha, beta]) = (case.problem.sizes(), case.factors.map(f64::from));
    let [a, b, c, result] = matrices;
    let [of_a, of_b, of_c] = case.problem.layouts();
    let at = |layout: Layout, row: usize, column: usize| row * layout.row_stride + column * layout.column_stride;
    let unit = match case.problem.class {
        AccuracyClass::Tf32 => 2_f64.powi(-9),
        AccuracyClass::Fp32Strict | AccuracyClass::Fp32 => (k + 4) as f64 * 2_f64.powi(-22),
        AccuracyClass::F16 | AccuracyClass::Bf16 => 2_f64.powi(-7),
    };
    let mut is_own = vec![false; c.len()];
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let terms = (0..k).map(|l| f64::from(a[at(of_a, row, l)]) * f64::from(b[at(of_b, l, column)]));
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        let index = at(of_c, row, column);
        is_own[index] = true;
        let old = if beta == 0.0 { 0.0 } else { beta * f64::from(c[index]) };
        let (value, bound) = (alpha * sum + old, unit * (alpha.abs() * size + old.abs()));
        let got = f64::from(result[index]);
        prop_assert!((got - value).abs() <= bound, "{row}, {column}: {got}, not {value}");
    }
    for index in (0..c.len()).filter(|index| !is_own[*index]) {
        prop_assert_eq!(c[index].to_bits(), result[index].to_bits());
    }
    Ok(())
}

fn factors() -> impl Strategy<Value = [f32; 2]> {
    prop::sample::select(vec![[1.0, 0.0], [-0.5, 1.0], [2.0, -1.5], [0.0, 0.5], [0.0, 0.0]])
}

fn sizes() -> impl Strategy<Value = [usize; 3]> {
    [1..70_usize, 1..70, 0..150_usize]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn results_are_those_of_the_whole(
        (sizes, orders, factors) in (sizes(), orders(), factors()),
        class in prop::sample::select(vec![AccuracyClass::Fp32Strict, AccuracyClass::Fp32, AccuracyClass::Tf32]),
        (gpus, may_share) in (1..5_usize, any::<bool>()),
        memory in 8..24_u64,
        seed in any::<u64>(),
    ) {
        let case = Case { problem: problem(sizes, orders, class), gpus, may_share, memory, seed, factors };
        let plan = case.plan();
        check(&case, &case.run(&plan, |number| number))?;
    }

    /// The bits are those of one run, wherever an element is computed.
    #[test]
    fn bits_are_those_of_one_run(
        (sizes, orders) in (sizes(), orders()),
        class in prop::sample::select(vec![AccuracyClass::Fp32Strict, AccuracyClass::Fp32, AccuracyClass::Tf32]),
        (gpus, may_share) in (1..5_usize, any::<bool>()),
        seed in any::<u64>(),
    ) {
        let problem = problem(sizes, orders, class).with_determinism(Determinism::PerElement).with_alignment(4, 4);
        let case = Case { problem, gpus, may_share, memory: 8, seed, factors: [1.5, -0.5] };
        let [a, b, mut c, result] = case.run(&case.plan(), |number| number);
        let whole = EMULATOR.plan(&problem, u64::MAX).unwrap();
        EMULATOR.run(&whole, Arguments::new(1.5, &a, &b, -0.5, &mut c)).unwrap();
        let bits = |numbers: &[f32]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
        prop_assert!(bits(&c) == bits(&result), "{} tiles", case.plan().parts()[0].tasks().len());
    }
}

/// k in pieces: they are added in the GPU's memory, and beta counts once.
#[test]
fn pieces_of_k_are_added() {
    let problem = problem([20, 30, 400], [(false, 1), (true, 2), (true, 3)], AccuracyClass::Fp32Strict);
    let plan = Plan::new(&problem, EMULATOR.device(), &[10_000]).unwrap();
    let pieces = 400_usize.div_ceil(plan.parts()[0].shape().piece);
    assert!(pieces > 1, "{:?}", plan.parts()[0].shape());
    for factors in [[1.5, -0.5], [1.0, 0.0]] {
        let case = Case { problem, gpus: 1, may_share: true, memory: 8, seed: 5, factors };
        check(&case, &case.run(&plan, |number| number)).unwrap();
    }
}

#[cfg(feature = "f16")]
#[test]
fn halves_are_streamed() {
    use half::f16;
    for (orders, factors) in [([(false, 0); 3], [1.0, 0.0]), ([(true, 3), (false, 1), (true, 2)], [0.5, 2.0])] {
        let case = Case {
            problem: problem([50, 40, 70], orders, AccuracyClass::F16),
            gpus: 2,
            may_share: true,
            memory: 8,
            seed: 9,
            factors,
        };
        let matrices = case.run(&case.plan(), f16::from_f32);
        check(&case, &matrices.map(|matrix| matrix.into_iter().map(f16::to_f32).collect())).unwrap();
    }
}

/// Four GPUs read each matrix from the host once, whatever the memory: and the bits are those of GPUs that share nothing.
#[test]
fn shared_panels_give_the_same_bits() {
    for (class, kept) in [(AccuracyClass::Fp32Strict, Kept::A), (AccuracyClass::Fp32, Kept::B)] {
        let problem = problem([61, 93, 70], [(false, 1), (true, 2), (false, 3)], class);
        let shape = Shape { tile: [16, 16], piece: 70, slots: Abc { a: 1, b: 2, c: 2 }, kept };
        let results = [false, true].map(|is_shared| {
            let limits = [1 << 30; 4];
            let plan = Plan::of_shape(&problem, EMULATOR.device(), &limits, ([2, 2], is_shared), shape).unwrap();
            let case = Case { problem, gpus: 4, may_share: is_shared, memory: 8, seed: 3, factors: [1.5, -0.5] };
            let matrices = case.run(&plan.unwrap(), |number| number);
            check(&case, &matrices).unwrap();
            matrices[3].iter().map(|number| number.to_bits()).collect::<Vec<_>>()
        });
        assert_eq!(results[0], results[1]);
    }
}

#[test]
fn wrong_slices_are_refused() {
    let plan = Plan::new(&Problem::new(10, 10, 10), EMULATOR.device(), &[1 << 20]).unwrap();
    let (ones, mut c) = (vec![1.0_f32; 100], vec![0.0_f32; 99]);
    let error = Emulation::new(&EMULATOR, 0).run(&plan, 1.0, &ones, &ones, 0.0, &mut c).unwrap_err();
    assert_eq!(error, Error::ShortBuffer { operand: "C", elements: 99, least: 100 });
}
