//! Bias and activation in a kernel's own epilogue: the bits of the same kernel with a post-pass, whose functions have tests of their own.

use gpu_kernels::{Element, Precision, Step};
use half::{bf16, f16};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use sgemm::plan::{Plan, Role};
use sgemm::{Activation, BiasPer, Epilogue, Layout, Problem};

use crate::layouts::{Executor, Number, Operands};

/// An epilogue on a C whose size is the tile's and so many rows and columns, in the order in which the kernel sees it.
struct Case {
    epilogue: Epilogue,
    beyond: [i32; 2],
    by_columns: bool,
    /// Elements between rows, or columns.
    gap: usize,
    batch: usize,
    scalars: [f32; 2],
}

/// Each activation and each bias, full tiles and edges, both orders of C.
fn cases() -> [Case; 6] {
    let case = |bias, activation, beyond, by_columns, gap, batch, scalars| {
        let epilogue = Epilogue { bias, activation };
        Case { epilogue, beyond, by_columns, gap, batch, scalars }
    };
    let [row, column] = [BiasPer::Row, BiasPer::Column].map(Some);
    [
        case(row, Activation::Gelu, [3, 0], false, 0, 1, [1.0, 0.0]),
        case(column, Activation::GeluTanh, [3, 0], false, 8, 1, [-1.5, 0.5]),
        case(row, Activation::None, [0, 8], true, 0, 2, [2.0, 1.0]),
        case(column, Activation::Relu, [0, 5], true, 1, 1, [1.0, 0.0]),
        case(None, Activation::Gelu, [-3, -1], false, 1, 2, [0.5, -2.0]),
        case(column, Activation::Relu, [0, 0], false, 0, 1, [0.0, 1.0]),
    ]
}

fn check<I: Number, O: Number>(
    step: &'static Step,
    with_postpass: &'static Step,
    case: &Case,
    executor: &impl Executor,
) -> Result<(), String> {
    let rng = &mut StdRng::seed_from_u64(executor.seed());
    let tile = step.tile;
    let [rows, columns] = [(tile.bm, case.beyond[0]), (tile.bn, case.beyond[1])]
        .map(|(size, more)| size.saturating_add_signed(more).max(1) as usize);
    let k = tile.bk as usize + 2;
    let (m, n, c_layout) = match case.by_columns {
        false => (rows, columns, Layout::row_major(columns + case.gap)),
        true => (columns, rows, Layout::column_major(columns + case.gap)),
    };
    let [a_stride, b_stride, c_stride] = [m * k, k * n, rows * (columns + case.gap)];
    let mut random = |count: usize| (0..count).map(|_| rng.random_range(-2.0..2.0)).collect::<Vec<f32>>();
    let [a, b] =
        [a_stride, b_stride].map(|stride| random(case.batch * stride).into_iter().map(I::new).collect::<Vec<_>>());
    let c: Vec<O> = random(case.batch * c_stride).into_iter().map(O::new).collect();
    let bias_len = case.epilogue.bias.map(|per| if per == BiasPer::Row { m } else { n });
    let bias = bias_len.map(|len| random(len).into_iter().map(O::new).collect::<Vec<_>>());

    let in_place = Problem::new(m, n, k)
        .with_layouts(Layout::row_major(k), Layout::row_major(n), c_layout)
        .with_batch(case.batch, [a_stride, b_stride, c_stride])
        .with_elements(I::ELEMENT, O::ELEMENT)
        .with_epilogue(case.epilogue);
    let run = |step, problem: &Problem, role, old| {
        let plan = Plan::new(step, problem, executor.sm_count()).map_err(|error| error.to_string())?;
        if plan.launches().last().is_none_or(|launch| launch.role != role) {
            return Err(format!("its last launch is not a {role:?}"));
        }
        let mut result = c.clone();
        let bias = bias.as_deref();
        let operands = Operands {
            a: &a,
            b: &b,
            c: old,
            result: &mut result,
            bias,
            scalars: case.scalars,
            are_scalars_on_device: false,
        };
        executor.run(plan, operands).map(|()| result)
    };
    let fused = run(step, &in_place, Role::Product, None)?;
    let apart = in_place.with_d(c_layout).with_batch_stride_d(c_stride);
    let expected = run(with_postpass, &apart, Role::Postpass, Some(&c))?;
    let bits = |value: &O| value.get().to_bits();
    match fused.iter().zip(&expected).position(|(one, other)| bits(one) != bits(other)) {
        None => Ok(()),
        Some(at) => Err(format!("element {at} is {}, not {}", fused[at].get(), expected[at].get())),
    }
}

/// Checks every case on one step.
///
/// # Errors
/// The first case that fails, and how.
pub fn run(step: &'static Step, executor: &impl Executor) -> Result<(), String> {
    // A step that makes 16-bit elements alone has no sums for a post-pass; those of the same MMAs are.
    let with_postpass = match step.output {
        _ if step.is_planned() => step,
        Element::F32 => step,
        Element::F16 => gpu_kernels::find("hgemm/f32").ok_or("no sums of f16")?,
        Element::Bf16 => gpu_kernels::find("hgemm/bf16-f32").ok_or("no sums of bf16")?,
    };
    for (number, case) in cases().iter().enumerate() {
        let result = match (step.precision, step.output) {
            (Precision::F16, Element::F32) => check::<f16, f32>(step, with_postpass, case, executor),
            (Precision::F16, _) => check::<f16, f16>(step, with_postpass, case, executor),
            (Precision::Bf16, Element::F32) => check::<bf16, f32>(step, with_postpass, case, executor),
            (Precision::Bf16, _) => check::<bf16, bf16>(step, with_postpass, case, executor),
            _ => check::<f32, f32>(step, with_postpass, case, executor),
        };
        result.map_err(|error| format!("case {number}, {:?}: {error}", case.epilogue))?;
    }
    Ok(())
}
