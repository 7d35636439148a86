//! Copies that go on beside a thread, the barriers that they complete on, and loads of matrices. PTX ISA, "Data Movement
//! and Conversion Instructions: Asynchronous copy", "mbarrier", "ldmatrix".

use super::Table;
use crate::conformance::kind::Kind::{Index, Int64};

pub(super) fn fill(table: &mut Table) {
    copies(table);
    barriers(table);
    for (count, results) in [(1, "%d"), (2, "%d, %e"), (4, "%d, %e, %f, %g")] {
        for trans in ["", ".trans"] {
            let name = format!("ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16");
            let code = format!("st.shared.v2.b64 [%ps], {{%a, %b}};\nbar.warp.sync -1;\n{name} {{{results}}}, [%ps];");
            table.code(&name, &vec![32; count], &[Int64; 2], &code);
        }
    }
}

/// 16 bytes of shared memory of which a copy overwrites some.
fn copies(table: &mut Table) {
    let before = "st.shared.v2.b64 [%ps], {-1, 0x0123456789abcdef};\n";
    let after = "ld.shared.v2.b64 {%d, %e}, [%ps];";
    for (cache, bytes) in [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)] {
        let name = format!("cp.async.{cache}.shared.global");
        let code = format!("{before}{name} [%ps], [%pair], {bytes};\ncp.async.wait_all;\n{after}");
        table.code(&format!("{name} of {bytes} bytes"), &[64, 64], &[Int64; 2], &code);
        let code = format!(
            "{before}and.b32 %r0, %c, {};\n{name} [%ps], [%pair], {bytes}, %r0;\ncp.async.commit_group;\n\
             cp.async.wait_group 0;\n{after}",
            bytes - 1
        );
        table.code(&format!("{name} of fewer than {bytes} bytes"), &[64, 64], &[Int64, Int64, Index], &code);
    }
}

/// The state of a barrier is the hardware's own affair; whether a phase is over, and how many are awaited, is not.
fn barriers(table: &mut Table) {
    let code = "mbarrier.init.shared.b64 [%ps], 1;\nmbarrier.arrive.shared.b64 %l0, [%ps];\n\
                mbarrier.test_wait.shared.b64 %d, [%ps], %l0;";
    table.code("mbarrier.test_wait of a phase that is over", &[1], &[Index], code);
    let code = "and.b32 %r0, %a, 7;\nadd.u32 %r0, %r0, 2;\nmbarrier.init.shared.b64 [%ps], %r0;\n\
                mbarrier.arrive.shared.b64 %l0, [%ps];\nmbarrier.test_wait.shared.b64 %d, [%ps], %l0;\n\
                mbarrier.pending_count.b64 %e, %l0;";
    table.code("mbarrier.pending_count", &[1, 32], &[Index], code);
    let code = "mbarrier.init.shared.b64 [%ps], 1;\nmbarrier.arrive.expect_tx.shared.b64 %l0, [%ps], 16;\n\
                mbarrier.test_wait.shared.b64 %d, [%ps], %l0;\n\
                mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%ps], 16;\n\
                mbarrier.test_wait.shared.b64 %e, [%ps], %l0;\n\
                mbarrier.test_wait.parity.shared.b64 %f, [%ps], 0;\nmbarrier.test_wait.parity.shared.b64 %g, [%ps], 1;";
    table.code("mbarrier.expect_tx and complete_tx", &[1, 1, 1, 1], &[Index], code);
}
