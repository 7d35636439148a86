//! No kernel makes the emulator panic or run for long: small kernels are changed at random, token by token, and what can
//! still be read and lowered runs.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use ptx_emu::{Error, Finding, FindingKind, GlobalMemory, Kernel, Launch, Module};

const SAMPLES: [&str; 12] = [
    include_str!("../ptx/vector_add.ptx"),
    include_str!("../ptx/saxpy.ptx"),
    include_str!("../ptx/reduction.ptx"),
    include_str!("../ptx/mixed.ptx"),
    include_str!("../programs/good/async_double_buffering.ptx"),
    include_str!("../programs/good/mbarrier_producer_consumer.ptx"),
    include_str!("../programs/good/bulk_copies.ptx"),
    include_str!("../programs/good/matrices.ptx"),
    include_str!("../programs/good/cluster_generic.ptx"),
    include_str!("../programs/good/wgmma.ptx"),
    include_str!("../programs/good/warp_matrices.ptx"),
    include_str!("../compilers/textures.ptx"),
];

/// What mutations insert: opcodes and modifiers, operands, constants, and the rest.
const TOKENS: &str = "
    add.u32 sub.s64 mul.lo.s32 mul.wide.u16 mad.lo.u32 fma.rn.f32 div.u32 rem.s64 div.rn.f32 min.s32 abs.s32 neg.f32
    shl.b32 shr.s64 and.b32 not.pred popc.b32 bfe.u32 prmt.b32 setp.lt.u32 selp.b32 mov.b64 mov.u32 cvt.rzi.s32.f32
    cvt.u16.u32 cvta.shared.u64 sqrt.rn.f32 ld.global.v4.f32 ld.shared.u8 ld.local.u64 ld.const.u32 ld.param.u64
    ld.u32 st.shared.v2.u32 st.local.b8 st.u64 atom.global.add.u32 atom.shared.cas.b64 red.global.max.s32 bar.sync
    barrier.sync bar.arrive bar.red.popc.u32 bar.warp.sync shfl.sync.bfly.b32 vote.sync.ballot.b32 activemask.b32
    cp.async.ca.shared.global cp.async.commit_group cp.async.wait_group cp.async.wait_all
    cp.async.mbarrier.arrive.noinc.shared.b64 cp.async.bulk.commit_group cp.async.bulk.wait_group
    mbarrier.init.shared.b64 mbarrier.arrive.shared.b64 mbarrier.arrive_drop.shared.b64 mbarrier.expect_tx.shared.b64
    mbarrier.complete_tx.shared.b64 mbarrier.inval.shared.b64 ldmatrix.sync.aligned.m8n8.x1.shared.b16
    stmatrix.sync.aligned.m8n8.x1.shared.b16 wgmma.fence.sync.aligned wgmma.commit_group.sync.aligned
    wgmma.wait_group.sync.aligned wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 fence.proxy.async
    mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 .satfinite .m32n8k16 .m8n32k16
    wmma.load.a.sync.aligned.col.m16n16k16.global.s8 wmma.store.d.sync.aligned.row.m8n32k16.shared.f16 tex.3d.v4.f32.f32
    suld.b.2d.v2.b64.clamp sust.b.1d.b8.zero
    barrier.cluster.arrive barrier.cluster.wait.aligned mapa.u64 mapa.shared::cluster.u32 getctarank.u64
    ld.shared::cluster.u32 st.shared::cluster.v4.u32 atom.shared::cluster.add.u64 %cluster_ctarank membar.gl bra bra.uni call ret exit trap brx.idx nop .u8 .s16 .u64 .f64 .f16 .v2 .v4 .sat .rn .wide .hi
    .volatile .sync .global
    %r1 %r2 %r5 %rd1 %rd4 %f1 %p %tid.x %laneid %clock64 %ctaid.z {%r1,%r2} [%rd1] [%rd1+4] [%r1] [%r6+-4] [0] $loop
    $done $halve WARP_SZ _ %p|%p
    0 1 -1 31 32 33 64 0x7fffffff 0x80000000 0xffffffff 4294967296 0x7fffffffffffffff 0x8000000000000000
    0xffffffffffffffff 0f7F800000 0f7FC00000 0f00000001 0d7FF0000000000000 1048576 65536 16777216 4294967295
    ; , @%p @!%p { } : + - ! | .shared .local .align .maxntid .b8
