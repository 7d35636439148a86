//! Traces: their states are those of the launch itself, in both directions, and they say what happened.

use ptx_emu::trace::{AccessKind, CopyKind, Event, State, Step, Trace, WarpId};
use ptx_emu::{Checks, FindingKind, GlobalMemory, Kernel, Launch, Module, Report, Space, Type};

use super::wgmma::tile;
use super::{programs, tensor};

const REDUCTION: &str = include_str!("../ptx/reduction.ptx");
const SAXPY: &str = include_str!("../ptx/saxpy.ptx");
const TENSOR_DUMP: &str = include_str!("../ptx/tensor_dump.ptx");

/// More than any of the programs here takes, but those that never end.
const LIMIT: usize = 20_000;

/// Traces a launch, and compares with the launch itself: what was found, and the memory before and after.
fn traced(name: &str, make: impl Fn() -> (Kernel, GlobalMemory, Launch)) -> (Trace, Report) {
    let (kernel, mut memory, launch) = make();
    let (trace, report) = kernel.trace(&mut memory, &launch, LIMIT).unwrap();
    let mut state = State::new(&trace);
    state.seek(&trace, usize::MAX);
    assert_eq!(state.position(), trace.steps.len());
    if trace.truncated {
        assert!(report.stopped && trace.steps.len() == LIMIT, "{name}");
    } else {
        let (kernel, mut memory, launch) = make();
        let native = kernel.launch(&mut memory, &Launch { threads: 1, ..launch }).unwrap();
        assert_eq!((&report.findings, &report.fault), (&native.findings, &native.fault), "{name}");
        assert_eq!(report.counters.warp_instructions(), native.counters.warp_instructions(), "{name}");
        let contents = trace.global.iter().map(|region| memory.read(region.base).unwrap());
        let last = state.regions().iter().map(|region| &region.bytes);
        assert!(last.eq(&contents.collect::<Vec<_>>()), "{name}: the last state is not the memory after the launch");
    }
    registers_agree_with_memory(name, &trace);
    results_come_once(name, &trace);
    let end = state.clone();
    state.seek(&trace, 0);
    assert!(state.regions() == trace.global, "{name}: the first state is not the memory before the launch");
    for warp in trace.warps() {
        let mut registers =
            (0..trace.registers.len() as u32).flat_map(|register| (0..32).map(move |lane| (register, lane)));
        let is_undefined = registers.all(|(register, lane)| state.register(warp, register, lane).is_none());
        assert!(is_undefined, "{name}: registers have values before the first step");
        assert!(state.shared(warp.block).iter().all(|byte| *byte == 0), "{name}");
    }
    let (_, memory, _) = make();
    // The module's variables are not there before a launch.
    let own = trace.global.iter().filter_map(|region| Some((&region.bytes, memory.read(region.base)?)));
    let (first, initial): (Vec<_>, Vec<_>) = own.unzip();
    assert!(first.into_iter().eq(&initial), "{name}");
    state.seek(&trace, usize::MAX);
    assert!(state.regions() == end.regions(), "{name}: not the same the second time");
    (trace, report)
}

/// Compares what scalar loads and stores move: the register, by its name, and memory.
fn registers_agree_with_memory(name: &str, trace: &Trace) {
    let mut state = State::new(trace);
    for step in &trace.steps {
        let instruction = &trace.instructions[step.instruction as usize];
        let is_scalar = |of: &str| {
            let mnemonic = &instruction.mnemonic;
            mnemonic.starts_with(of)
                && !mnemonic.contains(".v")
                && !mnemonic.contains("async")
                && step.accesses.len() == 1
        };
        let is_predicate = |register: &&u32| trace.registers[**register as usize].ty == Type::Pred;
        let (source, result) = match instruction.reads.iter().skip_while(is_predicate).collect::<Vec<_>>()[..] {
            // An address and a value; with one register less, either may be a constant.
            [_, value] if is_scalar("st.") => (Some(*value), None),
            _ if is_scalar("ld.") => (None, step.registers.first()),
            _ => (None, None),
        };
        for (at, place) in step.accesses.iter().flat_map(|access| access.places.iter().enumerate()) {
            let (access, lane) = (&step.accesses[0], u32::from(place.lane));
            let is_alone = access.places.iter().filter(|other| other.address == place.address).count() == 1;
            let moved = match (source, result) {
                (Some(source), _) if is_alone => Some((state.register(step.warp, source, lane), access.after_at(at))),
                (_, Some(write)) => Some((write.after(lane), access.before_at(at))),
                _ => None,
            };
            if let Some((value, bytes)) = moved {
                let value = value.unwrap_or_else(|| panic!("{name}, line {}: no value", step.line));
                assert_eq!(&value.to_le_bytes()[..bytes.len()], bytes, "{name}, line {}, lane {lane}", step.line);
            }
        }
        state.forward(trace);
    }
}

