//! Matrices that four warps multiply, or one. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", "Warp-level Matrix
//! Instructions: mma".
//!
//! Each thread gives 16 bytes of shared memory: a row's unit of the first matrix, and, of the first sixteen threads of a group,
//! a column's unit of the second; and four registers of fragments of the first. What it gets is two elements each of two rows.

use std::fmt::Write;

use super::Table;
use crate::conformance::kind::Kind::{self, Bf16x2, F16x2, F32};

/// Types, what holds two of the narrow ones, the depth of a step, and bits of exponents without which an element is small.
const TYPES: [(&str, Kind, u32, u32); 3] =
    [("f16", F16x2, 16, 0x4000_4000), ("bf16", Bf16x2, 16, 0x4000_4000), ("tf32", F32, 8, 0x4000_0000)];

pub(super) fn fill(table: &mut Table) {
    for (ty, kind, depth, large) in TYPES {
        for from_registers in [false, true] {
            for (values, kept) in [("any", u32::MAX), ("small", !large)] {
                for accumulate in [false, true] {
                    let name = format!("wgmma.mma_async.sync.aligned.m64n8k{depth}.f32.{ty}.{ty}");
                    let from = if from_registers { "registers" } else { "shared memory" };
                    let adding = if accumulate { "added to what is there" } else { "alone" };
                    let code = code(&name, kept, from_registers, accumulate);
                    let name = format!("{name} of {values} values from {from}, {adding}");
                    table.code(&name, &[32; 4], &[kind, kind, F32], &code);
                }
            }
        }
    }
}

/// MMAs of one warp, all of whose fragments are in registers.
pub(super) fn fill_warp(table: &mut Table) {
    for (ty, kind, _, large) in TYPES.into_iter().filter(|(_, _, depth, _)| *depth == 16) {
        for (values, kept) in [("any", u32::MAX), ("small", !large)] {
            let name = format!("mma.sync.aligned.m16n8k16.row.col.f32.{ty}.{ty}.f32");
            let code = format!(
                "and.b32 %a, %a, {kept:#x};\nand.b32 %b, %b, {kept:#x};\n\
                 prmt.b32 %r0, %a, 0, 0x1032;\nxor.b32 %r1, %b, 0x80000000;\n\
                 mov.b32 %d, %c;\nmov.b32 %e, %a;\nxor.b32 %f, %c, 0x80000000;\nxor.b32 %g, %c, 0x04000000;\n\
                 {name} {{%d, %e, %f, %g}}, {{%a, %b, %r0, %r1}}, {{%b, %r0}}, {{%d, %e, %f, %g}};"
            );
            table.code(&format!("{name} of {values} values"), &[32; 4], &[kind, kind, F32], &code);
        }
    }
}

fn code(name: &str, kept: u32, from_registers: bool, accumulate: bool) -> String {
    let mut code = String::new();
    let mut line = |line: &str| _ = writeln!(code, "{line}");
    if kept != u32::MAX {
        line(&format!("and.b32 %a, %a, {kept:#x};\nand.b32 %b, %b, {kept:#x};"));
    }
    // Halves change places, and signs change: sums that nearly vanish are among the results.
    line("prmt.b32 %r0, %a, 0, 0x1032;\nxor.b32 %r1, %b, 0x80000000;");
    line("st.shared.v4.b32 [%ps], {%a, %b, %r0, %r1};\nfence.proxy.async.shared::cta;\nbar.sync 0;");
    // The units of 128 threads are those of a matrix of 64 rows: eight rows, twice, are 256 bytes.
    line("and.b32 %r2, %bit, 128;\nmov.u32 %r3, shared;\nmad.lo.u32 %r2, %r2, 16, %r3;\nshr.u32 %r2, %r2, 4;");
    line("cvt.u64.u32 %l0, %r2;\nor.b64 %l0, %l0, 0x0000001000080000;");
    line("mov.b32 %d, %c;\nmov.b32 %e, %a;\nxor.b32 %f, %c, 0x80000000;\nxor.b32 %g, %c, 0x04000000;");
    line(&format!("setp.{}.u32 %p0, %bit, %bit;", if accumulate { "eq" } else { "ne" }));
    line("wgmma.fence.sync.aligned;");
    let sides = if name.contains("tf32") { "" } else { ", 0" };
    let (first, sides) = match from_registers {
        true => ("{%a, %b, %r0, %r1}", sides.to_owned()),
        false => ("%l0", sides.repeat(2)),
    };
    line(&format!("{name} {{%d, %e, %f, %g}}, {first}, %l0, %p0, 1, 1{sides};"));
    line("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
    code.trim_end().to_owned()
}
