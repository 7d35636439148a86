//! The multiply-adds of an MMA, by the unit of the tensor core.

use crate::ops::tensor_core::{Format, ROWS};
use crate::program::{Action, Arithmetic, Wgmma};

/// What a tensor core multiplies.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    F16,
    Bf16,
    Tf32,
    F64,
    Int8,
    Bits,
}

/// The unit, and the multiply-adds of a warp.
pub(super) fn product(action: &Action) -> Option<(Unit, usize)> {
    match action {
        Action::WarpMma(mma) => {
            let unit = match mma.arithmetic {
                Arithmetic::Fused { format, .. } => of(format),
                Arithmetic::Float8 { .. } | Arithmetic::Quads { .. } => Unit::F16,
                Arithmetic::Double(_) => Unit::F64,
                Arithmetic::Integer { .. } => Unit::Int8,
                Arithmetic::Bits(_) => Unit::Bits,
            };
            // Of `m8n8k4`, four products.
            let products = if matches!(mma.arithmetic, Arithmetic::Quads { .. }) { 4 } else { 1 };
            Some((unit, products * mma.shape.m * mma.shape.n * mma.shape.k))
        }
        Action::Wgmma(action) => match &**action {
            Wgmma::Mma(mma) => Some((of(mma.format), ROWS * mma.format.depth() * mma.columns as usize)),
            _ => None,
        },
        _ => None,
    }
}

const fn of(format: Format) -> Unit {
    match format {
        Format::F16 => Unit::F16,
        Format::Bf16 => Unit::Bf16,
        Format::Tf32 => Unit::Tf32,
    }
}
