//! The check of a result of which a sample of blocks was computed.

use std::collections::BTreeMap;
use std::ops::Range;

use gpu_kernels::Precision;
use rayon::prelude::*;

use super::Region;
use super::comparison::Comparison;
use super::error_bound::ErrorBound;
use super::surroundings::{guard_fault, input_fault};
use super::verification::Verification;
use crate::error::Fault;
use crate::verify::reference::Reference;
use crate::{Matrix, Operands, Problem};

/// Checks the operands as some blocks of a kernel of that arithmetic left them: every element of their regions against f64, and that
/// everything else is as it was. `fresh` holds the operands as they were before. The regions do not overlap, and their
/// row ranges are equal or disjoint.
#[must_use]
pub fn verify_sample(
    problem: &Problem,
    precision: Precision,
    fresh: &Operands,
    result: &Operands,
    regions: &[Region],
) -> Verification {
    let error_bound = ErrorBound::new(problem, precision);
    let compare = |Region { rows, columns }: &Region| {
        let reference = Reference::new(problem, fresh, rows.clone().collect(), columns.clone());
        Comparison::of(&reference, &error_bound, &result.c)
    };
    let comparison = regions.par_iter().map(compare).reduce(Comparison::default, Comparison::and);
    let mut verification = comparison.verification(0);
    verification.fault = verification
        .fault
        .or_else(|| outside_fault(&fresh.c, &result.c, regions))
        .or_else(|| guard_fault(result))
        .or_else(|| input_fault(fresh, result));
    verification
}

/// The first element outside of all regions that was written.
fn outside_fault(fresh: &Matrix, result: &Matrix, regions: &[Region]) -> Option<Fault> {
    // The columns that were computed in each band of rows, by the band's first row.
    let mut bands: BTreeMap<usize, (usize, Vec<Range<usize>>)> = BTreeMap::new();
    for Region { rows, columns } in regions {
        bands.entry(rows.start).or_insert((rows.end, Vec::new())).1.push(columns.clone());
    }
    bands.values_mut().for_each(|(_, columns)| columns.sort_unstable_by_key(|range| range.start));
    (0..result.rows()).find_map(|row| {
        let band = bands.range(..=row).next_back().filter(|(_, (end, _))| row < *end);
        let computed = band.map_or(&[][..], |(_, (_, columns))| columns);
        let column = first_difference(fresh.row(row), result.row(row), computed)?;
        Some(Fault::Outside { row, column })
    })
}

/// The first index outside of the ranges, which ascend, where two rows differ in a bit.
fn first_difference(fresh: &[f32], result: &[f32], computed: &[Range<usize>]) -> Option<usize> {
    let starts = computed.iter().map(|range| range.start).chain([fresh.len()]);
    let ends = [0].into_iter().chain(computed.iter().map(|range| range.end));
    ends.zip(starts).find_map(|(from, to)| (from..to).find(|&at| fresh[at].to_bits() != result[at].to_bits()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::sgemm;
    use super::*;
    use crate::verify::Fault;

    /// Two regions of the first band of rows, one of the last.
    fn regions() -> Vec<Region> {
        let region = |rows, columns| Region { rows, columns };
        vec![region(40..50, 0..30), region(0..20, 30..60), region(0..20, 0..30)]
    }

    /// The verification of a result in which only the regions are computed, after `break_it` has been at it.
    fn verification(beta: f32, break_it: impl FnOnce(&mut Operands)) -> Verification {
        let problem = Problem::new(50, 70, 90).unwrap().with_scalars(1.5, beta).unwrap().with_seed(3);
        let fresh = Operands::random(&problem).unwrap();
        let right = sgemm(&problem, &fresh).c;
        let mut result = fresh.clone();
        for Region { rows, columns } in regions() {
            for row in rows {
                result.c.row_mut(row)[columns.clone()].copy_from_slice(&right.row(row)[columns.clone()]);
            }
        }
        break_it(&mut result);
        verify_sample(&problem, Precision::Fp32, &fresh, &result, &regions())
    }

    #[test]
    fn right_regions_pass() {
        for beta in [0.0, -0.5] {
            let verification = verification(beta, |_| ());
            assert_eq!((verification.fault, verification.rows_checked), (None, 0));
            assert!((1e-9..1e-6).contains(&verification.rel_error) && verification.max_scaled_error <= 1.0);
        }
    }

    #[test]
    fn every_element_of_a_region_is_compared() {
        for (row, column) in [(0, 0), (19, 59), (13, 30), (40, 0), (49, 29)] {
            for wrong in [f32::NAN, 0.25] {
                let verification = verification(0.5, |result| result.c.set(row, column, wrong));
                let is_it = matches!(verification.fault, Some(Fault::Element { row: r, column: c, .. }) if (r, c) == (row, column));
                assert!(is_it, "C[{row}, {column}]: {:?}", verification.fault);
                assert!(verification.max_scaled_error > 1.0 || verification.max_scaled_error.is_nan());
            }
        }
    }

    #[test]
    fn nothing_else_may_be_written() {
        for (row, column) in [(0, 60), (19, 69), (20, 0), (39, 69), (40, 30), (49, 69)] {
            for beta in [0.0, 0.5] {
                let verification = verification(beta, |result| result.c.set(row, column, 0.0));
                assert_eq!(verification.fault, Some(Fault::Outside { row, column }));
            }
        }
        let input = verification(0.0, |result| result.b.set(1, 2, 0.0)).fault;
        assert_eq!(input, Some(Fault::Input { matrix: 'B', row: 1, column: 2 }));
        let guard = verification(0.0, |result| result.a.as_mut_slice()[0] = 0.0).fault;
        assert!(matches!(guard, Some(Fault::Guard { matrix: 'A', .. })));
    }

    #[test]
    fn a_sample_of_nothing_is_untouched() {
        let problem = Problem::new(5, 6, 7).unwrap();
        let fresh = Operands::random(&problem).unwrap();
        assert_eq!(verify_sample(&problem, Precision::Fp32, &fresh, &fresh, &[]).fault, None);
    }
}
