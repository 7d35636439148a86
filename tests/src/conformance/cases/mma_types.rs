//! `mma.sync` in every shape and type that a GPU of compute capability 9.0 has, dense and sparse. PTX ISA, "Warp-level Matrix
//! Instructions: mma", "mma.sp".
//!
//! A thread's fragments are made of its three operands: as they are, with other signs, and with their halves exchanged.

use std::fmt::Write;

use super::Table;
use super::metadata::Metadata;
use crate::conformance::kind::Kind::{self, Bf16x2, F16x2, F32, F64, Int32};

/// Registers of D, A, B and C.
type Registers = [usize; 4];

/// What selects elements of the dense matrix that a sparse one stands for.
#[derive(Clone, Copy)]
struct Sparse {
    metadata: Metadata,
    selector: u32,
}

/// Shapes of types of equal width, and their registers.
const BYTES: [(&str, Registers); 3] =
    [("m8n8k16", [2, 1, 1, 2]), ("m16n8k16", [4, 2, 1, 4]), ("m16n8k32", [4, 4, 2, 4])];
const NIBBLES: [(&str, Registers); 3] =
    [("m8n8k32", [2, 1, 1, 2]), ("m16n8k32", [4, 2, 1, 4]), ("m16n8k64", [4, 4, 2, 4])];

pub(super) fn fill(table: &mut Table) {
    for (shape, a, b) in [("m16n8k8", 2, 1), ("m16n8k16", 4, 2)] {
        floats(table, &format!("{shape}.row.col.f16.f16.f16.f16"), [2, a, b, 2], F16x2, F16x2, 0x4000_4000);
        if shape == "m16n8k8" {
            floats(table, &format!("{shape}.row.col.f32.f16.f16.f32"), [4, a, b, 4], F16x2, F32, 0x4000_4000);
            floats(table, &format!("{shape}.row.col.f32.bf16.bf16.f32"), [4, a, b, 4], Bf16x2, F32, 0x4000_4000);
        }
    }
    for (shape, a, b) in [("m16n8k4", 2, 1), ("m16n8k8", 4, 2)] {
        floats(table, &format!("{shape}.row.col.f32.tf32.tf32.f32"), [4, a, b, 4], F32, F32, 0x4000_0000);
    }
    for (shape, [d, a, b, c]) in
        [("m8n8k4", [2, 1, 1, 2]), ("m16n8k4", [4, 2, 1, 4]), ("m16n8k8", [4, 4, 2, 4]), ("m16n8k16", [4, 8, 4, 4])]
    {
        let name = format!("mma.sync.aligned.{shape}.row.col.f64.f64.f64.f64");
        table.code(&name, &vec![64; d.min(4)], &[F64; 3], &doubles(&name, [d, a, b, c]));
    }
    for (shapes, types) in [(BYTES, ["s8", "u8"]), (NIBBLES, ["s4", "u4"])] {
        for (shape, registers) in shapes {
            for (a, b) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                for satfinite in ["", ".satfinite"] {
                    let name = format!("{shape}.row.col{satfinite}.s32.{}.{}.s32", types[a], types[b]);
                    dense(table, &name, registers, Int32, Int32, None, "");
                }
            }
        }
    }
    for (shape, registers) in [("m8n8k128", [2, 1, 1, 2]), ("m16n8k128", [4, 2, 1, 4]), ("m16n8k256", [4, 4, 2, 4])] {
        for product in ["xor", "and"] {
            dense(table, &format!("{shape}.row.col.s32.b1.b1.s32.{product}.popc"), registers, Int32, Int32, None, "");
        }
    }
    for (a, b) in [("row", "row"), ("row", "col"), ("col", "row"), ("col", "col")] {
        for (d_type, c_type, d, c, c_kind) in
            [("f16", "f16", 4, 4, F16x2), ("f32", "f16", 8, 4, F16x2), ("f32", "f32", 8, 8, F32)]
        {
            let name = format!("m8n8k4.{a}.{b}.{d_type}.f16.f16.{c_type}");
            floats(table, &name, [d, 2, 2, c], F16x2, c_kind, 0x4000_4000);
        }
    }
}

