//! Stream-K tiles are reduced in every launch: the second one finds the flags as the first one has left them.

use gpu_kernels::{Step, runnable};
use host::backend::{Backend, Kernel};
use host::{Operands, Problem, PtxSource, Verifier};
use ptx_emu::device::DEVICES;
use tests::contract::stream_k_sizes;

/// What is wrong after two launches.
fn fault(step: &'static Step, ptx: PtxSource, (m, n, k): (u32, u32, u32)) -> Option<String> {
    let problem = Problem::new(m, n, k).unwrap().with_scalars(1.5, 0.0).unwrap();
    let mut backend = tests::emulator(step, ptx, None);
    let operands = Operands::random(&problem).unwrap();
    backend.upload(&operands).unwrap();
    for _ in 0..2 {
        if let Err(error) = backend.run(Kernel::Step(step), &problem) {
            return Some(error.to_string());
        }
    }
    let verification = Verifier::new(&problem, &operands).verify(&backend.download().unwrap(), step.precision);
    verification.fault.map(|fault| fault.to_string())
}

#[test]
fn stream_k_tiles_are_reduced_in_every_launch() {
    let sm_count = DEVICES[0].sm_count;
    let sizes = |step| stream_k_sizes(step, sm_count).into_iter().map(move |size| (step, size));
    for (step, size) in runnable().flat_map(sizes) {
        let stream_k = step.stream_k_tiles(size.0, size.1, sm_count);
        assert!(stream_k.blocks > 0 && (stream_k.tiles > stream_k.blocks || step.has_many_splits()), "{}", step.slug);
        assert_eq!(fault(step, PtxSource::BuiltIn, size), None, "{}: {size:?}", step.slug);
    }
}

/// In the fixup of a tile, each partial tile must be waited for and reduced, and its flag taken down. Without any of that,
/// something is wrong.
#[test]
fn nothing_can_be_left_out_of_the_fixup() {
    let step = runnable().find(|step| step.has_many_splits()).expect("a step whose tiles have any number of splits");
    let [_, size, ..] = stream_k_sizes(step, DEVICES[0].sm_count)[..] else { panic!("{}", step.slug) };
    let text = PtxSource::BuiltIn.module(step).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let places = |opcode: &str| -> Vec<_> {
        let is_there = |line: &usize| lines[*line].trim_start().starts_with(opcode);
        (0..lines.len()).filter(is_there).collect()
    };
    let [additions, waits, flags] = ["add.rn.f32", "ld.acquire.gpu", "st.release.gpu"].map(places);
    assert!(!additions.is_empty() && !waits.is_empty() && flags.len() > waits.len(), "{}", step.slug);
    let taken_down: Vec<_> =
        waits.iter().map(|wait| flags.iter().copied().find(|flag| flag > wait).expect("a flag")).collect();
    let without = |removed: &[usize]| removed.iter().map(|&line| (line, String::new())).collect::<Vec<_>>();
    let mut changes: Vec<_> = taken_down.iter().map(|&flag| without(&[flag])).collect();
    // A block that does not wait may be lucky. If no flag is ever set, a wait that is left never ends.
    let published: Vec<_> = flags.iter().copied().filter(|flag| !taken_down.contains(flag)).collect();
    changes.extend((0..waits.len()).map(|kept| {
        let others = waits.iter().enumerate().filter(|(index, _)| *index != kept).map(|(_, &wait)| {
            let register = lines[wait].split([' ', ',']).find(|word| word.starts_with("%r")).expect("a register");
            (wait, format!("mov.b32 {register}, 1;"))
        });
        without(&published).into_iter().chain(others).collect()
    }));
    changes.push(without(&additions[..1]));
    for change in changes {
        let mut changed = lines.clone();
        change.iter().for_each(|(line, instead)| changed[*line] = instead);
        let ptx = PtxSource::File { path: "changed.ptx".into(), text: changed.join("\n") };
        let fault = fault(step, ptx, size);
        let numbers: Vec<_> = change.iter().map(|(line, _)| line + 1).collect();
        println!("{numbers:?}: {fault:?}");
        assert!(fault.is_some(), "{}: a change of the lines {numbers:?} is not missed", step.slug);
    }
}
