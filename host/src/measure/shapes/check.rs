//! Whether the results of a case are right: of a batch, the first product's and the last one's.

use gpu_kernels::{Element, Precision};
use rayon::prelude::*;

use crate::backend::Case;
use crate::measure::bench::check_host_memory;
use crate::verify::{Fault, Numbers, Verification};
use crate::{Error, Matrix, Operands, Problem, Verifier};

/// The operands of the products that are checked.
pub struct Products {
    case: Case,
    /// The number in the batch, and the operands.
    chosen: Vec<(usize, Problem, Operands)>,
}

/// What the results of these are compared with.
pub struct Check<'a> {
    case: Case,
    verifiers: Vec<(usize, Verifier<'a>)>,
}

impl Products {
    /// Cuts the operands out of the numbers, A at their beginning, as they lie on the device.
    ///
    /// # Errors
    /// [`Error::OutOfHostMemory`], and where the case is no problem.
    pub fn new(case: &Case, numbers: &Numbers) -> Result<Self, Error> {
        let element = numbers.element();
        let [m, n, k] = case.sizes;
        let problem = Problem::new(m, n, k)?.with_elements(element, element)?;
        let last = case.batch.max(1) as usize - 1;
        let mut chosen = Vec::new();
        for product in if last == 0 { vec![0] } else { vec![0, last] } {
            // As numbered as the product, so that another one's weights are others.
            let problem = problem.with_seed(product as u64);
            check_host_memory(&problem)?;
            chosen.push((product, problem, operands(case, product, numbers)?));
        }
        Ok(Self { case: *case, chosen })
    }

    /// Computes what the results must be.
    #[must_use]
    pub fn check(&self) -> Check<'_> {
        let verifier = |(product, problem, operands)| (product, Verifier::new(&problem, operands));
        let chosen = self.chosen.iter().map(|(product, problem, operands)| (*product, *problem, operands));
        Check { case: self.case, verifiers: chosen.map(verifier).collect() }
    }
}

impl Check<'_> {
    /// Checks C of the whole batch as it lies in memory, computed in that arithmetic; its guard bands too.
    ///
    /// # Errors
    /// [`Error::OutOfHostMemory`].
    pub fn verify(&self, c: &Matrix, precision: Precision) -> Result<Verification, Error> {
        let mut worst: Option<Verification> = None;
        for (product, verifier) in &self.verifiers {
            let verification = verifier.verify_c(&result(&self.case, *product, c)?, precision);
            let is_worse = |worst: &Verification| {
                worst.fault.is_none() && (verification.fault.is_some() || verification.rel_error > worst.rel_error)
            };
            if worst.as_ref().is_none_or(is_worse) {
                worst = Some(verification);
            }
        }
        let nothing = Verification { rel_error: 0.0, max_scaled_error: 0.0, rows_checked: 0, fault: None };
        let mut verification = worst.unwrap_or(nothing);
        let guard = || c.damage().map(|damage| Fault::Guard { matrix: 'C', damage });
        verification.fault = verification.fault.or_else(guard);
        Ok(verification)
    }
}

/// A and B of one product of the batch as row-major matrices, and room for C.
fn operands(case: &Case, product: usize, numbers: &Numbers) -> Result<Operands, Error> {
    let element = numbers.element();
    let ([a, b, c], [a_elements, b_elements, _]) = (case.stored(), case.elements());
    let b_start = (case.b_offset(element) / u64::from(element.bytes())) as usize;
    let stored = |first: usize, elements: usize| &numbers.values()[first + product * elements..][..elements];
    Ok(Operands {
        a: matrix(element, [a.rows, a.columns], a.by_rows, stored(0, a_elements))?,
        b: matrix(element, [b.rows, b.columns], b.by_rows, stored(b_start, b_elements))?,
        c: Matrix::new(element, c.rows, c.columns, c.columns)?,
    })
}

/// C of one product of the batch, row-major.
fn result(case: &Case, product: usize, c: &Matrix) -> Result<Matrix, Error> {
    let [.., stored] = case.stored();
    let elements = &c.as_slice()[c.interior_offset() + product * stored.elements()..][..stored.elements()];
    matrix(c.element(), [stored.rows, stored.columns], stored.by_rows, elements)
}

/// A row-major matrix of elements that lie row by row, or column by column.
fn matrix(element: Element, [rows, columns]: [u32; 2], by_rows: bool, elements: &[f32]) -> Result<Matrix, Error> {
    let mut matrix = Matrix::new(element, rows, columns, columns)?;
    let start = matrix.interior_offset();
    let to = &mut matrix.as_mut_slice()[start..][..elements.len()];
    if by_rows {
        to.copy_from_slice(elements);
    } else {
        let fill = |(i, row): (usize, &mut [f32])| {
            row.iter_mut().zip(elements[i..].iter().step_by(rows as usize)).for_each(|(to, from)| *to = *from);
        };
        to.par_chunks_mut(columns as usize).enumerate().for_each(fill);
    }
    Ok(matrix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Op, Order};

    /// C of the whole batch as it must lie in memory, computed here by the definition.
    fn computed(case: &Case, numbers: &Numbers) -> Matrix {
        let ([a, b, c], [a_elements, b_elements, c_elements]) = (case.stored(), case.elements());
        let b_start = (case.b_offset(Element::F32) / 4) as usize;
        let place = |by_rows: bool, ld: u32, i: usize, j: usize| {
            if by_rows { i * ld as usize + j } else { i + j * ld as usize }
        };
        let ld = c.ld();
        let rows = (case.batch as usize * c_elements / ld as usize) as u32;
        let mut result = Matrix::new(Element::F32, rows, ld, ld).unwrap();
        let start = result.interior_offset();
        let [m, n, k] = case.sizes.map(|size| size as usize);
        for p in 0..case.batch as usize {
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let a_at = |l| numbers.values()[p * a_elements + place(a.by_rows, a.ld(), i, l)];
                let b_at = |l| numbers.values()[b_start + p * b_elements + place(b.by_rows, b.ld(), l, j)];
                let sum = (0..k).map(|l| f64::from(a_at(l)) * f64::from(b_at(l))).sum::<f64>();
                result.as_mut_slice()[start + p * c_elements + place(c.by_rows, ld, i, j)] = sum as f32;
            }
        }
        result
    }

    #[test]
    fn right_results_pass_in_every_layout_and_wrong_ones_do_not() {
        let numbers = Numbers::new(Element::F32, 4000).unwrap();
        let ops = [[Op::N, Op::N], [Op::T, Op::N], [Op::N, Op::T], [Op::T, Op::T]];
        for (ops, order) in ops.into_iter().flat_map(|ops| [Order::Row, Order::Column].map(|order| (ops, order))) {
            for batch in [1, 3] {
                let case = Case { ops, order, batch, ..Case::new([11, 7, 13]) };
                let products = Products::new(&case, &numbers).unwrap();
                let check = products.check();
                let c = computed(&case, &numbers);
                let verification = check.verify(&c, Precision::Fp32).unwrap();
                assert!(verification.passed() && verification.rel_error < 1e-6, "{case:?}: {verification:?}");
                // An element of the last product that is off, and one beside the matrix.
                let last = c.interior_offset() + batch as usize * 77 - 1;
                for (place, value) in [(last, f32::NAN), (last, c.as_slice()[last] + 1e-3), (last + 1, 0.0)] {
                    let mut wrong = c.clone();
                    wrong.as_mut_slice()[place] = value;
                    assert!(!check.verify(&wrong, Precision::Fp32).unwrap().passed(), "{case:?}: {place} {value}");
                }
            }
        }
    }
}