/// Lanes that wait get their result once, when they go on.
fn results_come_once(name: &str, trace: &Trace) {
    for (index, instruction) in trace.instructions.iter().enumerate().filter(|(_, of)| of.mnemonic.contains(".red.")) {
        let steps =
            || trace.steps.iter().filter(|step| step.instruction as usize == index && !instruction.writes.is_empty());
        let resumes = |step: &&Step| step.events.iter().any(|event| matches!(event, Event::Resumed { .. }));
        let arrived: u32 = steps().filter(|step| !resumes(step)).map(|step| step.active.count_ones()).sum();
        let written: u32 = steps().flat_map(|step| &step.registers).map(|write| write.lanes.count_ones()).sum();
        assert!(trace.truncated || arrived == written, "{name}, line {}: {arrived}, {written}", instruction.line);
    }
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
    assert!(count > 150 && truncated.len() < 10, "{truncated:?}");
}

/// The number of a line that has these words.
fn line_of(text: &str, words: &str) -> u32 {
    1 + text.lines().position(|line| line.contains(words)).unwrap() as u32
}

/// The events of a kind, each with its step.
fn events<'t, T>(trace: &'t Trace, f: impl Fn(&'t Event) -> Option<T>) -> Vec<(usize, T)> {
    let all =
        trace.steps.iter().enumerate().flat_map(|(index, step)| step.events.iter().map(move |event| (index, event)));
    all.filter_map(|(index, event)| Some((index, f(event)?))).collect()
}

/// Launches the reduction of `threads` words in each of two blocks.
fn reduction(entry: &str, threads: u32, checks: Checks) -> (Kernel, GlobalMemory, Launch) {
    let kernel = Module::parse(REDUCTION).unwrap().kernel(entry).unwrap();
    let mut memory = GlobalMemory::default();
    let (input, output) = (memory.allocate_words(0..2 * threads), memory.allocate_words([7; 2]));
    let launch = Launch { checks, ..Launch::new([2, 1, 1], [threads, 1, 1]) };
    (kernel, memory, launch.argument(input.to_le_bytes()).argument(output.to_le_bytes()))
}

#[test]
fn a_reduction_step_by_step() {
    let make = || reduction("reduction", 64, Checks::ALL);
    let (trace, report) = traced("reduction", make);
    assert!(report.is_clean());
    let output = u64::from_le_bytes(make().2.arguments[1].as_slice().try_into().unwrap());

    // Sums of 0 to 63 and of 64 to 127.
    let end = trace.steps.len();
    for (block, sum) in [(0, 2016u32), (1, 6112)] {
        let (index, access) = trace.last_global_write(end, output + 4 * u64::from(block), 4).unwrap();
        let step = &trace.steps[index];
        assert_eq!((access.before_at(0), access.after_at(0)), (&[7, 0, 0, 0][..], &sum.to_le_bytes()[..]));
        assert_eq!((step.line, access.line), (49, 49));
        assert_eq!((step.warp, step.active), (WarpId { block: [block, 0, 0], warp: 0 }, 1));
        assert!(trace.last_global_write(index, output + 4 * u64::from(block), 4).is_none());

        // Level by level, thread 0 adds what is there already.
        let (mut before, mut sums) = (end, vec![]);
        while let Some((index, access)) = trace.last_shared_write(before, [block, 0, 0], 0, 4) {
            let at = access.places.iter().position(|place| place.address == 0).unwrap();
            sums.push(u32::from_le_bytes(access.after_at(at).try_into().unwrap()));
            assert_eq!(trace.steps[index].line, if sums.len() == 7 { 28 } else { 41 });
            before = index;
        }
        assert_eq!((sums.len(), sums[0]), (7, sum));
        assert!(sums.is_sorted_by(|one, other| one > other));
    }

    // Six levels, each with a barrier that both warps of each of two blocks reach, one of which waits.
    let completed = events(&trace, |event| matches!(event, Event::BarrierCompleted { id: 0 }).then_some(()));
    assert_eq!(completed.len(), 12);
    let waits = trace.steps.iter().filter(|step| step.waiting != 0).collect::<Vec<_>>();
    assert!(waits.len() == 12 && waits.iter().all(|step| step.line == 33 && step.waiting == u32::MAX));
    let exits = events(&trace, |event| if let Event::Exited { lanes } = event { Some(*lanes) } else { None });
    let lanes: u32 = exits.iter().map(|(_, lanes)| lanes.count_ones()).sum();
    assert_eq!(lanes, 128);
}

