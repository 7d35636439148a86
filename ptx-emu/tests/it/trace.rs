//! Traces: their states are those of the launch itself, in both directions, and they say what happened.

use ptx_emu::trace::{State, Trace, WarpId};
use ptx_emu::{GlobalMemory, Kernel, Launch, Report};

use super::programs;

/// More than any of the programs here takes, but those that never end.
const LIMIT: usize = 100_000;

fn contents(trace: &Trace, memory: &GlobalMemory) -> Vec<Vec<u8>> {
    trace.global.iter().map(|region| memory.read(region.base).unwrap()).collect()
}

/// Traces a launch, and compares with the launch itself: what was found, and the memory before and after.
fn traced(name: &str, make: impl Fn() -> (Kernel, GlobalMemory, Launch)) -> (Trace, Report) {
    let (kernel, mut memory, launch) = make();
    let (trace, report) = kernel.trace(&mut memory, &launch, LIMIT).unwrap();
    let (kernel, mut memory, launch) = make();
    let native = kernel.launch(&mut memory, &Launch { threads: 1, ..launch }).unwrap();
    if trace.truncated {
        assert!(report.stopped && trace.steps.len() == LIMIT, "{name}");
        return (trace, report);
    }
    assert_eq!((&report.findings, &report.fault), (&native.findings, &native.fault), "{name}");
    assert_eq!(report.counters.warp_instructions(), native.counters.warp_instructions(), "{name}");
    let mut state = State::new(&trace);
    state.seek(&trace, usize::MAX);
    assert_eq!(state.position(), trace.steps.len());
    let last: Vec<&[u8]> = state.regions().iter().map(|region| region.bytes.as_slice()).collect();
    assert!(last == contents(&trace, &memory), "{name}: the last state is not the memory after the launch");
    let there_and_back = state.clone();
    state.seek(&trace, 0);
    assert!(state.regions() == trace.global, "{name}: the first state is not the memory before the launch");
    let untouched = |warp: &WarpId| {
        let registers = 0..trace.registers.len() as u32;
        registers
            .flat_map(|register| (0..32).map(move |lane| (register, lane)))
            .all(|(register, lane)| state.register(*warp, register, lane).is_none())
    };
    assert!(trace.warps().iter().all(untouched), "{name}: registers have values before the first step");
    assert!(trace.warps().iter().all(|warp| state.shared(warp.block).iter().all(|byte| *byte == 0)), "{name}");
    let (_, memory, _) = make();
    let first: Vec<&[u8]> = trace.global.iter().map(|region| region.bytes.as_slice()).collect();
    let initial: Vec<_> = trace.global.iter().filter_map(|region| memory.read(region.base)).collect();
    // The module's variables are not there before a launch.
    assert!(first[first.len() - initial.len()..] == initial, "{name}");
    state.seek(&trace, usize::MAX);
    assert!(state.regions() == there_and_back.regions(), "{name}: not the same the second time");
    (trace, report)
}

#[test]
fn states_are_those_of_the_launch() {
    let (mut count, mut truncated) = (0, vec![]);
    for folder in ["good", "bad"] {
        for (name, make) in programs::all(folder) {
            let (trace, _) = traced(&name, make);
            truncated.extend(trace.truncated.then_some(name));
            count += 1;
        }
    }
    assert!(count > 150 && truncated.len() < 8, "{truncated:?}");
}
