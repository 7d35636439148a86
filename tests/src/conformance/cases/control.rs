//! Branches, loops, calls and barriers. PTX ISA, "Control Flow Instructions".

use super::Table;
use crate::conformance::kind::Kind::{Index, Int32, Pred};

pub(super) fn fill(table: &mut Table) {
    for (name, results, args, code) in [
        (
            "bra: if and else",
            &[32][..],
            &[Int32, Int32, Pred][..],
            "@%c bra THEN;\nadd.u32 %d, %a, %b;\nbra AFTER;\nTHEN:\nsub.u32 %d, %a, %b;\nAFTER:",
        ),
        (
            "bra: a loop of as many turns as each lane asks for",
            &[32, 32],
            &[Int32, Index],
            "mov.b32 %d, %a;\nmov.b32 %e, 0;\nAGAIN:\nsetp.ge.u32 %p0, %e, %b;\n@%p0 bra AFTER;\n\
             mad.lo.u32 %d, %d, 5, %e;\nadd.u32 %e, %e, 1;\nbra AGAIN;\nAFTER:",
        ),
        (
            "bra: lanes meet again behind a branch",
            &[32],
            &[Int32, Pred],
            "mov.b32 %r0, 0;\n@%b bra ODD;\nmov.b32 %r0, %a;\nODD:\nbar.warp.sync -1;\n\
             shfl.sync.bfly.b32 %d, %r0, 1, 0x1f, -1;",
        ),
        (
            "brx.idx",
            &[32],
            &[Int32, Index],
            "and.b32 %b, %b, 3;\nTARGETS: .branchtargets ZERO, ONE, TWO, THREE;\nbrx.idx %b, TARGETS;\n\
             ZERO:\nmov.b32 %d, %a;\nbra AFTER;\nONE:\nneg.s32 %d, %a;\nbra AFTER;\nTWO:\nnot.b32 %d, %a;\nbra AFTER;\n\
             THREE:\nadd.u32 %d, %a, 1;\nAFTER:",
        ),
        (
            "call",
            &[32],
            &[Int32],
            "{\n.param .b32 number;\n.param .b32 result;\nst.param.b32 [number], %a;\n\
             call.uni (result), triple, (number);\nld.param.b32 %d, [result];\n}",
        ),
        (
            "exit of some lanes",
            &[32],
            &[Int32, Index],
            "setp.ne.u32 %p0, %b, 5;\nmov.b32 %d, 9;\n@!%p0 exit;\nmov.b32 %d, %a;",
        ),
        (
            "predicated instructions",
            &[32, 32],
            &[Int32, Int32, Pred],
            "mov.b32 %d, 1;\nmov.b32 %e, 2;\n@%c add.u32 %d, %a, %b;\n@!%c mul.lo.u32 %e, %a, %b;",
        ),
        ("bar.red.popc.u32", &[32], &[Pred], "bar.red.popc.u32 %d, 0, %a;"),
        ("bar.red.popc.u32 of the opposite", &[32], &[Pred], "bar.red.popc.u32 %d, 1, !%a;"),
        ("bar.red.and.pred", &[1], &[Pred], "bar.red.and.pred %d, 0, %a;"),
        ("bar.red.or.pred", &[1], &[Pred], "bar.red.or.pred %d, 0, %a;"),
        (
            "bar.red.and.pred of what all agree on",
            &[1, 1],
            &[Int32],
            "setp.eq.u32 %p0, %a, %a;\nbar.red.and.pred %d, 2, %p0;\nbar.red.or.pred %e, 3, !%p0;",
        ),
        ("barrier.red.popc.u32", &[32], &[Pred], "barrier.red.popc.u32 %d, 4, %a;"),
        (
            "bar.sync of half of the warps",
            &[32],
            &[Int32],
            "mov.u32 %r0, %tid.x;\nshr.u32 %r1, %r0, 7;\nadd.u32 %r1, %r1, 1;\nst.shared.b32 [%ps], %a;\n\
             bar.sync %r1, 128;\nxor.b32 %r0, %r0, 64;\nmov.u32 %r2, shared;\nmad.lo.u32 %r2, %r0, 16, %r2;\n\
             ld.shared.b32 %d, [%r2];",
        ),
    ] {
        table.code(name, results, args, code);
    }
}
