//! Arithmetic in single and double precision. PTX ISA, "Floating Point Instructions".

use super::{ROUNDING, Table};
use crate::conformance::kind::Kind::{F32, F64, Int32};

pub(super) fn fill(table: &mut Table) {
    for ftz in ["", ".ftz"] {
        for round in ROUNDING {
            for sat in ["", ".sat"] {
                for op in ["add", "sub", "mul"] {
                    table.op(&format!("{op}{round}{ftz}{sat}.f32"), 32, &[F32; 2]);
                }
                table.op(&format!("fma{round}{ftz}{sat}.f32"), 32, &[F32; 3]);
            }
            table.op(&format!("div{round}{ftz}.f32"), 32, &[F32; 2]);
            table.op(&format!("rcp{round}{ftz}.f32"), 32, &[F32]);
            table.op(&format!("sqrt{round}{ftz}.f32"), 32, &[F32]);
        }
        table.op(&format!("mad.rn{ftz}.f32"), 32, &[F32; 3]);
        for op in ["add", "sub", "mul"] {
            table.op(&format!("{op}{ftz}.f32"), 32, &[F32; 2]);
        }
        for op in ["min", "max"] {
            for nan in ["", ".NaN"] {
                for sign in ["", ".xorsign.abs"] {
                    table.op(&format!("{op}{ftz}{nan}{sign}.f32"), 32, &[F32; 2]);
                }
            }
        }
        table.op(&format!("abs{ftz}.f32"), 32, &[F32]);
        table.op(&format!("neg{ftz}.f32"), 32, &[F32]);
    }
    table.op("copysign.f32", 32, &[F32; 2]);
    for what in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        table.op(&format!("testp.{what}.f32"), 1, &[F32]);
    }
    // What is summed in one order on the device is summed in the same order here.
    table.code(
        "fma.rn.f32 in a row",
        &[32],
        &[F32, F32, Int32],
        "mov.b32 %d, 0f3F800000;\nfma.rn.f32 %d, %a, %b, %d;\nfma.rn.f32 %d, %d, %a, %b;\nfma.rn.f32 %d, %b, %d, %a;",
    );
    table.code("add.rn.f32 of a constant", &[32], &[F32], "add.rn.f32 %d, %a, 0f33800000;");
    table.code("fma.rn.f32 of constants", &[32], &[F32], "fma.rn.f32 %d, %a, 0fBF800001, 0f3F800000;");
}

pub(super) fn fill_double(table: &mut Table) {
    for round in ROUNDING {
        for op in ["add", "sub", "mul", "div"] {
            table.op(&format!("{op}{round}.f64"), 64, &[F64; 2]);
        }
        for op in ["rcp", "sqrt"] {
            table.op(&format!("{op}{round}.f64"), 64, &[F64]);
        }
        table.op(&format!("fma{round}.f64"), 64, &[F64; 3]);
        table.op(&format!("mad{round}.f64"), 64, &[F64; 3]);
    }
    for op in ["add", "sub", "mul", "min", "max", "copysign"] {
        table.op(&format!("{op}.f64"), 64, &[F64; 2]);
    }
    for op in ["abs", "neg"] {
        table.op(&format!("{op}.f64"), 64, &[F64]);
    }
    for what in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        table.op(&format!("testp.{what}.f64"), 1, &[F64]);
    }
}
