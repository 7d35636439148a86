//! The library's safe layer: any problem gets a plan that CUDA can launch, or an error that says why not; small ones run.

use gpu_kernels::{STEPS, Step};
use half::{bf16, f16};
use sgemm::emulator::{Arguments, Emulator, MODELS};
use sgemm::plan::Plan;
use sgemm::{
    AccuracyClass, Activation, BiasPer, Determinism, Element, Epilogue, Error, Layout, Problem, Scalar, Scalars,
};

use super::run::Target;

static LIBRARY: Target = Target {
    name: "library",
    corpora: &["tests/corpus/library"],
    words: &["\0\0\0\0", "\u{1}\u{1}", "\u{7f}", "abcdefgh", "é"],
    inputs: 20_000,
    most_bytes: 256 << 20,
    check,
};

/// Elements of all matrices of a problem that runs, at most.
const MAX_RUN: usize = 3000;

/// Operations of one at most.
const MAX_FLOPS: f64 = 1e6;

/// Of the problems that are small enough, one in so many runs.
const RUN_ONE_IN: u8 = 16;

/// A problem, and what a run of it takes.
struct Case {
    problem: Problem,
    elements: (Element, Element),
    has_d: bool,
    has_bias: bool,
    is_on_device: bool,
}

/// Choices, made of bytes; 0 where there are none left.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }

    /// Mostly small; sometimes at the ends of what can be counted.
    fn size(&mut self) -> usize {
        const ENDS: [usize; 10] = [
            0,
            1,
            65_535,
            65_536 * 16,
            (1 << 31) - 1,
            1 << 31,
            (1 << 32) + 1,
            usize::MAX / 4,
            usize::MAX / 2,
            usize::MAX,
        ];
        match self.byte() % 8 {
            0..=4 => usize::from(self.byte() % 40),
            5 => usize::from(self.byte()) * usize::from(self.byte()),
            6 => self.of(&ENDS).wrapping_add_signed(isize::from(self.byte() as i8 % 3)),
            _ => (self.word() >> (self.byte() % 64)) as usize,
        }
    }

    /// One that suits the matrix, mostly.
    fn layout(&mut self, rows: usize, columns: usize) -> Layout {
        let gap = if self.byte().is_multiple_of(4) { self.size() } else { usize::from(self.byte() % 3) };
        match self.byte() % 8 {
            0..=3 => Layout::row_major(columns.saturating_add(gap)),
            4..=6 => Layout::column_major(rows.saturating_add(gap)),
            _ => Layout { row_stride: self.size(), column_stride: self.size() },
        }
    }

    fn case(&mut self) -> Case {
        use Element::{Bf16, F16, F32};
        let [m, n, k] = [self.size(), self.size(), self.size()];
        let layouts = [self.layout(m, k), self.layout(k, n), self.layout(m, n), self.layout(m, n)];
        let mut problem = Problem::new(m, n, k);
        let (input, output) = self.of(&[(F32, F32), (F32, F32), (F16, F16), (F16, F32), (Bf16, Bf16), (F32, F16)]);
        problem = problem.with_elements(input, output);
        let mut has_bias = false;
        let options = self.byte();
        if options & 1 != 0 {
            problem = problem.with_layouts(layouts[0], layouts[1], layouts[2]);
        }
        if options & 2 != 0 {
            problem = problem.with_d(layouts[3]).with_batch_stride_d(self.size());
        }
        if options & 4 != 0 {
            let dense = [m.saturating_mul(k), k.saturating_mul(n), m.saturating_mul(n)];
            let strides = dense.map(|dense| if self.byte().is_multiple_of(4) { self.size() } else { dense });
            let count = self.size();
            problem = problem.with_batch(count, strides);
        }
        if options & 8 != 0 {
            problem =
                problem.with_alignment(self.of(&[2, 4, 8, 16, 32, 0, 3]), self.of(&[2, 4, 8, 16, 32, 1, 1 << 40]));
        }
        if options & 16 != 0 {
            problem = problem.with_accuracy(self.of(&AccuracyClass::ALL));
        }
        if options & 32 != 0 {
            let bias = self.of(&[None, Some(BiasPer::Row), Some(BiasPer::Column)]);
            let activation = self.of(&[Activation::None, Activation::Relu, Activation::Gelu, Activation::GeluTanh]);
            has_bias = bias.is_some();
            problem = problem.with_epilogue(Epilogue { bias, activation });
        }
        if options & 64 != 0 {
            problem = problem.with_scalars(Scalars::Device);
        }
        if options & 128 != 0 {
            problem = problem.with_determinism(Determinism::PerElement);
        }
        let (has_d, is_on_device) = (options & 2 != 0, options & 64 != 0);
        Case { problem, elements: (input, output), has_d, has_bias, is_on_device }
    }
}

