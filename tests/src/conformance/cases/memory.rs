//! Loads and stores of every width, vector, sign extension and state space. PTX ISA, "Data Movement and Conversion
//! Instructions".

use super::Table;
use crate::conformance::kind::Kind::{Index, Int16, Int32, Int64, Pred};

/// Types as loads name them, and their bits.
const TYPES: [(&str, u32); 14] = [
    ("b8", 8),
    ("u8", 8),
    ("s8", 8),
    ("b16", 16),
    ("u16", 16),
    ("s16", 16),
    ("b32", 32),
    ("u32", 32),
    ("s32", 32),
    ("f32", 32),
    ("b64", 64),
    ("u64", 64),
    ("s64", 64),
    ("f64", 64),
];

/// How to reach 16 bytes that hold `%a` and `%b`: what to do before, and the address.
const PLACES: [(&str, &str, &str); 7] = [
    ("global", "", "%pair"),
    ("volatile.global", "", "%pair"),
    ("global.nc", "", "%pair"),
    ("shared", "st.shared.v2.b64 [%ps], {%a, %b};\n", "%ps"),
    ("local", "mov.u64 %l0, stack;\nst.local.v2.b64 [%l0], {%a, %b};\n", "%l0"),
    ("const", "mov.u64 %l0, constants;\nand.b64 %l1, %b, 0x30;\nadd.u64 %l0, %l0, %l1;\n", "%l0"),
    ("generic", "cvta.global.u64 %l0, %pair;\n", "%l0"),
];

pub(super) fn fill(table: &mut Table) {
    for (place, before, address) in PLACES {
        let space = if place == "generic" { String::new() } else { format!(".{place}") };
        for (ty, bits) in TYPES {
            for register in [16, 32, 64].into_iter().filter(|register| *register >= bits) {
                let more = if register == 64 { 3 } else { 5 };
                let offset = 16 / bits.div_ceil(8) as usize * more / 8 * bits.div_ceil(8) as usize;
                let is_typical = register == 32.max(bits) || place == "shared";
                if !is_typical || bits == 64 && register != 64 {
                    continue;
                }
                let name = format!("ld{space}.{ty}");
                let code = format!("{before}{name} %d, [{address}+{offset}];");
                let full = format!("{name} into {register} bits");
                table.code(
                    if space.is_empty() { full.replace("ld", "ld (generic)") } else { full }.as_str(),
                    &[register],
                    &[Int64; 2],
                    &code,
                );
            }
        }
        for (vector, ty, bits) in [
            ("v2", "b8", 16),
            ("v4", "s8", 16),
            ("v2", "u16", 32),
            ("v4", "s16", 32),
            ("v2", "f32", 32),
            ("v4", "b32", 32),
            ("v2", "u64", 64),
            ("v2", "b16", 16),
        ] {
            let count = if vector == "v2" { 2 } else { 4 };
            let registers = ["%d", "%e", "%f", "%g"][..count].join(", ");
            let name = format!("ld{space}.{vector}.{ty}");
            let code = format!("{before}{name} {{{registers}}}, [{address}];");
            let shown = if space.is_empty() { name.replace("ld", "ld (generic)") } else { name };
            table.code(&shown, &vec![bits; count], &[Int64; 2], &code);
        }
    }
    stores(table);
    elsewhere(table);
}

