//! Waits and barriers that need not be there: on every path through the kernel, others do what they do, or nothing behind them depends on
//! it. A mutant without such a one is the same kernel, which no run could show.

use ptx_emu::syntax::{self, Body, Instruction, Operand, Statement};

use crate::paths::{bodies, successors};

/// Groups that are counted, at most.
const MOST_GROUPS: u64 = 16;

/// Why the wait for groups or the `bar.warp.sync` in that line of a module may be gone, or weaker; `None` where it may not, as far as its
/// paths tell.
#[must_use]
pub fn reason(text: &str, line: usize) -> Option<&'static str> {
    let module = syntax::parse(text).ok()?;
    bodies(&module).find_map(|(_, body)| {
        let is_it = |statement: &Statement| {
            instruction(statement)
                .is_some_and(|other| other.line as usize == line && (groups(other).is_some() || is_warp_barrier(other)))
        };
        let at = body.statements.iter().position(is_it)?;
        Paths::new(body).reason(at)
    })
}

/// A kernel's statements, each with those that may follow.
struct Paths<'a> {
    statements: &'a [Statement],
    next: Vec<Vec<usize>>,
}

impl<'a> Paths<'a> {
    fn new(body: &'a Body) -> Self {
        let statements = &body.statements;
        Self { statements, next: (0..statements.len()).map(|at| successors(statements, at)).collect() }
    }

    fn reason(&self, at: usize) -> Option<&'static str> {
        let it = instruction(&self.statements[at])?;
        if is_warp_barrier(it) {
            let is_ordered = self.all_behind(at, is_barrier, |other| !accesses(other));
            return is_ordered.then_some("a barrier comes before the next access");
        }
        let (family, keep) = groups(it)?;
        if self.pending(family)[at].is_none_or(|pending| pending <= keep) {
            return Some("no more groups are pending");
        }
        let waits = |other: &Instruction| {
            other.guard.is_none() && groups(other).is_some_and(|(other, kept)| other == family && kept <= keep)
        };
        if self.all_behind(at, waits, |_| false) {
            return Some("a wait comes behind it");
        }
        // Copies write to shared memory, which is the block's until all of them have.
        let is_last = family == "cp.async" && self.all_behind(at, |_| false, |other| !sees_copies(other));
        is_last.then_some("nothing behind it sees what the copies write")
    }

    /// Whether on every path behind a statement all instructions are `harmless`, up to one that `ends` it or to the end.
    fn all_behind(
        &self,
        at: usize,
        ends: impl Fn(&Instruction) -> bool,
        harmless: impl Fn(&Instruction) -> bool,
    ) -> bool {
        let mut seen = vec![false; self.statements.len()];
        let mut rest = self.next[at].clone();
        while let Some(at) = rest.pop() {
            let Some(statement) = self.statements.get(at) else { continue };
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            match instruction(statement) {
                Some(instruction) if ends(instruction) => continue,
                Some(instruction) if !harmless(instruction) => return false,
                _ => rest.extend(&self.next[at]),
            }
        }
        true
    }

    /// Committed groups that may be pending before each statement, at most; `None` where nothing leads there.
    fn pending(&self, family: &str) -> Vec<Option<u64>> {
        let mut pending = vec![None; self.statements.len() + 1];
        let mut rest = vec![(0, 0)];
        while let Some((at, groups_before)) = rest.pop() {
            if pending[at].is_some_and(|most| most >= groups_before) {
                continue;
            }
            pending[at] = Some(groups_before);
            let Some(statement) = self.statements.get(at) else { continue };
            let after = match instruction(statement) {
                Some(it)
                    if it.mnemonic().strip_prefix(family).is_some_and(|rest| rest.starts_with(".commit_group")) =>
                {
                    MOST_GROUPS.min(groups_before + 1)
                }
                Some(it) if it.guard.is_none() => match groups(it) {
                    Some((other, keep)) if other == family => keep.min(groups_before),
                    _ => groups_before,
                },
                _ => groups_before,
            };
            rest.extend(self.next[at].iter().map(|&next| (next, after)));
        }
        pending
    }
}

fn instruction(statement: &Statement) -> Option<&Instruction> {
    if let Statement::Instruction(instruction) = statement { Some(instruction) } else { None }
}

/// Of a wait for groups, whose they are, and how many may be pending behind it.
fn groups(instruction: &Instruction) -> Option<(&'static str, u64)> {
    let families = [("cp.async", "cp.async.wait_group"), ("wgmma", "wgmma.wait_group.sync.aligned")];
    let (family, _) = families.into_iter().find(|(_, wait)| instruction.mnemonic() == *wait)?;
    match instruction.operands[..] {
        [Operand::Integer(keep)] => Some((family, keep)),
        _ => None,
    }
}

fn is_warp_barrier(instruction: &Instruction) -> bool {
    instruction.guard.is_none() && instruction.mnemonic() == "bar.warp.sync" && names_all(instruction)
}

