//! What the lanes of a warp tell each other. PTX ISA, "shfl.sync", "vote.sync", "match.sync", "redux.sync".

use super::Table;
use crate::conformance::kind::Kind::{Clamp, Index, Int32, Int64, Lane, Pred};

pub(super) fn fill(table: &mut Table) {
    for mode in ["up", "down", "bfly", "idx"] {
        let name = format!("shfl.sync.{mode}.b32");
        table.code(
            &name,
            &[32, 1],
            &[Int32, Lane, Clamp],
            // The lane may be one that does not take part in nothing: every lane takes part here.
            &format!("{name} %d|%e, %a, %b, %c, -1;"),
        );
        for (amount, clamp) in [(1, 0x1f), (16, 0), (3, 0x181f)] {
            let code = format!("{name} %d|%e, %a, {amount}, {clamp:#x}, 0xffffffff;");
            table.code(&format!("{name} by {amount}, {clamp:#x}"), &[32, 1], &[Int32], &code);
        }
    }
    // Only the lanes whose predicate holds take part, and each asks a lane that does: itself.
    let some = "vote.sync.ballot.b32 %r0, %b, -1;\nmov.b32 %d, 0;\n";
    let code = format!("{some}mov.u32 %r1, %laneid;\n@%b shfl.sync.idx.b32 %d, %a, %r1, 0x1f, %r0;");
    table.code("shfl.sync.idx.b32 of some lanes", &[32], &[Int32, Pred], &code);
    for mode in ["all", "any", "uni"] {
        table.code(&format!("vote.sync.{mode}.pred"), &[1], &[Pred], &format!("vote.sync.{mode}.pred %d, %a, -1;"));
        let code = format!("setp.lt.u32 %p0, %a, 7;\nvote.sync.{mode}.pred %d, !%p0, 0xffffffff;");
        table.code(&format!("vote.sync.{mode}.pred of mostly"), &[1], &[Index], &code);
        let code = format!("{}@%b vote.sync.{mode}.pred %p1, %p0, %r0;\nmov.pred %d, %p1;", partial());
        table.code(&format!("vote.sync.{mode}.pred of some lanes"), &[1], &[Index, Pred], &code);
    }
    table.code("vote.sync.ballot.b32", &[32], &[Pred], "vote.sync.ballot.b32 %d, %a, -1;");
    let code = format!("{}mov.b32 %d, 0;\n@%b vote.sync.ballot.b32 %d, %p0, %r0;", partial());
    table.code("vote.sync.ballot.b32 of some lanes", &[32], &[Index, Pred], &code);
    for (ty, kind) in [("b32", Int32), ("b64", Int64)] {
        let few = format!("and.{ty} %a, %a, 3;\n");
        table.code(&format!("match.any.sync.{ty}"), &[32], &[kind], &format!("{few}match.any.sync.{ty} %d, %a, -1;"));
        let code = format!("{few}match.all.sync.{ty} %d|%e, %a, -1;");
        table.code(&format!("match.all.sync.{ty}"), &[32, 1], &[kind], &code);
        let code = format!("and.{ty} %a, %a, 0;\nmatch.all.sync.{ty} %d|%e, %a, -1;");
        table.code(&format!("match.all.sync.{ty} of equal values"), &[32, 1], &[kind], &code);
    }
    let code = "vote.sync.ballot.b32 %r0, %b, -1;\nmov.b32 %d, 0;\n@%b match.any.sync.b32 %d, %a, %r0;";
    table.code("match.any.sync.b32 of some lanes", &[32], &[Index, Pred], code);
    for op in ["add.u32", "add.s32", "min.u32", "min.s32", "max.u32", "max.s32", "and.b32", "or.b32", "xor.b32"] {
        table.code(&format!("redux.sync.{op}"), &[32], &[Int32], &format!("redux.sync.{op} %d, %a, -1;"));
        let code = format!("{some}@%b redux.sync.{op} %d, %a, %r0;");
        table.code(&format!("redux.sync.{op} of some lanes"), &[32], &[Int32, Pred], &code);
    }
    let code = "mov.b32 %d, 0;\n@!%a bra AFTER;\nactivemask.b32 %d;\nAFTER:\nbar.warp.sync -1;\nactivemask.b32 %e;";
    table.code("activemask.b32", &[32, 32], &[Pred], code);
    table.code("elect.sync", &[32, 1], &[Int32], "elect.sync %d|%e, -1;");
}

/// `%r0`: the lanes whose `%b` holds. `%p0`: whether `%a` is 3. `%p1`: false.
fn partial() -> String {
    "vote.sync.ballot.b32 %r0, %b, -1;\nsetp.eq.u32 %p0, %a, 3;\nsetp.ne.u32 %p1, %a, %a;\n".to_owned()
}