";

/// The longest that a text may take. The instructions are limited, but a machine may be busy.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The samples, and each of the project's kernels with the header.
fn samples() -> Vec<String> {
    let text = include_str!("../../../sgemm/src/modules/sm_80.ptx");
    let (header, kernels) = text.split_once(".visible").unwrap();
    let kernels = kernels.split(".visible").filter(|kernel| kernel.len() < 30_000);
    let kernels = kernels.map(|kernel| format!("{header}.visible{kernel}"));
    SAMPLES.map(str::to_owned).into_iter().chain(kernels).collect()
}

/// Opcodes, other words, numbers and marks; white space and comments as they are.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || "_$%".contains(c);
        let is_opcode = |c: char| is_word(c) || c == '.';
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '.' => 1 + rest[1..].find(|c| !is_word(c)).unwrap_or(rest.len() - 1),
            first if is_word(first) => rest.find(|c| !is_opcode(c)).unwrap_or(rest.len()),
            first => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// What a token can take the place of: registers of one kind, opcodes and names, numbers, ...
fn class(token: &str) -> (char, &str) {
    match token.chars().next().unwrap_or(' ') {
        '%' => ('%', token.trim_end_matches(|c: char| c.is_ascii_digit())),
        first if first.is_ascii_digit() || first == '-' => ('0', ""),
        first if first.is_alphabetic() => ('a', ""),
        first => (first, ""),
    }
}

