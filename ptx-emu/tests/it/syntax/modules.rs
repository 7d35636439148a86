//! Modules: headers, variables, functions.

use ptx_emu::Space;
use ptx_emu::syntax::{Initial, LabelId, Operand, RegisterId, Statement, Symbol, parse, parse_bytes};

use super::{LLVM_STYLE, NVCC_STYLE, SM_80, TRITON_STYLE, body, instructions, module};

#[test]
fn the_projects_kernels_are_read() {
    let module = parse(SM_80).unwrap();
    assert_eq!((module.version, module.target.as_str(), module.address_size), ((7, 0), "sm_80", 64));
    assert_eq!(module.functions.len(), SM_80.matches(".entry ").count());
    for function in &module.functions {
        assert!(instructions(body(function)).iter().any(|instruction| instruction.opcode == ["ret"]));
    }
    // What ends with a `;` is an instruction, but for the declarations of registers and variables.
    let lines = SM_80.lines().filter(|line| !line.trim_start().starts_with("//"));
    let statements = lines.flat_map(|line| line.split_inclusive(';')).filter(|text| text.ends_with(';'));
    let written = statements.filter(|text| !text.trim_start_matches(['{', ' ', '\t']).starts_with('.')).count();
    let read: usize = module.functions.iter().map(|function| instructions(body(function)).len()).sum();
    assert_eq!(read, written);
    assert_eq!(parse_bytes(format!("{SM_80}\0").as_bytes()), Ok(module));
}

#[test]
fn nvccs_style_is_read() {
    let module = parse(NVCC_STYLE).unwrap();
    let names: Vec<_> = module.functions.iter().map(|function| function.name.as_str()).collect();
    assert_eq!(names, ["vprintf", "_Z4halff", "scale"]);
    assert!(module.functions[0].body.is_none() && module.functions[1].body.is_some());
    let scale = &module.functions[2];
    assert_eq!(scale.bounds.max_threads, Some([256, 1, 1]));
    assert_eq!((scale.bounds.min_blocks_per_sm, scale.bounds.max_registers), (Some(2), Some(64)));
    assert_eq!((scale.params[2].bytes, scale.params[2].align, scale.params[0].align), (24, 8, 8));
    let variables: Vec<_> = body(scale).variables.iter().map(|v| (v.name.as_str(), v.space)).collect();
    let params = ["param0", "param1", "retval0"].map(|name| (name, Space::Param));
    assert_eq!(variables[..2], [("__local_depot0", Space::Local), ("_ZZ5scaleE4tile", Space::Shared)]);
    assert_eq!(variables[2..], params);
    let has_targets = |s: &Statement| matches!(s, Statement::BranchTargets { targets, .. } if targets.len() == 2);
    assert!(body(scale).statements.iter().any(has_targets));
}

#[test]
fn tritons_style_is_read() {
    let module = parse(TRITON_STYLE).unwrap();
    let kernel = &module.functions[0];
    assert_eq!(kernel.bounds.required_threads, Some([128, 1, 1]));
    assert_eq!(kernel.bounds.required_cluster, Some([2, 1, 1]));
    let body = body(kernel);
    assert_eq!(body.labels, ["waitLoop", "waitLoop"]);
    assert_eq!(body.registers.iter().filter(|register| register.name == "%r1").count(), 2);
    let jumps: Vec<_> = instructions(body).iter().filter(|i| i.opcode[0] == "bra").map(|i| &i.operands[0]).collect();
    assert_eq!(jumps, [&Operand::Label(LabelId(0)), &Operand::Label(LabelId(1))]);
}

#[test]
fn llvms_style_is_read() {
    let module = parse(LLVM_STYLE).unwrap();
    let call = instructions(body(&module.functions[3]))[3];
    let copy = Operand::Symbol { symbol: Symbol::Module("copy".into()), offset: 0 };
    assert_eq!((call.mnemonic().as_str(), &call.operands[..]), ("call.uni", &[copy][..]), "through the alias");
    let Initial::Bytes { offset: 0, bytes } = &module.variables[2].initial[0] else { panic!() };
    assert_eq!((bytes.len(), module.variables[2].bytes, module.variables[2].align), (20, 32, 16));
}

#[test]
fn headers_have_options_and_comments() {
    let text = "/* a\n * b */ .version 7.10 // c\n.target sm_70, texmode_independent,debug\n.pragma \"x\", \"y\";;";
    let module = parse(text).unwrap();
    assert_eq!((module.version, module.target.as_str(), module.address_size), ((7, 10), "sm_70", 32));
}

