//! Functions that call themselves, or that pointers lead to, as nvcc compiles them (`tests/compilers/calls`); the heap; and
//! files of which only a part can be run.

use ptx_emu::{Error, FindingKind, GlobalMemory, Launch, Module, Pointer, Report};

const RECURSION: &str = include_str!("../compilers/calls/recursion.ptx");
const POINTERS: &str = include_str!("../compilers/calls/pointers.ptx");
const TABLE: &str = include_str!("../compilers/calls/fnptr_table.ptx");
const HEAP: &str = include_str!("../compilers/calls/heap.ptx");
const GROUPS: &str = include_str!("../compilers/calls/cooperative_groups.ptx");

fn run(ptx: &str, kernel: &str, memory: &mut GlobalMemory, launch: &Launch) -> Report {
    let kernel = Module::parse(ptx).and_then(|module| module.kernel(kernel)).unwrap_or_else(|error| panic!("{error}"));
    kernel.launch(memory, launch).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs a kernel, on whose launch all checkers are silent.
fn run_clean(ptx: &str, kernel: &str, memory: &mut GlobalMemory, launch: &Launch) -> Report {
    let report = run(ptx, kernel, memory, launch);
    assert!(report.is_clean(), "{kernel}: {:?} {:?}", report.fault, report.findings);
    report
}

fn one_block(threads: u32) -> Launch {
    Launch::new([1, 1, 1], [threads, 1, 1])
}

fn read(memory: &mut GlobalMemory, pointer: Pointer) -> Vec<i32> {
    memory.free(pointer).unwrap().into_iter().map(u32::cast_signed).collect()
}

/// Kind, line and text of what ended a launch.
fn fault(report: &Report) -> (FindingKind, u32, &str) {
    let fault = report.fault.as_ref().expect("a fault");
    (fault.kind, fault.line, &fault.what)
}

/// The line of the first text of PTX that has `part`, counted from 1.
fn line_of(ptx: &str, part: &str) -> u32 {
    ptx.lines().position(|line| line.contains(part)).unwrap() as u32 + 1
}

#[test]
fn each_lane_calls_itself_as_often_as_it_must() {
    let mut memory = GlobalMemory::default();
    let out = memory.allocate(4 * 100);
    let launch = Launch::new([2, 1, 1], [64, 1, 1]).argument(out.to_le_bytes()).argument(100u32.to_le_bytes());
    run_clean(RECURSION, "fib", &mut memory, &launch);
    let fibonacci = |n: usize| (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0;
    assert_eq!(read(&mut memory, out), (0..100).map(|i| fibonacci(i % 13)).collect::<Vec<i32>>());
}

#[test]
fn a_tree_is_walked_from_each_of_its_nodes() {
    let (mut memory, n) = (GlobalMemory::default(), 60i64);
    // Node i has the children 2i + 1 and 3i + 5, if they are there: some of them have two parents.
    let child = |at: i64| if at < n { at } else { -1 };
    let nodes = (0..n).flat_map(|i| [i * i % 17 - 5, child(2 * i + 1), child(3 * i + 5)].map(|word| word as u32));
    let (nodes, out) = (memory.allocate_words(nodes), memory.allocate(8 * n as u64));
    let launch = one_block(64).argument(nodes.to_le_bytes()).argument(out.to_le_bytes());
    run_clean(RECURSION, "tree", &mut memory, &launch.argument((n as u32).to_le_bytes()));
    fn walk(at: i64, depth: i64, n: i64) -> i64 {
        if at >= n {
            0
        } else {
            walk(2 * at + 1, depth + 1, n) + walk(3 * at + 5, depth + 1, n) + (at * at % 17 - 5) * depth
        }
    }
    let words = memory.free(out).unwrap();
    let got = words.chunks(2).map(|pair| (u64::from(pair[1]) << 32 | u64::from(pair[0])).cast_signed());
    assert_eq!(got.collect::<Vec<_>>(), (0..n).map(|at| walk(at, 1, n)).collect::<Vec<_>>());
}

#[test]
fn each_thread_sorts_numbers_of_its_own() {
    let (mut memory, length) = (GlobalMemory::default(), 25usize);
    let numbers: Vec<i32> = (0..64 * length as i32).map(|i| (i * 7919 % 1009 - 500) * (i % 3)).collect();
    let data = memory.allocate_words(numbers.iter().map(|number| number.cast_unsigned()));
    let launch = one_block(64).argument(data.to_le_bytes()).argument((length as u32).to_le_bytes());
    run_clean(RECURSION, "quicksort", &mut memory, &launch);
    let expected = numbers.chunks(length).flat_map(|part| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part
    });
    assert_eq!(read(&mut memory, data), expected.collect::<Vec<_>>());
}

#[test]
fn functions_that_call_each_other_return_structures() {
    let mut memory = GlobalMemory::default();
    let (sums, counts) = (memory.allocate(8 * 32), memory.allocate(4 * 32));
    run_clean(
        RECURSION,
        "mutual",
        &mut memory,
        &one_block(32).argument(sums.to_le_bytes()).argument(counts.to_le_bytes()),
    );
    fn pair(n: i32, is_odd: bool) -> (f64, i32, i32) {
        match (n, is_odd) {
            (0, false) => (0.5, 0, 0),
            (0, true) => (0.25, 0, 1),
            _ => {
                let (sum, count, odd) = pair(n - 1, !is_odd);
                // on_stack[(i + n) & 3] is n * i, and element n & 3 is that of i = 0.
                if is_odd { (sum, count + 2, odd) } else { (sum + f64::from(n), count + 1, odd ^ 1) }
            }
        }
    }
    let words = memory.free(sums).unwrap();
    let got = words.chunks(2).map(|pair| f64::from_bits(u64::from(pair[1]) << 32 | u64::from(pair[0])));
    assert_eq!(got.collect::<Vec<_>>(), (0..32).map(|n| pair(n, false).0).collect::<Vec<_>>());
    let expected = (0..32).map(|n| pair(n, false).1 * 2 + pair(n, false).2);
    assert_eq!(read(&mut memory, counts), expected.collect::<Vec<_>>());
}

#[test]
fn a_stack_ends_and_the_call_that_exceeds_it_is_named() {
    let mut memory = GlobalMemory::default();
    let out = memory.allocate(4 * 4);
    let launch = |depth: u32| one_block(4).argument(out.to_le_bytes()).argument(depth.to_le_bytes());
    run_clean(RECURSION, "depth", &mut memory, &launch(500));
    let report = run(RECURSION, "depth", &mut memory, &launch(1_000_000));
    let (kind, line, what) = fault(&report);
    let function = line_of(RECURSION, ".func  (.param .b32 func_retval0) _Z4deepi(");
    assert_eq!(kind, FindingKind::Stack);
    assert!(
        line > function && what.contains("the stack of 32768 bytes is exceeded: `_Z4deepi` is called within"),
        "{what}"
    );
    let expected = (0..500).fold(0, |inner, _| 1 + inner * 3 % 7);
    assert_eq!(read(&mut memory, out), [expected; 4]);
}

#[test]
fn a_table_of_functions_leads_each_lane_to_its_own() {
    for (ptx, kernel, which) in [(TABLE, "call_table", None), (POINTERS, "by_table", Some([0, 2, 1, 1, 0]))] {
        let mut memory = GlobalMemory::default();
        let x = memory.allocate_words((0..48).map(|i| (i as f32).to_bits()));
        let mut launch = one_block(48).argument(x.to_le_bytes());
        let index = |i: usize| which.map_or(i as u32 % 2, |which| which[i % 5]);
        if which.is_some() {
            launch = launch.argument(memory.allocate_words((0..48).map(index)).to_le_bytes());
        }
        run_clean(ptx, kernel, &mut memory, &launch);
        let expected = (0..48).map(|i| [i as f32 + 1.0, 2.0 * i as f32, (i * i) as f32][index(i) as usize]);
        let got: Vec<f32> = memory.free(x).unwrap().into_iter().map(f32::from_bits).collect();
        assert_eq!(got, expected.collect::<Vec<_>>(), "{kernel}");
    }
}

#[test]
fn kernels_without_calls_run_beside_a_table_of_functions() {
    let mut memory = GlobalMemory::default();
    let x = memory.allocate_words([1.5f32.to_bits()]);
    run_clean(TABLE, "add_one", &mut memory, &one_block(1).argument(x.to_le_bytes()));
    assert_eq!(memory.free(x).unwrap(), [2.5f32.to_bits()]);
}

#[test]
fn virtual_functions_of_objects_on_the_heap() {
    let mut memory = GlobalMemory::default();
    let out = memory.allocate(4 * 100);
    let launch = Launch::new([2, 1, 1], [64, 1, 1]).argument(out.to_le_bytes()).argument(100u32.to_le_bytes());
    run_clean(POINTERS, "virtual_functions", &mut memory, &launch);
    let area = |i: usize| if i.is_multiple_of(3) { (i * i) as f32 * 0.5 } else { (i * 2) as f32 };
    let got: Vec<f32> = memory.free(out).unwrap().into_iter().map(f32::from_bits).collect();
    assert_eq!(got, (0..100).map(area).collect::<Vec<_>>());
}

#[test]
fn a_pointer_is_passed_on_by_a_function_that_calls_itself() {
    let mut memory = GlobalMemory::default();
    let out = memory.allocate(4 * 32);
    run_clean(POINTERS, "passed_on", &mut memory, &one_block(32).argument(out.to_le_bytes()));
    let result = |i: i32| (1..=i).rev().fold(1i32, |x, n| if i & 1 != 0 { x + n } else { x.wrapping_mul(5) ^ n });
    assert_eq!(read(&mut memory, out), (0..32).map(result).collect::<Vec<_>>());
}

#[test]
fn lanes_that_call_the_same_function_run_it_together() {
    let mut memory = GlobalMemory::default();
    let x = memory.allocate_words((0..32).map(|i| (i as f32).to_bits()));
    run_clean(POINTERS, "together", &mut memory, &one_block(32).argument(x.to_le_bytes()));
    assert_eq!(memory.free(x).unwrap(), [496f32.to_bits(); 32]);
}

#[test]
fn a_pointer_to_no_function_is_a_finding() {
    let mut memory = GlobalMemory::default();
    let x = memory.allocate(4 * 32);
    let launch = |address: u64| one_block(32).argument(x.to_le_bytes()).argument(address.to_le_bytes());
    let report = run(POINTERS, "nowhere", &mut memory, &launch(x));
    let (kind, line, what) = fault(&report);
    assert_eq!((kind, what), (FindingKind::Call, "there is no function at 0x20000000000"));
    assert!(line > line_of(POINTERS, ".entry nowhere"));
}

/// A kernel that calls `%f`, and functions that take a number, two numbers and nothing, in the ways that PTX has.
const SHAPES: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .func (.reg .b32 %out) twice (.reg .b32 %in) { mul.lo.u32 %out, %in, 2; ret; }\n\
    .func (.param .b32 out) down (.param .b32 in)\n\
    { .reg .b32 %r<3>; .reg .pred %p; ld.param.u32 %r1, [in]; setp.eq.u32 %p, %r1, 0; @%p bra $end;\n\
      sub.u32 %r2, %r1, 1; call (%r2), down, (%r2); add.u32 %r1, %r1, %r2; $end: st.param.u32 [out], %r1; ret; }\n\
    .func (.param .b32 out) two (.param .b32 a, .param .b32 b) { st.param.u32 [out], 1; ret; }\n\
    .global .u64 table[3] = {twice, down, two};\n\
    .visible .entry k(.param .u64 to, .param .u32 which)\n\
    { .reg .b64 %rd<5>; .reg .b32 %r<5>; .reg .pred %p;\n\
      ld.param.u64 %rd1, [to]; ld.param.u32 %r1, [which]; mul.wide.u32 %rd2, %r1, 8; mov.u64 %rd3, table;\n\
      add.u64 %rd3, %rd3, %rd2; ld.global.u64 %rd4, [%rd3]; mov.u32 %r2, %tid.x; mov.u32 %r3, 100; setp.ne.u32 %p, %r2, 3;\n\
      $proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n\
      @%p call (%r3), %rd4, (%r2), $proto;\n\
      mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r3; ret; }";

#[test]
fn parameters_may_be_registers_and_a_call_may_have_a_guard() {
    let mut memory = GlobalMemory::default();
    let to = memory.allocate(4 * 8);
    let launch = |which: u32| one_block(8).argument(to.to_le_bytes()).argument(which.to_le_bytes());
    for (which, value) in [(0, (|i| 2 * i) as fn(u32) -> u32), (1, |i| i * (i + 1) / 2)] {
        run_clean(SHAPES, "k", &mut memory, &launch(which));
        let bytes = memory.read(to).unwrap();
        let got: Vec<u32> = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        assert_eq!(got, (0..8).map(|i| if i == 3 { 100 } else { value(i) }).collect::<Vec<_>>());
    }
    let report = run(SHAPES, "k", &mut memory, &launch(2));
    let (kind, _, what) = fault(&report);
    assert_eq!((kind, what), (FindingKind::Call, "`two` is not defined, or takes or returns something else"));
}

#[test]
fn what_a_function_left_on_the_stack_is_not_the_next_ones() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .func f (.param .b32 n)\n{ .local .b32 x; .reg .b32 %r<4>; .reg .pred %p;\n\
        ld.param.u32 %r1, [n]; setp.gt.u32 %p, %r1, 1; @%p bra $write;\nld.local.u32 %r2, [x];\n$write: st.local.u32 [x], %r1;\n\
        setp.eq.u32 %p, %r1, 0; @%p bra $end; sub.u32 %r1, %r1, 1; call f, (%r1); $end: ret; }\n\
        .visible .entry k() { call f, (2); call f, (1); ret; }";
    let report = run(text, "k", &mut GlobalMemory::default(), &one_block(1));
    let found: Vec<_> = report.findings.iter().map(|finding| (finding.kind, finding.line)).collect();
    assert_eq!((found, report.fault), (vec![(FindingKind::Uninitialized, 7)], None));
}

