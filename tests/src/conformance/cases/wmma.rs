//! `wmma` in every shape, type and layout, and `movmatrix`. PTX ISA, "Warp-level Matrix Instructions: wmma", "movmatrix".
//!
//! Fragments are recorded as they are in registers: which element each holds is the hardware's own affair, and the emulator's is its.
//! Each warp has 8192 bytes of shared memory, of which its threads fill the first 4096 with what is made of their operands.

use std::fmt::Write;

use super::Table;
use crate::conformance::kind::Kind::{self, Bf16x2, F16x2, F32, F64, Int32};

/// Shapes of types of 8 and 16 bits.
const SHAPES: [&str; 3] = ["m16n16k16", "m32n8k16", "m8n32k16"];

/// Registers of A and B by shape: of bf16, and of integers of 8 bits.
const BF16: [[usize; 2]; 3] = [[4, 4], [8, 2], [2, 8]];
const BYTES: [[usize; 2]; 3] = [[2, 2], [4, 1], [1, 4]];

/// What is loaded: the type, its kind, and the registers.
struct Loaded {
    ty: &'static str,
    kind: Kind,
    registers: usize,
    /// Elements from a row to the next, and the layouts that there are.
    stride: usize,
    layouts: &'static [&'static str],
}

pub(super) fn fill(table: &mut Table) {
    let both: &[&str] = &["row", "col"];
    for (index, shape) in SHAPES.into_iter().enumerate() {
        for (side, name) in ["a", "b"].into_iter().enumerate() {
            let [bf16, bytes] = [BF16, BYTES].map(|registers| registers[index][side]);
            load(table, name, shape, &Loaded { ty: "f16", kind: F16x2, registers: 8, stride: 40, layouts: both });
            load(table, name, shape, &Loaded { ty: "bf16", kind: Bf16x2, registers: bf16, stride: 48, layouts: both });
            load(table, name, shape, &Loaded { ty: "s8", kind: Int32, registers: bytes, stride: 48, layouts: both });
        }
        load(table, "c", shape, &Loaded { ty: "f16", kind: F16x2, registers: 4, stride: 40, layouts: both });
        load(table, "c", shape, &Loaded { ty: "f32", kind: F32, registers: 8, stride: 24, layouts: both });
        load(table, "c", shape, &Loaded { ty: "s32", kind: Int32, registers: 8, stride: 24, layouts: both });
        for layout in ["row", "col"] {
            store(table, shape, layout, "f16", 4, 40);
            store(table, shape, layout, "f32", 8, 36);
        }
        for (d, c) in [("f16", "f16"), ("f32", "f16"), ("f16", "f32"), ("f32", "f32")] {
            let registers = |ty| if ty == "f16" { 4 } else { 8 };
            let kind = if c == "f16" { F16x2 } else { F32 };
            multiply(table, shape, &format!("{d}.{c}"), [registers(d), 8, 8, registers(c)], [F16x2, kind]);
        }
        let [a, b] = BF16[index];
        multiply(table, shape, "f32.bf16.bf16.f32", [8, a, b, 8], [Bf16x2, F32]);
        for ty in ["s8", "u8"] {
            for satfinite in ["", ".satfinite"] {
                let [a, b] = BYTES[index];
                multiply(table, shape, &format!("s32.{ty}.{ty}.s32{satfinite}"), [8, a, b, 8], [Int32; 2]);
            }
        }
    }
    for name in ["a", "b"] {
        load(table, name, "m16n16k8", &Loaded { ty: "tf32", kind: F32, registers: 4, stride: 24, layouts: both });
        let layouts: &[&str] = if name == "a" { &["row"] } else { &["col"] };
        load(table, name, "m8n8k32", &Loaded { ty: "s4", kind: Int32, registers: 1, stride: 64, layouts });
        load(table, name, "m8n8k128", &Loaded { ty: "b1", kind: Int32, registers: 1, stride: 256, layouts });
    }
    multiply(table, "m16n16k8", "f32.tf32.tf32.f32", [8, 4, 4, 8], [F32, F32]);
    for ty in ["s4", "u4"] {
        multiply(table, "m8n8k32", &format!("s32.{ty}.{ty}.s32"), [2, 1, 1, 2], [Int32; 2]);
    }
    for product in ["xor", "and"] {
        let name = format!("wmma.mma.{product}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32");
        table.code(&name, &[32; 2], &[Int32; 3], &format!("{name} {{%d, %e}}, {{%a}}, {{%b}}, {{%c, %a}};"));
    }
    for round in ["", ".rn", ".rz", ".rm", ".rp"] {
        let name = format!("wmma.mma.sync.aligned.row.col.m8n8k4.f64.f64.f64.f64{round}");
        table.code(&name, &[64; 2], &[F64; 3], &format!("{name} {{%d, %e}}, {{%a}}, {{%b}}, {{%c, %a}};"));
    }
    table.op("movmatrix.sync.aligned.m8n8.trans.b16", 32, &[Int32]);
}

