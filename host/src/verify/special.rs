//! Numbers that are none, and numbers at the ends of f32: every step of accuracy class fp32 makes of them what SGEMM does.

use gpu_kernels::{Precision, Step};

use super::surroundings::{guard_fault, input_fault};
use super::{Fault, Matrix, Operands, Problem, UNIT_ROUNDOFF};
use crate::Error;

/// What is done to rows of A and columns of B, one after the other; others stay as they are.
const KINDS: [fn(usize, f32) -> f32; 12] = [
    |_, x| x,
    |p, x| if p == 3 { f32::INFINITY } else { x },
    |p, x| if p == 5 { f32::NAN } else { x },
    |p, x| match p {
        4 => f32::INFINITY,
        6 => f32::NEG_INFINITY,
        _ => x,
    },
    // Subnormal.
    |_, x| x * 2f32.powi(-126) * 0.125,
    // So large that a sum of 128 is not too large, and as large but for one.
    |_, x| x * 2f32.powi(119),
    |p, x| if p == 7 { x * 2f32.powi(110) } else { x },
    // Farther apart than the exponents of small numbers.
    |p, x| if p % 2 == 0 { x * 2f32.powi(60) } else { x * 2f32.powi(-60) },
    |_, _| 0.0,
    |p, x| if p % 2 == 0 { -0.0 } else { x * 2f32.powi(-149) },
    // As far apart as f16.
    |p, x| x * 2f32.powi(-((p % 40) as i32)),
    // A power of two, and the next number below.
    |p, _| if p % 2 == 0 { 1.0 } else { 1.0 - f32::EPSILON / 2.0 },
];

/// What it is tried on: inside of tiles and at their edges, with rows that are aligned and others, with the old C and without it.
///
/// # Errors
/// Where a size is none; a mistake in a step's tile.
pub fn problems(step: &Step) -> Result<Vec<Problem>, Error> {
    if !matches!(step.precision, Precision::Fp32 | Precision::Fp16x3 | Precision::Tf32x3) {
        return Ok(Vec::new());
    }
    let (tile, old) = (step.tile, (0.75, -0.5));
    let sizes = [
        ([tile.bm + 8, tile.bn + 8, 72], old),
        ([45, 50, 71], old),
        ([24, 256, 48], (1.0, 0.0)),
        ([256, 24, 48], (1.0, 0.0)),
    ];
    let problem =
        |([m, n, k], (alpha, beta)): ([u32; 3], _)| Problem::new(m, n, k)?.with_seed(1).with_scalars(alpha, beta);
    sizes.into_iter().map(problem).collect()
}

/// Makes them so.
pub fn fill(operands: &mut Operands) {
    let kind = |index: usize| KINDS[index % 16 % KINDS.len()];
    for i in 0..operands.a.rows() {
        let row = operands.a.row_mut(i).iter_mut().enumerate();
        row.for_each(|(p, x)| *x = kind(i)(p, *x));
    }
    for p in 0..operands.b.rows() {
        let row = operands.b.row_mut(p).iter_mut().enumerate();
        row.for_each(|(j, x)| *x = kind(j + 3 * (j / 16))(p, *x));
    }
}

/// The first element that is not what SGEMM may make of the operands, or what else was written.
#[must_use]
pub fn fault(problem: &Problem, fresh: &Operands, result: &Operands) -> Option<Fault> {
    element_fault(problem, fresh, result).or_else(|| input_fault(fresh, result)).or_else(|| guard_fault(result))
}

fn element_fault(problem: &Problem, fresh: &Operands, result: &Operands) -> Option<Fault> {
    let column = |matrix: &Matrix, j: usize| (0..matrix.rows()).map(|p| matrix.get(p, j)).collect::<Vec<_>>();
    let columns: Vec<_> = (0..fresh.b.columns()).map(|j| column(&fresh.b, j)).collect();
    for (i, (j, b)) in (0..fresh.a.rows()).flat_map(|i| columns.iter().enumerate().map(move |column| (i, column))) {
        let terms = fresh.a.row(i).iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b));
        let (alpha, beta) = (f64::from(problem.alpha), f64::from(problem.beta));
        let old = if problem.reads_c() { beta * f64::from(fresh.c.get(i, j)) } else { 0.0 };
        let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + f64::abs(term)));
        let (expected, size) = (alpha * sum + old, alpha.abs() * size + old.abs());
        // Three roundings for each part, and what underflows in each product.
        let bound = (f64::from(problem.k) + 18.0) * (UNIT_ROUNDOFF * size + f64::from(f32::from_bits(1)));
        let got = result.c.get(i, j);
        let is_right = match expected {
            _ if expected.is_nan() => got.is_nan(),
            _ if expected.is_infinite() => f64::from(got) == expected,
            // Whether partial sums leave the range depends on their order.
            _ if size > f32::MAX.into() => true,
            _ => (f64::from(got) - expected).abs() <= bound,
        };
        if !is_right {
            return Some(Fault::Element { row: i, column: j, got, expected, bound });
        }
    }
    None
}
