//! Blocks that wait for other blocks' flags: polling is neither counted nor limited.

use ptx_emu::{FindingKind, GlobalMemory, Launch, Module, Report};

/// A block waits for the flag of the previous block; the first runs a loop of `rounds` iterations before it sets its
/// own.
const PASSED_ON: &str = ".version 8.0 .target sm_90 .address_size 64
    .visible .entry k(.param .u64 flags, .param .u32 rounds) {
        .reg .pred %p; .reg .b32 %b, %i, %n, %x; .reg .b64 %flags, %at;
        ld.param.u64 %flags, [flags];
        ld.param.u32 %n, [rounds];
        mov.u32 %b, %ctaid.x;
        mul.wide.u32 %at, %b, 4;
        add.u64 %flags, %flags, %at;
        setp.ne.u32 %p, %b, 0;
        @%p bra $waits;
        mov.u32 %i, 0;
    $works:
        add.u32 %i, %i, 1;
        setp.lt.u32 %p, %i, %n;
        @%p bra $works;
        bra $sets;
    $waits:
        nanosleep.u32 20;
        ld.acquire.gpu.global.u32 %x, [%flags+-4];
        setp.eq.u32 %p, %x, 0;
        @%p bra $waits;
    $sets:
        st.release.gpu.global.u32 [%flags], 1;
        ret;
    }";

fn run(blocks: u32, rounds: u32, threads: usize, max_instructions: u64) -> Report {
    let mut memory = GlobalMemory::default();
    let pointer = memory.allocate(4 * u64::from(blocks));
    let launch = Launch { threads, max_instructions, ..Launch::new([blocks, 1, 1], [1, 1, 1]) };
    let launch = launch.argument(pointer.to_le_bytes()).argument(rounds.to_le_bytes());
    Module::parse(PASSED_ON).unwrap().kernel("k").unwrap().launch(&mut memory, &launch).unwrap()
}

#[test]
fn who_waits_does_not_run_away() {
    let rounds = 1_000_000;
    for threads in [1, 2, 5] {
        let report = run(5, rounds, threads, 3 * u64::from(rounds) + 1000);
        assert!(report.is_clean(), "{threads} threads: {:?}", report.fault);
        let instructions = report.counters.warp_instructions();
        assert!(instructions < 3 * u64::from(rounds) + 1000, "{threads} threads: {instructions} are counted");
    }
}

#[test]
fn blocks_that_wait_in_vain_are_a_deadlock() {
    // Without the first block, all wait for a flag that is never set.
    let text = PASSED_ON.replace("setp.ne.u32 %p, %b, 0;", "setp.ge.u32 %p, %b, 0;");
    for threads in [1, 3] {
        let mut memory = GlobalMemory::default();
        let pointer = memory.allocate(256) + 128;
        let launch = Launch { threads, ..Launch::new([3, 1, 1], [64, 1, 1]) };
        let launch = launch.argument(pointer.to_le_bytes()).argument(7u32.to_le_bytes());
        let report = Module::parse(&text).unwrap().kernel("k").unwrap().launch(&mut memory, &launch).unwrap();
        assert_eq!(report.fault.map(|fault| fault.kind), Some(FindingKind::Deadlock), "{threads} threads");
    }
}

/// Each block counts itself and waits for all of them.
const BARRIER: &str = ".version 8.0 .target sm_90 .address_size 64
    .visible .entry k(.param .u64 count) {
        .reg .pred %p; .reg .b32 %n, %x; .reg .b64 %count;
        ld.param.u64 %count, [count];
        mov.u32 %n, %nctaid.x;
        mov.u32 %x, %tid.x;
        setp.ne.u32 %p, %x, 0;
        @%p ret;
        atom.global.add.u32 %x, [%count], 1;
    $waits:
        atom.global.add.u32 %x, [%count], 0;
        setp.lt.u32 %p, %x, %n;
        @%p bra $waits;
        ret;
    }";

#[test]
fn blocks_that_wait_for_all_run_side_by_side_as_far_as_there_is_room() {
    let kernel = Module::parse(BARRIER).unwrap().kernel("k").unwrap();
    let run = |blocks, threads, sm_count| {
        let mut memory = GlobalMemory::default();
        let count = memory.allocate(4);
        let launch = Launch { threads, sm_count, ..Launch::new([blocks, 1, 1], [1024, 1, 1]) };
        kernel.launch(&mut memory, &launch.argument(count.to_le_bytes())).unwrap()
    };
    for threads in [1, 2, 3, 7] {
        // Two blocks of 1024 threads fit on an SM.
        for _ in 0..8 {
            let report = run(24, threads, 12);
            assert!(report.is_clean(), "{threads} threads: {:?} {:?}", report.fault, report.findings);
        }
        assert_eq!(run(25, threads, 8).fault.map(|fault| fault.kind), Some(FindingKind::Deadlock), "{threads} threads");
    }
}
