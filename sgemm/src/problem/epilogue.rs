//! What becomes of a sum before it is stored.

use gpu_kernels::{Activation, BiasPer};

/// D = activation(alpha\*A\*B + beta\*C + bias).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Epilogue {
    /// A vector of D's type that is added: an element for each row of D, or for each column.
    pub bias: Option<BiasPer>,
    /// What is applied last.
    pub activation: Activation,
}

impl Epilogue {
    /// No bias, no activation.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// Where alpha and beta are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Scalars {
    /// By value.
    #[default]
    Host,
    /// In device memory, one f32 each, read when the kernel runs: an earlier kernel of the stream may compute them.
    Device,
}
