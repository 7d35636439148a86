//! What must be true of the text of every kernel, since no result shows it: the emulator runs a warp in step, and lets all see what one
//! has written to a barrier.

use host::backend::directed_rounding;

use crate::mutants::{Statement, statements};
use crate::paths;

/// The first instruction of a module that breaks a rule, and which.
#[must_use]
pub fn complaint(module: &str) -> Option<String> {
    if let Some(rounded) = directed_rounding(module) {
        return Some(rounded);
    }
    if let Some(unwaited) = paths::complaint_of_module(module) {
        return Some(unwaited);
    }
    let statements = statements(module);
    let at = |statement: &Statement, why: &str| Some(format!("line {}, `{}`: {why}", statement.line, statement.text()));
    let is_init = |statement: &Statement| statement.opcode.starts_with("mbarrier.init");
    let is_fence = |statement: &Statement| statement.opcode.starts_with("fence.mbarrier_init");
    let uses = |statement: &Statement| {
        ["bar.", "barrier.", "mbarrier.", "ret", "exit"].iter().any(|name| statement.opcode.starts_with(name))
    };
    for (number, init) in statements.iter().enumerate().filter(|(_, statement)| is_init(statement)) {
        let after = statements[number + 1..].iter().find(|other| is_fence(other) || uses(other) && !is_init(other));
        if after.is_none_or(|after| !is_fence(after)) {
            return at(init, "no `fence.mbarrier_init` before it is used");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_rules_are_named() {
        let complaint = |body: &str| complaint(&format!("{{\n{body}\n}}\n")).unwrap_or_default();
        let init = "mbarrier.init.shared::cta.b64 [%r1], 1;";
        let fence = "fence.mbarrier_init.release.cluster;";
        for right in [
            format!("{init}\n{init}\n{fence}\nbar.sync 0;"),
            "fma.rn.f32 %r1, %r2, %r3, %r4;\ncvt.rzi.s32.f32 %r1, %r2;".into(),
        ] {
            assert_eq!(complaint(&right), "");
        }
        assert!(complaint("fma.rz.f32 %r1, %r2, %r3, %r4;").starts_with("line 2, `fma.rz.f32 %r1"));
        assert!(complaint(&format!("{init}\nbar.sync 0;\n{fence}")).ends_with("before it is used"));
        assert!(complaint(init).ends_with("before it is used"));
    }
}
