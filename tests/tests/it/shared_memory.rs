//! What the steps' texts say about shared memory, counted by the emulator: bank conflicts, requests, shuffles.

use std::collections::BTreeSet;

use host::backend::{Backend, Kernel};
use host::{Operands, Problem, PtxSource};
use ptx_emu::{Class, LineCounters};

/// What one slice takes in one block, line by line.
fn lines(slug: &str) -> Vec<LineCounters> {
    let step = gpu_kernels::find(slug).unwrap_or_else(|| panic!("{slug} is no step"));
    let problem = Problem::new(step.tile.bm, step.tile.bn, step.tile.bk).unwrap();
    let mut backend = tests::emulator(step, PtxSource::BuiltIn, None);
    backend.upload(&Operands::random(&problem).unwrap()).unwrap();
    backend.run(Kernel::Step(step), &problem).unwrap_or_else(|error| panic!("{error}"));
    backend.launches(step)[0].report.counters.lines.clone()
}

/// The kinds of accesses that the step has: the instruction, and the wavefronts that a warp's request takes.
fn wavefronts(slug: &str) -> Vec<(String, u64)> {
    let kind = |line: LineCounters| {
        assert_eq!(line.wavefronts % line.requests, 0, "{slug}, line {}: warps differ", line.line);
        (line.instruction, line.wavefronts / line.requests)
    };
    let accesses = lines(slug).into_iter().filter(|line| matches!(line.class, Class::SharedLoad | Class::SharedStore));
    accesses.map(kind).collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn padding_and_swizzle_take_the_conflicts_away() {
    let [load, store, store_one] = ["ld.shared.v4.b32", "st.shared.v4.b32", "st.shared.b32"].map(str::to_owned);
    let of_both = |loads_of_b, stores_of_a| {
        let loads = BTreeSet::from([2, loads_of_b]).into_iter().map(|count| (load.clone(), count));
        loads.chain([(store_one.clone(), stores_of_a), (store.clone(), 4)]).collect::<Vec<_>>()
    };
    assert_eq!(wavefronts("vectorized"), of_both(8, 2));
    assert_eq!(wavefronts("bank-conflicts"), of_both(2, 1));
}

#[test]
fn lanes_that_share_ask_for_less() {
    // Nsight Compute counts the loads by warps: 32 requests of threads are one of smsp__sass_inst_executed_op_shared_ld.
    for (slug, requests, wavefronts, shuffles) in [
        ("vectorized", 8192, 160, 0),
        ("bank-conflicts", 8192, 64, 0),
        ("lane-sharing/6144", 6144, 64, 32),
        ("lane-sharing", 5120, 48, 48),
    ] {
        let lines = lines(slug);
        let sum = |class: Class, count: fn(&LineCounters) -> u64| -> u64 {
            lines.iter().filter(|line| line.class == class).map(count).sum()
        };
        assert_eq!(sum(Class::SharedLoad, |line| line.lanes), requests, "{slug}: requests");
        let warps = gpu_kernels::find(slug).map_or(1, |step| u64::from(step.threads()) / 32);
        assert_eq!(sum(Class::SharedLoad, |line| line.wavefronts), wavefronts * warps, "{slug}: wavefronts");
        assert_eq!(sum(Class::Lanes, |line| line.warps), shuffles * warps, "{slug}: shuffles");
    }
}