#[test]
fn variables_have_sizes_and_alignments() {
    let size = |text: &str| {
        let variable = module(text).variables.remove(0);
        (variable.space, variable.bytes, variable.align)
    };
    assert_eq!(size(".global .u32 x;"), (Space::Global, 4, 4));
    assert_eq!(size(".const .align 16 .b8 x[100];"), (Space::Const, 100, 16));
    assert_eq!(size(".shared .v4 .f32 x[2][3];"), (Space::Shared, 96, 16));
    assert_eq!(size(".extern .shared .align 128 .b8 x[];"), (Space::Shared, 0, 128));
    assert_eq!(size(".global .u16 x[] = {1, 2, 3};"), (Space::Global, 6, 2));
    assert_eq!(size(".global .b8 x[99999999999];"), (Space::Global, 99_999_999_999, 1));
    assert_eq!(size(".global .b8 x[4*(2+1)];"), (Space::Global, 12, 1));
    let names: Vec<_> = module(".global .b32 a, b[2], c = 1;").variables.into_iter().map(|v| v.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
}

#[test]
fn a_definition_replaces_an_extern_declaration() {
    let module = module(".extern .global .u32 x; .visible .global .u32 x = 3; .extern .global .u32 x;");
    assert_eq!(module.variables.len(), 1);
    assert!(!module.variables[0].is_extern && module.variables[0].line == 4);
}

#[test]
fn initial_values_become_bytes_and_addresses() {
    let initial = |text: &str| module(text).variables.pop().unwrap().initial;
    let bytes = |offset, bytes: &[u8]| Initial::Bytes { offset, bytes: bytes.into() };
    assert_eq!(initial(".global .u8 x = 255;"), [bytes(0, &[255])]);
    assert_eq!(initial(".global .s16 x = -2;"), [bytes(0, &[254, 255])]);
    assert_eq!(
        initial(".global .b32 x[3] = {0x10U, 0b101, 017};"),
        [bytes(0, &[16, 0, 0, 0, 5, 0, 0, 0, 15, 0, 0, 0])]
    );
    assert_eq!(initial(".global .f32 x[2] = {1.5, 0f3FC00000};"), [bytes(0, &[0, 0, 192, 63, 0, 0, 192, 63])]);
    assert_eq!(initial(".global .f64 x = -1e0;"), [bytes(0, &(-1.0_f64).to_le_bytes())]);
    assert_eq!(initial(".global .f32 x = 2;"), [bytes(0, &2.0_f32.to_le_bytes())]);
    assert_eq!(
        initial(".global .u8 x[][2] = {{1}, {2, 3}, 4, 5, {6}};"),
        [bytes(0, &[1]), bytes(2, &[2, 3, 4, 5, 6])],
        "what is left out of a row is zero"
    );
    let address =
        |offset, width, addend, generic| Initial::Address { offset, width, symbol: "y".into(), addend, generic };
    assert_eq!(
        initial(".global .b8 y; .global .u64 x[4] = {y, generic(y)+8, 7, y+-4};"),
        [
            address(0, 8, 0, false),
            address(8, 8, 8, true),
            bytes(16, &[7, 0, 0, 0, 0, 0, 0, 0]),
            address(24, 8, -4, false)
        ]
    );
    assert_eq!(initial(".func y; .global .u32 x = y;"), [address(0, 4, 0, false)]);
}

#[test]
fn device_functions_take_registers_and_return() {
    let text = ".func (.reg .b32 out) f(.reg .b32 a, .param .align 4 .b8 rest[]) .noreturn .abi_preserve 3\n\
                { mov.b32 out, a; mov.u64 a, rest; }";
    let function = module(text).functions.remove(0);
    assert_eq!(function.returns[0].register, Some(RegisterId(0)));
    assert_eq!((function.params[0].register, function.params[1].register), (Some(RegisterId(1)), None));
    let mov = instructions(body(&function))[1];
    assert_eq!(mov.operands[1], Operand::Symbol { symbol: Symbol::Param(1), offset: 0 });
    let declared = module(".func f(.reg .b32 a);").functions.remove(0);
    assert_eq!((declared.body, declared.params[0].register), (None, None));
}

#[test]
fn functions_may_call_themselves_and_those_declared_before() {
    let module = module(".func (.param .b32 r) f(.param .b32 a)\n{\n call (r), f, (a, 5);\n ret;\n}");
    let symbol = |symbol| Operand::Symbol { symbol, offset: 0 };
    assert_eq!(
        instructions(body(&module.functions[0]))[0].operands,
        [
            Operand::List(vec![symbol(Symbol::Return(0))]),
            symbol(Symbol::Module("f".into())),
            Operand::List(vec![symbol(Symbol::Param(0)), Operand::Integer(5)]),
        ]
    );
}

#[test]
fn launch_directives_are_read() {
    let text = ".entry k .maxntid 1024 .minnctapersm 1 .maxnctapersm 2 .blocksareclusters .pragma \"a\"; {}";
    assert_eq!(module(text).functions[0].bounds.max_threads, Some([1024, 1, 1]));
    let bounds = module(".entry k() .reqntid 8, 4, 2 .reqnctapercluster 2, 2 {}").functions[0].bounds;
    assert_eq!((bounds.required_threads, bounds.required_cluster), (Some([8, 4, 2]), Some([2, 2, 1])));
}
