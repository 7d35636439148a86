//! No kernel makes the emulator panic or run for long: small kernels are changed at random, token by token, and what can
//! still be read and lowered runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::{Index, select};
use ptx_emu::{Error, GlobalMemory, Kernel, Launch, Module};

const SAMPLES: [&str; 5] = [
    include_str!("ptx/vector_add.ptx"),
    include_str!("ptx/saxpy.ptx"),
    include_str!("ptx/reduction.ptx"),
    include_str!("ptx/mixed.ptx"),
    include_str!("ptx/nvcc_style.ptx"),
];

/// What mutations put in place of a token, or before one.
const TOKENS: &[&str] = &[
    // Opcodes, and ends of them.
    "add.u32",
    "sub.s64",
    "mul.lo.s32",
    "mul.wide.u16",
    "mad.lo.u32",
    "fma.rn.f32",
    "div.u32",
    "rem.s64",
    "div.rn.f32",
    "min.s32",
    "abs.s32",
    "neg.f32",
    "shl.b32",
    "shr.s64",
    "and.b32",
    "not.pred",
    "popc.b32",
    "bfe.u32",
    "prmt.b32",
    "setp.lt.u32",
    "selp.b32",
    "mov.b64",
    "mov.u32",
    "cvt.rzi.s32.f32",
    "cvt.u16.u32",
    "cvta.shared.u64",
    "sqrt.rn.f32",
    "ld.global.v4.f32",
    "ld.shared.u8",
    "ld.local.u64",
    "ld.const.u32",
    "ld.param.u64",
    "ld.u32",
    "st.shared.v2.u32",
    "st.local.b8",
    "st.u64",
    "atom.global.add.u32",
    "atom.shared.cas.b64",
    "red.global.max.s32",
    "bar.sync",
    "barrier.sync",
    "bar.arrive",
    "bar.red.popc.u32",
    "bar.warp.sync",
    "shfl.sync.bfly.b32",
    "vote.sync.ballot.b32",
    "activemask.b32",
    "membar.gl",
    "bra",
    "bra.uni",
    "call",
    "ret",
    "exit",
    "trap",
    "brx.idx",
    "nop",
    ".u8",
    ".s16",
    ".u64",
    ".f64",
    ".f16",
    ".v2",
    ".v4",
    ".sat",
    ".rn",
    ".wide",
    ".hi",
    ".volatile",
    ".sync",
    ".global",
    // Operands.
    "%r1",
    "%r2",
    "%r5",
    "%rd1",
    "%rd4",
    "%f1",
    "%p",
    "%tid.x",
    "%laneid",
    "%clock64",
    "%ctaid.z",
    "{%r1, %r2}",
    "[%rd1]",
    "[%rd1+4]",
    "[%r1]",
    "[%r6+-4]",
    "[0]",
    "$loop",
    "$done",
    "$halve",
    "WARP_SZ",
    "_",
    "%p|%p",
    // Constants.
    "0",
    "1",
    "-1",
    "31",
    "32",
    "33",
    "64",
    "0x7fffffff",
    "0x80000000",
    "0xffffffff",
    "4294967296",
    "0x7fffffffffffffff",
    "0x8000000000000000",
    "0xffffffffffffffff",
    "0f7F800000",
    "0f7FC00000",
    "0f00000001",
    "0d7FF0000000000000",
    "1048576",
    "65536",
    "16777216",
    "4294967295",
    // The rest.
    ";",
    ",",
    "@%p",
    "@!%p",
    "{",
    "}",
    ":",
    "+",
    "-",
    "!",
    "|",
    ".shared",
    ".local",
    ".align",
    ".maxntid",
    ".b8",
];

/// The longest that a kernel may run. Its instructions are limited; a machine that is busy is slow.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Words, numbers and marks; white space and comments as they are.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || "_$%".contains(c);
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '.' => 1 + rest[1..].find(|c| !is_word(c)).unwrap_or(rest.len() - 1),
            first if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            first => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// A change of one token.
