//! What must be true of every path through a kernel that may be launched before the one ahead of it has ended.

use ptx_emu::syntax::{self, Body, Instruction, LabelId, Operand, Statement};

/// Waits for the launch ahead.
pub const WAIT: &str = "griddepcontrol.wait";
/// Lets the next launch begin.
pub const LAUNCH: &str = "griddepcontrol.launch_dependents";

/// The statements that may follow one; their number stands for the end.
pub(crate) fn successors(statements: &[Statement], index: usize) -> Vec<usize> {
    let Statement::Instruction(instruction) = &statements[index] else { return vec![index + 1] };
    let opcode = instruction.opcode[0].as_str();
    let mut next: Vec<_> = instruction.operands.iter().flat_map(|operand| targets_of(statements, operand)).collect();
    if ["ret", "exit"].contains(&opcode) {
        next.push(statements.len());
    }
    if instruction.guard.is_some() || !["bra", "brx", "ret", "exit"].contains(&opcode) {
        next.push(index + 1);
    }
    next
}

/// The statements to which a branch goes that has this operand.
fn targets_of(statements: &[Statement], operand: &Operand) -> Vec<usize> {
    let at = |label: &LabelId| {
        statements.iter().position(|statement| *statement == Statement::Label(*label)).unwrap_or(statements.len())
    };
    let Operand::Label(label) = operand else { return vec![] };
    let list = statements.iter().find_map(|statement| match statement {
        Statement::BranchTargets { name, targets } if name == label => Some(targets),
        _ => None,
    });
    list.map_or_else(|| vec![at(label)], |targets| targets.iter().map(at).collect())
}

/// Whether it may access global memory.
fn must_wait(instruction: &Instruction) -> bool {
    let parts: Vec<&str> = instruction.opcode.iter().map(String::as_str).collect();
    match parts[..] {
        ["ld" | "st" | "atom" | "red", ..] => !parts.iter().any(|part| *part == "param" || part.starts_with("shared")),
        // The descriptor is a parameter.
        ["prefetch", "tensormap"] => false,
        [name, ..] => {
            ["cp", "ldu", "prefetch", "prefetchu", "discard", "applypriority", "multimem", "tensormap"].contains(&name)
        }
        [] => false,
    }
}

/// Whether a kernel is a pre-pass that waits at its end only: it reads and writes nothing of the launch ahead.
fn waits_last(kernel: &str) -> bool {
    let prepasses = gpu_kernels::runnable().flat_map(|step| step.prepasses);
    prepasses.filter(|prepass| prepass.waits_last).any(|prepass| prepass.kernel == kernel)
}

/// Why the kernel of that name may not be launched before the one ahead of it has ended: each path through it waits once, before it accesses
/// global memory, and then lets the next launch begin, once.
#[must_use]
pub fn complaint(kernel: &str, body: &Body) -> Option<String> {
    let waits_last = waits_last(kernel);
    let order = if waits_last { [LAUNCH, WAIT] } else { [WAIT, LAUNCH] };
    let statements = &body.statements;
    // How many of the two a path has passed on which it arrives at a statement.
    let mut seen = vec![[false; 3]; statements.len()];
    let mut next = vec![(0, 0)];
    while let Some((index, passed)) = next.pop() {
        let Some(statement) = statements.get(index) else {
            if passed < order.len() {
                return Some(format!("a way around `{}`", order[passed]));
            }
            continue;
        };
        if std::mem::replace(&mut seen[index][passed], true) {
            continue;
        }
        let follow = |passed| successors(statements, index).into_iter().map(move |index| (index, passed));
        let Statement::Instruction(instruction) = statement else {
            next.extend(follow(passed));
            continue;
        };
        let name = instruction.mnemonic();
        let is_next = order.get(passed).is_some_and(|expected| *expected == name);
        if !is_next && name.starts_with("griddepcontrol") {
            return Some(format!("line {}: `{name}` out of order", instruction.line));
        }
        if passed == 0 && !waits_last && must_wait(instruction) {
            return Some(format!("line {}: `{name}` before the wait", instruction.line));
        }
        if is_next {
            next.extend(follow(passed + 1));
        }
        // One under a predicate does not wait on every path.
        if !is_next || instruction.guard.is_some() {
            next.extend(follow(passed));
        }
    }
    None
}

/// The same of the first kernel of a module that is wrong: one for sm_80 knows no such launches.
#[must_use]
pub fn complaint_of_module(text: &str) -> Option<String> {
    let module = syntax::parse(text).ok()?;
    if text.contains("\n.target sm_80") {
        return None;
    }
    let complaints = bodies(&module).filter_map(|(name, body)| Some((name, complaint(name, body)?)));
    complaints.map(|(name, complaint)| format!("{name}: {complaint}")).next()
}

/// The bodies of a module's kernels, by name.
pub fn bodies(module: &syntax::Module) -> impl Iterator<Item = (&str, &Body)> {
    module.functions.iter().filter_map(|function| Some((function.name.as_str(), function.body.as_ref()?)))
}
