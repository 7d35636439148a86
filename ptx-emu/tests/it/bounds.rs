//! Whatever a text or a launch asks for, the emulator takes bounded time and memory, and says in one line what is too much.

use std::fmt::Write;
use std::sync::mpsc::channel;
use std::time::Duration;

use ptx_emu::{Blocks, Error, GlobalMemory, Grouping, Launch, MAX_THREADS, Module, Report};

const HEADER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";
const EMPTY: &str = ".visible .entry k() { ret; }";

/// What takes seconds, even on a busy machine, ends before; what takes quadratic time does not.
const MAX_TIME: Duration = Duration::from_secs(60);

/// Reads and lowers the kernel `k`, in another thread: the error, as its user sees it.
fn lower(text: String) -> Result<(), String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let lowered = Module::parse(&text).and_then(|module| module.kernel("k").map(drop));
        sender.send(lowered.map_err(|error| error.to_string()))
    });
    receiver.recv_timeout(MAX_TIME).expect("it takes too long, or panics")
}

fn assert_refused(text: String, words: &str) {
    let error = lower(text).unwrap_err();
    assert!(error.contains(words) && error.lines().count() == 1 && error.len() < 400, "{error}");
}

/// A chain of `length` functions: each but the last is `declarations` and `times` calls of the next one.
fn chain(length: usize, times: usize, declarations: &str) -> String {
    let mut text = HEADER.to_owned();
    (1..length).for_each(|i| writeln!(text, ".func f{i}();").unwrap());
    for i in 0..length {
        let calls = if i + 1 < length { format!("call f{};", i + 1).repeat(times) } else { String::new() };
        writeln!(text, ".func f{i}() {{ {declarations} {calls} ret; }}").unwrap();
    }
    text + ".visible .entry k() { call f0; ret; }"
}

/// A kernel of `count` labels, each with the statements that `at` gives it.
fn labels(count: usize, at: impl Fn(usize) -> String) -> String {
    let mut text = format!("{HEADER}.visible .entry k() {{ .reg .pred %p<2>; .reg .b32 %r<{}>;\n", count + 1);
    (0..count).for_each(|i| writeln!(text, "L{i}: {}", at(i)).unwrap());
    text + "ret; }"
}

#[test]
fn calls_are_inlined_within_bounds() {
    assert_eq!(lower(chain(8, 2, "")), Ok(()));
    assert_eq!(lower(chain(200, 1, "")), Ok(()));
    assert_refused(chain(40, 2, ""), "with its calls inlined");
    assert_refused(chain(40, 2, ".local .b8 a[4]; .reg .b32 %r<1000>;"), "with its calls inlined");
    assert_refused(chain(100_000, 1, ""), "calls nest deeper");
    // A long name, many times.
    let long = "x".repeat(1 << 20);
    let body = format!("{long} %r1; ").repeat(2);
    assert_refused(chain(3, 1000, &format!(".reg .b32 %r<2>; {body}")), "with its calls inlined");
}

#[test]
fn many_labels_take_little_time() {
    let count = 100_000;
    assert_eq!(lower(labels(count, |_| String::new())), Ok(()));
    assert_eq!(lower(labels(count, |i| format!("@%p1 bra L{i};"))), Ok(()));
    let loops = |i| if i % 2 == 0 { String::new() } else { format!("@%p1 bra L{i}; @%p1 bra L{};", i - 1) };
    assert_eq!(lower(labels(count, loops)), Ok(()));
    let crossed = |i| format!("@%p1 bra L{}; add.u32 %r{i}, %r{}, 1;", count - 1 - i, count - 1 - i);
    assert_eq!(lower(labels(count, crossed)), Ok(()));
}

#[test]
fn lists_of_targets_are_bounded() {
    let table = |count: usize, branches: usize| {
        let mut text = labels(count, |_| "add.u32 %r1, %r1, 1;".to_owned());
        text.truncate(text.len() - "ret; }".len());
        let targets = (0..count).map(|i| format!("L{i}")).collect::<Vec<_>>().join(", ");
        format!("{text}t: .branchtargets {targets};\n{}ret; }}", "brx.idx %r1, t;\n".repeat(branches))
    };
    assert_eq!(lower(table(100_000, 1)), Ok(()));
    assert_refused(table(20_000, 20_000), "targets");
}

#[test]
fn chains_of_copies_take_little_time() {
    let count = 100_000;
    let mma = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0,%f1,%f2,%f3}, %d, %d, 1, 1, 1, 0, 0;";
    let mut text = format!("{HEADER}.visible .entry k() {{ .reg .f32 %f<{}>; .reg .b64 %d; {mma}\n", count + 1);
    (0..count).rev().for_each(|i| writeln!(text, "mov.f32 %f{}, %f{i};", i + 1).unwrap());
    assert_eq!(lower(text + "ret; }"), Ok(()));
}

