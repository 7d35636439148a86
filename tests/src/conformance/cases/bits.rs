//! Logic, shifts, and instructions on single bits and fields. PTX ISA, "Logic and Shift Instructions".

use super::{BITS, Table};
use crate::conformance::kind::Kind::{Index, Int16, Int32, Int64, Pred, Shift};

pub(super) fn fill(table: &mut Table) {
    for (ty, kind) in BITS {
        for op in ["and", "or", "xor"] {
            table.op(&format!("{op}.{ty}"), kind.bits(), &[kind; 2]);
        }
        table.op(&format!("not.{ty}"), kind.bits(), &[kind]);
        table.op(&format!("cnot.{ty}"), kind.bits(), &[kind]);
        table.op(&format!("shl.{ty}"), kind.bits(), &[kind, Shift]);
    }
    for op in ["and", "or", "xor"] {
        table.op(&format!("{op}.pred"), 1, &[Pred; 2]);
    }
    table.op("not.pred", 1, &[Pred]);
    for (width, kind) in [(16, Int16), (32, Int32), (64, Int64)] {
        for letter in ["b", "u", "s"] {
            table.op(&format!("shr.{letter}{width}"), width, &[kind, Shift]);
        }
        let far = width + 1;
        table.code(&format!("shl.b{width} by {far}"), &[width], &[kind], &format!("shl.b{width} %d, %a, {far};"));
        table.code(&format!("shr.s{width} by {far}"), &[width], &[kind], &format!("shr.s{width} %d, %a, {far};"));
    }
    for op in ["shf.l.wrap", "shf.l.clamp", "shf.r.wrap", "shf.r.clamp"] {
        table.op(&format!("{op}.b32"), 32, &[Int32, Int32, Shift]);
    }
    for (width, kind) in [(32, Int32), (64, Int64)] {
        table.op(&format!("popc.b{width}"), 32, &[kind]);
        table.op(&format!("clz.b{width}"), 32, &[kind]);
        table.op(&format!("brev.b{width}"), width, &[kind]);
        for letter in ["u", "s"] {
            table.op(&format!("bfind.{letter}{width}"), 32, &[kind]);
            table.op(&format!("bfind.shiftamt.{letter}{width}"), 32, &[kind]);
            table.op(&format!("bfe.{letter}{width}"), width, &[kind, Shift, Shift]);
        }
        let fields = "and.b32 %r0, %c, 0xff;\nshr.u32 %r1, %c, 8;\nand.b32 %r1, %r1, 0x3f;\n";
        let code = format!("{fields}bfi.b{width} %d, %a, %b, %r0, %r1;");
        table.code(&format!("bfi.b{width}"), &[width], &[kind, kind, Int32], &code);
        let code = format!("bfi.b{width} %d, %a, -2, %b, %c;");
        table.code(&format!("bfi.b{width} of any position and length"), &[width], &[kind, Shift, Shift], &code);
    }
    let code = "and.b32 %r0, %b, 31;\nfns.b32 %d, %a, %r0, %c;";
    table.code("fns.b32", &[32], &[Int32, Shift, Int32], code);
    let code = "and.b32 %r0, %b, 31;\nand.b32 %r1, %c, 15;\nsub.s32 %r1, %r1, 7;\nfns.b32 %d, %a, %r0, %r1;";
    table.code("fns.b32 of the nearest bits", &[32], &[Int32, Shift, Int32], code);
    for mode in ["clamp", "wrap"] {
        table.op(&format!("bmsk.{mode}.b32"), 32, &[Shift; 2]);
        table.op(&format!("szext.{mode}.u32"), 32, &[Int32, Shift]);
        table.op(&format!("szext.{mode}.s32"), 32, &[Int32, Shift]);
    }
    for lut in [0x00, 0x01, 0x1e, 0x80, 0x96, 0xca, 0xe8, 0xfe, 0xff] {
        let code = format!("lop3.b32 %d, %a, %b, %c, {lut:#04x};");
        table.code(&format!("lop3.b32 {lut:#04x}"), &[32], &[Int32; 3], &code);
    }
    for boolean in ["and", "or"] {
        let opcode = format!("lop3.{boolean}.b32");
        let code = format!("setp.lt.s32 %p0, %c, 0;\n{opcode} %d|%e, %a, %b, %c, 0x81, %p0;");
        table.code(&opcode, &[32, 1], &[Int32; 3], &code);
    }
    table.op("prmt.b32", 32, &[Int32; 3]);
    for mode in ["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"] {
        table.op(&format!("prmt.b32.{mode}"), 32, &[Int32, Int32, Index]);
    }
    table.code("prmt.b32 by a constant", &[32], &[Int32; 2], "prmt.b32 %d, %a, %b, 0x7c35;");
}
