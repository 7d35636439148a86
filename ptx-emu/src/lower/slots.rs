//! Register allocation: registers that are not live at once share rows. A kernel's rows then fit into the host's cache,
//! and the peak estimates its register count on a GPU.

use super::flow::{Block, Flow};
use super::layout::{Location, rows};

use crate::lanes::{PredSlot, Slot};
use crate::program::Pc;
use crate::syntax::{AddressBase, Body, Instruction, Operand, RegisterId};
use crate::types::Type;

/// Bits of all liveness sets at most; beyond, each register gets its own rows.
const MAX_LIVENESS_BITS: usize = 1 << 31;

/// Words of liveness sets that may be computed, each time that a loop needs another pass; beyond, the same.
const MAX_LIVENESS_WORK: usize = 1 << 31;

/// The location of each register.
pub(super) struct Slots {
    /// By [`RegisterId`].
    pub locations: Vec<Location>,
    /// Rows and predicates in use.
    pub rows: u32,
    pub predicates: u32,
    /// Peak of live 32-bit registers in this order of instructions.
    pub live: u32,
    /// Names of the registers that some path reads before it writes them.
    pub undefined: Vec<Box<str>>,
}

/// Assigns a location to each register of the body.
pub(super) fn assign(body: &Body, flow: &Flow<'_>) -> Slots {
    let ranges = Ranges::new(body, flow);
    let undefined = ranges.undefined.iter().map(|&register| body.registers[register].name.as_str().into()).collect();
    let mut slots = Slots { locations: vec![], rows: 0, predicates: 0, live: ranges.most_live, undefined };
    slots.locations = vec![Location::Predicate(PredSlot(0)); body.registers.len()];
    let mut by_start: Vec<usize> = (0..body.registers.len()).collect();
    by_start.sort_by_key(|&register| ranges.of[register].0);
    // Free rows, and used rows by the end of their live range, by size.
    let mut free: [Vec<Slot>; 5] = Default::default();
    let mut used: [std::collections::BinaryHeap<std::cmp::Reverse<(Pc, Slot)>>; 5] = Default::default();
    for register in by_start {
        let ty = body.registers[register].ty;
        if ty == Type::Pred {
            slots.locations[register] = Location::Predicate(PredSlot(slots.predicates));
            slots.predicates += 1;
            continue;
        }
        let (start, end) = ranges.of[register];
        let size = rows(ty.bits()) as usize;
        while used[size].peek().is_some_and(|std::cmp::Reverse((until, _))| *until < start) {
            free[size].extend(used[size].pop().map(|std::cmp::Reverse((_, slot))| slot));
        }
        let slot = free[size].pop().unwrap_or_else(|| {
            let slot = Slot(slots.rows);
            slots.rows += size as u32;
            slot
        });
        used[size].push(std::cmp::Reverse((end, slot)));
        slots.locations[register] = Location::Rows(slot, ty.bits());
    }
    slots
}

/// Live ranges: first and last instruction of each register.
struct Ranges {
    of: Vec<(Pc, Pc)>,
    most_live: u32,
    /// The registers that are live at the start.
    undefined: Vec<usize>,
}

impl Ranges {
    fn new(body: &Body, flow: &Flow<'_>) -> Self {
        let count = body.registers.len();
        let Some(live_in) = live_in(flow, count.div_ceil(64)) else {
            return Self {
                of: vec![(0, flow.code.len()); count],
                most_live: u32::MAX,
                undefined: (0..count).collect(),
            };
        };
        let weights: Vec<u32> = body.registers.iter().map(|register| weight(register.ty)).collect();
        let mut ranges = Self { of: vec![(Pc::MAX, 0); count], most_live: 0, undefined: vec![] };
        live_in[0].each(|register| ranges.undefined.push(register));
        for block in &flow.blocks {
            let mut live = live_out(block, &live_in);
            let mut registers = 0;
            live.each(|register| {
                ranges.extend(register, block.end);
                registers += weights[register];
            });
            for pc in (block.first..block.end).rev() {
                let instruction = flow.code[pc];
                definitions(instruction, |id| {
                    ranges.extend(id.0 as usize, pc);
                    if instruction.guard.is_none() && live.remove(id.0 as usize) {
                        registers -= weights[id.0 as usize];
                    }
                });
                uses(instruction, |id| {
                    ranges.extend(id.0 as usize, pc);
                    if live.insert(id.0 as usize) {
                        registers += weights[id.0 as usize];
                    }
                });
                ranges.most_live = ranges.most_live.max(registers);
            }
            live.each(|register| ranges.extend(register, block.first));
        }
        ranges
    }