/// A change of one token.
#[derive(Debug, Clone)]
enum Mutation {
    /// This token for one of its class.
    Replace(Index, &'static str),
    /// One token of the text for another of its class.
    Copy(Index, Index),
    /// One token for any other.
    Break(Index, &'static str),
    Insert(Index, &'static str),
    Delete(Index),
    /// One line comes again somewhere else, or goes away.
    Line(Index, Option<Index>),
}

fn token() -> impl Strategy<Value = &'static str> {
    select(TOKENS.split_whitespace().collect::<Vec<_>>())
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let index = any::<Index>;
    prop_oneof![
        16 => (index(), token()).prop_map(|(at, token)| Mutation::Replace(at, token)),
        16 => (index(), index()).prop_map(|(at, from)| Mutation::Copy(at, from)),
        8 => (index(), prop::option::of(index())).prop_map(|(line, to)| Mutation::Line(line, to)),
        1 => (index(), token()).prop_map(|(at, token)| Mutation::Break(at, token)),
        1 => (index(), token()).prop_map(|(at, token)| Mutation::Insert(at, token)),
        1 => index().prop_map(Mutation::Delete),
    ]
}

fn mutated(text: &str, mutations: &[Mutation]) -> String {
    mutations.iter().fold(text.to_owned(), |text, mutation| match mutation {
        Mutation::Line(line, to) => with_line(&text, line, to.as_ref()),
        mutation => with_token(&text, mutation),
    })
}

fn with_line(text: &str, line: &Index, to: Option<&Index>) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let place = line.index(lines.len());
    match to {
        Some(to) => lines.insert(to.index(lines.len()), lines[place]),
        None => drop(lines.remove(place)),
    }
    lines.join("\n")
}

fn with_token(text: &str, mutation: &Mutation) -> String {
    let mut all = tokens(text);
    // The header stays as it is, without which nothing runs, and so do the module's variables, which may be as large as a
    // device's memory.
    let start = all.iter().position(|token| *token == ".entry").unwrap_or(0);
    let places: Vec<usize> = (start..all.len()).filter(|&place| !all[place].trim().is_empty()).collect();
    if places.is_empty() {
        return text.to_owned();
    }
    let any = |index: &Index| places[index.index(places.len())];
    let like = |token: &str, index: &Index| {
        let alike = places.iter().copied().filter(|&place| class(all[place]) == class(token)).collect::<Vec<_>>();
        if alike.is_empty() { any(index) } else { alike[index.index(alike.len())] }
    };
    match mutation {
        Mutation::Replace(at, token) => {
            let place = like(token, at);
            all[place] = token;
        }
        Mutation::Copy(at, from) => {
            let place = any(at);
            all[place] = all[like(all[place], from)];
        }
        Mutation::Break(at, token) => all[any(at)] = token,
        Mutation::Insert(at, token) => all.insert(any(at), token),
        Mutation::Delete(at) => all[any(at)] = " ",
        Mutation::Line(..) => {}
    }
    all.concat()
}

/// Runs all supported kernels of the text, and returns their number. A panic or a hang is shown with the text.
fn survive(text: &str) -> usize {
    let (sender, receiver) = channel();
    let owned = text.to_owned();
    std::thread::spawn(move || sender.send(run_all(&owned)));
    receiver.recv_timeout(MAX_TIME).unwrap_or_else(|error| match error {
        RecvTimeoutError::Timeout => panic!("the emulator does not come back from:\n{text}"),
        RecvTimeoutError::Disconnected => panic!("the emulator panics at:\n{text}"),
    })
}

fn run_all(text: &str) -> usize {
    let Ok(module) = Module::parse(text) else { return 0 };
    let kernels = module.kernels().filter_map(|name| module.kernel(name).ok());
    kernels.filter(launch).count()
}

/// One cluster of blocks of 64 threads, pointers to a little memory or small numbers as its arguments. Whether it ran.
fn launch(kernel: &Kernel) -> bool {
    let mut memory = GlobalMemory::default();
    let pointer = memory.allocate_bytes(&[1; 1024]);
    let argument = |bytes: u32| match bytes {
        8 => pointer.to_le_bytes().to_vec(),
        bytes => (0..bytes).map(|byte| if byte == 0 { 16 } else { 0 }).collect(),
    };
    let arguments = kernel.params().iter().map(|param| argument(param.bytes)).collect();
    let grid = kernel.bounds().required_cluster.map_or([1; 3], |cluster| cluster.map(|size| size.clamp(1, 4)));
    let launch = Launch { arguments, max_instructions: 20_000, threads: 1, ..Launch::new(grid, [64, 1, 1]) };
    match kernel.launch(&mut memory, &launch) {
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
    for sample in samples() {
        assert_eq!(tokens(&sample).concat(), sample);
    }
}

#[test]
fn the_samples_run() {
    assert_eq!(SAMPLES.map(survive), [1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 3]);
    assert!(samples().len() > SAMPLES.len() && samples().iter().all(|sample| survive(sample) > 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_kernels_are_survived(sample in select(samples()), mutations in prop::collection::vec(mutation(), 1..4)) {
        survive(&mutated(&sample, &mutations));
    }
}

#[test]
fn loads_of_what_must_not_be_read_are_found() {
    let module = Module::parse(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 c)\n{\n.reg .b32 %r;\n.reg .b64 %c;\n\
         ld.param.u64 %c, [c];\nmov.b32 %r, 1;\nst.global.b32 [%c+4], %r;\nld.global.b32 %r, [%c];\nret;\n}",
    )
    .unwrap();
    let kernel = module.kernel("k").unwrap();
    let mut memory = GlobalMemory::default();
    let (c, other) = (memory.allocate(8), memory.allocate(8));
    let mut findings = |forbidden| {
        memory.forbid_loads(forbidden);
        let launch = Launch::new([1; 3], [32, 1, 1]).argument(c.to_le_bytes());
        kernel.launch(&mut memory, &launch).unwrap().findings
    };
    let is_load = |finding: &Finding| (finding.kind, finding.line) == (FindingKind::Uninitialized, 11);
    let found = findings(Some(c));
    assert!(found.iter().filter(|finding| is_load(finding)).count() == 1, "{found:?}");
    assert!(!findings(Some(other)).iter().any(is_load) && !findings(None).iter().any(is_load));
}
