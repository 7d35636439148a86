//! Functions that the hardware approximates. The PTX ISA bounds their errors; the emulator rounds correctly, so that the
//! two may differ by as much as those bounds say.

use super::{Bound, Table};
use crate::conformance::kind::Kind::{self, Angle, Bf16, Bf16x2, F16, F16x2, F32, F64, Moderate};

/// 2^exponent.
fn power(exponent: f64) -> f64 {
    exponent.exp2()
}

pub(super) fn fill(table: &mut Table) {
    // Two units in the last place.
    let two_ulp = power(-22.0);
    for ftz in ["", ".ftz"] {
        let mut op = |name: &str, args: &[Kind], relative: f64, absolute: f64| {
            table.approximate(&format!("{name}{ftz}.f32"), 32, args, Bound { relative, absolute });
        };
        op("div.approx", &[Moderate, Moderate], two_ulp, 0.0);
        op("div.full", &[F32, F32], two_ulp, 0.0);
        op("rcp.approx", &[F32], power(-23.0), 0.0);
        op("sqrt.approx", &[F32], power(-23.0), 0.0);
        op("rsqrt.approx", &[F32], power(-22.9), 0.0);
        op("ex2.approx", &[F32], two_ulp, 0.0);
        op("lg2.approx", &[F32], power(-22.0), power(-22.0));
        op("sin.approx", &[Angle], 0.0, power(-14.7));
        op("cos.approx", &[Angle], 0.0, power(-14.7));
    }
    table.approximate("tanh.approx.f32", 32, &[F32], Bound { relative: power(-11.0), absolute: 0.0 });
    for (ty, kind) in [("f16", F16), ("f16x2", F16x2)] {
        let bits = kind.bits();
        table.approximate(
            &format!("tanh.approx.{ty}"),
            bits,
            &[kind],
            Bound { relative: 0.0, absolute: power(-10.987) },
        );
        let bound = Bound { relative: power(-9.9), absolute: power(-24.0) };
        table.approximate(&format!("ex2.approx.{ty}"), bits, &[kind], bound);
    }
    for (ty, kind) in [("bf16", Bf16), ("bf16x2", Bf16x2)] {
        let bits = kind.bits();
        table.approximate(&format!("tanh.approx.{ty}"), bits, &[kind], Bound { relative: 0.0, absolute: power(-8.0) });
        let bound = Bound { relative: power(-7.0), absolute: 0.0 };
        table.approximate(&format!("ex2.approx.ftz.{ty}"), bits, &[kind], bound);
    }
    // Only the upper half of the operand counts, and of the result.
    let bound = Bound { relative: power(-19.0), absolute: 0.0 };
    table.approximate("rcp.approx.ftz.f64", 64, &[F64], bound);
    table.approximate("rsqrt.approx.ftz.f64", 64, &[F64], bound);
    table.approximate("rsqrt.approx.f64", 64, &[F64], bound);
}