    fn extend(&mut self, register: usize, pc: Pc) {
        let (first, last) = &mut self.of[register];
        (*first, *last) = ((*first).min(pc), (*last).max(pc));
    }
}

/// 32-bit registers that a register of the type takes.
fn weight(ty: Type) -> u32 {
    if ty == Type::Pred { 0 } else { rows(ty.bits()) }
}

/// Registers live at the end of a block.
fn live_out(block: &Block, live_in: &[Bits]) -> Bits {
    let mut live = Bits::new(live_in[0].0.len());
    block.successors.iter().for_each(|&next| live.add(&live_in[next]));
    live
}

/// Registers live at the start of each block, in sets of so many words; nothing where that is too much work.
fn live_in(flow: &Flow<'_>, words: usize) -> Option<Vec<Bits>> {
    let edges: usize = flow.blocks.iter().map(|block| 1 + block.successors.len()).sum();
    let pass = edges.saturating_mul(words).saturating_add(flow.code.len());
    if words.saturating_mul(64 * 2 * flow.blocks.len()) > MAX_LIVENESS_BITS {
        return None;
    }
    let mut live_in = vec![Bits::new(words); flow.blocks.len()];
    let mut backwards: Vec<usize> = (0..flow.blocks.len()).collect();
    backwards.sort_by_key(|&block| std::cmp::Reverse(flow.blocks[block].order));
    let (mut changed, mut work) = (true, 0usize);
    while changed {
        work = work.saturating_add(pass);
        if work > MAX_LIVENESS_WORK {
            return None;
        }
        changed = false;
        for &index in &backwards {
            let block = &flow.blocks[index];
            let mut live = live_out(block, &live_in);
            for pc in (block.first..block.end).rev() {
                if flow.code[pc].guard.is_none() {
                    definitions(flow.code[pc], |id| _ = live.remove(id.0 as usize));
                }
                uses(flow.code[pc], |id| _ = live.insert(id.0 as usize));
            }
            changed |= live != live_in[index];
            live_in[index] = live;
        }
    }
    Some(live_in)
}

/// Opcodes without a result register.
const WITHOUT_RESULT: [&str; 30] = [
    "st",
    "red",
    "bra",
    "brx",
    "exit",
    "ret",
    "trap",
    "brkpt",
    "bar",
    "barrier",
    "membar",
    "fence",
    "prefetch",
    "prefetchu",
    "cp",
    "nanosleep",
    "stmatrix",
    "discard",
    "applypriority",
    "pmevent",
    "setmaxnreg",
    "griddepcontrol",
    "wgmma",
    "tensormap",
    "sust",
    "sured",
    "multimem",
    "tcgen05",
    "clusterlaunchcontrol",
    "call",
];

/// The registers that the instruction writes.
pub(super) fn definitions(instruction: &Instruction, mut each: impl FnMut(RegisterId)) {
    if let Some(result) = result(instruction) {
        registers(result, &mut each);
    }
}

/// Registers that the instruction reads or may leave unchanged.
pub(super) fn uses(instruction: &Instruction, mut each: impl FnMut(RegisterId)) {
    if let Some(guard) = instruction.guard {
        each(guard.register);
    }
    let keeps = instruction.guard.is_some() || instruction.opcode[0] == "wgmma";
    let skip = usize::from(result(instruction).is_some() && !keeps);
    for operand in instruction.operands.iter().skip(skip) {
        registers(operand, &mut each);
    }
}

