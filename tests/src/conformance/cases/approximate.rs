//! Functions that the hardware approximates, by tables of its own.

use super::Table;
use crate::conformance::kind::Kind::{self, Angle, Bf16, Bf16x2, F16, F16x2, F32, F64, Moderate};

pub(super) fn fill(table: &mut Table) {
    for ftz in ["", ".ftz"] {
        let mut op = |name: &str, args: &[Kind]| table.op(&format!("{name}{ftz}.f32"), 32, args);
        op("div.approx", &[Moderate, Moderate]);
        op("div.full", &[F32, F32]);
        for name in ["rcp", "sqrt", "rsqrt", "ex2", "lg2"] {
            op(&format!("{name}.approx"), &[F32]);
        }
        op("sin.approx", &[Angle]);
        op("cos.approx", &[Angle]);
    }
    table.op("tanh.approx.f32", 32, &[F32]);
    for (ty, kind) in [("f16", F16), ("f16x2", F16x2)] {
        table.op(&format!("tanh.approx.{ty}"), kind.bits(), &[kind]);
        table.op(&format!("ex2.approx.{ty}"), kind.bits(), &[kind]);
    }
    for (ty, kind) in [("bf16", Bf16), ("bf16x2", Bf16x2)] {
        table.op(&format!("tanh.approx.{ty}"), kind.bits(), &[kind]);
        table.op(&format!("ex2.approx.ftz.{ty}"), kind.bits(), &[kind]);
    }
    for name in ["rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64", "rsqrt.approx.f64"] {
        table.op(name, 64, &[F64]);
    }
}
