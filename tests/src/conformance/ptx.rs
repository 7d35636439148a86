//! PTX for the cases of a family: one kernel each, in which every thread reads its row and writes its results.

use std::fmt::Write;

use super::Case;
use super::inputs::BLOCK;

/// The registers of the operands, and those of the results.
const SOURCES: [&str; 3] = ["a", "b", "c"];
const RESULTS: [&str; 4] = ["d", "e", "f", "g"];

/// What every module begins with. The instructions of compute capability 9.0, without those that no later one has.
const HEADER: &str = "\
.version 8.4
.target sm_90
.address_size 64

.const .align 8 .b64 constants[8] = {
    0x8182838485868788, 0x0102030405060708, 0xfffefdfcfbfaf9f8, 0x7ff0000000000001,
    0x00000000ffffffff, 0x8000000000000000, 0x7fffffff80000000, 0x123456789abcdef0
};
.global .align 8 .b64 variables[8] = {
    0xf1f2f3f4f5f6f7f8, 0x1112131415161718, 0x8000800080008000, 0x7fff7fff7fff7fff,
    0xffffffff00000000, 0x0000000000000001, 0x0f0f0f0f0f0f0f0f, 0xfedcba9876543210
};

.visible .func (.param .b32 result) triple(.param .b32 number)
{
    .reg .b32 %x, %y;
    ld.param.b32 %x, [number];
    mul.lo.u32 %y, %x, 3;
    st.param.b32 [result], %y;
    ret;
}
";

/// The kernel of the case of that number.
#[must_use]
pub fn entry(index: usize) -> String {
    format!("case_{index}")
}

/// The module of these cases.
#[must_use]
pub fn module(cases: &[Case]) -> String {
    // Only this one has tensor cores that four warps use together.
    let target = if cases.iter().any(|case| case.code.contains("wgmma")) { "sm_90a" } else { "sm_90" };
    // And these are younger than the others.
    let young = [".e4m3.", ".e5m2.", ".sp::ordered_metadata."];
    let is_young = |case: &Case| young.iter().any(|part| case.code.contains(part));
    let version = if cases.iter().any(is_young) { "8.7" } else { "8.4" };
    let mut text = HEADER.replace("sm_90", target).replace("8.4", version);
    for (index, case) in cases.iter().enumerate() {
        kernel(&mut text, index, case);
    }
    text
}

/// Writes one kernel. Registers that its code can use beside the operands `%a` to `%g`:
/// `%h0` to `%h3`, `%r0` to `%r3`, `%l0` to `%l3`, `%p0` to `%p3`; addresses of the thread's own: `%pa` of its `a`,
/// `%pair` of the 16 bytes around it, `%po` of 8 bytes in global memory that it may write, `%ps` of 16 in shared memory.
fn kernel(text: &mut String, index: usize, case: &Case) {
    let name = entry(index);
    let mut line = |line: &str| _ = writeln!(text, "    {line}");
    line(&format!("// {}", case.name));
    line(&format!(
        ".visible .entry {name}(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 out, .param .u32 rows)"
    ));
    line("{");
    line(".reg .pred %p<4>;");
    line(".reg .b16 %h<4>;");
    line(".reg .b32 %r<4>, %row, %rows, %ps, %bit;");
    line(".reg .b64 %l<4>, %pa, %pb, %pc, %po, %pair, %offset, %step, %result;");
    for (register, bits) in SOURCES.iter().zip(case.args.iter().map(|kind| kind.bits())) {
        line(&format!(".reg .{} %{register};", class(bits)));
    }
    for (register, bits) in RESULTS.iter().zip(&case.results) {
        line(&format!(".reg .{} %{register};", class(*bits)));
    }
    if case.code.contains("%ps") {
        line(&format!(".shared .align 16 .b8 shared[{}];", 16 * BLOCK));
    }
    if case.code.contains("stack") {
        line(".local .align 16 .b8 stack[64];");
    }
    for line_of_code in [
        "mov.u32 %row, %ctaid.x;",
        "mov.u32 %rows, %ntid.x;",
        "mov.u32 %bit, %tid.x;",
        "mad.lo.u32 %row, %row, %rows, %bit;",
        "mul.wide.u32 %offset, %row, 8;",
    ] {
        line(line_of_code);
    }
    for parameter in ["a", "b", "c"] {
        line(&format!("ld.param.u64 %p{parameter}, [{parameter}];"));
        line(&format!("add.u64 %p{parameter}, %p{parameter}, %offset;"));
    }
    line("ld.param.u64 %po, [out];");
    line("add.u64 %po, %po, %offset;");
    line("and.b64 %pair, %pa, 0xfffffffffffffff0;");
    if case.code.contains("%ps") {
        line("mov.u32 %ps, shared;");
        line("mad.lo.u32 %ps, %bit, 16, %ps;");
    }
    for (register, kind) in SOURCES.iter().zip(&case.args) {
        match kind.bits() {
            1 => {
                line(&format!("ld.global.b32 %bit, [%p{register}];"));
                line(&format!("setp.ne.b32 %{register}, %bit, 0;"));
            }
            bits => line(&format!("ld.global.b{bits} %{register}, [%p{register}];")),
        }
    }
    for statement in case.code.lines() {
        line(statement);
    }
    line("ld.param.u32 %rows, [rows];");
    line("mul.wide.u32 %step, %rows, 8;");
    for (register, bits) in RESULTS.iter().zip(&case.results) {
        match bits {
            1 => {
                line(&format!("selp.b32 %bit, 1, 0, %{register};"));
                line("st.global.b32 [%po], %bit;");
            }
            bits => line(&format!("st.global.b{bits} [%po], %{register};")),
        }
        line("add.u64 %po, %po, %step;");
    }
    line("ret;");
    line("}");
}

fn class(bits: u32) -> String {
    if bits == 1 { "pred".to_owned() } else { format!("b{bits}") }
}
