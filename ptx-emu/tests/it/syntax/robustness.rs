//! No input makes the parser panic, run for long or allocate without bound; what it refuses it explains in one line.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::select;
use ptx_emu::syntax::{AddressBase, Body, Function, Operand, Statement, Symbol, SyntaxError, parse, parse_bytes};

use super::mutation::{TOKENS, mutated, mutation};
use super::{LLVM_STYLE, NVCC_STYLE, SM_80, TRITON_STYLE};

const SAMPLES: [&str; 3] = [NVCC_STYLE, TRITON_STYLE, LLVM_STYLE];

/// Parses, and checks what must hold for any input.
fn check(bytes: &[u8]) {
    let start = Instant::now();
    let parsed = parse_bytes(bytes);
    let took = start.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?} for {} bytes", bytes.len());
    match parsed {
        Ok(module) => module.functions.iter().for_each(check_numbers),
        Err(error) => check_error(&error, bytes),
    }
}

fn check_error(error: &SyntaxError, bytes: &[u8]) {
    assert!(!error.message.is_empty() && error.message.lines().count() == 1, "{error}");
    assert!(error.message.len() < 1000, "{error}");
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    assert!((1..=lines).contains(&(error.line as usize)), "{error}");
}

/// Registers, variables and labels that statements name are there, and each label stands at one place.
fn check_numbers(function: &Function) {
    let Some(body) = &function.body else { return };
    let mut places = vec![0; body.labels.len()];
    for statement in &body.statements {
        match statement {
            Statement::Label(label) => places[label.0 as usize] += 1,
            Statement::BranchTargets { name, targets } => {
                places[name.0 as usize] += 1;
                assert!(targets.iter().all(|label| (label.0 as usize) < body.labels.len()));
            }
            Statement::Instruction(instruction) => {
                assert!(instruction.guard.is_none_or(|guard| (guard.register.0 as usize) < body.registers.len()));
                instruction.operands.iter().for_each(|operand| check_operand(operand, function, body));
            }
        }
    }
    assert!(places.iter().all(|count| *count == 1), "{places:?}");
}

fn check_operand(operand: &Operand, function: &Function, body: &Body) {
    let all = |operands: &[Operand]| operands.iter().for_each(|operand| check_operand(operand, function, body));
    match operand {
        Operand::Register(register) | Operand::Not(register) => assert!((register.0 as usize) < body.registers.len()),
        Operand::Label(label) => assert!((label.0 as usize) < body.labels.len()),
        Operand::Symbol { symbol, .. } => check_symbol(symbol, function, body),
        Operand::Address(address) => {
            match &address.base {
                AddressBase::Register(register) => assert!((register.0 as usize) < body.registers.len()),
                AddressBase::Symbol(symbol) => check_symbol(symbol, function, body),
                AddressBase::Immediate => {}
            }
            all(&address.coordinates);
        }
        Operand::Vector(operands) | Operand::List(operands) => all(operands),
        Operand::Pair(a, b) => [a, b].into_iter().for_each(|operand| check_operand(operand, function, body)),
        _ => {}
    }
}

fn check_symbol(symbol: &Symbol, function: &Function, body: &Body) {
    match symbol {
        Symbol::Local(variable) => assert!((variable.0 as usize) < body.variables.len()),
        Symbol::Param(place) => assert!(*place < function.params.len()),
        Symbol::Return(place) => assert!(*place < function.returns.len()),
        Symbol::Module(name) => assert!(!name.is_empty()),
    }
}

/// The header and one kernel of the project's.
fn kernels() -> Vec<String> {
    let (header, _) = SM_80.split_once(".visible").unwrap();
    SM_80.split(".visible").skip(1).map(|kernel| format!("{header}.visible{kernel}")).collect()
}

#[test]
fn the_corpus_is_survived() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files = 0;
    for entry in fs::read_dir(corpus).unwrap() {
        check(&fs::read(entry.unwrap().path()).unwrap());
        files += 1;
    }
    assert!(files >= 40, "{files} files");
}

#[test]
fn every_beginning_of_a_sample_is_survived() {
    for sample in SAMPLES {
        for end in 0..sample.len() {
            check(&sample.as_bytes()[..end]);
        }
    }
}

#[test]
fn large_inputs_take_linear_time() {
    let header = ".version 8.0 .target sm_80 .address_size 64\n";
    let body = |text: &str| format!("{header}.entry k() {{ .reg .b32 %r<9>; {text} }}");
    let many = |part: &str| part.repeat(300_000 / part.len());
    let inputs = [
        many("{"),
        many("}"),
        many(".loc 1 1 1 "),
        many(".alias a, b; "),
        body(&many("x 1, {%r1, _}, [%r2+4];")),
        body(&format!(
            "{}{}{}",
            "{ .reg .b32 %r<2>; ".repeat(60),
            many("x %r8; x %r0000000000000000;"),
            "}".repeat(60)
        )),
        body(&format!("x {};", "%r1".repeat(100_000))),
        body(&format!("x %r{};", "1".repeat(300_000))),
        body(&format!("x 1{};", many("+1"))),
        body(&format!(".b{} 1;", many(".c::d"))),
        body(&(0..20_000).map(|i| format!("L{i}: bra L{};", 19_999 - i)).collect::<String>()),
        format!("{header}.global .b64 x[] = {{{}1}};", many("1, ")),
        format!("{header}.func f; .global .b64 x[] = {{{}1}};", many("f, ")),
    ];
    inputs.iter().for_each(|input| check(input.as_bytes()));
}

#[test]
fn the_projects_kernels_take_milliseconds() {
    let fastest = (0..5).map(|_| {
        let start = Instant::now();
        parse(SM_80).unwrap();
        start.elapsed()
    });
    let fastest = fastest.min().unwrap();
    assert!(fastest < Duration::from_millis(200), "{fastest:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        check(&bytes);
    }

    #[test]
    fn arbitrary_tokens_are_survived(tokens in prop::collection::vec(select(TOKENS), 0..60)) {
        let tokens = tokens.join(" ");
        check(tokens.as_bytes());
        check(format!(".version 8.0 .target sm_80 {tokens}").as_bytes());
        check(format!(".version 8.0 .target sm_80 .entry k() {{ {tokens} }}").as_bytes());
    }

    #[test]
    fn mutated_samples_are_survived(sample in select(&SAMPLES[..]), mutations in prop::collection::vec(mutation(), 1..8)) {
        check(&mutated(sample, &mutations));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_kernels_are_survived(kernel in select(kernels()), mutations in prop::collection::vec(mutation(), 1..8)) {
        check(&mutated(&kernel, &mutations));
    }
}
