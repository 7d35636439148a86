//! Every step on every layout: A and B by rows and by columns, D by rows and by columns, with gaps, at addresses that are aligned to
//! an element only, once and in batches. Matrices are of small integers, so that any arithmetic gives the same bits.

use gpu_kernels::{Element, Precision, Step};
use half::{bf16, f16};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sgemm::emulator::{Arguments, Emulator, MODELS, Model};
use sgemm::plan::Plan;
use sgemm::{Activation, BiasPer, Epilogue, Layout, ModuleSource, Problem, Scalar, Scalars};

pub mod aligned;
pub mod planned;
pub mod stream_k;
pub mod words;

/// What runs plans on the host's matrices.
pub trait Executor {
    /// Streaming multiprocessors that plans are made for.
    fn sm_count(&self) -> u32;

    /// What the matrices of a case are drawn from.
    fn seed(&self) -> u64 {
        rand::random()
    }

    /// Runs the plan.
    ///
    /// # Errors
    /// What went wrong.
    fn run<I: Number, O: Number>(&self, plan: Plan, operands: Operands<'_, I, O>) -> Result<(), String>;
}

/// What a plan reads and writes.
pub struct Operands<'a, I, O> {
    /// A.
    pub a: &'a [I],
    /// B.
    pub b: &'a [I],
    /// C, where D is another matrix.
    pub c: Option<&'a [O]>,
    /// D, or C.
    pub result: &'a mut [O],
    /// The bias.
    pub bias: Option<&'a [O]>,
    /// alpha and beta.
    pub scalars: [f32; 2],
    /// Whether they are in device memory.
    pub are_scalars_on_device: bool,
}

/// An emulator of a device.
pub struct Emulated {
    emulator: Emulator,
    sm_count: u32,
    seed: Option<u64>,
}

impl Emulated {
    /// Of the first device that runs the step, with few SMs, so that blocks that persist go on to further tiles; `None` where there is
    /// none.
    #[must_use]
    pub fn for_step(step: &Step) -> Option<Self> {
        Self::with_sms(step, 3)
    }

    /// The same with so many SMs.
    #[must_use]
    pub fn with_sms(step: &Step, sm_count: u32) -> Option<Self> {
        Self::with_modules(step, sm_count, ModuleSource::BuiltIn)
    }

    /// The same with kernels out of this source.
    #[must_use]
    pub fn with_modules(step: &Step, sm_count: u32, source: ModuleSource) -> Option<Self> {
        let runs = |model: &&Model| step.target.runs_on(model.compute_capability.0, model.compute_capability.1);
        let model = MODELS.iter().find(runs)?;
        let emulator = Emulator::with_modules(Model { sm_count, ..*model }, source);
        Some(Self { emulator, sm_count, seed: None })
    }

    /// The same with matrices that are the same each time.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }
}

impl Executor for Emulated {
    fn sm_count(&self) -> u32 {
        self.sm_count
    }

    fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(rand::random)
    }

    fn run<I: Number, O: Number>(&self, plan: Plan, operands: Operands<'_, I, O>) -> Result<(), String> {
        let Operands { a, b, c, result, bias, scalars: [alpha, beta], are_scalars_on_device } = operands;
        let mut arguments = match c {
            Some(c) => Arguments::with_d(alpha, a, b, beta, Some(c), result),
            None => Arguments::new(alpha, a, b, beta, result),
        };
        if let Some(bias) = bias {
            arguments = arguments.with_bias(bias);
        }
        if are_scalars_on_device {
            arguments = arguments.with_device_scalars();
        }
        self.emulator.run(&plan, arguments).map_err(|error| error.to_string())
    }
}

/// A type of elements that small integers, and NaN, convert to.
pub trait Number: Scalar + PartialEq {
    /// The element nearest to it.
    fn new(value: f32) -> Self;
    /// Its value.
    fn get(self) -> f64;
}

impl Number for f32 {
    fn new(value: f32) -> Self {
        value
    }
    fn get(self) -> f64 {
        self.into()
    }
}

impl Number for f16 {
    fn new(value: f32) -> Self {
        Self::from_f32(value)
    }
    fn get(self) -> f64 {
        self.into()
    }
}

impl Number for bf16 {
    fn new(value: f32) -> Self {
        Self::from_f32(value)
    }
    fn get(self) -> f64 {
        self.into()
    }
}

/// What varies from case to case.
#[derive(Debug, Clone, Copy)]
struct Case {
    /// Whether A, B, and C are by columns.
    by_columns: [bool; 3],
    /// Elements between rows, or columns.
    gap: usize,
    /// Whether A, B and C begin at multiples of no more than an element.
    is_unaligned: bool,
    /// Problems, and elements between them; A or B may be the same in all of them.
    batch: (usize, [Option<usize>; 2]),
    scalars: [f32; 2],
    /// Whether D is another matrix than C, by rows or by columns.
    d_by_columns: Option<bool>,
    are_scalars_on_device: bool,
    bias: Option<BiasPer>,
    is_rectified: bool,
    /// Whether C is of f32, where the kernel writes elements of 16 bits as well.
    is_c_f32: bool,
}

