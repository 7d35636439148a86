//! Arithmetic in half precision, bf16, and pairs of either. PTX ISA, "Half Precision Floating-Point Instructions".

use super::Table;
use crate::conformance::kind::Kind::{Bf16, Bf16x2, F16, F16x2};

pub(super) fn fill(table: &mut Table) {
    for (ty, kind) in [("f16", F16), ("f16x2", F16x2)] {
        let bits = kind.bits();
        for ftz in ["", ".ftz"] {
            for sat in ["", ".sat"] {
                for op in ["add", "sub", "mul"] {
                    table.op(&format!("{op}.rn{ftz}{sat}.{ty}"), bits, &[kind; 2]);
                }
                table.op(&format!("fma.rn{ftz}{sat}.{ty}"), bits, &[kind; 3]);
            }
            table.op(&format!("fma.rn{ftz}.relu.{ty}"), bits, &[kind; 3]);
            extremes(table, ftz, ty, kind);
            for op in ["abs", "neg"] {
                table.op(&format!("{op}{ftz}.{ty}"), bits, &[kind]);
            }
        }
        for op in ["add", "sub", "mul"] {
            table.op(&format!("{op}.{ty}"), bits, &[kind; 2]);
        }
    }
    for (ty, kind) in [("bf16", Bf16), ("bf16x2", Bf16x2)] {
        let bits = kind.bits();
        for op in ["add", "sub", "mul"] {
            table.op(&format!("{op}.rn.{ty}"), bits, &[kind; 2]);
            table.op(&format!("{op}.{ty}"), bits, &[kind; 2]);
        }
        table.op(&format!("fma.rn.{ty}"), bits, &[kind; 3]);
        table.op(&format!("fma.rn.relu.{ty}"), bits, &[kind; 3]);
        extremes(table, "", ty, kind);
        for op in ["abs", "neg"] {
            table.op(&format!("{op}.{ty}"), bits, &[kind]);
        }
    }
}

fn extremes(table: &mut Table, ftz: &str, ty: &str, kind: crate::conformance::Kind) {
    for op in ["min", "max"] {
        for modifiers in ["", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs"] {
            table.op(&format!("{op}{ftz}{modifiers}.{ty}"), kind.bits(), &[kind; 2]);
        }
    }
}