#[test]
fn registers_have_their_names_although_they_share_rows() {
    let kernel = Module::parse(SAXPY).unwrap().kernel("saxpy").unwrap();
    let mut memory = GlobalMemory::default();
    let [x, y] = [0, 40].map(|first| memory.allocate_words((first..first + 40).map(|value| (value as f32).to_bits())));
    let launch = Launch::new([1, 1, 1], [32, 1, 1]).argument(40u32.to_le_bytes()).argument(2f32.to_le_bytes());
    let launch = launch.argument(x.to_le_bytes()).argument(y.to_le_bytes());
    let (trace, _) = kernel.trace(&mut memory, &launch, LIMIT).unwrap();
    let warp = WarpId { block: [0; 3], warp: 0 };
    let named = |name: &str| trace.register_named(name).unwrap();
    let fma = line_of(SAXPY, "fma.rn.f32");
    let second = *trace.steps_of(warp).iter().filter(|step| trace.steps[**step].line == fma).nth(1).unwrap();
    let step = &trace.steps[second];
    assert_eq!((step.lanes, step.active, step.registers.len()), (0xff, 0xff, 1), "the second round is of 8 threads");
    let write = &step.registers[0];
    assert_eq!((write.register, write.lanes, write.first), (named("%f4"), 0xff, 0));
    let bits = |value: f32| Some(u128::from(value.to_bits()));
    // 2 * x + y of element 3, then of element 35.
    assert_eq!((write.before(3), write.after(3)), (bits(2.0 * 3.0 + 43.0), bits(2.0 * 35.0 + 75.0)));
    assert_eq!((write.before(8), write.after(8), write.changed()), (None, None, 0xff));

    let mut state = State::new(&trace);
    state.seek(&trace, second);
    let value = |state: &State, name: &str, lane: u32| state.register(warp, named(name), lane);
    let address = u128::from(y) + 4 * 35;
    assert_eq!([value(&state, "%f2", 3), value(&state, "%f3", 3)], [bits(35.0), bits(75.0)]);
    assert_eq!(
        [value(&state, "%rd5", 3), value(&state, "%r5", 3), value(&state, "%p", 3)],
        [Some(address), Some(35), Some(0)]
    );
    assert_eq!(
        [value(&state, "%p", 9), value(&state, "%f4", 9)],
        [Some(1), bits(2.0 * 9.0 + 49.0)],
        "a lane that has left"
    );
    state.back(&trace);
    assert_eq!(value(&state, "%f3", 3), bits(43.0));
    let loads = trace.steps[second - 1].accesses.iter().map(|access| (access.kind, access.space, access.places.len()));
    assert_eq!(loads.collect::<Vec<_>>(), [(AccessKind::Read, Space::Global, 8)]);
}

