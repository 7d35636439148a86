//! Operations of one lane, as pure functions of values.

pub(crate) mod approx;
pub(crate) mod bits;
pub(crate) mod convert;
pub(crate) mod extreme;
pub(crate) mod float;
pub(crate) mod half;
pub(crate) mod half_fast;
pub(crate) mod integer;
pub(crate) mod mbarrier;
pub(crate) mod round;
pub(crate) mod shuffle;
pub(crate) mod tensor_core;
#[cfg(test)]
mod tests_float;
#[cfg(test)]
mod tests_round;
#[cfg(test)]
mod tests_tensor_core;
pub(crate) mod warp_mma;
