//! Integer arithmetic. PTX ISA, "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions".

use super::{INTEGERS, Table};
use crate::conformance::kind::Kind::{Int16x2, Int32};

pub(super) fn fill(table: &mut Table) {
    for (ty, kind) in INTEGERS {
        let bits = kind.bits();
        for op in ["add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"] {
            table.op(&format!("{op}.{ty}"), bits, &[kind; 2]);
        }
        for op in ["mad.lo", "mad.hi", "sad"] {
            table.op(&format!("{op}.{ty}"), bits, &[kind; 3]);
        }
        if bits < 64 {
            table.op(&format!("mul.wide.{ty}"), 2 * bits, &[kind; 2]);
            let code = format!("mul.wide.{ty} %d, %a, %b;\nmad.wide.{ty} %d, %b, %c, %d;");
            table.code(&format!("mad.wide.{ty}"), &[2 * bits], &[kind; 3], &code);
        }
        if ty.starts_with('s') {
            table.op(&format!("abs.{ty}"), bits, &[kind]);
            table.op(&format!("neg.{ty}"), bits, &[kind]);
        }
    }
    for ty in ["u32", "s32"] {
        for part in ["lo", "hi"] {
            table.op(&format!("mul24.{part}.{ty}"), 32, &[Int32; 2]);
            table.op(&format!("mad24.{part}.{ty}"), 32, &[Int32; 3]);
        }
    }
    for op in ["add.sat.s32", "sub.sat.s32", "min.relu.s32", "max.relu.s32"] {
        table.op(op, 32, &[Int32; 2]);
    }
    for op in ["mad.hi.sat.s32", "mad24.hi.sat.s32"] {
        table.op(op, 32, &[Int32; 3]);
    }
    for op in ["add", "min", "max", "min.relu", "max.relu"] {
        table.op(&format!("{op}.s16x2"), 32, &[Int16x2; 2]);
    }
    for op in ["add", "min", "max"] {
        table.op(&format!("{op}.u16x2"), 32, &[Int16x2; 2]);
    }
    carries(table);
    for (a, b) in [("u32", "u32"), ("u32", "s32"), ("s32", "u32"), ("s32", "s32")] {
        table.op(&format!("dp4a.{a}.{b}"), 32, &[Int32; 3]);
        table.op(&format!("dp2a.lo.{a}.{b}"), 32, &[Int32; 3]);
        table.op(&format!("dp2a.hi.{a}.{b}"), 32, &[Int32; 3]);
    }
    for (name, code) in [
        ("add.u32 of a constant", "add.u32 %d, %a, -5;"),
        ("mul.lo.s32 by a constant", "mul.lo.s32 %d, %a, -2147483648;"),
        ("mad.lo.s32 of constants", "mad.lo.s32 %d, %a, 1000003, 0xffffffff;"),
        ("div.s32 by a constant", "div.s32 %d, %a, -7;"),
        ("rem.u32 by a constant", "rem.u32 %d, %a, 1000;"),
        ("div.s32 by a power of two", "div.s32 %d, %a, 16;"),
    ] {
        table.code(name, &[32], &[Int32], code);
    }
}

/// Sums and products with carries, into one and two places above.
fn carries(table: &mut Table) {
    for (ty, kind) in INTEGERS.into_iter().filter(|(_, kind)| kind.bits() >= 32) {
        let bits = kind.bits();
        for (name, out, into) in [("add", "add.cc", "addc"), ("sub", "sub.cc", "subc")] {
            let code = format!(
                "{out}.{ty} %d, %a, %b;\n{into}.cc.{ty} %e, %b, %c;\n{into}.cc.{ty} %f, %c, %a;\n{into}.{ty} %g, 0, 0;"
            );
            table.code(&format!("{name}.cc.{ty}"), &[bits; 4], &[kind; 3], &code);
        }
        for (first, second) in [("lo", "hi"), ("hi", "lo")] {
            let code = format!(
                "mad.{first}.cc.{ty} %d, %a, %b, %c;\nmadc.{second}.cc.{ty} %e, %a, %b, %c;\n\
                 madc.{first}.{ty} %f, %b, %c, %a;\naddc.{ty} %g, 0, 0;"
            );
            table.code(&format!("mad.{first}.cc.{ty}"), &[bits; 4], &[kind; 3], &code);
        }
    }
}