fn check(bytes: &[u8]) {
    let mut choices = Choices(bytes.iter());
    let case = choices.case();
    let problem = case.problem;
    let validity = problem.validate();
    assert_line(&validity);
    let emulator = Emulator::new(choices.of(&MODELS));
    let limit = if choices.byte().is_multiple_of(4) { choices.word() >> (choices.byte() % 64) } else { u64::MAX };
    let chosen = emulator.plan(&problem, limit);
    let step: &'static Step = &STEPS[usize::from(choices.byte()) % STEPS.len()];
    let of_step = Plan::new(step, &problem, emulator.device().sm_count);
    for planned in [&chosen, &of_step] {
        assert_line(planned);
        match (planned, &validity) {
            (Ok(plan), Ok(())) => check_plan(plan),
            (Ok(_), Err(error)) => panic!("a plan for no problem ({error}): {problem:?}"),
            (Err(error), Err(invalid)) => assert_eq!(error, invalid),
            (Err(_), Ok(())) => {}
        }
    }
    let Ok(plan) = chosen else { return };
    assert!(plan.workspace_bytes() <= limit, "{problem:?}");
    if choices.byte().is_multiple_of(RUN_ONE_IN) {
        run(&emulator, &plan, &case);
    }
}

/// What is wrong is said in one line.
fn assert_line<T>(result: &Result<T, Error>) {
    if let Err(error) = result {
        let text = error.to_string();
        assert!(!text.is_empty() && text.lines().count() == 1, "{text:?}");
    }
}

/// CUDA's limits hold, and all launches can be listed.
fn check_plan(plan: &Plan) {
    for launch in plan.launches() {
        let shape = &launch.shape;
        let exceeds = |sizes: [u32; 3], most: [u32; 3]| sizes.into_iter().zip(most).any(|(size, most)| size > most);
        let is_wrong = shape.grid.contains(&0)
            || exceeds(shape.grid, [i32::MAX as u32, 65_535, 65_535])
            || exceeds(shape.block, [1024, 1024, 64])
            || shape.block.iter().product::<u32>() > 1024
            || shape.grid.into_iter().zip(shape.cluster).any(|(grid, cluster)| grid % cluster != 0);
        assert!(!is_wrong, "{:?} of {:?}", shape, plan.problem());
    }
    assert!(plan.part_bytes().total_bytes() == plan.workspace_bytes() && plan.rounds() <= plan.batch());
    let _ = plan.rewritten();
}

/// A small problem runs on buffers that are as long as it says, and no checker finds anything.
fn run(emulator: &Emulator, plan: &Plan, case: &Case) {
    let extents = case.problem.extents().expect("there is a plan");
    let all = extents.iter().try_fold(0usize, |all, extent| all.checked_add(*extent));
    // Each problem of a batch may be a round of launches.
    // The emulator's memory is aligned to no more than a device's.
    let is_aligned = case.problem.alignment().into_iter().all(|bytes| bytes <= 256);
    if !is_aligned || all.is_none_or(|all| all > MAX_RUN) || plan.batch() > MAX_RUN || case.problem.flops() > MAX_FLOPS
    {
        return;
    }
    let result = match case.elements {
        (Element::F32, Element::F32) => run_as::<f32, f32>(emulator, plan, case, extents),
        (Element::F16, Element::F16) => run_as::<f16, f16>(emulator, plan, case, extents),
        (Element::F16, Element::F32) => run_as::<f16, f32>(emulator, plan, case, extents),
        (Element::Bf16, Element::Bf16) => run_as::<bf16, bf16>(emulator, plan, case, extents),
        elements => panic!("a plan for {elements:?}"),
    };
    assert_eq!(result, Ok(()), "{:?}", case.problem);
}

fn run_as<I: Scalar + Default, O: Scalar + Default>(
    emulator: &Emulator,
    plan: &Plan,
    case: &Case,
    [a, b, c, d, bias]: [usize; 5],
) -> Result<(), Error> {
    let (a, b) = (vec![I::default(); a], vec![I::default(); b]);
    let (old, bias, mut new) = (vec![O::default(); c], vec![O::default(); bias], vec![O::default(); d]);
    let mut arguments = if case.has_d {
        Arguments::with_d(1.0, &a, &b, 1.0, Some(&old), &mut new)
    } else {
        Arguments::new(1.0, &a, &b, 1.0, &mut new)
    };
    if case.has_bias {
        arguments = arguments.with_bias(&bias);
    }
    if case.is_on_device {
        arguments = arguments.with_device_scalars();
    }
    emulator.run(plan, arguments)
}

/// What a random batch does not come to: matrices of an element, more of them than launches can be listed.
#[test]
fn endless_batches_have_a_plan_or_an_error() {
    let emulator = Emulator::of("h200").unwrap();
    for count in [1 << 20, 1 << 28, 1 << 50, 1 << 60] {
        for strides in [[0, 0, 1], [1, 1, 1], [1, 0, 2]] {
            let problem = Problem::new(1, 1, 1).with_batch(count, strides);
            assert_eq!(problem.validate(), Ok(()));
            for planned in gpu_kernels::runnable().map(|step| Plan::new(step, &problem, 132)) {
                // A plan has the launches of one round, or of all problems that fit into few.
                let is_error = matches!(planned, Err(Error::TooManyBlocks { .. } | Error::Elements { .. }));
                assert!(is_error || planned.is_ok_and(|plan| plan.launches().len() < 1 << 18), "{problem:?}");
            }
        }
    }
    // A grid of more blocks than there can be.
    let [m, n] = [(1 << 31) - 2, 30_900];
    let planned = emulator.plan(&Problem::new(m, n, 13).with_scalars(Scalars::Device), u64::MAX);
    assert!(matches!(planned, Err(Error::TooManyBlocks { .. })));
}

#[test]
fn any_problem_has_a_plan_or_an_error() {
    LIBRARY.run();
}
