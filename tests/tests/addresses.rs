//! In a cluster, the address of shared memory names its block. A kernel that describes matrices by it, and leaves that in, is
//! found out, as it would be by the results on a GPU.

use gpu_kernels::runnable;
use host::backend::{Backend, Kernel};
use host::{Error, Operands, Problem, PtxSource};

/// Takes 14 bits of an address, from bit 4 on, for a descriptor of matrices.
const MASKED: &str = ", 4, 14;";
/// Takes all that an address has there.
const WHOLE: &str = ", 4, 28;";

#[test]
fn descriptors_are_made_of_masked_addresses() {
    let mut found = 0;
    for step in runnable().filter(|step| step.cluster != [1; 3]) {
        let text = PtxSource::BuiltIn.module(step).unwrap();
        if !text.contains("wgmma.mma_async") {
            continue;
        }
        assert!(text.contains(MASKED), "{}: no address is masked", step.slug);
        let ptx = PtxSource::File { path: "whole.ptx".into(), text: text.replace(MASKED, WHOLE) };
        let mut backend = tests::emulator(step, ptx, None);
        let problem = Problem::new(step.tile.bm, step.tile.bn, step.tile.bk).unwrap();
        backend.upload(&Operands::random(&problem).unwrap()).unwrap();
        match backend.run(Kernel::Step(step), &problem) {
            Err(Error::Emulated { finding, .. }) => {
                assert!(finding.contains("the block's rank in its bits from 24 on"), "{}: {finding}", step.slug);
                found += 1;
            }
            // Rows along k that are as long as their swizzle need no offset beside them, which is where the rank comes to lie.
            Ok(_) => assert!(!text.contains("adds, 1, 1, 0, 1;"), "{}: nothing is found", step.slug),
            Err(error) => panic!("{}: {error}", step.slug),
        }
    }
    assert!(found > 0, "no step has such matrices");
}
