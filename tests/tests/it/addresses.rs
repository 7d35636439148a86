//! In a cluster, the address of shared memory names its block. Matrices that a kernel describes by the whole of it are not where
//! they are: the emulator says so, where an H200 gives wrong results.

use gpu_kernels::runnable;
use host::backend::{Backend, Kernel};
use host::{Error, Operands, Problem, PtxSource, Verifier};

/// Takes 14 bits of an address, from bit 4 on, for the descriptor of a matrix.
const MASKED: &str = ", 4, 14;";
/// Takes all that an address has there.
const WHOLE: &str = ", 4, 28;";

/// The second matrix is transposed: there is more of it beside its first columns, at an offset that the rank comes to lie in.
const TRANSPOSED: &str = "scale_d, 1, 1, 0, 1;";

#[test]
fn descriptors_are_made_of_masked_addresses() {
    let mut found = vec![];
    for step in runnable().filter(|step| step.cluster != [1; 3]) {
        let text = PtxSource::BuiltIn.module(step).unwrap();
        if !text.contains("wgmma.mma_async") {
            continue;
        }
        assert!(text.contains(MASKED), "{}: no address is masked", step.slug);
        let ptx = PtxSource::File { path: "whole.ptx".into(), text: text.replace(MASKED, WHOLE) };
        let problem = Problem::new(step.tile.bm, step.tile.bn, step.tile.bk).unwrap();
        let problem = problem.for_kernel(Kernel::Step(step)).unwrap();
        let operands = Operands::random(&problem).unwrap();
        let mut backend = tests::emulator(step, ptx, None);
        backend.upload(&operands).unwrap();
        match backend.run(Kernel::Step(step), &problem) {
            Err(Error::Emulated { finding, .. }) => {
                assert!(finding.contains("the rank of the block in bits 24 and up"), "{}: {finding}", step.slug);
                found.push(step.slug);
            }
            Ok(_) => {
                let verification =
                    Verifier::new(&problem, &operands).verify(&backend.download().unwrap(), step.precision);
                assert_eq!(verification.fault, None, "{}", step.slug);
                assert!(!text.contains(TRANSPOSED), "{}: nothing is found", step.slug);
            }
            Err(error) => panic!("{}: {error}", step.slug),
        }
    }
    assert!(!found.is_empty(), "no step has such matrices");
}
