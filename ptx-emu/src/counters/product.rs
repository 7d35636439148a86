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
    Float8,
    Int8,
    Bits,
}

/// The unit, and the multiply-adds of a warp: of a sparse A, those of the elements that it has.
pub(super) fn product(action: &Action) -> Option<(Unit, usize)> {
    match action {
        Action::WarpMma(mma) => {
            // Of `m8n8k4`, four products.
            let products = if matches!(mma.arithmetic, Arithmetic::Quads { .. }) { 4 } else { 1 };
            let depth = mma.shape.depth(mma.sparse.is_some());
            Some((unit(mma.arithmetic), products * mma.shape.m * mma.shape.n * depth))
        }
        Action::Wgmma(action) => match &**action {
            Wgmma::Mma(mma) => {
                let depth = mma.shape.depth(mma.sparse.is_some());
                Some((unit(mma.arithmetic), ROWS * depth * mma.shape.n))
            }
            _ => None,
        },
        _ => None,
    }
}

const fn unit(arithmetic: Arithmetic) -> Unit {
    match arithmetic {
        Arithmetic::Fused { formats: [format, _], .. } => match format {
            Format::F16 => Unit::F16,
            Format::Bf16 => Unit::Bf16,
            Format::Tf32 => Unit::Tf32,
            Format::E4m3 | Format::E5m2 => Unit::Float8,
        },
        Arithmetic::Float8 { .. } | Arithmetic::Quads { .. } => Unit::F16,
        Arithmetic::Double(_) => Unit::F64,
        Arithmetic::Integer { .. } => Unit::Int8,
        Arithmetic::Bits(_) => Unit::Bits,
    }
}