#[test]
fn copies_and_products_of_tensor_cores() {
    let make = || {
        let (kernel, memory, launch, _) = tile::prepare(tile::TEXT, 3, Checks::ALL);
        (kernel, memory, launch)
    };
    let (trace, report) = traced("wgmma", make);
    assert!(report.is_clean());
    let init = line_of(tile::TEXT, "mbarrier.init.shared.b64 [full], 1;");
    let inits = events(&trace, |event| if let Event::MbarrierInit { count, .. } = event { Some(*count) } else { None });
    assert_eq!(inits.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 1, 4, 4]);
    assert_eq!(trace.steps[inits[0].0].line, init);

    // Three steps, each with a box of either matrix; a copy completes where a warp waits for it.
    let of = |is_end: bool| {
        events(&trace, move |event| match event {
            Event::CopyIssued(copy) if !is_end => Some(copy),
            Event::CopyCompleted(copy) if is_end => Some(copy),
            _ => None,
        })
    };
    let (issued, completed) = (of(false), of(true));
    assert_eq!((issued.len(), completed.len()), (6, 6));
    for (&(index, copy), (end, ended)) in issued.iter().zip(&completed) {
        assert_eq!((copy.kind, copy.bytes, copy.warp.warp, copy.lanes), (CopyKind::BulkLoad, 8192, 4, 1));
        assert!(copy == *ended && index < *end);
        let step = &trace.steps[*end];
        let written: Vec<_> =
            step.accesses.iter().filter(|access| access.is_async && access.line == copy.line).collect();
        let bytes = |space: Space| written.iter().filter(move |access| access.space == space && access.bytes != 8);
        let moved = |space: Space| bytes(space).map(|access| access.bytes * access.places.len() as u32).sum::<u32>();
        assert!(moved(Space::Shared) >= 8192 && moved(Space::Global) >= 8192, "{written:?}");
        assert_eq!(trace.last_shared_write(*end + 1, [0; 3], copy.shared, 16).unwrap().1.line, copy.line);
    }
    let completions = events(&trace, |event| matches!(event, Event::MbarrierCompleted { .. }).then_some(()));
    // Three stages became full, and the first two of them empty again.
    assert_eq!(completions.len(), 5);

    // Each of four warps issues four products for each step; a product reads its own rows of A, and B.
    let is_product =
        |step: &&Step| trace.instructions[step.instruction as usize].mnemonic.starts_with("wgmma.mma_async");
    let products: Vec<&Step> = trace.steps.iter().filter(is_product).collect();
    assert_eq!(products.len(), 4 * 4 * 3);
    for product in products {
        assert_eq!((product.registers.len(), product.accesses.len()), (32, 1));
        let read = &product.accesses[0];
        assert_eq!(
            (read.kind, read.space, read.places.len() as u32 * read.bytes),
            (AccessKind::Read, Space::Shared, 2560)
        );
    }
}

#[test]
fn boxes_in_all_layouts() {
    let recorded: serde_json::Value = serde_json::from_str(include_str!("../conformance/tensors.json")).unwrap();
    let module = Module::parse(TENSOR_DUMP).unwrap();
    for recorded in recorded["boxes"].as_array().unwrap().iter().step_by(45) {
        let make = || {
            let (kernel, memory, launch, _) = tensor::prepare(&module, recorded);
            (kernel, memory, launch)
        };
        let (trace, _) = traced(&recorded.to_string(), make);
        let issued = |event| matches!(event, &Event::CopyIssued(_)).then_some(());
        assert_eq!(events(&trace, issued).len(), 1);
    }
}

#[test]
fn findings_are_where_they_happen() {
    let (trace, report) = traced("reduction_racy", || reduction("reduction_racy", 64, Checks::ALL));
    assert!(!report.findings.is_empty());
    let found = events(&trace, |event| if let Event::Found(finding) = event { Some(finding) } else { None });
    assert!(report.findings.iter().all(|finding| found.iter().any(|(_, event)| *event == finding)));
    for (index, finding) in found {
        let step = &trace.steps[index];
        assert_eq!(step.line, finding.line);
        assert_eq!((step.warp.block, step.warp.warp), (finding.thread.block, finding.thread.thread[0] / 32));
    }
    let (trace, report) = programs::all("bad")
        .find(|(name, _)| name.ends_with("/out_of_bounds_global.ptx"))
        .map(|(name, make)| traced(&name, make))
        .unwrap();
    assert_eq!(report.fault.as_ref().map(|fault| fault.kind), Some(FindingKind::OutOfBounds));
    let last = trace.steps.last().unwrap();
    assert!(
        matches!(last.events.last(), Some(Event::Found(fault)) if Some(fault) == report.fault.as_ref()),
        "{last:?}"
    );
}

#[test]
fn a_limit_ends_the_trace_and_the_launch() {
    let make = || reduction("reduction", 64, Checks::NONE);
    let (whole, _) = traced("reduction", make);
    let (kernel, mut memory, launch) = make();
    let (trace, report) = kernel.trace(&mut memory, &launch, 100).unwrap();
    assert!(trace.truncated && report.stopped && trace.steps == whole.steps[..100]);
    let (kernel, mut memory, launch) = make();
    let (trace, report) = kernel.trace(&mut memory, &launch, whole.steps.len()).unwrap();
    assert!(!trace.truncated && !report.stopped && trace.steps == whole.steps);
    let (kernel, mut memory, launch) = make();
    assert!(kernel.trace(&mut memory, &launch, 0).unwrap().0.steps.is_empty());
}
