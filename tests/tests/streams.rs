//! Tiles that are streamed come together in every launch: the second one finds the flags as the first one has left them.

use gpu_kernels::runnable;
use host::backend::{Backend, Kernel};
use host::{Operands, Problem, PtxSource, Verifier};
use ptx_emu::device::DEVICES;
use tests::contract::streamed_in_part;

#[test]
fn streamed_tiles_come_together_in_every_launch() {
    let sm_count = DEVICES[0].sm_count;
    for (step, (m, n, k)) in runnable().filter_map(|step| Some((step, streamed_in_part(step, sm_count)?))) {
        let problem = Problem::new(m, n, k).unwrap().with_scalars(1.5, 0.0).unwrap();
        let streamed = step.streamed(m, n, sm_count);
        assert!(streamed.tiles > streamed.blocks && streamed.blocks > 0, "{}: {streamed:?}", step.slug);
        let mut backend = tests::emulator(step, PtxSource::BuiltIn, None);
        let operands = Operands::random(&problem).unwrap();
        backend.upload(&operands).unwrap();
        for _ in 0..2 {
            backend.run(Kernel::Step(step), &problem).unwrap_or_else(|error| panic!("{}: {error}", step.slug));
        }
        let verification = Verifier::new(&problem, &operands).verify(&backend.download().unwrap(), step.precision);
        assert_eq!(verification.fault, None, "{}", step.slug);
    }
}
