//! What is refused, with which message, and where.

use ptx_emu::syntax::{parse, parse_bytes};

fn error(text: &str) -> String {
    parse(text).err().unwrap_or_else(|| panic!("read without an error: {text}")).to_string()
}

/// The error of a text that follows a header of one line.
fn module(text: &str) -> String {
    error(&format!(".version 8.0 .target sm_90 .address_size 64\n{text}"))
}

/// The error of what stands in a body, from line 3 on.
fn body(text: &str) -> String {
    module(&format!(
        ".global .b32 g; .entry k(.param .u64 a) {{ .reg .pred p; .reg .b32 %r<9>; .shared .b32 s;\n{text}\n}}"
    ))
}

#[test]
fn headers() {
    assert_eq!(error(""), "line 1: expected `.version`, found the end of the text");
    assert_eq!(error("\n.target sm_80"), "line 2: expected `.version`, found `.target`");
    assert_eq!(error(".version eight"), "line 1: expected a version, such as `8.0`, found `eight`");
    assert_eq!(error(".version 8.0\n.entry"), "line 2: expected `.target`, found `.entry`");
    let size = ".version 8.0\n.target sm_80\n.address_size 16\n";
    assert_eq!(error(size), "line 3: `.address_size` is 16, which is neither 32 nor 64");
}

#[test]
fn characters() {
    assert_eq!(module("#"), "line 2: unexpected character `#`");
    assert_eq!(module("é"), "line 2: unexpected character `é`");
    assert_eq!(module("\u{7}"), "line 2: unexpected character `\\u{7}`");
    assert_eq!(module("\n/* never\n"), "line 3: a comment that begins with `/*` does not end");
    assert_eq!(module(".pragma \"x\n\";"), "line 2: a string does not end on its line");
    assert_eq!(module(". entry"), "line 2: a `.` without a name behind it");
    assert_eq!(parse_bytes(b"a\n\xFF").unwrap_err().to_string(), "line 2: the text is not UTF-8");
}

#[test]
fn directives() {
    assert_eq!(module("ret;"), "line 2: expected a directive, found `ret`");
    assert_eq!(module(".banana 3;"), "line 2: `.banana` cannot stand here, outside of functions");
    assert_eq!(module(".visible x"), "line 2: expected `.entry`, `.func` or a state space, found `x`");
    assert_eq!(module(".local .b8 x;"), "line 2: `.local` cannot stand here, outside of functions");
    assert_eq!(module(".global .texref t;"), "line 2: textures and surfaces (`.texref`) are not supported");
    assert_eq!(module(".tex .u32 t;"), "line 2: textures and surfaces (`.tex`) are not supported");
    assert_eq!(module(".entry k()\n.banana {}"), "line 3: unknown directive `.banana` of a function");
    assert_eq!(module(".section .debug_str {\n{}"), "line 2: `{` of a section is never closed");
    assert_eq!(module(".alias a, b;"), "line 2: `.alias` needs functions, and `a` is none");
    assert_eq!(body(".banana;"), "line 3: `.banana` cannot stand in the body of a function");
    assert_eq!(body(".loc 1 2 3, inlined_by 1"), "line 3: unknown attribute `inlined_by` of `.loc`");
}