fn names_all(instruction: &Instruction) -> bool {
    matches!(instruction.operands[..], [Operand::Integer(members)] if members as u32 == u32::MAX)
}

/// Whether all lanes of a warp meet there, and what they did before is ordered before what they do behind it.
fn is_barrier(instruction: &Instruction) -> bool {
    const BARRIERS: [&str; 4] = ["bar.sync", "barrier.sync.aligned", "barrier.cluster.arrive.aligned", "bar.warp.sync"];
    let mnemonic = instruction.mnemonic();
    let is_one = instruction.guard.is_none() && BARRIERS.contains(&mnemonic.as_str());
    is_one && (mnemonic != "bar.warp.sync" || names_all(instruction))
}

/// Whether it may access memory that others see, or concern other threads in another way: all but what is known not to.
fn accesses(instruction: &Instruction) -> bool {
    const PURE: [&str; 40] = [
        "abs", "add", "and", "bfe", "bfi", "bra", "brx", "clz", "cnot", "cvt", "cvta", "div", "ex2", "exit", "fma",
        "lg2", "lop3", "mad", "max", "min", "mov", "mul", "neg", "not", "or", "popc", "prmt", "rcp", "rem", "ret",
        "rsqrt", "selp", "setp", "shf", "shl", "shr", "slct", "sqrt", "sub", "xor",
    ];
    let opcode: Vec<&str> = instruction.opcode.iter().map(String::as_str).collect();
    !(PURE.contains(&opcode[0]) || opcode.starts_with(&["ld", "param"]) || opcode[0] == "mapa")
}

/// The same of shared memory: accesses that say that they are to global memory do not.
fn sees_copies(instruction: &Instruction) -> bool {
    let opcode: Vec<&str> = instruction.opcode.iter().map(String::as_str).collect();
    accesses(instruction) && !(matches!(opcode[0], "ld" | "st" | "red") && opcode.contains(&"global"))
}

#[cfg(test)]
mod tests {
    /// Of the line that ends with `// this`.
    fn reason(body: &str) -> Option<&'static str> {
        let text = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{{\n.reg .pred %p;\n.reg .b32 %r<9>;\n\
             .reg .b64 %a;\n{body}\nret;\n}}\n"
        );
        let line = text.lines().position(|line| line.ends_with("// this")).expect("a line") + 1;
        super::reason(&text, line)
    }

    #[test]
    fn a_wait_that_others_imply_or_nothing_needs_is_known() {
        let (commit, wait) = ("wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;");
        let (copied, waited) = ("cp.async.commit_group;", "cp.async.wait_group 0;");
        for implied in [
            format!("{commit}\n{wait}\n{wait} // this"),
            format!("{commit}\n{wait} // this\n{wait}"),
            format!("@%p bra $l;\n{commit}\n{wait}\n$l:\n{wait} // this\nadd.s32 %r1, %r1, 1;"),
            format!("{commit}\n{commit}\nwgmma.wait_group.sync.aligned 2; // this"),
            format!("{copied}\n{waited} // this\nld.global.u32 %r1, [%a];\nst.global.u32 [%a], %r1;"),
            "bar.warp.sync -1; // this\nadd.s32 %r1, %r1, 1;\nbar.sync 0;\nld.shared.u32 %r1, [%r2];".into(),
            "bar.warp.sync -1; // this\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;".into(),
            "bar.warp.sync -1; // this\n@%p bra $l;\nbar.warp.sync 0xffffffff;\n$l:".into(),
        ] {
            assert!(reason(&implied).is_some(), "{implied}");
        }
        for needed in [
            format!("{commit}\n{wait} // this"),
            format!("{commit}\n{wait} // this\nadd.s32 %r1, %r1, 1;\n{wait}"),
            format!("{commit}\n{wait} // this\nwgmma.wait_group.sync.aligned 1;"),
            format!("{commit}\n@%p {wait}\n{wait} // this"),
            format!("$l:\n{wait} // this\n{commit}\n@%p bra $l;"),
            format!("{copied}\n{waited} // this\nld.shared.u32 %r1, [%r2];"),
            format!("{copied}\n{waited} // this\nld.u32 %r1, [%a];"),
            format!("{copied}\n{waited} // this\nbar.sync 0;"),
            format!("$l:\nld.shared.u32 %r1, [%r2];\n{copied}\n{waited} // this\n@%p bra $l;"),
            "bar.warp.sync -1; // this\nld.shared.u32 %r1, [%r2];\nbar.sync 0;".into(),
            "bar.warp.sync -1; // this\n@%p bra $l;\nbar.sync 0;\n$l:\nst.shared.u32 [%r2], %r1;".into(),
            "bar.warp.sync -1; // this\nbar.warp.sync 1;\nst.shared.u32 [%r2], %r1;".into(),
            "bar.warp.sync -1; // this\n@%p bar.sync 0;\nst.shared.u32 [%r2], %r1;".into(),
        ] {
            assert_eq!(reason(&needed), None, "{needed}");
        }
    }
}
