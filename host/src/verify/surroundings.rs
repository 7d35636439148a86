//! What a kernel must leave as it was: inputs, guard bands, row padding.

use super::Operands;
use crate::error::Fault;

/// An input that was written.
pub(super) fn input_fault(fresh: &Operands, result: &Operands) -> Option<Fault> {
    [('A', &fresh.a, &result.a), ('B', &fresh.b, &result.b)].into_iter().find_map(|(matrix, fresh, result)| {
        let (row, column) = fresh.first_difference(result)?;
        Some(Fault::Input { matrix, row, column })
    })
}

/// A write to guard bands or row padding.
pub(super) fn guard_fault(result: &Operands) -> Option<Fault> {
    [('A', &result.a), ('B', &result.b), ('C', &result.c)]
        .into_iter()
        .find_map(|(matrix, elements)| Some(Fault::Guard { matrix, damage: elements.damage()? }))
}
