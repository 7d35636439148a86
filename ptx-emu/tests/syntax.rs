//! The syntax tree of PTX: what is read, and as what.

use ptx_emu::syntax::{
    Address, AddressBase, Body, Function, Initial, Instruction, LabelId, Module, Operand, RegisterId, Statement,
    Symbol, VariableId, parse, parse_bytes,
};
use ptx_emu::{Space, Type};

const HEADER: &str = ".version 8.0\n.target sm_90a\n.address_size 64\n";
const SM_80: &str = include_str!("../../gpu-kernels/ptx/sm_80.ptx");

fn module(text: &str) -> Module {
    parse(&format!("{HEADER}{text}")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn kernel(body: &str) -> Body {
    let declarations = ".reg .pred p, q; .reg .b32 %r<30>; .reg .b64 %rd<5>; .shared .align 8 .b8 tile[64];";
    let text = format!(".global .b32 g;\n.entry k(.param .u64 k_param_0)\n{{\n{declarations}\n{body}\n}}");
    module(&text).functions.remove(0).body.unwrap()
}

fn instructions(body: &Body) -> Vec<&Instruction> {
    let mut found = Vec::new();
    for statement in &body.statements {
        if let Statement::Instruction(instruction) = statement {
            found.push(instruction);
        }
    }
    found
}

/// The operands of the only instruction, and the body.
fn operands(instruction: &str) -> (Vec<Operand>, Body) {
    let body = kernel(instruction);
    let [only] = instructions(&body)[..] else { panic!("{instruction}") };
    (only.operands.clone(), body)
}

fn name(body: &Body, register: RegisterId) -> &str {
    &body.registers[register.0 as usize].name
}

fn register(id: u32) -> Operand {
    Operand::Register(RegisterId(id))
}

fn body(function: &Function) -> &Body {
    function.body.as_ref().unwrap()
}

#[test]
fn the_projects_kernels_are_read() {
    let module = parse(SM_80).unwrap();
    assert_eq!((module.version, module.target.as_str(), module.address_size), ((7, 0), "sm_80", 64));
    assert_eq!(module.functions.len(), 6);
    for function in &module.functions {
        assert!(instructions(body(function)).iter().any(|instruction| instruction.opcode == ["ret"]));
    }
    // Every line with a `;` but the declarations of registers and variables is an instruction.
    let lines = SM_80.lines().filter(|line| line.contains(';') && !line.trim_start().starts_with(['.', '/'])).count();
    let read: usize = module.functions.iter().map(|function| instructions(body(function)).len()).sum();
    assert_eq!(read, lines);
    assert_eq!(parse_bytes(format!("{SM_80}\0").as_bytes()), Ok(module));
}

#[test]
fn nvccs_style_is_read() {
    let module = parse(include_str!("ptx/nvcc_style.ptx")).unwrap();
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
    let module = parse(include_str!("ptx/triton_style.ptx")).unwrap();
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
    let module = parse(include_str!("ptx/llvm_style.ptx")).unwrap();
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

#[test]
fn opcodes_are_split_at_dots() {
    let parts = |text: &str| instructions(&kernel(text))[0].opcode.clone();
    assert_eq!(
        parts("ld.global.L1::no_allocate.L2::128B.v4.b32 {%r1,%r2,%r3,_}, [%rd1];"),
        ["ld", "global", "L1::no_allocate", "L2::128B", "v4", "b32"]
    );
    assert_eq!(
        parts(
            "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {0, 0}], [%r2];"
        ),
        ["cp", "async", "bulk", "tensor", "2d", "shared::cluster", "global", "mbarrier::complete_tx::bytes"]
    );
    assert_eq!(parts("exit;"), ["exit"]);
}

#[test]
fn numbers_and_constant_expressions_are_operands() {
    let value = |text: &str| operands(&format!("x {text};")).0.remove(0);
    for (text, expected) in [
        ("12", 12),
        ("-1", u64::MAX),
        ("0xFFFFFFFFFFFFFFFF", u64::MAX),
        ("0b11U", 3),
        ("017", 15),
        ("0", 0),
        ("-(3*4)+1", -11_i64 as u64),
        ("1<<4|3", 19),
        ("7 / 2 - 9 % 5", -1_i64 as u64),
        ("-8 >> 1", -4_i64 as u64),
        ("0xFFFFFFFFFFFFFFFF >> 60", 15),
        ("!5 + ~0", u64::MAX),
        ("6 & 3 ^ 1", 3),
        ("1 << 64", 0),
        ("WARP_SZ * 2", 64),
    ] {
        assert_eq!(value(text), Operand::Integer(expected), "{text}");
    }
    assert_eq!(value("0f3F800000"), Operand::Single(0x3F80_0000));
    assert_eq!(value("-0f3F800000"), Operand::Single(0xBF80_0000));
    assert_eq!(value("0d3FF0000000000000"), Operand::Double(1.0_f64.to_bits()));
    assert_eq!(value("1.5e3"), Operand::Double(1500.0_f64.to_bits()));
    assert_eq!(value("-2."), Operand::Double((-2.0_f64).to_bits()));
    assert_eq!(value("1e-2"), Operand::Double(0.01_f64.to_bits()));
}

#[test]
fn names_become_what_they_stand_for() {
    let (found, body) =
        operands("x %r17, !p, p|q, _|p, %tid.x, %clock64, %envreg3, tile, k_param_0, g+4, g, {%r17, _, 1};");
    assert_eq!(body.registers.len(), 3, "only what is named");
    assert_eq!((name(&body, RegisterId(0)), body.registers[0].ty), ("%r17", Type::B32));
    assert_eq!((name(&body, RegisterId(1)), body.registers[1].ty), ("p", Type::Pred));
    let symbol = |symbol, offset| Operand::Symbol { symbol, offset };
    let pair = |a, b| Operand::Pair(Box::new(a), Box::new(b));
    let special = |name: &str| Operand::Special(name.into());
    let global = || Symbol::Module("g".into());
    let expected = [
        register(0),
        Operand::Not(RegisterId(1)),
        pair(register(1), register(2)),
        pair(Operand::Sink, register(1)),
        special("tid.x"),
        special("clock64"),
        special("envreg3"),
        symbol(Symbol::Local(VariableId(0)), 0),
        symbol(Symbol::Param(0), 0),
        symbol(global(), 4),
        symbol(global(), 0),
        Operand::Vector(vec![register(0), Operand::Sink, Operand::Integer(1)]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn addresses_have_bases_and_offsets() {
    let base_and_offset = |text: &str| match operands(&format!("x {text};")).0.remove(0) {
        Operand::Address(Address { base, offset, .. }) => (base, offset),
        other => panic!("{other:?}"),
    };
    let first = AddressBase::Register(RegisterId(0));
    for (text, offset) in
        [("[%rd1]", 0), ("[%rd1+-4]", -4), ("[%rd1-4]", -4), ("[ %rd1 + 0x10 ]", 16), ("[%rd1+4*2+1]", 9)]
    {
        assert_eq!(base_and_offset(text), (first.clone(), offset), "{text}");
    }
    assert_eq!(base_and_offset("[tile+4]"), (AddressBase::Symbol(Symbol::Local(VariableId(0))), 4));
    assert_eq!(base_and_offset("[g]"), (AddressBase::Symbol(Symbol::Module("g".into())), 0));
    assert_eq!(base_and_offset("[12345]"), (AddressBase::Immediate, 12345));
    let (found, _) = operands("x [%rd1, {%r1, 2}];");
    let Operand::Address(address) = &found[0] else { panic!() };
    assert_eq!(address.coordinates, [register(1), Operand::Integer(2)]);
}

#[test]
fn guards_are_read() {
    let body = kernel("@p ret; @!q ret;");
    let guards: Vec<_> = instructions(&body).iter().map(|i| i.guard.unwrap()).collect();
    assert_eq!((name(&body, guards[0].register), guards[0].negate), ("p", false));
    assert_eq!((name(&body, guards[1].register), guards[1].negate), ("q", true));
}

#[test]
fn instructions_know_their_lines() {
    let body = kernel("add.s32 %r1,\n%r2,\n%r3;\n\n/*\n*/ // x\nret;");
    let lines: Vec<_> = instructions(&body).iter().map(|instruction| instruction.line).collect();
    assert_eq!(lines, [8, 14]);
    let windows = kernel("\r\nret;\r\n\r\n\tret;\r\n");
    let lines: Vec<_> = instructions(&windows).iter().map(|instruction| instruction.line).collect();
    assert_eq!(lines, [9, 11]);
}

#[test]
fn inner_scopes_shadow_and_end() {
    let body = kernel("mov.b32 %r1, 0; { .reg .f32 %r1; .shared .b8 tile[1]; mov.f32 %r1, tile; } mov.b32 %r1, tile;");
    let found: Vec<_> = instructions(&body).iter().map(|i| &i.operands[0]).collect();
    assert_eq!(found, [&register(0), &register(1), &register(0)]);
    assert_eq!((body.registers[0].ty, body.registers[1].ty), (Type::B32, Type::F32));
    let tile = |id| Operand::Symbol { symbol: Symbol::Local(VariableId(id)), offset: 0 };
    assert_eq!((&instructions(&body)[1].operands[1], &instructions(&body)[2].operands[1]), (&tile(1), &tile(0)));
}

#[test]
fn labels_belong_to_scopes_and_may_stand_later() {
    let body =
        kernel("{ bra END; L: bra L; { bra L; } } { L: bra L; } bra END; END: }\n.entry second() { END: bra END;");
    let targets: Vec<_> = instructions(&body).iter().map(|i| i.operands[0].clone()).collect();
    assert_eq!(body.labels, ["L", "L", "END"]);
    assert_eq!(targets, [2, 0, 0, 1, 2].map(|id| Operand::Label(LabelId(id))));
}

#[test]
fn ranges_of_registers_do_not_mix_up() {
    let body =
        kernel(".reg .b16 %rs<12>, %rs1<30>, one; x %rs1, %rs11, %rs12, %rs129, one; .reg .b32 %huge<4000000000>;");
    let types: Vec<_> = body.registers.iter().map(|register| (register.name.as_str(), register.ty)).collect();
    let expected = ["%rs1", "%rs11", "%rs12", "%rs129", "one"].map(|name| (name, Type::B16));
    assert_eq!(types, expected);
    let beyond = operands(".reg .b16 %rs<12>; x %rs12;").0;
    assert_eq!(beyond, [Operand::Special("rs12".into())], "declared names end with the range");
}

#[test]
fn indirect_calls_and_prototypes_are_read() {
    let body =
        kernel("proto: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;\ncall (tile), %rd1, (%r1), proto;");
    let operands = &instructions(&body)[0].operands;
    assert_eq!(operands.len(), 4);
    assert_eq!(operands[3], Operand::Label(LabelId(0)));
    assert_eq!(body.statements[0], Statement::Label(LabelId(0)));
}
