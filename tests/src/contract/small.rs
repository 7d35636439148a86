//! Small problems that go through what large ones have by chance: lengths of sums one by one, all alignments of rows, and each position
//! of a fragment.

use gpu_kernels::{Precision, Step};
use host::{Error, Operands, Problem};

use super::Inputs;

/// Lengths of sums: beyond twice the deepest MMA, and the unrolled loops of most steps.
const LENGTHS: u32 = 41;

/// Elements of 16 bits in 16 bytes, the widest access.
const RESIDUES: u32 = 8;

/// Rows, columns and depth of a fragment, or a multiple of them.
const FRAGMENT: usize = 16;

/// The problems, and what A and B hold. A variant differs from its step in its tile: it goes through one of each kind, by the seed.
pub(super) fn problems(step: &Step, seed: u64) -> Result<Vec<(Problem, Inputs)>, Error> {
    let is_variant = super::is_variant(step);
    let chosen = |count: u32| {
        let one = (seed % u64::from(count)) as u32;
        if is_variant { one..one + 1 } else { 0..count }
    };
    let mut problems = Vec::new();
    for k in chosen(LENGTHS) {
        let beta = if k % 2 == 0 { 0.0 } else { -0.5 };
        problems.push((Problem::new(3 + k % 5, 6 + k % 3, k)?.with_scalars(0.75, beta)?, Inputs::Random));
    }
    for residue in chosen(RESIDUES) {
        // Other ones of B and C than of A: each meets all.
        let [b, c] = [3 * residue + 1, 5 * residue + 2].map(|residue| residue % RESIDUES);
        let problem = Problem::new(9 + residue, 16 - residue, 24 - 3 * (residue % 2))?;
        let problem = problem.with_leading_dimensions(24 + residue, 16 + b, 16 + c)?;
        problems.push((problem.with_scalars(1.0, if residue % 2 == 0 { 0.5 } else { 0.0 })?, Inputs::Random));
    }
    let (all, few, k) = ((FRAGMENT * FRAGMENT) as u32, 24, 3 * FRAGMENT as u32);
    let of_a = Problem::new(all, few, k)?;
    let of_b = Problem::new(few, all, k)?;
    let is_chosen = |is_infinite: &bool| !is_variant || *is_infinite == seed.is_multiple_of(2);
    let numbers = [false, true].into_iter().filter(|is_infinite| !is_infinite || takes_infinities(step));
    for is_infinite in numbers.filter(is_chosen) {
        problems.push((of_a, Inputs::Position { of_a: true, is_infinite }));
        problems.push((of_b, Inputs::Position { of_a: false, is_infinite }));
    }
    Ok(problems)
}

/// Whether infinities are a step's business: a hi/lo split makes NaN of them, where it is not one for the accuracy class fp32.
fn takes_infinities(step: &Step) -> bool {
    let splits = step.prepasses.iter().any(|prepass| prepass.split.is_some());
    !splits || matches!(step.precision, Precision::Fp16x3 | Precision::Tf32x3)
}

/// Where the number stands in a row of A, or a column of B: all pairs of residues of row and place occur.
fn place(line: usize) -> usize {
    line / FRAGMENT % FRAGMENT + FRAGMENT * (line % 3)
}

/// In each row of A, or column of B, one number: an infinity among others, which gives infinities of the other matrix's signs, or 1
/// among zeros, which gives the other matrix's numbers.
pub(super) fn fill(operands: &mut Operands, of_a: bool, is_infinite: bool) {
    let matrix = if of_a { &mut operands.a } else { &mut operands.b };
    if !is_infinite {
        matrix.fill(0.0);
    }
    let number = if is_infinite { f32::INFINITY } else { 1.0 };
    for line in 0..if of_a { matrix.rows() } else { matrix.columns() } {
        let (row, column) = if of_a { (line, place(line)) } else { (place(line), line) };
        matrix.set(row, column, number);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_residue_and_position_occurs() {
        let step = &gpu_kernels::STEPS[0];
        let problems = problems(step, 7).unwrap();
        let lengths: BTreeSet<_> = problems.iter().take(LENGTHS as usize).map(|(problem, _)| problem.k).collect();
        assert!(lengths.into_iter().eq(0..LENGTHS));
        let padded = &problems[LENGTHS as usize..][..RESIDUES as usize];
        for ld in [|p: &Problem| p.lda, |p: &Problem| p.ldb, |p: &Problem| p.ldc] {
            let residues: BTreeSet<_> = padded.iter().map(|(problem, _)| ld(problem) % RESIDUES).collect();
            assert_eq!(residues.len(), RESIDUES as usize);
        }
        let places: BTreeSet<_> =
            (0..FRAGMENT * FRAGMENT).map(|line| (line % FRAGMENT, place(line) % FRAGMENT)).collect();
        assert_eq!(places.len(), FRAGMENT * FRAGMENT);
    }
}
