//! The module's variables that a kernel names.

use std::collections::HashSet;

use crate::syntax::{AddressBase, Body, Instruction, Operand, Statement, Symbol};

/// The names, those of functions among them.
pub(super) fn of_module(body: &Body) -> HashSet<&str> {
    let mut names = HashSet::new();
    for statement in &body.statements {
        if let Statement::Instruction(instruction) = statement {
            instruction.operands.iter().for_each(|operand| add(operand, &mut names));
        }
    }
    names
}

/// Whether there is an instruction of that name.
pub(super) fn has_opcode(body: &Body, name: &str) -> bool {
    let is_one = |statement: &Statement| matches!(statement, Statement::Instruction(it) if it.opcode[0] == name);
    body.statements.iter().any(is_one)
}

/// Whether an instruction reads a special register whose name begins like that.
pub(super) fn reads_special(body: &Body, prefix: &str) -> bool {
    let is_one = |operand: &Operand| matches!(operand, Operand::Special(name) if name.starts_with(prefix));
    body.statements.iter().any(|statement| match statement {
        Statement::Instruction(instruction) => instruction.operands.iter().any(is_one),
        _ => false,
    })
}

/// Adds the names that an instruction uses as a value: not those that it calls.
pub(super) fn add_taken<'a>(body: &'a Body, names: &mut HashSet<&'a str>) {
    for statement in &body.statements {
        if let Statement::Instruction(Instruction { opcode, operands, .. }) = statement {
            let is_value = |operand: &&Operand| opcode[0] != "call" || matches!(operand, Operand::List(_));
            operands.iter().filter(is_value).for_each(|operand| add(operand, names));
        }
    }
}

fn add<'a>(operand: &'a Operand, names: &mut HashSet<&'a str>) {
    match operand {
        Operand::Symbol { symbol: Symbol::Module(name), .. } => _ = names.insert(name),
        Operand::Address(address) => {
            if let AddressBase::Symbol(Symbol::Module(name)) = &address.base {
                names.insert(name);
            }
            address.coordinates.iter().for_each(|operand| add(operand, names));
        }
        Operand::Vector(operands) | Operand::List(operands) => operands.iter().for_each(|operand| add(operand, names)),
        Operand::Pair(one, other) => [one, other].into_iter().for_each(|operand| add(operand, names)),
        Operand::Register(_)
        | Operand::Not(_)
        | Operand::Special(_)
        | Operand::Integer(_)
        | Operand::Single(_)
        | Operand::Double(_)
        | Operand::Symbol { .. }
        | Operand::Label(_)
        | Operand::Sink => {}
    }
}

#[cfg(test)]
mod tests {
    use crate::Module;

    #[test]
    fn a_kernel_has_the_shared_memory_that_it_names() {
        let text = ".version 7.0\n.target sm_80\n.address_size 64\n\
            .shared .align 4 .b8 one[64];\n.shared .align 4 .b8 other[128];\n\
            .entry none() { ret; }\n\
            .entry by_address() { .reg .b32 %r; ld.shared.b32 %r, [one+4]; ret; }\n\
            .func by_name() { .reg .b32 %r; mov.u32 %r, other; ret; }\n\
            .entry by_call() { call by_name; ret; }\n";
        let module = Module::parse(text).unwrap();
        let bytes = |name: &str| module.kernel(name).unwrap().shared_bytes();
        assert_eq!([bytes("none"), bytes("by_address"), bytes("by_call")], [0, 64, 128]);
    }
}
