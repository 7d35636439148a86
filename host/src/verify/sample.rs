//! Results of which only parts were computed.

use std::collections::BTreeMap;
use std::ops::Range;

use rayon::prelude::*;

use super::{Comparison, Fault, Verification, guard_fault, input_fault, tolerance};
use crate::backend::Region;
use crate::reference::Reference;
use crate::{Matrix, Operands, Problem};

/// Checks the operands as some blocks of a kernel left them: every element of their regions against f64, and that
/// everything else is as it was. `fresh` holds the operands as they were before. The regions do not overlap, and their
/// rows are cut at the same places.
#[must_use]
pub fn verify_sample(problem: &Problem, fresh: &Operands, result: &Operands, regions: &[Region]) -> Verification {
    let tolerance = tolerance(problem);
    let compare = |Region { rows, columns }: &Region| {
        let reference = Reference::new(problem, fresh, rows.clone().collect(), columns.clone());
        Comparison::of(&reference, tolerance, &result.c)
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

/// The first place outside of the ranges, which ascend, where two rows differ in a bit.
fn first_difference(fresh: &[f32], result: &[f32], computed: &[Range<usize>]) -> Option<usize> {
    let starts = computed.iter().map(|range| range.start).chain([fresh.len()]);
    let ends = [0].into_iter().chain(computed.iter().map(|range| range.end));
    ends.zip(starts).find_map(|(from, to)| (from..to).find(|&at| fresh[at].to_bits() != result[at].to_bits()))
}
