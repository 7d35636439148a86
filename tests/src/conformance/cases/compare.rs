//! Comparisons and selections. PTX ISA, "Comparison and Selection Instructions".

use super::{BITS, INTEGERS, Table};
use crate::conformance::kind::Kind::{self, Bf16, Bf16x2, F16, F16x2, F32, F64, Int32, Pred};

const SIGNED: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
const UNSIGNED: [&str; 4] = ["lo", "ls", "hi", "hs"];
const FLOAT: [&str; 14] = ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

/// Each type that can be compared, with what it can be compared by.
fn comparisons() -> Vec<(&'static str, Kind, Vec<&'static str>)> {
    let mut all = Vec::new();
    for (ty, kind) in INTEGERS {
        let unsigned = if ty.starts_with('u') { &UNSIGNED[..] } else { &[] };
        all.push((ty, kind, [&SIGNED[..], unsigned].concat()));
    }
    for (ty, kind) in BITS {
        all.push((ty, kind, vec!["eq", "ne"]));
    }
    for (ty, kind) in [("f32", F32), ("ftz.f32", F32), ("f64", F64)] {
        all.push((ty, kind, FLOAT.to_vec()));
    }
    all
}

pub(super) fn fill(table: &mut Table) {
    for (ty, kind, operators) in comparisons() {
        for operator in &operators {
            table.op(&format!("setp.{operator}.{ty}"), 1, &[kind; 2]);
        }
        let (first, last) = (operators[0], operators[operators.len() - 1]);
        for (operator, combine, q) in [(first, "and", "%c"), (last, "or", "!%c"), (first, "xor", "%c")] {
            let opcode = format!("setp.{operator}.{combine}.{ty}");
            table.code(&opcode, &[1, 1], &[kind, kind, Pred], &format!("{opcode} %d|%e, %a, %b, {q};"));
        }
        let (ftz, plain) = ty.strip_prefix("ftz.").map_or(("", ty), |plain| (".ftz", plain));
        let middle = operators[operators.len() / 2];
        for operator in [operators[1], middle].into_iter().skip(usize::from(middle == operators[1])) {
            for to in ["u32", "s32", "f32"] {
                table.op(&format!("set.{operator}{ftz}.{to}.{plain}"), 32, &[kind; 2]);
            }
        }
        table.op(&format!("set.{last}.and{ftz}.u32.{plain}"), 32, &[kind, kind, Pred]);
    }
    halves(table);
    for (ty, kind) in BITS.into_iter().chain(INTEGERS).chain([("f32", F32), ("f64", F64)]) {
        let opcode = format!("selp.{ty}");
        table.op(&opcode, kind.bits(), &[kind, kind, Pred]);
        if kind.bits() > 1 {
            table.op(&format!("slct.{ty}.s32"), kind.bits(), &[kind, kind, Int32]);
            table.op(&format!("slct.{ty}.f32"), kind.bits(), &[kind, kind, F32]);
            table.op(&format!("slct.ftz.{ty}.f32"), kind.bits(), &[kind, kind, F32]);
        }
    }
}

fn halves(table: &mut Table) {
    for (ty, kind) in [("f16", F16), ("ftz.f16", F16), ("bf16", Bf16)] {
        for operator in FLOAT {
            table.op(&format!("setp.{operator}.{ty}"), 1, &[kind; 2]);
        }
    }
    for (ty, kind) in [("f16x2", F16x2), ("ftz.f16x2", F16x2), ("bf16x2", Bf16x2)] {
        for operator in FLOAT {
            let opcode = format!("setp.{operator}.{ty}");
            table.code(&opcode, &[1, 1], &[kind; 2], &format!("{opcode} %d|%e, %a, %b;"));
        }
    }
    for operator in ["eq", "lt", "geu", "nan"] {
        table.op(&format!("set.{operator}.f16.f16"), 16, &[F16; 2]);
        table.op(&format!("set.{operator}.u32.f16"), 32, &[F16; 2]);
        table.op(&format!("set.{operator}.f16x2.f16x2"), 32, &[F16x2; 2]);
        table.op(&format!("set.{operator}.bf16.bf16"), 16, &[Bf16; 2]);
        table.op(&format!("set.{operator}.bf16x2.bf16x2"), 32, &[Bf16x2; 2]);
    }
}
