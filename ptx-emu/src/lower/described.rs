//! The names that a program keeps for traces.

use super::flatten::{ASSERTFAIL, VPRINTF};
use super::flow::Flow;
use super::layout::{Layout, Location, rows};
use super::slots::{definitions, registers, uses};
use crate::program::{Home, NamedRegister, NamedVariable, Names};
use crate::syntax::{Body, Instruction, Module, RegisterId};

/// The names of a lowered body.
pub(super) fn names(module: &Module, body: &Body, flow: &Flow<'_>, layout: &Layout) -> Names {
    let mut names = Names::default();
    names.registers.reserve(body.registers.len());
    names.ends.reserve(flow.code.len());
    for (register, location) in body.registers.iter().zip(&layout.locations) {
        let home = match *location {
            Location::Rows(slot, bits) => Home::Rows(slot, rows(bits)),
            Location::Predicate(slot) => Home::Predicate(slot),
        };
        names.registers.push(NamedRegister { name: register.name.as_str().into(), ty: register.ty, home });
    }
    for instruction in &flow.code {
        uses(instruction, |id| names.operands.push(id.0));
        let reads = names.operands.len() as u32;
        results(instruction, |id| names.operands.push(id.0));
        names.ends.push((reads, names.operands.len() as u32));
    }
    let own = body.variables.iter().zip(layout.spaces.iter().zip(&layout.variables));
    let own = own.map(|(variable, (space, address))| (variable, *space, *address));
    let of_module = module.variables.iter().filter_map(|variable| {
        let (space, address) = layout.module.get(&variable.name)?;
        Some((variable, *space, *address))
    });
    names.variables = own
        .chain(of_module)
        .map(|(variable, space, address)| {
            let (name, bytes) = (variable.name.as_str().into(), variable.bytes);
            NamedVariable { name, space, address, bytes }
        })
        .collect();
    names
}

/// The registers that the instruction writes.
fn results(instruction: &Instruction, mut each: impl FnMut(RegisterId)) {
    match instruction.opcode[0].as_str() {
        // Their arguments stand first.
        ASSERTFAIL | VPRINTF => {}
        // It adds to what it writes.
        "wgmma" => instruction.operands.first().into_iter().for_each(|operand| registers(operand, &mut each)),
        _ => definitions(instruction, each),
    }
}
