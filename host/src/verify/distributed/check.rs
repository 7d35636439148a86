//! The check of a distributed result, as all ranks come to it together.

use gpu_kernels::Precision;

use super::freivalds::Freivalds;
use super::spots::{self, Spots};
use super::{Combine, Drawn, Exchange, Part};
use crate::verify::ErrorBound;
use crate::verify::surroundings::{guard_fault, input_fault};
use crate::{AccuracyClass, Error, Operands};

/// What a check found: the same on all ranks.
#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    /// ||C - reference|| / ||reference|| in the Frobenius norm, over the elements that were compared one by one.
    pub rel_error: f64,
    /// The largest componentwise error as a share of its error bound.
    pub max_scaled_error: f64,
    /// What is wrong, with the rank that found it; `None` where the result is right.
    pub fault: Option<String>,
}

/// Characters of a fault that ranks tell each other.
const TEXT: usize = 256;

/// Checks the matrices of the ranks of this process as a run left them, `results`, against what they were before, `fresh`; both in the
/// order of `parts`. Kernels are held to the bounds of the widest arithmetic that the class admits. All processes call it.
///
/// # Errors
/// Those of `exchange`.
pub fn check(
    drawn: &Drawn,
    class: AccuracyClass,
    parts: &[Part],
    [fresh, results]: [&[Operands]; 2],
    exchange: &mut Exchange,
) -> Result<Check, Error> {
    let error_bound = ErrorBound::new(drawn.problem(), widest(class));
    let before: Vec<_> = parts.iter().zip(fresh).collect();
    let after: Vec<_> = parts.iter().zip(results).collect();
    let rows = Freivalds::new(drawn, &before, exchange)?.check(&after, &error_bound, exchange)?;

    let (mut all, mut fault) = (Spots::default(), None);
    for ((part, result), fresh) in after.iter().zip(fresh) {
        let spots = spots::compare(drawn, part, &result.c, &error_bound);
        let own = spots.fault.or_else(|| guard_fault(result)).or_else(|| input_fault(fresh, result));
        fault = fault.or_else(|| own.map(|fault| (part.rank, format!("rank {}: {fault}", part.rank))));
        all.error_squares += spots.error_squares;
        all.squares += spots.squares;
        all.max_scaled_error = all.max_scaled_error.max(spots.max_scaled_error);
    }
    let mut sums = [all.error_squares, all.squares];
    exchange(Combine::Sum, &mut sums)?;
    let mut most = [all.max_scaled_error];
    exchange(Combine::Max, &mut most)?;
    let [error_squares, squares] = sums;
    Ok(Check {
        rel_error: if error_squares == 0.0 { 0.0 } else { (error_squares / squares).sqrt() },
        max_scaled_error: most[0],
        // An element says more than a row.
        fault: first(fault, exchange)?.or_else(|| rows.map(|fault| fault.to_string())),
    })
}

/// The arithmetic of the largest errors that a class admits.
fn widest(class: AccuracyClass) -> Precision {
    class.precisions()[0]
}

/// The text of the lowest rank that has one, on all ranks.
fn first(own: Option<(usize, String)>, exchange: &mut Exchange) -> Result<Option<String>, Error> {
    let mut lowest = [own.as_ref().map_or(f64::NEG_INFINITY, |(rank, _)| -(*rank as f64))];
    exchange(Combine::Max, &mut lowest)?;
    if lowest[0].is_infinite() {
        return Ok(None);
    }
    let mut bytes = [0.0; TEXT];
    if let Some((_, text)) = own.filter(|(rank, _)| -(*rank as f64) == lowest[0]) {
        bytes.iter_mut().zip(text.bytes()).for_each(|(byte, letter)| *byte = letter.into());
    }
    exchange(Combine::Sum, &mut bytes)?;
    let letters: Vec<_> = bytes.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0).collect();
    Ok(Some(String::from_utf8_lossy(&letters).into_owned()))
}