#[test]
fn functions_that_are_called_at_run_time_print_and_assert() {
    let mut memory = GlobalMemory::default();
    let out = memory.allocate(4);
    let launch =
        |most: u32| one_block(1).argument(out.to_le_bytes()).argument(3u32.to_le_bytes()).argument(most.to_le_bytes());
    let report = run_clean(HEAP, "speaks", &mut memory, &launch(3));
    assert_eq!(report.output, "3 at 0x0\n2 at 0x0\n1 at 0x0\n0 at 0x0\n");
    let report = run(HEAP, "speaks", &mut memory, &launch(2));
    let (kind, _, what) = fault(&report);
    assert!(kind == FindingKind::Assertion && what.contains("`n <= most` is false in int count(int, int)"), "{what}");
}

#[test]
fn lists_are_built_on_the_heap_and_freed() {
    let mut memory = GlobalMemory::default();
    let out = memory.allocate(4 * 128);
    let launch = Launch::new([2, 1, 1], [64, 1, 1]).argument(out.to_le_bytes()).argument(9u32.to_le_bytes());
    run_clean(HEAP, "list", &mut memory, &launch);
    assert_eq!(read(&mut memory, out), (0..128).map(|i| (0..i % 9).map(|k| i + k).sum()).collect::<Vec<i32>>());
}

