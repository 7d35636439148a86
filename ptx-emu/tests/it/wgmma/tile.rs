//! A GEMM kernel with TMA loads and `wgmma`: its result, and the findings when a part of its synchronisation is
//! missing.

use half::f16;
use ptx_emu::{
    Checks, Class, Finding, FindingKind, GlobalMemory, Kernel, Launch, Module, Pointer, Report, SharedCounters,
    Swizzle, TensorCoreFmas, TensorMap, Type,
};

pub const TEXT: &str = include_str!("../../ptx/wgmma_tile.ptx");
const SIDE: usize = 64;

fn value(row: usize, k: usize) -> f32 {
    ((row * 5 + k * 3) % 13) as f32 - 6.0
}

/// The kernel, and its launch for `steps` k-tiles of 64; and where each thread's accumulators will be.
pub fn prepare(text: &str, steps: usize, checks: Checks) -> (Kernel, GlobalMemory, Launch, Pointer) {
    let depth = SIDE * steps;
    let mut memory = GlobalMemory::default();
    let mut matrix = |first: usize| {
        let element = |index: usize| f16::from_f32(value(first + index / depth, index % depth)).to_le_bytes();
        memory.allocate_bytes(&(0..SIDE * depth).flat_map(element).collect::<Vec<u8>>())
    };
    let (a, b) = (matrix(0), matrix(100));
    let c = memory.allocate((SIDE * SIDE * 4) as u64);
    let mut launch = Launch::new([1; 3], [160, 1, 1]);
    launch.dynamic_shared_bytes = 32 << 10;
    launch.checks = checks;
    for matrix in [a, b] {
        let (dims, strides) = ([depth as u64, SIDE as u64], [2 * depth as u64]);
        let map = TensorMap::new(Type::F16, matrix, &dims, &strides, &[64, 64], Swizzle::Bytes128).unwrap();
        launch.arguments.push(map.encode().to_vec());
    }
    let launch = launch.argument(c.to_le_bytes()).argument((steps as u32).to_le_bytes());
    (Module::parse(text).unwrap().kernel("tile").unwrap(), memory, launch, c)
}

/// Runs the kernel; returns each thread's accumulators.
fn run(text: &str, steps: usize, checks: Checks) -> (Report, Vec<f32>) {
    let (kernel, mut memory, launch, c) = prepare(text, steps, checks);
    let report = kernel.launch(&mut memory, &launch).unwrap();
    (report, memory.free(c).unwrap().into_iter().map(f32::from_bits).collect())
}

fn expected(steps: usize) -> Vec<f32> {
    let element = |index: usize| {
        let (thread, register) = (index / 32, index % 32);
        let row = thread / 32 * 16 + thread % 32 / 4 + 8 * (register / 2 % 2);
        let column = register / 4 * 8 + thread % 4 * 2 + register % 2;
        (0..SIDE * steps).map(|k| value(row, k) * value(100 + column, k)).sum()
    };
    (0..SIDE * SIDE).map(element).collect()
}

#[test]
fn copies_and_products_take_turns() {
    for steps in [1, 2, 5] {
        let (report, c) = run(TEXT, steps, Checks::ALL);
        assert!(report.is_clean(), "{:?} {:?}", report.findings, report.fault);
        assert!(c == expected(steps), "{steps} steps");
        let (steps, counters) = (steps as u64, &report.counters);
        let fmas = TensorCoreFmas { f16: 64 * 64 * 64 * steps, ..TensorCoreFmas::default() };
        assert_eq!(counters.tensor_core_fmas, fmas);
        // Each of 64 x 64 elements of 2 bytes once.
        let reads = SharedCounters { requests: 16 * steps, wavefronts: 128 * steps, bytes: 16_384 * steps };
        assert_eq!(counters.tensor_core_reads, reads);
        assert_eq!(counters.of(Class::TensorCore), 16 * steps);
    }
}

/// The findings when a part of the text is replaced.
fn findings(part: &str, other: &str) -> Vec<Finding> {
    assert!(TEXT.contains(part), "{part}");
    run(&TEXT.replace(part, other), 5, Checks::ALL).0.findings
}

#[track_caller]
fn finds(findings: &[Finding], kind: FindingKind, what: &str) {
    let is_it = |finding: &Finding| finding.kind == kind && finding.to_string().contains(what);
    assert!(findings.iter().any(is_it), "{findings:?}");
}

#[test]
fn a_stage_that_is_still_read_is_not_free() {
    let found = findings("wgmma.wait_group.sync.aligned 1;", "wgmma.wait_group.sync.aligned 2;");
    finds(&found, FindingKind::Race, "wgmma");
}

#[test]
fn a_stage_without_a_wait_is_not_full() {
    let wait = "mbarrier.try_wait.parity.shared.b64 %p2, [%r4], %phase;\n    @!%p2 bra $is_empty;\n";
    let found = findings(wait, "");
    finds(&found, FindingKind::Uninitialized, "wgmma");
}

#[test]
fn one_warp_waits_for_the_group() {
    // Only the first warp, or only the last one, releases the stage.
    for warp in [0, 3] {
        let text = TEXT.replace("mbarrier.init.shared.b64 [empty], 4;", "mbarrier.init.shared.b64 [empty], 1;");
        let text = text.replace("mbarrier.init.shared.b64 [empty+8], 4;", "mbarrier.init.shared.b64 [empty+8], 1;");
        let text = text.replace("setp.eq.u32 %p6, %r10, 0;", &format!("setp.eq.u32 %p6, %r1, {};", 32 * warp));
        let (report, c) = run(&text, 9, Checks::ALL);
        assert!(report.is_clean(), "{:?} {:?}", report.findings, report.fault);
        assert!(c == expected(9));
    }
}

#[test]
fn a_warp_that_does_not_come() {
    let (part, other) = ("$multiply:\n", "setp.ge.u32 %p7, %r1, 96; @%p7 bra $sleeps;\n$multiply:\n");
    let text = TEXT.replace(part, other).replace("$end:\n", "$end:\nret;\n$sleeps: bar.sync 3, 64;\n");
    let fault = run(&text, 3, Checks::ALL).0.fault.expect("a deadlock");
    assert_eq!(fault.kind, FindingKind::Deadlock, "{fault}");
    assert!(fault.what.contains("96 threads in line"), "{fault}");
}

/// Prints the time of a launch; `cargo test -p ptx-emu --test it wgmma::tile -- --ignored --nocapture`.
#[test]
#[ignore = "measures"]
fn time_of_a_product() {
    for checks in [Checks::ALL, Checks { global_races: false, ..Checks::ALL }, Checks::NONE] {
        let steps = 500;
        let start = std::time::Instant::now();
        let (report, _) = run(TEXT, steps, checks);
        let ns = start.elapsed().as_nanos() as f64 / (SIDE * SIDE * SIDE * steps) as f64;
        assert!(report.is_clean());
        println!("{ns:.2} ns for each product with {checks:?}");
    }
}
