//! Moves, with packing and unpacking, and special registers. PTX ISA, "mov".

use super::Table;
use crate::conformance::kind::Kind::{Int16, Int32, Int64, Pred};

pub(super) fn fill(table: &mut Table) {
    for (ty, kind) in [("b16", Int16), ("u16", Int16), ("b32", Int32), ("s32", Int32), ("f32", Int32)] {
        table.op(&format!("mov.{ty}"), kind.bits(), &[kind]);
    }
    for ty in ["b64", "u64", "s64", "f64"] {
        table.op(&format!("mov.{ty}"), 64, &[Int64]);
    }
    table.op("mov.pred", 1, &[Pred]);
    for (name, results, args, code) in [
        ("mov.b32 packed", &[32][..], &[Int16; 2][..], "mov.b32 %d, {%a, %b};"),
        ("mov.b64 packed", &[64], &[Int32; 2], "mov.b64 %d, {%a, %b};"),
        ("mov.b64 packed of four", &[64], &[Int16; 3], "mov.b64 %d, {%a, %b, %c, %a};"),
        ("mov.b32 unpacked", &[16, 16], &[Int32], "mov.b32 {%d, %e}, %a;"),
        ("mov.b64 unpacked", &[32, 32], &[Int64], "mov.b64 {%d, %e}, %a;"),
        ("mov.b64 unpacked into four", &[16; 4], &[Int64], "mov.b64 {%d, %e, %f, %g}, %a;"),
        ("mov.b64 unpacked in part", &[32], &[Int64], "mov.b64 {_, %d}, %a;"),
        (
            "mov.b128 there and back",
            &[64, 64],
            &[Int64; 2],
            "{\n.reg .b128 %q;\nmov.b128 %q, {%a, %b};\nmov.b128 {%e, %d}, %q;\n}",
        ),
        ("mov.u32 of a negative constant", &[32, 64], &[], "mov.u32 %d, -7;\nmov.u64 %e, -7;"),
        ("mov.f32 of constants", &[32, 32], &[], "mov.f32 %d, 0f7FC12345;\nmov.f32 %e, 0.1;"),
        ("mov.f64 of constants", &[64, 64], &[], "mov.f64 %d, 0d7FF4000000000001;\nmov.f64 %e, 0.1;"),
        ("mov.b32 of an expression", &[32], &[], "mov.b32 %d, (1 << 20) - 3 * 5;"),
    ] {
        table.code(name, results, args, code);
    }
    for register in ["tid", "ntid", "ctaid", "nctaid"] {
        let code = format!("mov.u32 %d, %{register}.x;\nmov.u32 %e, %{register}.y;\nmov.u32 %f, %{register}.z;");
        table.code(&format!("%{register}"), &[32; 3], &[Int32], &code);
    }
    for register in ["laneid", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt"] {
        table.code(&format!("%{register}"), &[32], &[], &format!("mov.u32 %d, %{register};"));
    }
}