/// Writes what is made of the operands to the warp's shared memory, whose address is then in `%r0`.
fn filled() -> String {
    let mut code = String::from("{\n.shared .align 128 .b8 tile[65536];\n.reg .b32 %x<8>, %z<8>, %own;\n");
    code.push_str("mov.u32 %r0, tile;\nshr.u32 %r1, %bit, 5;\nmad.lo.u32 %r0, %r1, 8192, %r0;\n");
    code.push_str("and.b32 %r1, %bit, 31;\nmad.lo.u32 %own, %r1, 16, %r0;\n");
    for part in 0..16 {
        _ = writeln!(code, "xor.b32 %r2, %a, {};\nxor.b32 %r3, %b, {};", part << 20, part << 5);
        _ = writeln!(code, "st.shared.v4.b32 [%own+{}], {{%r2, %b, %r3, %a}};", 512 * part);
    }
    code.push_str("bar.warp.sync 0xffffffff;\n");
    code
}

fn list(prefix: &str, count: usize) -> String {
    let names: Vec<String> = (0..count).map(|index| format!("%{prefix}{index}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// Folds so many registers into `%d` to `%g`.
fn folded(count: usize) -> (usize, String) {
    let results = count.min(4);
    let mut code = String::new();
    for (index, result) in ["d", "e", "f", "g"].into_iter().enumerate().take(results) {
        if count == 8 {
            let other = index + 4;
            _ = writeln!(
                code,
                "shf.l.wrap.b32 %z{other}, %z{other}, %z{other}, 7;\nxor.b32 %z{index}, %z{index}, %z{other};"
            );
        }
        _ = writeln!(code, "mov.b32 %{result}, %z{index};");
    }
    (results, code)
}

fn load(table: &mut Table, matrix: &str, shape: &str, loaded: &Loaded) {
    let Loaded { ty, kind, registers, stride, layouts } = *loaded;
    for layout in layouts {
        let name = format!("wmma.load.{matrix}.sync.aligned.{layout}.{shape}.shared.{ty}");
        let mut code = filled();
        _ = writeln!(code, "{name} {}, [%r0], {stride};", list("z", registers));
        let (results, fold) = folded(registers);
        table.code(&name, &vec![32; results], &[kind; 2], &(code + &fold + "}"));
    }
}

fn store(table: &mut Table, shape: &str, layout: &str, ty: &str, registers: usize, stride: usize) {
    let name = format!("wmma.store.d.sync.aligned.{layout}.{shape}.shared.{ty}");
    let mut code = filled();
    code.push_str("mov.b32 %x0, %a;\nmov.b32 %x1, %b;\nnot.b32 %x2, %a;\nnot.b32 %x3, %b;\n");
    code.push_str("xor.b32 %x4, %a, 1;\nxor.b32 %x5, %b, 2;\nxor.b32 %x6, %a, 3;\nxor.b32 %x7, %b, 4;\n");
    _ = writeln!(code, "{name} [%r0], {}, {stride};\nbar.warp.sync 0xffffffff;", list("x", registers));
    // All of it, 4096 bytes at most: sixteen bytes of each thread, eight times.
    code.push_str("mov.b32 %z4, 0;\nmov.b32 %z5, 0;\nmov.b32 %z6, 0;\nmov.b32 %z7, 0;\n");
    for part in 0..10 {
        _ = writeln!(code, "ld.shared.v4.b32 {{%z0, %z1, %z2, %z3}}, [%own+{}];", 512 * part);
        for index in 0..4 {
            let sum = index + 4;
            _ = writeln!(code, "shf.l.wrap.b32 %z{sum}, %z{sum}, %z{sum}, 5;\nxor.b32 %z{sum}, %z{sum}, %z{index};");
        }
    }
    code.push_str("mov.b32 %d, %z4;\nmov.b32 %e, %z5;\nmov.b32 %f, %z6;\nmov.b32 %g, %z7;\n}");
    table.code(&name, &[32; 4], &[Int32; 2], &code);
}

/// From registers: fragments of which each thread has its share.
fn multiply(table: &mut Table, shape: &str, types: &str, [d, a, b, c]: [usize; 4], [kind, c_kind]: [Kind; 2]) {
    let layouts = if shape == "m16n16k16" { &["row.col", "col.row"][..] } else { &["row.col"] };
    for layouts in layouts {
        let name = format!("wmma.mma.sync.aligned.{layouts}.{shape}.{types}");
        // Registers that hold the same element twice on GPUs of compute capability 7.0 must agree: A and B are repeated.
        let of = |names: [&str; 4], count: usize| {
            let names: Vec<&str> = (0..count).map(|index| names[index % 4]).collect();
            format!("{{{}}}", names.join(", "))
        };
        let repeated = |names: [&'static str; 2], count: usize| of([names[0], names[1], names[0], names[1]], count);
        let is_f16 = kind == F16x2;
        let a_list = if is_f16 { repeated(["%a", "%b"], a) } else { of(["%a", "%b", "%r0", "%r1"], a) };
        let b_list = if is_f16 { repeated(["%b", "%r0"], b) } else { of(["%b", "%r0", "%a", "%r1"], b) };
        let mut code =
            String::from("{\n.reg .b32 %z<8>;\nprmt.b32 %r0, %a, 0, 0x1032;\nxor.b32 %r1, %b, 0x80000000;\n");
        code.push_str("xor.b32 %r2, %c, 0x80000000;\nxor.b32 %r3, %c, 0x04000000;\n");
        let c_list = of(["%c", "%r2", "%r3", "%a"], c);
        _ = writeln!(code, "{name} {}, {a_list}, {b_list}, {c_list};", list("z", d));
        let (results, fold) = folded(d);
        table.code(&name, &vec![32; results], &[kind, kind, c_kind], &(code + &fold + "}"));
    }
}
