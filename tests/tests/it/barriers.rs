//! Every barrier is needed, and the emulator knows it: each barrier of each step and of its pre-passes is left out in turn,
//! and the race that then is there is found, with both of its lines.

use gpu_kernels::{Splits, Step, Transposed, runnable};
use host::backend::{Backend, Kernel};
use host::{Error, Operands, Problem, PtxSource};

/// Of a block, and of a cluster: where one arrives and waits at once. A named one waits for the MMAs of other warps, which are complete
/// for the emulator as soon as one of their warpgroup's warps has waited.
const BARRIERS: [&str; 2] = ["bar.sync \t0", "barrier.cluster.arrive.aligned; barrier.cluster.wait"];

/// SMs for which k is split.
const SM_COUNT: u32 = 132;

/// Rows or columns of a tile of a matrix times a few vectors, and k of a piece of these in shared memory.
const FEW: u32 = 8;
const PIECE: u32 = 1024;

/// Of vectors in several pieces, where that takes one tile and one kernel: for others, hundreds of tiles would be needed. With rows that
/// 128-bit loads can read, and with others.
fn in_pieces(step: &Step) -> Vec<Problem> {
    let [m, n] = [step.tile.bm, step.tile.bn];
    let has_pieces = |k: &u32| {
        let Splits { cluster, planes } = step.splits(m, n, *k, 1, SM_COUNT);
        m.min(n) <= FEW && planes == 1 && 4 * *k > 5 * PIECE * cluster
    };
    let k = (1..=2 * Splits::MAX_CLUSTER).map(|half| half * PIECE / 2 + 4).find(has_pieces);
    let uneven = [m - u32::from(m > n), n - u32::from(n > m)];
    k.into_iter().flat_map(|k| [[m, n], uneven].map(|[m, n]| Problem::new(m, n, k).unwrap())).collect()
}

/// A tile inside and others on the edges, and three slices, the last of which is not complete: with rows that 128-bit
/// loads can read, and with others. And a part of one slice: it is where a partial tile comes to lie.
/// Where the plan splits k: two more, one that needs C, and one that is long enough for a cluster. And a few vectors that shared memory has
/// no room for at once.
fn problems(step: &'static Step) -> Vec<Problem> {
    let tile = step.tile;
    let size = |more, k| Problem::new(tile.bm + more, tile.bn + more, k + more).unwrap();
    let vector = 16 / step.precision.input().bytes();
    let mut problems = vec![size(vector, 2 * tile.bk), size(3, 2 * tile.bk), size(3, 0)];
    if step.is_planned() {
        problems.push(size(3, 0).with_scalars(1.0, 1.0).unwrap());
    }
    let is_split = |k: &u32| step.splits(tile.bm + 3, tile.bn + 3, *k, 1, SM_COUNT).cluster > 1;
    let long = step.may_be_split().then(|| (1..).map(|k_tiles| k_tiles * tile.bk).find(is_split)).flatten();
    problems.extend(long.map(|k| size(3, k)));
    problems.extend(in_pieces(step));
    problems.into_iter().map(|problem| problem.for_kernel(Kernel::Step(step)).unwrap()).collect()
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
    let is_barrier = |line: &usize| BARRIERS.iter().any(|barrier| lines[*line].trim_start().starts_with(barrier));
    let barriers = (0..lines.len()).filter(is_barrier).collect();
    (lines, barriers)
}

#[test]
fn no_barrier_can_be_left_out() {
    // Where TMA loads fill shared memory, barriers that count bytes keep it in order.
    for step in runnable().filter(|step| step.maps.is_none()) {
        let (lines, barriers) = barriers(step);
        let found = run(step, lines.join("\n"));
        assert!(found.is_ok(), "{}: {found:?}", step.slug);
        assert_eq!(barriers.is_empty(), step.smem_bytes + step.dynamic_smem_bytes == 0, "{}", step.slug);
        for barrier in barriers {
            let mut without = lines.clone();
            // Some kernels have one for operands in the other order alone, which none of these problems reaches.
            without[barrier] = "trap;".to_owned();
            if run(step, without.join("\n")).is_ok() {
                assert_eq!(step.transposed, Transposed::Read, "{}: line {} is not reached", step.slug, barrier + 1);
                continue;
            }
            // The other lines keep their numbers.
            without[barrier].clear();
            let line = barrier + 1;
            match run(step, without.join("\n")) {
                Err(Error::Emulated { finding, .. }) => {
                    let is_race = finding.starts_with("race: line ") && finding.matches("line ").count() >= 2;
                    // Shared memory of another block of the cluster.
                    let is_late =
                        finding.ends_with("whose threads have all exited") || finding.contains("may not have begun");
                    assert!(is_race || is_late, "{}, without line {line}: {finding}", step.slug);
                    assert!(finding.contains(".shared"), "{}, without line {line}: {finding}", step.slug);
                }
                Ok(()) if step.tile.bm.min(step.tile.bn) <= FEW && in_pieces(step).is_empty() => {} // between pieces
                other => panic!("{}: without line {line} there is no race: {other:?}", step.slug),
            }
        }
    }
}