#[test]
fn long_lines_and_many_statements_are_bounded() {
    let long = "x".repeat(100_000_000);
    assert_refused(long.clone(), "expected `.version`");
    assert_refused(format!("{HEADER}.visible .entry k() {{ {long}; }}"), "is not known");
    drop(long);
    assert_refused(format!("{HEADER}.visible .entry k() {{ {} }}", "x;".repeat(5_000_000)), "statements");
}

fn launch(text: &str, launch: &Launch) -> Result<Report, Error> {
    let kernel = Module::parse(&format!("{HEADER}{text}")).unwrap().kernel("k").unwrap();
    kernel.launch(&mut GlobalMemory::default(), launch)
}

fn refusal(text: &str, of: &Launch) -> String {
    match launch(text, of) {
        Err(Error::Launch(reason)) => reason,
        other => panic!("{of:?}: {other:?}"),
    }
}

#[test]
fn grids_run_within_bounds() {
    let all = [i32::MAX as u32, 1, 1];
    assert!(refusal(EMPTY, &Launch::new(all, [1, 1, 1])).contains("would take too long"));
    let largest = [i32::MAX as u32, 65_535, 65_535];
    let blocks = Blocks::Sample { budget: Duration::ZERO, seed: 1, grouping: Grouping::default() };
    let report = launch(EMPTY, &Launch { blocks, ..Launch::new(largest, [1, 1, 1]) }).unwrap();
    assert!((27..100).contains(&report.blocks_run) && report.blocks > 1 << 62, "{}", report.blocks_run);
    // Of each block, nothing is kept.
    let launch_of = |blocks| Launch { threads: 1, ..Launch::new([blocks, 1, 1], [1, 1, 1]) };
    let bytes = |blocks| allocation_counter::measure(|| drop(launch(EMPTY, &launch_of(blocks)).unwrap())).bytes_max;
    assert_eq!(bytes(1 << 18), bytes(1 << 10));
}

#[test]
fn cudas_limits_hold() {
    for grid in [[1 << 31, 1, 1], [1, 65_536, 1], [1, 1, 65_536], [0, 1, 1], [1, 0, 1], [u32::MAX; 3]] {
        assert!(refusal(EMPTY, &Launch::new(grid, [1, 1, 1])).contains("a grid of"), "{grid:?}");
    }
    for block in [[1025, 1, 1], [1, 1025, 1], [1, 1, 65], [32, 33, 1], [0, 1, 1], [u32::MAX; 3]] {
        assert!(refusal(EMPTY, &Launch::new([1; 3], block)).contains("a block of"), "{block:?}");
    }
    for block in [[MAX_THREADS, 1, 1], [1, MAX_THREADS, 1], [16, 1, 64]] {
        assert!(launch(EMPTY, &Launch::new([1; 3], block)).unwrap().is_clean(), "{block:?}");
    }
    for cluster in [[17, 1, 1], [4, 5, 1], [0, 1, 1], [u32::MAX; 3]] {
        let launch = Launch { cluster, ..Launch::new([340, 5, 1], [1, 1, 1]) };
        assert!(refusal(EMPTY, &launch).contains("a cluster of"), "{cluster:?}");
    }
    let half = ".visible .entry k() { .shared .b8 a[120000]; .reg .u32 %r; mov.u32 %r, a; ret; }";
    let with = |dynamic_shared_bytes| Launch { dynamic_shared_bytes, ..Launch::new([1; 3], [1, 1, 1]) };
    assert!(launch(half, &with(227 * 1024 - 120_000)).is_ok());
    assert!(refusal(half, &with(227 * 1024 - 120_000 + 1)).contains("shared memory exceed"));
    assert!(refusal(EMPTY, &with(227 * 1024 + 1)).contains("dynamic shared memory"));
}

#[test]
fn the_hosts_memory_is_spared() {
    let local = ".visible .entry k() { .local .b8 a[400000]; .reg .b64 %a; mov.u64 %a, a; ret; }";
    let of = |cluster| Launch { cluster, ..Launch::new([16, 1, 1], [1024, 1, 1]) };
    assert!(refusal(local, &of([16, 1, 1])).contains("of the host's memory"));
    assert!(launch(local, &Launch { cluster: [16, 1, 1], ..Launch::new([16, 1, 1], [32, 1, 1]) }).is_ok());
}