#[test]
fn declarations() {
    assert_eq!(module(".global x;"), "line 2: expected a type, found `x`");
    assert_eq!(module(".global .b33 x;"), "line 2: expected a type, found `.b33`");
    assert_eq!(module(".global .bf16x2 x;"), "line 2: nothing can be declared as `.bf16x2`");
    assert_eq!(module(".global .pred x;"), "line 2: a variable in memory cannot be a `.pred`");
    assert_eq!(module(".global .v3 .b32 x;"), "line 2: vectors of 3 components (`.v3`) are not supported");
    assert_eq!(module(".global .align 3\n.b32 x;"), "line 2: alignment 3 is no power of two");
    assert_eq!(module(".global .b32 x[];"), "line 2: the array `x` has no size");
    assert_eq!(module(".global .b32 x[0];"), "line 2: 0 is no size of an array");
    assert_eq!(module(".global .b32 x[-1];"), "line 2: -1 is no size of an array");
    assert_eq!(module(".global .b32 x[1.5];"), "line 2: the size of an array is no integer");
    assert_eq!(module(".global .b32 x[1][];"), "line 2: expected the size of an array, found `]`");
    assert_eq!(module(".global .b64 x[0x7fffffffffffffff];"), "line 2: `x` is too large");
    assert_eq!(
        module(".global .b32 x\n.global .b32 y;"),
        "line 3: expected `;` after the declaration of a variable, found `.global`"
    );
    assert_eq!(module(".global .b32 x;\n.global .b32 x;"), "line 3: `x` is declared twice");
    assert_eq!(module(".func x;\n.global .b32 x;"), "line 3: `x` is declared twice");
    assert_eq!(module(".global .b32 x;\n.func x;"), "line 3: `x` is declared twice");
    assert_eq!(module(".entry k() {}\n.entry k() {}"), "line 3: `k` is declared twice");
}

#[test]
fn initial_values() {
    assert_eq!(module(".global .u8 x = 256;"), "line 2: the initial value 256 does not fit a `.u8`");
    assert_eq!(module(".global .u8 x = -129;"), "line 2: the initial value -129 does not fit a `.u8`");
    assert_eq!(module(".global .b32 x = 1.5;"), "line 2: the initial value 1.5 does not fit a `.b32`");
    assert_eq!(module(".global .b16 x = 0d3FF0000000000000;"), "line 2: the initial value 1.0 does not fit a `.b16`");
    assert_eq!(module(".global .b128 x = 1;"), "line 2: the initial value 1 does not fit a `.b128`");
    assert_eq!(module(".global .b8 x[2] = {1,2,3};"), "line 2: an initial value has more parts than its variable");
    let braces = "line 2: the braces of an initial value do not fit the dimensions";
    assert_eq!(module(".global .b8 x[2] = {{1},2};"), braces);
    assert_eq!(module(".global .b8 x[2][2] = {1,{2}};"), braces);
    assert_eq!(module(".global .b8 x[2] = 1;"), "line 2: expected `{` of an initial value, found `1`");
    assert_eq!(module(".global .b64 x = y;"), "line 2: unknown name `y`");
    assert_eq!(module(".func y; .global .b8 x = y;"), "line 2: the address of `y` does not fit a `.b8`");
    assert_eq!(module(".func y; .global .b8 x = 0xFF(y);"), "line 2: `0xFF` as a mask of an address is not supported");
    assert_eq!(module(".shared .b32 x = 1;"), "line 2: `x` cannot have an initial value");
    assert_eq!(body(".local .b32 x = 1;"), "line 3: `x` cannot have an initial value");
}

#[test]
fn functions() {
    assert_eq!(module(".entry k(.reg .b32 x) {}"), "line 2: expected `.param`, found `.reg`");
    assert_eq!(module(".entry k(.param .b8 x[]) {}"), "line 2: the array `x` has no size");
    assert_eq!(module(".entry k(.param .b8 x[5000000000]) {}"), "line 2: `x` is too large");
    assert_eq!(module(".entry k(.param .b8 x, .param .b8 x) {}"), "line 2: `x` is declared twice");
    assert_eq!(module(".entry k(.param .u64 .ptr .texref x) {}"), "line 2: unknown attribute `.texref` of a pointer");
    assert_eq!(module(".entry k()\nret;"), "line 3: expected the body of `k`, or `;`, found `ret`");
    assert_eq!(module(".entry k() {\nret;\n"), "line 2: the body of `k` is never closed");
    assert_eq!(
        module(".entry k() .maxntid 4294967296 {}"),
        "line 2: a number of threads or blocks is 4294967296, which does not fit into 32 bits"
    );
}