#[test]
fn an_exhausted_heap_gives_null_and_is_whole_again_after_free() {
    let mut memory = GlobalMemory::default();
    let out = memory.allocate(4 * 4);
    for _ in 0..2 {
        let launch = one_block(4).argument(out.to_le_bytes()).argument((3u64 << 20).to_le_bytes());
        run_clean(HEAP, "exhausted", &mut memory, &launch);
        assert_eq!(memory.read(out).unwrap().chunks(4).map(|word| word[0]).collect::<Vec<_>>(), [0, 0, 1, 1]);
    }
}

#[test]
fn misuse_of_the_heap_is_found() {
    let mut memory = GlobalMemory::default();
    let report = run(HEAP, "twice_freed", &mut memory, &one_block(1));
    let found = &report.findings[..];
    assert!(matches!(found, [one] if one.kind == FindingKind::Heap && one.what.contains("freed before")), "{found:?}");
    let out = memory.allocate(4);
    let report = run(HEAP, "used_after", &mut memory, &one_block(1).argument(out.to_le_bytes()));
    assert!(fault(&report).0 == FindingKind::OutOfBounds && fault(&report).2.ends_with("that were freed"));
    let report = run(HEAP, "past_end", &mut memory, &one_block(1));
    assert!(fault(&report).0 == FindingKind::OutOfBounds && fault(&report).2.contains("byte 8 of 8 bytes"));
}