fn result(instruction: &Instruction) -> Option<&Operand> {
    let part = |index: usize| instruction.opcode.get(index).map_or("", String::as_str);
    let has_result = match (part(0), part(1)) {
        ("barrier", "cluster") | ("mbarrier", "init" | "inval" | "expect_tx" | "complete_tx") => false,
        ("bar" | "barrier", _) => instruction.opcode.iter().any(|part| part == "red"),
        (name, _) => !WITHOUT_RESULT.contains(&name),
    };
    let first = instruction.operands.first().filter(|operand| !matches!(operand, Operand::Address(_)));
    first.filter(|_| has_result)
}

/// The registers in an operand.
pub(super) fn registers(operand: &Operand, each: &mut impl FnMut(RegisterId)) {
    match operand {
        Operand::Register(id) | Operand::Not(id) => each(*id),
        Operand::Vector(operands) | Operand::List(operands) => {
            operands.iter().for_each(|operand| registers(operand, each));
        }
        Operand::Pair(a, b) => [a, b].into_iter().for_each(|operand| registers(operand, each)),
        Operand::Address(address) => {
            if let AddressBase::Register(id) = address.base {
                each(id);
            }
            address.coordinates.iter().for_each(|operand| registers(operand, each));
        }
        Operand::Special(_)
        | Operand::Integer(_)
        | Operand::Single(_)
        | Operand::Double(_)
        | Operand::Symbol { .. }
        | Operand::Label(_)
        | Operand::Sink => {}
    }
}

/// A set of registers.
#[derive(Clone, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(words: usize) -> Self {
        Self(vec![0; words])
    }

    /// Whether it was not there.
    fn insert(&mut self, index: usize) -> bool {
        let (word, bit) = (&mut self.0[index / 64], 1 << (index % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Whether it was there.
    fn remove(&mut self, index: usize) -> bool {
        let (word, bit) = (&mut self.0[index / 64], 1 << (index % 64));
        let was_there = *word & bit != 0;
        *word &= !bit;
        was_there
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    fn each(&self, mut f: impl FnMut(usize)) {
        for (index, &word) in self.0.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                f(index * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Module;

    #[test]
    fn what_some_path_reads_before_it_is_written_is_undefined() {
        let undefined = |body: &str| {
            let text = format!(
                ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 a)\n{{\n.reg .pred %p;\n\
                 .reg .b32 %r<3>;\n.reg .b64 %a;\nld.param.u64 %a, [a];\nsetp.eq.u64 %p, %a, 0;\n{body}\nret;\n}}"
            );
            let kernel = Module::parse(&text).and_then(|module| module.kernel("k")).unwrap();
            kernel.undefined_registers().collect::<Vec<_>>().join(" ")
        };
        let store = "st.global.u32 [%a], %r1;";
        for defined in [
            format!("mov.b32 %r1, 0;\n{store}"),
            format!("@%p bra $one;\nmov.b32 %r1, 0;\nbra $all;\n$one:\nmov.b32 %r1, 1;\n$all:\n{store}"),
            format!("@%p ret;\nmov.b32 %r1, 0;\n@%p mov.b32 %r1, 1;\n{store}"),
            format!("@%p bra $none;\nmov.b32 %r1, 0;\n{store}\n$none:"),
        ] {
            assert_eq!(undefined(&defined), "", "{defined}");
        }
        for maybe in [
            store.to_owned(),
            format!("@%p bra $all;\nmov.b32 %r1, 0;\n$all:\n{store}"),
            format!("@%p mov.b32 %r1, 0;\n{store}"),
            format!("$loop:\n{store}\nmov.b32 %r1, 0;\n@%p bra $loop;"),
            "$loop:\nmov.b32 %r2, %r1;\nmov.b32 %r1, 0;\n@%p bra $loop;\nst.global.u32 [%a], %r2;".to_owned(),
        ] {
            assert_eq!(undefined(&maybe), "%r1", "{maybe}");
        }
    }
}