/// All orders of A, B and C; what else there is goes round, so that steps in succession have other combinations.
fn cases(number: usize) -> Vec<Case> {
    let case = |index: usize| {
        let turn = index + number;
        let has_epilogue = turn.is_multiple_of(5);
        Case {
            by_columns: [0, 1, 2].map(|bit| index >> bit & 1 == 1),
            gap: [0, 4, 1][turn % 3],
            is_unaligned: turn % 4 == 1,
            batch: [(1, [Some(0); 2]), (2, [Some(8), Some(0)]), (3, [None, Some(5)]), (2, [Some(1), None])][turn % 4],
            scalars: [[-2.0, 0.0], [2.0, -0.5], [-1.0, 1.0], [0.0, 2.0]][turn / 2 % 4],
            d_by_columns: (turn % 7 == 3).then_some(turn.is_multiple_of(2)),
            are_scalars_on_device: turn % 6 == 5,
            bias: has_epilogue.then_some(if turn.is_multiple_of(2) { BiasPer::Row } else { BiasPer::Column }),
            is_rectified: has_epilogue,
            is_c_f32: turn / 3 % 2 == 1,
        }
    };
    (0..8).map(case).collect()
}

/// A buffer of small integers in a layout, NaN between them, for so many problems.
struct Matrix<T> {
    elements: Vec<T>,
    layout: Layout,
    stride: usize,
}

impl<T: Number> Matrix<T> {
    fn new(
        rows: usize,
        columns: usize,
        by_columns: bool,
        gap: usize,
        batch: (usize, Option<usize>),
        rng: &mut StdRng,
    ) -> Self {
        let layout = if by_columns { Layout::column_major(rows + gap) } else { Layout::row_major(columns + gap) };
        let one = (rows - 1) * layout.row_stride + (columns - 1) * layout.column_stride + 1;
        let stride = batch.1.map_or(0, |apart| one + apart);
        let mut elements = vec![T::new(f32::NAN); (batch.0 - 1) * stride + one];
        let mut matrix = Self { elements: Vec::new(), layout, stride };
        for problem in 0..batch.0 {
            for i in 0..rows {
                for j in 0..columns {
                    elements[matrix.index(problem, i, j)] = T::new(rng.random_range(-2..=2) as f32);
                }
            }
        }
        matrix.elements = elements;
        matrix
    }

    fn index(&self, problem: usize, i: usize, j: usize) -> usize {
        problem * self.stride + i * self.layout.row_stride + j * self.layout.column_stride
    }

    fn at(&self, problem: usize, i: usize, j: usize) -> f64 {
        self.elements[self.index(problem, i, j)].get()
    }

    /// The same with each element that is one of the matrix replaced, and the gaps as they are.
    fn replaced(&self, [count, rows, columns]: [usize; 3], value: impl Fn(usize, usize, usize) -> T) -> Vec<T> {
        let mut elements = self.elements.clone();
        for problem in 0..count {
            for i in 0..rows {
                for j in 0..columns {
                    elements[self.index(problem, i, j)] = value(problem, i, j);
                }
            }
        }
        elements
    }
}