#[test]
fn all_blocks_of_a_grid_wait_for_each_other() {
    let mut memory = GlobalMemory::default();
    let data = memory.allocate_words(0..256);
    let launch = Launch::new([4, 1, 1], [64, 1, 1]).argument(data.to_le_bytes()).argument(256u32.to_le_bytes());
    run_clean(GROUPS, "grid_sync", &mut memory, &launch);
    let expected = (0..256).map(|i| (i + 3) % 256 + 3);
    assert_eq!(read(&mut memory, data), expected.collect::<Vec<_>>());
}

#[test]
fn tiles_of_several_warps_add_up() {
    let mut memory = GlobalMemory::default();
    let data = memory.allocate_words(0..512);
    run_clean(GROUPS, "tiles", &mut memory, &Launch::new([2, 1, 1], [256, 1, 1]).argument(data.to_le_bytes()));
    let sum = |i: i32| (i / 64 * 64..i / 64 * 64 + 64).sum::<i32>() + i % 256 / 64;
    assert_eq!(read(&mut memory, data), (0..512).map(sum).collect::<Vec<_>>());
}

#[test]
fn what_cannot_be_run_refuses_only_what_uses_it() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n\
        .extern .func absent;\n.global .b33 broken;\n.global .u64 lost = elsewhere;\n.extern .global .u32 other;\n\
        .global .u64 points = other;\n\
        .func unread() { banana [; ret; }\n.func unknown() { banana.u32 4; ret; }\n\
        .entry good() { ret; }\n.entry a() { call absent; ret; }\n.entry b() { .reg .b64 %r; mov.u64 %r, broken; ret; }\n\
        .entry c() { call unread; ret; }\n.entry d() { call unknown; ret; }\n.entry e() { ld.global.u64 x; }\n\
        .entry f() { .reg .b64 %r; mov.u64 %r, points; ret; }\n.entry g() { .reg .b64 %r; mov.u64 %r, lost; ret; }\n";
    let module = Module::parse(text).unwrap();
    assert_eq!(module.kernels().count(), 8);
    assert!(module.kernel("good").is_ok());
    for (kernel, line, part) in [
        ("a", 12, "`absent` is not defined"),
        ("b", 5, "expected a type"),
        ("c", 9, "expected"),
        ("d", 10, "not known"),
        ("e", 16, "unknown name `x`"),
        ("f", 8, "the address of `other`"),
        ("g", 6, "unknown name `elsewhere`"),
    ] {
        let error = module.kernel(kernel).err().unwrap_or_else(|| panic!("{kernel} can be run"));
        assert!(matches!(error, Error::Syntax(_) | Error::Lower(_)));
        let text = error.to_string();
        assert!(text.contains(part) && text.starts_with(&format!("line {line}: ")), "{kernel}: {text}");
    }
}

