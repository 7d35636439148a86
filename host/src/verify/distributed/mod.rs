//! Operands and results that are distributed over ranks, none of which has more than its part. What is drawn is a function of the seed
//! and of where an element is in the whole matrix; what is checked is added up over ranks.

mod check;
mod drawn;
mod freivalds;
mod part;
mod spots;
#[cfg(test)]
mod tests;

pub use check::{Check, check};
pub use drawn::Drawn;
pub use part::Part;

use crate::Error;

/// How values of all ranks are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combine {
    /// Their sum.
    Sum,
    /// The largest.
    Max,
}

/// Combines values over processes: each gives as many, and all have the result. The first argument says how.
pub type Exchange<'a> = dyn FnMut(Combine, &mut [f64]) -> Result<(), Error> + 'a;

/// What several ranks of one process have: nothing is to be exchanged.
///
/// # Errors
/// None.
pub fn alone(_: Combine, _: &mut [f64]) -> Result<(), Error> {
    Ok(())
}
