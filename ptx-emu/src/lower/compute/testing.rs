//! Lowers one instruction given as text, for tests.

use super::lower;
use crate::lanes::{ALL_LANES, Compute, LANES, Lane, Mask, PredSlot, Registers, Slot};
use crate::lower::Unsupported;
use crate::lower::layout::rows;
use crate::lower::layout::{Layout, Location};
use crate::lower::opcode::Opcode;
use crate::lower::operands::Operands;
use crate::syntax::{self, Register, RegisterId, Statement};
use crate::types::Type;

/// One instruction over the registers `%h`, `%r`, `%d`, `%q` of 16 to 128 bits and `%p`, 0 to 7 each.
pub(super) struct Machine {
    names: Vec<Register>,
    layout: Layout,
    compute: Compute,
    pub registers: Registers,
}

impl Machine {
    pub(super) fn new(instruction: &str) -> Result<Self, Unsupported> {
        Self::parse(instruction).unwrap_or_else(|error| panic!("{instruction}: {error}"))
    }

    /// As [`Self::new`], for what may be no PTX at all.
    pub(super) fn parse(instruction: &str) -> Result<Result<Self, Unsupported>, syntax::SyntaxError> {
        let module = syntax::parse(&format!(
            ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k() {{\n\
             .reg .b8 %b<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<8>;\n.reg .b64 %d<8>;\n.reg .b128 %q<8>;\n\
             .reg .pred %p<8>;\n{instruction}\nret;\n}}\n"
        ))?;
        Ok(Self::lower(&module))
    }

    fn lower(module: &syntax::Module) -> Result<Self, Unsupported> {
        let body = module.functions[0].body.as_ref().expect("a body");
        let Statement::Instruction(instruction) = &body.statements[0] else { panic!("no instruction") };
        let (mut count, mut predicates) = (0, 0);
        let locations = body.registers.iter().map(|register| {
            if register.ty == Type::Pred {
                predicates += 1;
                return Location::Predicate(PredSlot(predicates - 1));
            }
            let slot = Slot(count);
            count += rows(register.ty.bits());
            Location::Rows(slot, register.ty.bits())
        });
        let locations = locations.collect();
        let layout = Layout { locations, ..Layout::default() };
        layout.preset.borrow_mut().rows = count;
        layout.preset.borrow_mut().predicates = predicates;
        let (op, operands) = (Opcode::new(instruction), Operands::new(instruction, &layout));
        let compute = lower(&op, &operands)?.ok_or_else(|| Unsupported::new("it is no compute instruction"))?;
        let mut registers = {
            let preset = layout.preset.borrow();
            Registers::new(preset.rows as usize, preset.predicates as usize)
        };
        let preset = layout.preset.borrow();
        for ((value, width), slot) in &preset.constants {
            match width {
                1 => registers.write(*slot, &[*value as u32; LANES], ALL_LANES),
                2 => registers.write(*slot, &[*value as u64; LANES], ALL_LANES),
                _ => registers.write(*slot, &[*value; LANES], ALL_LANES),
            }
        }
        if let Some(slot) = preset.always {
            registers.set_predicate(slot, ALL_LANES, ALL_LANES);
        }
        drop(preset);
        Ok(Self { names: body.registers.clone(), layout, compute, registers })
    }

    fn location(&self, name: &str) -> Location {
        let index = self.names.iter().position(|register| register.name == name);
        let index = index.unwrap_or_else(|| panic!("{name} is not in the instruction"));
        self.layout.location(RegisterId(index as u32))
    }

    pub(super) fn set<T: Lane>(mut self, name: &str, value: T) -> Self {
        self.set_lanes(name, &[value; LANES]);
        self
    }

    pub(super) fn set_lanes<T: Lane>(&mut self, name: &str, values: &[T; LANES]) {
        let Location::Rows(slot, _) = self.location(name) else { panic!("{name} is a predicate") };
        self.registers.write(slot, values, ALL_LANES);
    }

    pub(super) fn set_pred(mut self, name: &str, value: Mask) -> Self {
        let Location::Predicate(slot) = self.location(name) else { panic!("{name} is no predicate") };
        self.registers.set_predicate(slot, value, ALL_LANES);
        self
    }

    pub(super) fn run(mut self, mask: Mask) -> Self {
        (self.compute)(&mut self.registers, mask);
        self
    }

    pub(super) fn lanes<T: Lane>(&self, name: &str) -> [T; LANES] {
        let Location::Rows(slot, _) = self.location(name) else { panic!("{name} is a predicate") };
        self.registers.read(slot)
    }

    pub(super) fn pred(&self, name: &str) -> Mask {
        let Location::Predicate(slot) = self.location(name) else { panic!("{name} is no predicate") };
        self.registers.predicates[slot.0 as usize]
    }

    /// Sets `{prefix}1`, `{prefix}2`... to the sources, runs every lane, and gives lane 7 of `{prefix}0`.
    fn call(self, d: &str, sources: &[(&str, u64)]) -> u64 {
        let mut machine = self;
        for (name, value) in sources {
            match machine.location(name) {
                Location::Rows(_, 64) => machine.set_lanes(name, &[*value; LANES]),
                Location::Rows(..) => machine.set_lanes(name, &[*value as u32; LANES]),
                Location::Predicate(slot) => {
                    machine.registers.set_predicate(slot, if *value == 0 { 0 } else { ALL_LANES }, ALL_LANES);
                }
            }
        }
        let machine = machine.run(ALL_LANES);
        match machine.location(d) {
            Location::Rows(_, 64) => machine.lanes::<u64>(d)[7],
            Location::Rows(..) => machine.lanes::<u32>(d)[7].into(),
            Location::Predicate(_) => machine.pred(d).into(),
        }
    }
}

/// What the instruction leaves in `d` where the sources hold these values in every lane.
pub(super) fn value(instruction: &str, d: &str, sources: &[(&str, u64)]) -> u64 {
    match Machine::new(instruction) {
        Ok(machine) => machine.call(d, sources),
        Err(error) => panic!("{instruction}: {}", error.reason),
    }
}

/// Why the instruction is refused.
pub(super) fn refusal(instruction: &str) -> String {
    match Machine::new(instruction) {
        Ok(_) => panic!("{instruction} is taken"),
        Err(error) => error.reason,
    }
}