#[test]
fn alloca_gives_memory_of_the_stack_and_takes_it_back() {
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 to, .param .u64 bytes)\n\
        { .reg .b64 %rd<7>; .reg .b32 %r<3>; ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [bytes]; stacksave.u64 %rd5;\n\
        alloca.u64 %rd3, 8, 32; alloca.u64 %rd4, %rd2; mov.u32 %r1, %tid.x; st.local.u32 [%rd3+4], %r1;\n\
        st.local.u32 [%rd4], 7; ld.local.u32 %r2, [%rd3+4]; stackrestore.u64 %rd5; alloca.u64 %rd6, 8, 32;\n\
        sub.u64 %rd6, %rd6, %rd3; cvt.u32.u64 %r1, %rd6; add.u32 %r2, %r2, %r1; mul.wide.u32 %rd6, %r2, 4;\n\
        add.u64 %rd1, %rd1, %rd6; st.global.u32 [%rd1], %r2; ret; }";
    let mut memory = GlobalMemory::default();
    let to = memory.allocate(4 * 8);
    let launch = |bytes: u64| one_block(8).argument(to.to_le_bytes()).argument(bytes.to_le_bytes());
    run_clean(text, "k", &mut memory, &launch(100));
    let report = run(text, "k", &mut memory, &launch(1 << 40));
    let (kind, line, what) = fault(&report);
    assert_eq!((kind, line), (FindingKind::Stack, 6), "{what}");
    assert_eq!(read(&mut memory, to), (0..8).collect::<Vec<_>>());
}

#[test]
fn sixteen_bytes_are_exchanged_at_once() {
    let text = ".version 8.4\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 to)\n\
        { .reg .b128 %x<4>; .reg .b64 %rd<8>; ld.param.u64 %rd1, [to]; mov.u64 %rd2, 1; mov.u64 %rd3, 2; mov.u64 %rd4, 3;\n\
        mov.b128 %x0, {%rd2, %rd3}; mov.b128 %x1, {%rd3, %rd4}; atom.global.exch.b128 %x2, [%rd1], %x0;\n\
        atom.global.cas.b128 %x3, [%rd1], %x1, %x1; atom.global.cas.b128 %x3, [%rd1], %x0, %x1; mov.b128 {%rd5, %rd6}, %x3;\n\
        st.global.u64 [%rd1+16], %rd5; st.global.u64 [%rd1+24], %rd6; ret; }";
    let mut memory = GlobalMemory::default();
    let to = memory.allocate_words([9; 8]);
    run_clean(text, "k", &mut memory, &one_block(1).argument(to.to_le_bytes()));
    assert_eq!(memory.free(to).unwrap(), [2, 0, 3, 0, 1, 0, 2, 0]);
}
