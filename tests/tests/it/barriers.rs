//! Every barrier is needed, and the emulator knows it: each `bar.sync` of each step and of its pre-passes is left out in
//! turn, and the race that then is there is found, with both of its lines.

use gpu_kernels::{Step, runnable};
use host::backend::{Backend, Kernel};
use host::{Error, Operands, Problem, PtxSource};

const BARRIER: &str = "bar.sync";

/// A tile inside and others on the edges, and three slices, the last of which is not complete: with rows that 128-bit
/// loads can read, and with others. And a part of one slice: it is where a partial tile comes to lie.
fn problems(step: &'static Step) -> [Problem; 3] {
    let tile = step.tile;
    let size = |more, slices| Problem::new(tile.bm + more, tile.bn + more, slices * tile.bk + more);
    [(4, 2), (3, 2), (3, 0)].map(|(more, slices)| size(more, slices).unwrap().for_kernel(Kernel::Step(step)).unwrap())
}

/// What the emulator says first about the step in this PTX.
fn run(step: &'static Step, text: String) -> Result<(), Error> {
    let ptx = PtxSource::File { path: "barriers.ptx".into(), text };
    let mut backend = tests::emulator(step, ptx, None);
    problems(step).into_iter().try_for_each(|problem| {
        backend.upload(&Operands::random(&problem)?)?;
        backend.run(Kernel::Step(step), &problem).map(|_| ())
    })
}

/// The module of the step's kernels, and the lines that are barriers, counted from 0.
fn barriers(step: &Step) -> (Vec<String>, Vec<usize>) {
    let lines: Vec<_> = PtxSource::BuiltIn.module(step).unwrap().lines().map(str::to_owned).collect();
    let barriers = (0..lines.len()).filter(|&line| lines[line].trim_start().starts_with(BARRIER)).collect();
    (lines, barriers)
}

#[test]
fn no_barrier_can_be_left_out() {
    // Where TMA loads fill shared memory, barriers that count bytes keep it in order.
    for step in runnable().filter(|step| step.maps.is_none()) {
        let (lines, barriers) = barriers(step);
        assert!(run(step, lines.join("\n")).is_ok(), "{}", step.slug);
        assert_eq!(barriers.is_empty(), step.smem_bytes + step.dynamic_smem_bytes == 0, "{}", step.slug);
        for barrier in barriers {
            let mut without = lines.clone();
            // The other lines keep their numbers.
            without[barrier].clear();
            let line = barrier + 1;
            match run(step, without.join("\n")) {
                Err(Error::Emulated { finding, .. }) => {
                    assert!(finding.starts_with("race: line "), "{}, without line {line}: {finding}", step.slug);
                    assert!(finding.matches("line ").count() >= 2, "{}, without line {line}: {finding}", step.slug);
                    assert!(finding.contains(".shared"), "{}, without line {line}: {finding}", step.slug);
                }
                other => panic!("{}: without line {line} there is no race: {other:?}", step.slug),
            }
        }
    }
}