/// Stores into 8 or 16 bytes, which are then read as a whole.
fn stores(table: &mut Table) {
    for (place, before, address) in [
        ("global", "", "%po"),
        ("volatile.global", "", "%po"),
        ("shared", "", "%ps"),
        ("local", "mov.u64 %l0, stack;\n", "%l0"),
        ("generic of shared", "cvt.u64.u32 %l1, %ps;\ncvta.shared.u64 %l0, %l1;\n", "%l0"),
        ("generic of global", "cvta.global.u64 %l0, %po;\n", "%l0"),
    ] {
        let space = if place.starts_with("generic") { String::new() } else { format!(".{place}") };
        let prepare = format!("{before}st{space}.b64 [{address}], %b;\n");
        for (ty, bits) in TYPES.into_iter().filter(|(ty, _)| ty.starts_with(['b', 's', 'f'])) {
            let bytes = bits / 8;
            let offset = 8 / bytes * 5 / 8 * bytes;
            let code = format!("{prepare}st{space}.{ty} [{address}+{offset}], %a;\nld{space}.b64 %d, [{address}];");
            let kind = if bits == 64 {
                Int64
            } else if bits == 16 {
                Int16
            } else {
                Int32
            };
            table.code(&format!("st.{ty} to {place}"), &[64], &[kind, Int64], &code);
        }
        for (vector, ty, kind) in
            [("v2", "b8", Int32), ("v4", "u8", Int32), ("v2", "b16", Int16), ("v4", "u16", Int16), ("v2", "f32", Int32)]
        {
            let values = if vector == "v2" { "%a, %c" } else { "%a, %c, %c, %a" };
            let code =
                format!("{prepare}st{space}.{vector}.{ty} [{address}], {{{values}}};\nld{space}.b64 %d, [{address}];");
            table.code(&format!("st.{vector}.{ty} to {place}"), &[64], &[kind, Int64, kind], &code);
        }
        if !place.ends_with("global") {
            let code = format!(
                "{before}st{space}.v4.b32 [{address}], {{%b, %a, %c, %b}};\nst{space}.u8 [{address}+9], %a;\n\
                 ld{space}.v2.b64 {{%d, %e}}, [{address}];"
            );
            table.code(&format!("st.v4.b32 to {place}"), &[64, 64], &[Int32; 3], &code);
        }
    }
    let code = "st.global.b64 [%po], %a;\n@%b st.global.b32 [%po+4], 77;\nld.global.b64 %d, [%po];";
    table.code("st.b32 of some lanes", &[64], &[Int64, Pred], code);
}

/// Addresses, other threads' places, parameters, and the module's variables.
fn elsewhere(table: &mut Table) {
    let exchange = "mov.u32 %r0, %tid.x;\nxor.b32 %r0, %r0, 37;\nmov.u32 %r1, shared;\nmad.lo.u32 %r1, %r0, 16, %r1;\n\
                    st.shared.b32 [%ps+4], %a;\nbar.sync 0;\nld.shared.b32 %d, [%r1+4];";
    table.code("bar.sync, shared memory exchanged", &[32], &[Int32], exchange);
    let variable = |space: &str, name: &str| {
        format!("mov.u64 %l0, {name};\nmul.wide.u32 %l1, %a, 8;\nadd.u64 %l0, %l0, %l1;\nld.{space}.b64 %d, [%l0];")
    };
    table.code("ld.const of a table", &[64], &[Index], &variable("const", "constants"));
    table.code("ld.global of a variable", &[64], &[Index], &variable("global", "variables"));
    table.code("ld.const at a constant address", &[32], &[], "ld.const.b32 %d, [constants+12];");
    table.code("ld.global at a constant address", &[16], &[], "ld.global.u16 %d, [variables+14];");
    table.code("ld.param", &[32], &[], "ld.param.b32 %d, [rows];");
    let spaces = "cvta.global.u64 %l0, %po;\nisspacep.global %d, %l0;\nisspacep.shared %e, %l0;\n\
                  cvt.u64.u32 %l1, %ps;\ncvta.shared.u64 %l1, %l1;\nisspacep.shared %f, %l1;\nisspacep.local %g, %l1;";
    table.code("isspacep", &[1; 4], &[], spaces);
    let there = "cvt.u64.u32 %l1, %ps;\ncvta.shared.u64 %l0, %l1;\ncvta.to.shared.u64 %l2, %l0;\n\
                 setp.eq.u64 %d, %l1, %l2;\nst.u32 [%l0], %a;\nld.shared.u32 %e, [%ps];";
    table.code("cvta.shared there and back", &[1, 32], &[Int32], there);
}