#[derive(Debug, Clone)]
enum Mutation {
    Replace(Index, &'static str),
    Insert(Index, &'static str),
    Delete(Index),
    /// One token for another of the text.
    Copy(Index, Index),
    Swap(Index, Index),
    /// One line comes again somewhere else, or away.
    Line(Index, Option<Index>),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<Index>;
    prop_oneof![
        4 => (index(), select(TOKENS)).prop_map(|(at, token)| Mutation::Replace(at, token)),
        1 => (index(), select(TOKENS)).prop_map(|(at, token)| Mutation::Insert(at, token)),
        1 => index().prop_map(Mutation::Delete),
        6 => (index(), index()).prop_map(|(at, from)| Mutation::Copy(at, from)),
        2 => (index(), index()).prop_map(|(a, b)| Mutation::Swap(a, b)),
        2 => (index(), prop::option::of(index())).prop_map(|(line, to)| Mutation::Line(line, to)),
    ]
}

fn mutated(text: &str, mutations: &[Mutation]) -> String {
    let mut text = text.to_owned();
    for mutation in mutations {
        if let Mutation::Line(line, to) = mutation {
            let mut lines: Vec<&str> = text.lines().collect();
            let moved = lines[line.index(lines.len())];
            match to {
                Some(to) => lines.insert(to.index(lines.len()), moved),
                None => drop(lines.remove(line.index(lines.len()))),
            }
            text = lines.join("\n");
            continue;
        }
        let mut all = tokens(&text);
        let places: Vec<usize> = (0..all.len()).filter(|&place| !all[place].trim().is_empty()).collect();
        let place = |index: &Index| places[index.index(places.len())];
        match mutation {
            Mutation::Replace(at, token) => all[place(at)] = token,
            Mutation::Insert(at, token) => all.insert(place(at), token),
            Mutation::Delete(at) => all[place(at)] = " ",
            Mutation::Copy(at, from) => all[place(at)] = all[place(from)],
            Mutation::Swap(a, b) => all.swap(place(a), place(b)),
            Mutation::Line(..) => {}
        }
        text = all.join(if matches!(mutation, Mutation::Insert(..)) { " " } else { "" });
    }
    text
}

/// Runs all kernels of the text that can be run, and returns how many those are.
fn survive(text: &str) -> usize {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let Ok(module) = Module::parse(text) else { return 0 };
        let names: Vec<String> = module.kernels().map(str::to_owned).collect();
        names.iter().filter(|name| module.kernel(name).is_ok_and(|kernel| launch(&kernel))).count()
    }));
    outcome.unwrap_or_else(|_| panic!("the emulator panics at:\n{text}"))
}

/// One block of 64 threads, pointers to a little memory or small numbers as its arguments. Whether it ran.
fn launch(kernel: &Kernel) -> bool {
    let mut memory = GlobalMemory::default();
    let pointer = memory.allocate_bytes(&[1; 1024]);
    let argument = |bytes: u32| match bytes {
        8 => pointer.to_le_bytes().to_vec(),
        bytes => vec![1; bytes as usize],
    };
    let arguments = kernel.params().iter().map(|param| argument(param.bytes)).collect();
    let launch = Launch { arguments, max_instructions: 20_000, threads: 1, ..Launch::new([1, 1, 1], [64, 1, 1]) };
    let start = Instant::now();
    let report = kernel.launch(&mut memory, &launch);
    let took = start.elapsed();
    assert!(took < MAX_TIME, "it ran for {took:?}");
    match report {
        Ok(report) => {
            let found = report.findings.iter().chain(&report.fault);
            found
                .for_each(|finding| assert!(finding.line > 0 && finding.to_string().lines().count() == 1, "{finding}"));
            true
        }
        Err(Error::Launch(reason)) => {
            assert!(!reason.is_empty());
            false
        }
        Err(error) => panic!("not an error of a launch: {error}"),
    }
}

#[test]
fn tokens_are_the_text() {
    for sample in SAMPLES {
        assert_eq!(tokens(sample).concat(), sample);
    }
}

#[test]
fn the_samples_run() {
    let ran: Vec<usize> = SAMPLES[..4].iter().map(|sample| survive(sample)).collect();
    assert_eq!(ran, [1, 1, 2, 1]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_kernels_are_survived(sample in select(&SAMPLES[..]), mutations in prop::collection::vec(mutation(), 1..4)) {
        survive(&mutated(sample, &mutations));
    }
}
