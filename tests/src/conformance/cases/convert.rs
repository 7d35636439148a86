//! Conversions. PTX ISA, "cvt".

use super::{ROUNDING, Table};
use crate::conformance::kind::Kind::{self, Bf16, Byte, F8x2, F16, F16x2, F32, F64, Int16, Int32, Int64};

const INTEGERS: [(&str, Kind); 8] = [
    ("u8", Byte),
    ("s8", Byte),
    ("u16", Int16),
    ("s16", Int16),
    ("u32", Int32),
    ("s32", Int32),
    ("u64", Int64),
    ("s64", Int64),
];
const FLOATS: [(&str, Kind); 4] = [("f16", F16), ("bf16", Bf16), ("f32", F32), ("f64", F64)];
const INTEGRAL: [&str; 4] = [".rni", ".rzi", ".rmi", ".rpi"];

/// From floating-point numbers to floating-point numbers.
pub(super) fn fill_float(table: &mut Table) {
    for (from, source) in FLOATS {
        for (to, result) in FLOATS {
            let single = from == "f32" || to == "f32";
            let bfloat = from == "bf16" || to == "bf16";
            let widens = result.bits() > source.bits();
            let roundings: &[&str] = match () {
                () if from == to => &INTEGRAL,
                () if widens => &[""],
                () => &ROUNDING,
            };
            for round in roundings {
                for ftz in if single && !bfloat { &["", ".ftz"][..] } else { &[""] } {
                    for sat in if bfloat { &[""][..] } else { &["", ".sat"] } {
                        table.op(&format!("cvt{round}{ftz}{sat}.{to}.{from}"), result.bits(), &[source]);
                    }
                }
            }
            if from == to {
                table.op(&format!("cvt.{to}.{from}"), result.bits(), &[source]);
            }
        }
    }
    table.cases.retain(|case| case.name != "cvt.bf16.bf16");
}

/// From and to integers.
pub(super) fn fill_integer(table: &mut Table) {
    // A result of 8 bits lies in a register of 32.
    for (to, result) in INTEGERS {
        for (from, source) in INTEGERS {
            table.op(&format!("cvt.{to}.{from}"), result.bits(), &[source]);
            if !contains(to, from) {
                table.op(&format!("cvt.sat.{to}.{from}"), result.bits(), &[source]);
            }
        }
        for (from, source) in FLOATS.into_iter().filter(|(from, _)| *from != "bf16" || result != Byte) {
            for round in INTEGRAL {
                table.op(&format!("cvt{round}.{to}.{from}"), result.bits(), &[source]);
                if from == "f32" {
                    table.op(&format!("cvt{round}.ftz.{to}.{from}"), result.bits(), &[source]);
                }
            }
            if from != "bf16" {
                table.op(&format!("cvt.rzi.sat.{to}.{from}"), result.bits(), &[source]);
            }
        }
    }
    for (from, source) in INTEGERS {
        for (to, float) in FLOATS.into_iter().filter(|(to, _)| *to != "bf16" || source != Byte) {
            for round in ROUNDING {
                table.op(&format!("cvt{round}.{to}.{from}"), float.bits(), &[source]);
            }
            if to != "bf16" {
                table.op(&format!("cvt.rn.sat.{to}.{from}"), float.bits(), &[source]);
            }
        }
    }
    // Registers that are wider than the types.
    for (name, bits, kind) in [
        ("cvt.s64.s16", 64, Int32),
        ("cvt.u32.u16", 32, Int64),
        ("cvt.s16.s32", 32, Int64),
        ("cvt.u16.u8", 64, Int64),
        ("cvt.rzi.s16.f32", 32, F32),
        ("cvt.rzi.u16.f32", 64, F32),
        ("cvt.rn.f32.s16", 32, Int64),
    ] {
        let code = format!("{name} %d, %a;");
        table.code(&format!("{name} in registers of {bits} and {}", kind.bits()), &[bits], &[kind], &code);
    }
}

/// Whether the integers of one type are among those of another, such as `u8` in `s16`: then nothing can saturate.
fn contains(outer: &str, inner: &str) -> bool {
    let parts = |ty: &str| (ty.starts_with('s'), ty[1..].parse::<u32>().unwrap_or(0));
    let ((outer_signed, outer_bits), (inner_signed, inner_bits)) = (parts(outer), parts(inner));
    if outer_signed == inner_signed { outer_bits >= inner_bits } else { outer_signed && outer_bits > inner_bits }
}

/// To and from tf32, 8-bit numbers and pairs.
pub(super) fn fill_small(table: &mut Table) {
    for round in [".rna", ".rn", ".rz", ".rn.relu", ".rz.relu", ".rna.satfinite"] {
        table.op(&format!("cvt{round}.tf32.f32"), 32, &[F32]);
    }
    for ty in ["f16", "bf16"] {
        for round in [".rn", ".rz"] {
            table.op(&format!("cvt{round}.relu.{ty}.f32"), 16, &[F32]);
            for relu in ["", ".relu"] {
                for satfinite in ["", ".satfinite"] {
                    table.op(&format!("cvt{round}{relu}{satfinite}.{ty}x2.f32"), 32, &[F32; 2]);
                    if !satfinite.is_empty() {
                        table.op(&format!("cvt{round}{relu}{satfinite}.{ty}.f32"), 16, &[F32]);
                    }
                }
            }
        }
    }
    for ty in ["e4m3x2", "e5m2x2"] {
        for relu in ["", ".relu"] {
            table.op(&format!("cvt.rn.satfinite{relu}.{ty}.f32"), 16, &[F32; 2]);
            table.op(&format!("cvt.rn.satfinite{relu}.{ty}.f16x2"), 16, &[F16x2]);
            table.op(&format!("cvt.rn{relu}.f16x2.{ty}"), 32, &[F8x2]);
        }
    }
    for to in ["u16", "s16"] {
        table.op(&format!("cvt.pack.sat.{to}.s32"), 32, &[Int32; 2]);
    }
    for to in ["u8", "s8"] {
        table.op(&format!("cvt.pack.sat.{to}.s32.b32"), 32, &[Int32; 3]);
    }
}
