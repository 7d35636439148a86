//! Atomic operations, each lane on a place of its own, and some on a place that all share. PTX ISA, "atom", "red".

use super::Table;
use crate::conformance::kind::Kind::{self, Bf16, Bf16x2, F16, F16x2, F32, F64, Int16, Int32, Int64, Pred};

/// Operation and type, with the type's values.
fn operations() -> Vec<(&'static str, &'static str, Kind)> {
    let mut all = Vec::new();
    for (bits, kind) in [("b32", Int32), ("b64", Int64)] {
        all.extend(["and", "or", "xor", "exch"].map(|op| (op, bits, kind)));
    }
    all.extend([("add", "u32", Int32), ("add", "s32", Int32), ("add", "u64", Int64)]);
    all.extend([("inc", "u32", Int32), ("dec", "u32", Int32)]);
    for (ty, kind) in [("u32", Int32), ("s32", Int32), ("u64", Int64), ("s64", Int64)] {
        all.extend([("min", ty, kind), ("max", ty, kind)]);
    }
    all.extend([("add", "f32", F32), ("add", "f64", F64), ("add.noftz", "f16", F16), ("add.noftz", "f16x2", F16x2)]);
    all.extend([("add.noftz", "bf16", Bf16), ("add.noftz", "bf16x2", Bf16x2)]);
    all
}

pub(super) fn fill(table: &mut Table) {
    for (space, address) in [("global", "%po"), ("shared", "%ps")] {
        for (op, ty, kind) in operations() {
            let bits = kind.bits();
            let before = format!("st.{space}.b{bits} [{address}], %a;\n");
            let after = format!("\nld.{space}.b{bits} %e, [{address}];");
            let name = format!("atom.{space}.{op}.{ty}");
            let code = format!("{before}{name} %d, [{address}], %b;{after}");
            table.code(&name, &[bits, bits], &[kind; 2], &code);
            if op != "exch" {
                let name = format!("red.{space}.{op}.{ty}");
                let code = format!("{before}{name} [{address}], %b;\nld.{space}.b{bits} %d, [{address}];");
                table.code(&name, &[bits], &[kind; 2], &code);
            }
        }
        for (ty, kind) in [("b16", Int16), ("b32", Int32), ("b64", Int64)] {
            let bits = kind.bits();
            let (before, name) = (format!("st.{space}.{ty} [{address}], %a;\n"), format!("atom.{space}.cas.{ty}"));
            let code = format!("{before}{name} %d, [{address}], %b, %c;\nld.{space}.{ty} %e, [{address}];");
            table.code(&name, &[bits, bits], &[kind; 3], &code);
        }
        let (order, name) = ("acq_rel.gpu", format!("atom.acq_rel.gpu.{space}.add.u32"));
        let code = format!("st.{space}.b32 [{address}], %a;\natom.{order}.{space}.add.u32 %d, [{address}], %b;");
        table.code(&name, &[32], &[Int32; 2], &code);
        let code = format!(
            "st.{space}.b32 [{address}], %a;\nmov.b32 %d, 0;\n@%c atom.{space}.add.u32 %d, [{address}], %b;\n\
             ld.{space}.b32 %e, [{address}];"
        );
        table.code(&format!("atom.{space}.add.u32 of some lanes"), &[32, 32], &[Int32, Int32, Pred], &code);
    }
    together(table);
    for (ty, kind) in [("f32", F32), ("f16x2", F16x2), ("bf16x2", Bf16x2)] {
        let noftz = if ty == "f32" { "" } else { ".noftz" };
        let (atom, red) = (format!("atom.global.add{noftz}.v2.{ty}"), format!("red.global.add{noftz}.v2.{ty}"));
        let before = "mov.b64 %l0, {%a, %c};\nst.global.b64 [%po], %l0;\n";
        let code = format!("{before}{atom} {{%d, %e}}, [%po], {{%b, %a}};\nld.global.b64 %f, [%po];");
        table.code(&atom, &[32, 32, 64], &[kind; 3], &code);
        let code = format!("{before}{red} [%po], {{%b, %a}};\nld.global.b64 %d, [%po];");
        table.code(&red, &[64], &[kind; 3], &code);
    }
}

/// Every thread of the block on one place in shared memory.
fn together(table: &mut Table) {
    for (op, ty, kind) in [
        ("add", "u32", Int32),
        ("min", "s32", Int32),
        ("max", "u32", Int32),
        ("xor", "b32", Int32),
        ("add", "u64", Int64),
        ("max", "s64", Int64),
        ("and", "b64", Int64),
    ] {
        let bits = kind.bits();
        let name = format!("red.shared.{op}.{ty} of all threads");
        let code = format!(
            "mov.u32 %r0, shared;\nmov.u32 %r1, %tid.x;\nsetp.eq.u32 %p0, %r1, 0;\n@%p0 st.shared.b{bits} [%r0], 5;\n\
             bar.sync 0;\nred.shared.{op}.{ty} [%r0], %a;\nbar.sync 0;\nld.shared.b{bits} %d, [%r0];\n// %ps"
        );
        table.code(&name, &[bits], &[kind], &code);
    }
}
