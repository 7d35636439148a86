//! Matrices that four warps multiply, or one. PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", "Warp-level Matrix
//! Instructions: mma".
//!
//! Each thread gives 16 bytes of shared memory: a row's unit of the first matrix, and, of the first sixteen threads of a group,
//! a column's unit of the second; and four registers of fragments of the first. What it gets is two elements each of two rows.

use std::fmt::Write;

use super::Table;
use super::metadata::Metadata;
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

/// One `wgmma.mma_async` and what is around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct WarpgroupMma<'a> {
    pub name: &'a str,
    /// Which elements a sparse A has, and which threads say so.
    pub sparse: Option<(Metadata, u32)>,
    pub operands: Operands,
    pub from_registers: bool,
    pub accumulate: bool,
    /// Registers of D.
    pub d: usize,
    /// The operands behind scale-d.
    pub behind: &'a str,
}

/// What is made of a thread's operands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Operands {
    /// The bits that are kept: halves change places, and signs change.
    Kept(u32),
    /// The bits that are kept. The second half of a row is nearly the negative of the first, that of a column nearly the same, and the
    /// accumulators are near 1.
    Cancelling(u32),
    /// Of 16 or 32 bits as bf16 or tf32: products about the smallest normal f32, and the bits of the accumulators that are kept.
    Tiny { ab: [u32; 2], c: u32 },
}

fn code(name: &str, kept: u32, from_registers: bool, accumulate: bool) -> String {
    let sides = if name.contains("tf32") { 0 } else { 2 - usize::from(from_registers) };
    let behind = format!(", 1, 1{}", ", 0".repeat(sides));
    let (sparse, operands) = (None, Operands::Kept(kept));
    WarpgroupMma { name, sparse, operands, from_registers, accumulate, d: 4, behind: &behind }.code()
}

impl WarpgroupMma<'_> {
    pub(super) fn code(&self) -> String {
        let mut code = String::new();
        let mut line = |line: &str| _ = writeln!(code, "{line}");
        let Self { name, sparse, operands, from_registers, accumulate, d, behind } = *self;
        let chosen = sparse.map_or(String::new(), |(_, selector)| format!(", %rows, {selector}"));
        if let Some((metadata, _)) = sparse {
            line(metadata.code());
            line("mov.b32 %rows, %r0;");
        }
        match operands {
            Operands::Kept(u32::MAX) | Operands::Cancelling(u32::MAX) => {}
            Operands::Kept(kept) | Operands::Cancelling(kept) => {
                line(&format!("and.b32 %a, %a, {kept:#x};\nand.b32 %b, %b, {kept:#x};"));
            }
            Operands::Tiny { ab: [kept, set], c } => {
                line(&format!("and.b32 %a, %a, {kept:#x};\nand.b32 %b, %b, {kept:#x};\nand.b32 %c, %c, {c:#x};"));
                line(&format!("or.b32 %a, %a, {set:#x};\nor.b32 %b, %b, {set:#x};"));
            }
        }
        // Halves change places, and signs change: sums that nearly vanish are among the results.
        line(match operands {
            Operands::Kept(_) | Operands::Tiny { .. } => "prmt.b32 %r0, %a, 0, 0x1032;\nxor.b32 %r1, %b, 0x80000000;",
            Operands::Cancelling(_) => {
                "and.b32 %c, %c, 0x83ffffff;\nor.b32 %c, %c, 0x3c000000;\nand.b32 %r2, %bit, 0x17;\n\
                 shfl.sync.idx.b32 %a, %a, %r2, 0x1f, -1;\nshfl.sync.idx.b32 %b, %b, %r2, 0x1f, -1;\nshr.u32 %r2, %bit, 3;\nand.b32 %r2, %r2, 1;\n\
                 xor.b32 %r0, %a, %r2;\nxor.b32 %r1, %b, %r2;"
            }
        });
        line("st.shared.v4.b32 [%ps], {%a, %b, %r0, %r1};\nfence.proxy.async.shared::cta;\nbar.sync 0;");
        // The units of 128 threads are those of a matrix of 64 rows: eight rows, twice, are 256 bytes.
        line("and.b32 %r2, %bit, 128;\nmov.u32 %r3, shared;\nmad.lo.u32 %r2, %r2, 16, %r3;\nshr.u32 %r2, %r2, 4;");
        line("cvt.u64.u32 %l0, %r2;\nor.b64 %l0, %l0, 0x0000001000080000;");
        if let Operands::Cancelling(_) = operands {
            line("xor.b32 %r0, %a, 0x80808080;\nxor.b32 %r1, %b, 0x80808080;");
        }
        line("mov.b32 %d, %c;\nmov.b32 %e, %a;");
        if d == 4 {
            line("xor.b32 %f, %c, 0x80000000;\nxor.b32 %g, %c, 0x04000000;");
        }
        line(&format!("setp.{}.u32 %p0, %bit, %bit;", if accumulate { "eq" } else { "ne" }));
        line("wgmma.fence.sync.aligned;");
        let first = if from_registers { "{%a, %b, %r0, %r1}" } else { "%l0" };
        let d = ["%d", "%e", "%f", "%g"][..d].join(", ");
        line(&format!("{name} {{{d}}}, {first}, %l0{chosen}, %p0{behind};"));
        line("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
        code.trim_end().to_owned()
    }
}
