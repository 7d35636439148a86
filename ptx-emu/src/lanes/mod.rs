//! The lanes of a warp: masks, registers, and instructions made from functions of one lane.

mod compute;
mod outcome;
mod registers;

pub(crate) use compute::{
    Compute, binary, binary_slow, carry, compare, predicate, quaternary_slow, select, ternary, ternary_slow, unary,
    unary_slow, vectorized,
};
pub(crate) use outcome::{Combination, Destination, Outcome};
pub(crate) use registers::{ALL_LANES, Condition, LANES, Lane, Mask, PredSlot, Registers, Row, Slot};

/// One bit per lane.
#[inline(always)]
pub(crate) fn pack(lanes: &[bool; LANES]) -> Mask {
    lanes.iter().enumerate().fold(0, |mask, (lane, &holds)| mask | u32::from(holds) << lane)
}

/// The lanes for which the condition holds.
pub(crate) fn lanes_where(condition: impl Fn(usize) -> bool) -> Mask {
    pack(&std::array::from_fn(condition))
}

/// The indices of the lanes of a mask.
pub(crate) fn lanes_of(mask: Mask) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
        rest &= rest - 1;
        Some(lane)
    })
}