/// Types of 8 bits, which need a later version of the PTX ISA.
pub(super) fn fill_float8(table: &mut Table) {
    for (shape, a, b) in [("m16n8k16", 2, 1), ("m16n8k32", 4, 2)] {
        for (a_type, b_type) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
            let name = format!("{shape}.row.col.f32.{a_type}.{b_type}.f32");
            floats(table, &name, [4, a, b, 4], Int32, F32, 0x4040_4040);
            let name = format!("{shape}.row.col.f16.{a_type}.{b_type}.f16");
            floats(table, &name, [2, a, b, 2], Int32, F16x2, 0x4040_4040);
        }
    }
}

/// Sparse matrices.
pub(super) fn fill_sparse(table: &mut Table) {
    let halves = |ty| [("m16n8k16", ty, [4, 2, 2, 4], 3), ("m16n8k32", ty, [4, 4, 4, 4], 1)];
    let (f16, bf16) = (halves(("f16", F16x2)), halves(("bf16", Bf16x2)));
    let tf32 = [("m16n8k8", ("tf32", F32), [4, 2, 2, 4], 3), ("m16n8k16", ("tf32", F32), [4, 4, 4, 4], 1)];
    for (shape, (ty, kind), registers, last) in f16.into_iter().chain(bf16).chain(tf32) {
        let metadata = if ty == "tf32" { Metadata::OneOfTwo } else { Metadata::TwoOfFour };
        for selector in [0, last] {
            let name = format!("{shape}.row.col.f32.{ty}.{ty}.f32");
            let large = if ty == "tf32" { 0x4000_0000 } else { 0x4000_4000 };
            sparse_floats(table, &name, registers, [kind, F32], large, Sparse { metadata, selector });
            if ty == "f16" {
                let [d, a, b, c] = registers;
                let name = format!("{shape}.row.col.f16.f16.f16.f16");
                let sparse = Sparse { metadata, selector };
                sparse_floats(table, &name, [d / 2, a, b, c / 2], [kind, F16x2], large, sparse);
            }
        }
    }
    let all = Sparse { metadata: Metadata::TwoOfFour, selector: 0 };
    for (a, b) in [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e5m2", "e5m2")] {
        sparse_floats(table, &format!("m16n8k64.row.col.f32.{a}.{b}.f32"), [4; 4], [Int32, F32], 0x4040_4040, all);
    }
    for (shapes, types) in [(["m16n8k32", "m16n8k64"], ["s8", "u8"]), (["m16n8k64", "m16n8k128"], ["s4", "u4"])] {
        for (shape, operands, selectors) in [(shapes[0], 2, &[0, 1][..]), (shapes[1], 4, &[0])] {
            for (selector, (a, b)) in selectors.iter().zip([(0, 1), (1, 0)]) {
                for satfinite in ["", ".satfinite"] {
                    let name = format!("{shape}.row.col{satfinite}.s32.{}.{}.s32", types[a], types[b]);
                    let sparse = Sparse { selector: *selector, ..all };
                    sparse_words(table, &name, [4, operands, operands, 4], [Int32; 2], None, sparse, "");
                }
            }
        }
    }
    let any = Sparse { metadata: Metadata::Any, selector: 0 };
    let name = "m16n8k32.row.col.f32.f16.f16.f32";
    let code = words("mma.sp", name, [4; 4], None, Some(any));
    table.code(&format!("mma.sp.sync.aligned.{name} of any metadata"), &[32; 4], &[F16x2, F16x2, F32], &code);
}

fn sparse_floats(table: &mut Table, name: &str, registers: Registers, kinds: [Kind; 2], large: u32, sparse: Sparse) {
    for (values, kept) in [(" of any values", None), (" of small values", Some(!large))] {
        sparse_words(table, name, registers, kinds, kept, sparse, values);
    }
}

fn sparse_words(
    table: &mut Table,
    name: &str,
    registers: Registers,
    [kind, c_kind]: [Kind; 2],
    kept: Option<u32>,
    sparse: Sparse,
    values: &str,
) {
    for opcode in ["mma.sp", "mma.sp::ordered_metadata"] {
        let code = words(opcode, name, registers, kept, Some(sparse));
        let results = vec![32; registers[0]];
        let name = format!("{opcode}.sync.aligned.{name} by selector {}{values}", sparse.selector);
        table.code(&name, &results, &[kind, kind, c_kind], &code);
    }
}

