//! Bodies: instructions, operands, scopes and labels.

use ptx_emu::Type;
use ptx_emu::syntax::{Address, AddressBase, Body, LabelId, Operand, RegisterId, Statement, Symbol, VariableId};

use super::{instructions, module};

fn kernel(body: &str) -> Body {
    let declarations = ".reg .pred p, q; .reg .b32 %r<30>; .reg .b64 %rd<5>; .shared .align 8 .b8 tile[64];";
    let text = format!(".global .b32 g;\n.entry k(.param .u64 k_param_0)\n{{\n{declarations}\n{body}\n}}");
    module(&text).functions.remove(0).body.unwrap()
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
