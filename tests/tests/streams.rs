//! Tiles that are streamed: the parts of a tile meet, in every launch, and nobody waits for ever.

use gpu_kernels::{Schedule, Step, runnable};
use host::backend::{Backend, Kernel};
use host::{Operands, Problem, PtxSource, Verifier};
use ptx_emu::device::DEVICES;

/// Columns of tiles.
const COLUMNS: u32 = 11;

/// A few tiles more than the device has places for blocks, in three slices.
fn problem(step: &Step, blocks_per_sm: u32) -> Problem {
    let tile = step.tile;
    let rows = (DEVICES[0].sm_count * blocks_per_sm).div_ceil(COLUMNS) + 1;
    Problem::new(rows * tile.bm - 3, COLUMNS * tile.bn - 5, 2 * tile.bk + 3).unwrap().with_scalars(1.5, 0.0).unwrap()
}

#[test]
fn streamed_tiles_come_together_in_every_launch() {
    let streams = |step: &'static Step| match step.schedule {
        Schedule::StreamK { blocks_per_sm } => Some((step, blocks_per_sm)),
        _ => None,
    };
    for (step, blocks_per_sm) in runnable().filter_map(streams) {
        let problem = problem(step, blocks_per_sm);
        let streamed = step.streamed(problem.m, problem.n, DEVICES[0].sm_count);
        assert!(streamed.tiles > streamed.blocks && streamed.blocks > 0, "{}: {streamed:?}", step.slug);
        let mut backend = tests::emulator(step, PtxSource::BuiltIn, None);
        let operands = Operands::random(&problem).unwrap();
        backend.upload(&operands).unwrap();
        // The second launch finds the flags as the first one has left them.
        for _ in 0..2 {
            backend.run(Kernel::Step(step), &problem).unwrap_or_else(|error| panic!("{}: {error}", step.slug));
        }
        let verification = Verifier::new(&problem, &operands).verify(&backend.download().unwrap());
        assert_eq!(verification.fault, None, "{}", step.slug);
    }
}