fn check<I: Number, O: Number>(
    step: &'static Step,
    sizes: [u32; 3],
    case: Case,
    executor: &impl Executor,
) -> Result<(), String> {
    let rng = &mut StdRng::seed_from_u64(executor.seed());
    let [m, n, k] = sizes.map(|size| size as usize);
    let Case { by_columns: [a_order, b_order, c_order], gap, batch: (count, [a_apart, b_apart]), .. } = case;
    let a = Matrix::<I>::new(m, k, a_order, gap, (count, a_apart), rng);
    let b = Matrix::<I>::new(k, n, b_order, gap, (count, b_apart), rng);
    let c = Matrix::<O>::new(m, n, c_order, gap, (count, Some(gap)), rng);
    let d = case.d_by_columns.map(|order| Matrix::<O>::new(m, n, order, gap + 1, (count, Some(3)), rng));
    let bias_len = case.bias.map(|per| if per == BiasPer::Row { m } else { n });
    let bias = bias_len.map(|len| (0..len).map(|_| O::new(rng.random_range(-3..=3) as f32)).collect::<Vec<_>>());

    let activation = if case.is_rectified { Activation::Relu } else { Activation::None };
    let mut problem = Problem::new(m, n, k)
        .with_layouts(a.layout, b.layout, c.layout)
        .with_batch(count, [a.stride, b.stride, c.stride])
        .with_elements(I::ELEMENT, O::ELEMENT)
        .with_epilogue(Epilogue { bias: case.bias, activation });
    if case.is_unaligned {
        problem = problem.with_alignment(size_of::<I>(), size_of::<I>());
    }
    if let Some(d) = &d {
        problem = problem.with_d(d.layout).with_batch_stride_d(d.stride);
    }
    if case.are_scalars_on_device {
        problem = problem.with_scalars(Scalars::Device);
    }

    let plan = match Plan::new(step, &problem, executor.sm_count()) {
        // Steps that make 16-bit elements have no sums of f32 to finish.
        Err(sgemm::Error::Elements { .. }) if step.output != Element::F32 => return Ok(()),
        plan => plan.map_err(|error| error.to_string())?,
    };
    let [alpha, beta] = case.scalars;
    let result = d.as_ref().unwrap_or(&c);
    // Rows of C are at multiples of 16 bytes or of an element, as those of A and B.
    let before = usize::from(case.is_unaligned);
    let mut written = [&result.elements[..before], &result.elements].concat();
    executor.run(
        plan,
        Operands {
            a: &a.elements,
            b: &b.elements,
            c: d.is_some().then_some(&c.elements),
            result: &mut written[before..],
            bias: bias.as_deref(),
            scalars: case.scalars,
            are_scalars_on_device: case.are_scalars_on_device,
        },
    )?;

    let value = |problem, i, j| {
        let sum: f64 = (0..k).map(|l| a.at(problem, i, l) * b.at(problem, l, j)).sum();
        let old = if beta == 0.0 { 0.0 } else { f64::from(beta) * c.at(problem, i, j) };
        let bias = bias.as_ref().map_or(0.0, |bias| bias[if case.bias == Some(BiasPer::Row) { i } else { j }].get());
        let sum = f64::from(alpha) * sum + old + bias;
        O::new(if case.is_rectified { sum.max(0.0) } else { sum } as f32)
    };
    let expected = result.replaced([count, m, n], value);
    let same = |(one, other): (&O, &O)| one.get().to_bits() == other.get().to_bits() || one == other;
    let written = &written[before..];
    match expected.iter().zip(written).position(|pair| !same(pair)) {
        None => Ok(()),
        Some(at) => Err(format!("element {at} is {}, not {}", written[at].get(), expected[at].get())),
    }
}

/// Checks one case of those sizes (m, n, k) on one step, in its own types of elements.
fn check_in_its_types(
    step: &'static Step,
    sizes: [u32; 3],
    case: Case,
    executor: &impl Executor,
) -> Result<(), String> {
    let is_c_f32 = step.output == Element::F32 || step.is_planned() && case.is_c_f32;
    let result = match (step.precision, is_c_f32) {
        (Precision::F16, true) => check::<f16, f32>(step, sizes, case, executor),
        (Precision::F16, false) => check::<f16, f16>(step, sizes, case, executor),
        (Precision::Bf16, true) => check::<bf16, f32>(step, sizes, case, executor),
        (Precision::Bf16, false) => check::<bf16, bf16>(step, sizes, case, executor),
        _ => check::<f32, f32>(step, sizes, case, executor),
    };
    result.map_err(|error| format!("{sizes:?}, {case:?}: {error}"))
}

/// Checks every case on one step, of that number in the ladder.
///
/// # Errors
/// The first case that fails, and how.
pub fn run(step: &'static Step, number: usize, executor: &impl Executor) -> Result<(), String> {
    let tile = step.tile;
    let sizes = [tile.bm + 3, tile.bn / 2 + 5, 2 * tile.bk.min(32) + 3];
    let check = |sizes, case| check_in_its_types(step, sizes, case, executor);
    cases(number).into_iter().try_for_each(|case| check(sizes, case))?;
    // A kernel that takes any order has a mainloop for each.
    let Some(k) = deep_k(step, sizes, executor.sm_count()).filter(|_| step.is_planned()) else { return Ok(()) };
    let simple = |case| Case { batch: (1, [Some(0); 2]), d_by_columns: None, are_scalars_on_device: false, ..case };
    cases(number).into_iter().take(4).try_for_each(|case| check([sizes[0], sizes[1], k], simple(case)))
}

/// A k for which each block has more k-tiles than there is shared memory for, so that it fills stages again.
fn deep_k(step: &Step, [m, n, _]: [u32; 3], sm_count: u32) -> Option<u32> {
    /// Of a block, at most.
    const SMEM_BYTES: u32 = 227 << 10;
    let tile = step.tile;
    let stages = SMEM_BYTES / ((tile.bm + tile.bn) * tile.bk * step.precision.input().bytes());
    (1..1 << 12).map(|k_tiles| k_tiles * tile.bk - tile.bk / 2 + 1).find(|&k| {
        let splits = step.splits(m, n, k, 1, sm_count);
        k / tile.bk / (splits.cluster * splits.planes) > stages + 1
    })
}
