//! Which instructions use registers of MMAs in flight: those that `wgmma.mma_async` names, and copies of them, as
//! compilers insert around inline assembly.

use std::collections::HashMap;

use super::flow::Flow;
use super::slots::{definitions, uses};
use crate::program::Touch;
use crate::syntax::{Body, Instruction, Operand, RegisterId};

/// The watched registers by index, and each instruction's use of them.
#[derive(Default)]
pub(super) struct InFlight {
    pub names: Vec<Box<str>>,
    /// By instruction; empty if nothing is watched.
    pub touches: Vec<Option<Box<Touch>>>,
}

impl InFlight {
    pub(super) fn new(body: &Body, flow: &Flow<'_>) -> Self {
        let mut watched = vec![false; body.registers.len()];
        for instruction in flow.code.iter().filter(|instruction| is_multiply(instruction)) {
            let fragments = instruction.operands.iter().take(2).flat_map(elements);
            fragments.for_each(|id| watched[id.0 as usize] = true);
        }
        if !watched.contains(&true) {
            return Self::default();
        }
        spread(flow, &mut watched);
        let mut number_of = HashMap::new();
        let mut names = vec![];
        for (index, register) in body.registers.iter().enumerate().filter(|(index, _)| watched[*index]) {
            number_of.insert(RegisterId(index as u32), names.len() as u32);
            names.push(register.name.as_str().into());
        }
        let touches = flow.code.iter().map(|instruction| touch(instruction, &number_of)).collect();
        Self { names, touches }
    }
}

fn is_multiply(instruction: &Instruction) -> bool {
    instruction.opcode[0] == "wgmma" && instruction.opcode.get(1).is_some_and(|part| part == "mma_async")
}

fn elements(operand: &Operand) -> impl Iterator<Item = RegisterId> {
    let elements = if let Operand::Vector(elements) = operand { elements.as_slice() } else { &[] };
    elements.iter().filter_map(|element| if let Operand::Register(id) = element { Some(*id) } else { None })
}

/// The two registers of `mov d, a`.
fn copy(instruction: &Instruction) -> Option<[RegisterId; 2]> {
    match (&*instruction.opcode[0], &*instruction.operands) {
        ("mov", [Operand::Register(to), Operand::Register(from)]) => Some([*to, *from]),
        _ => None,
    }
}

/// Extends the watched set by copies.
fn spread(flow: &Flow<'_>, watched: &mut [bool]) {
    let mut copies: HashMap<usize, Vec<usize>> = HashMap::new();
    for pair in flow.code.iter().filter_map(|instruction| copy(instruction)) {
        let [to, from] = pair.map(|id| id.0 as usize);
        copies.entry(to).or_default().push(from);
        copies.entry(from).or_default().push(to);
    }
    let mut found: Vec<usize> = (0..watched.len()).filter(|&register| watched[register]).collect();
    while let Some(register) = found.pop() {
        for &other in copies.get(&register).into_iter().flatten() {
            if !std::mem::replace(&mut watched[other], true) {
                found.push(other);
            }
        }
    }
}

fn touch(instruction: &Instruction, number_of: &HashMap<RegisterId, u32>) -> Option<Box<Touch>> {
    let number = |id: RegisterId| number_of.get(&id).copied();
    if is_multiply(instruction) {
        let [d, a] = [0, 1].map(|index| {
            let operand = instruction.operands.get(index);
            operand.into_iter().flat_map(elements).filter_map(number).collect::<Box<[u32]>>()
        });
        return Some(Box::new(Touch::Mma { d, a }));
    }
    if let (Some([to, from]), None) = (copy(instruction), instruction.guard)
        && let (Some(to), Some(from)) = (number(to), number(from))
    {
        return Some(Box::new(Touch::Copy { to, from }));
    }
    let (mut reads, mut writes) = (vec![], vec![]);
    uses(instruction, |id| reads.extend(number(id)));
    definitions(instruction, |id| writes.extend(number(id)));
    // A guarded write counts as a read in liveness, but not here.
    reads.retain(|id| instruction.guard.is_none() || !writes.contains(id));
    let is_none = reads.is_empty() && writes.is_empty();
    (!is_none).then(|| Box::new(Touch::Other { reads: reads.into(), writes: writes.into() }))
}