#[test]
fn names() {
    assert_eq!(body("x y;"), "line 3: unknown name `y`");
    assert_eq!(body("\nbra $L__BB0_1;"), "line 4: unknown name `$L__BB0_1`");
    assert_eq!(body("{ L: } bra L;"), "line 3: unknown name `L`");
    assert_eq!(body("@%r9 ret;"), "line 3: unknown name `%r9`");
    assert_eq!(body("@s ret;"), "line 3: expected a register, found `s`");
    assert_eq!(body("ld.b32 %r1, [%r9];"), "line 3: unknown name `%r9`");
    assert_eq!(body("L: ld.b32 %r1, [L];"), "line 3: the label `L` has no address");
    assert_eq!(body("mov.b32 %r1, %r2.x;"), "line 3: `%r2.x`: components of variables and registers are not supported");
    assert_eq!(body("t: .branchtargets\nL;"), "line 4: unknown label `L`");
    assert_eq!(body("t: .callprototype _ ({"), "line 3: expected `;` after a prototype, found `{`");
    assert_eq!(body("L:\nL:"), "line 4: `L` is declared twice");
    assert_eq!(body(".reg .b32 p;"), "line 3: `p` is declared twice");
    assert_eq!(body(".reg .b32 %r5;"), "line 3: `%r5` is declared twice");
    assert_eq!(body(".reg .b64 %r<5>;"), "line 3: `%r` is declared twice");
    assert_eq!(body(".reg .v2 .b32 v;"), "line 3: vector registers are not supported");
}

#[test]
fn instructions() {
    assert_eq!(body("add.s32 %r1, %r2"), "line 4: expected `;` after the operands of `add.s32`, found `}`");
    assert_eq!(body("add.s32 %r1 %r2;"), "line 3: expected `;` after the operands of `add.s32`, found `%r2`");
    assert_eq!(body("add.s32 %r1, ;"), "line 3: expected an operand, found `;`");
    assert_eq!(body("@p {"), "line 3: expected an instruction, found `{`");
    assert_eq!(body("5;"), "line 3: expected an instruction, found `5`");
    assert_eq!(body("mov.b64 {%r1, {%r2}}, 0;"), "line 3: expected an operand, found `{`");
    assert_eq!(body("mov.b64 {%r1; %r2}, 0;"), "line 3: expected `,` or `}` in a vector, found `;`");
    assert_eq!(body("ld.b32 %r1, [%r2;"), "line 3: expected `]` of an address, found `;`");
    assert_eq!(body("ld.b32 %r1, [%r2+%r3];"), "line 3: expected an integer as the offset, found `%r3`");
    assert_eq!(body("ld.b32 %r1, [%r2, %r3];"), "line 3: expected `{` of coordinates, found `%r3`");
    assert_eq!(body("ld.b32 %r1, [];"), "line 3: expected an address, found `]`");
    assert_eq!(body("add.s32 (%r1), 0;"), "line 3: expected a constant, found `%r1`");
}

#[test]
fn constants() {
    assert_eq!(body("x 18446744073709551616;"), "line 3: `18446744073709551616` does not fit into 64 bits");
    assert_eq!(body("x 0f3F8;"), "line 3: `0f3F8` needs 8 hexadecimal digits");
    assert_eq!(body("x 0d3F800000;"), "line 3: `0d3F800000` needs 16 hexadecimal digits");
    assert_eq!(body("x 12ab;"), "line 3: `12ab` is no number");
    assert_eq!(body("x 09;"), "line 3: `09` is no number");
    assert_eq!(body("x 1/0;"), "line 3: `/` needs integers, and a divisor that is not 0");
    assert_eq!(body("x 1.5+1;"), "line 3: `+` needs integers");
    assert_eq!(body("x ~1.5;"), "line 3: `~` needs an integer");
    assert_eq!(body(&format!("x {}1;", "-".repeat(100_000))), "line 3: a constant expression nests too deeply");
}

#[test]
fn long_texts_are_cut_in_messages() {
    let message = body(&format!("x {};", "y".repeat(1_000_000)));
    assert_eq!(message, format!("line 3: unknown name `{}...`", "y".repeat(80)));
    assert_eq!(body(&"{".repeat(1000)), "line 3: scopes nest too deeply");
}