/// Any values, and small ones, which lack the bits `large`.
fn floats(table: &mut Table, name: &str, registers: Registers, kind: Kind, c_kind: Kind, large: u32) {
    for (values, kept) in [(" of any values", None), (" of small values", Some(!large))] {
        dense(table, name, registers, kind, c_kind, kept, values);
    }
}

fn dense(
    table: &mut Table,
    name: &str,
    registers: Registers,
    kind: Kind,
    c_kind: Kind,
    kept: Option<u32>,
    values: &str,
) {
    let code = words("mma", name, registers, kept, None);
    let results = vec![32; registers[0].min(4)];
    table.code(&format!("mma.sync.aligned.{name}{values}"), &results, &[kind, kind, c_kind], &code);
}

fn words(opcode: &str, name: &str, [d, a, b, c]: Registers, kept: Option<u32>, sparse: Option<Sparse>) -> String {
    let name = format!("{opcode}.sync.aligned.{name}");
    let mut code = String::from("{\n");
    let mut line = |line: &str| _ = writeln!(code, "{line}");
    line(".reg .b32 %x<8>, %y<8>, %z<8>;");
    if let Some(kept) = kept {
        line(&format!("and.b32 %a, %a, {kept:#x};\nand.b32 %b, %b, {kept:#x};"));
    }
    line("mov.b32 %x0, %a;\nmov.b32 %x1, %b;\nprmt.b32 %x2, %a, 0, 0x1032;\nxor.b32 %x3, %b, 0x80000000;");
    line("mov.b32 %y0, %c;\nxor.b32 %y1, %c, 0x80000000;\nprmt.b32 %y2, %c, 0, 0x1032;\nxor.b32 %y3, %c, 0x04000000;");
    line("mov.b32 %y4, 0;\nxor.b32 %y5, %y2, 0x00008000;\nmov.b32 %y6, %c;\nxor.b32 %y7, %c, 1;");
    let list = |names: &[String]| format!("{{{}}}", names.join(", "));
    let register = |prefix: &str, first: usize, count: usize| -> Vec<String> {
        (0..count).map(|index| format!("%{prefix}{}", (first + index) % 8)).collect()
    };
    let b_registers: Vec<String> = ["%x1", "%x2", "%x3", "%x0"][..b].iter().map(|name| (*name).to_owned()).collect();
    let operands = [register("z", 0, d), register("x", 0, a), b_registers, register("y", 0, c)];
    let mut last = String::new();
    if let Some(Sparse { metadata, selector }) = sparse {
        line(metadata.code());
        last = format!(", %r0, {selector:#x}");
    }
    line(&format!("{name} {}{last};", operands.map(|names| list(&names)).join(", ")));
    // Of eight results, each two are folded into one.
    let results = d.min(4);
    for (index, result) in ["d", "e", "f", "g"].into_iter().enumerate().take(results) {
        line(&match d {
            8 => format!(
                "shf.l.wrap.b32 %z{}, %z{}, %z{}, 7;\nxor.b32 %{result}, %z{index}, %z{};",
                index + 4,
                index + 4,
                index + 4,
                index + 4
            ),
            _ => format!("mov.b32 %{result}, %z{index};"),
        });
    }
    code + "}"
}

fn doubles(name: &str, [d, a, b, c]: Registers) -> String {
    let mut code = String::from(
        "{\n.reg .f64 %x<8>, %z<4>;\nmov.b64 %x0, %a;\nmov.b64 %x1, %b;\nneg.f64 %x2, %b;\nmov.b64 %x3, %a;\n",
    );
    code.push_str("mov.b64 %x4, %c;\nneg.f64 %x5, %a;\nmov.b64 %x6, %b;\nneg.f64 %x7, %c;\n");
    let list = |prefix: &str, first: usize, count: usize| {
        let names: Vec<String> = (0..count).map(|index| format!("%{prefix}{}", first + index)).collect();
        format!("{{{}}}", names.join(", "))
    };
    _ = writeln!(code, "{name} {}, {}, {}, {};", list("z", 0, d), list("x", 0, a), list("x", 1, b), list("x", 4, c));
    for (index, result) in ["d", "e", "f", "g"].into_iter().enumerate().take(d) {
        _ = writeln!(code, "mov.b64 %{result}, %z{index};");
    }
    code + "}"
}
