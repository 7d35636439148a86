//! What instructions do in one lane: pure functions of values.

pub(crate) mod convert;
pub(crate) mod float;
pub(crate) mod integer;
pub(crate) mod round;
