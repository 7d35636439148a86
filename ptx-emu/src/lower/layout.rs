//! Locations: registers and constants in rows, variables in their state spaces.

use std::cell::RefCell;
use std::collections::HashMap;

use super::Unsupported;
use super::calls::FRAME;
use super::variables::{RESERVED, RESERVED_BYTES};
use crate::lanes::{Condition, PredSlot, Slot};
use crate::program::{Base, Special};
use crate::syntax::{LabelId, RegisterId, Symbol, VariableId};
use crate::types::Space;

/// The location of a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Location {
    /// First row and width in bits.
    Rows(Slot, u32),
    /// A predicate.
    Predicate(PredSlot),
}

/// The layout of one kernel's registers and variables.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    /// By [`RegisterId`].
    pub locations: Vec<Location>,
    /// Addresses of the kernel's own variables, by `VariableId`: offsets into their spaces.
    pub variables: Vec<u64>,
    /// Their spaces, by `VariableId`.
    pub spaces: Vec<Space>,
    /// Their sizes in bytes, by `VariableId`.
    pub bytes: Vec<u32>,
    /// The first of them that lies in a function's frame: its address is an offset there.
    pub first_in_frame: usize,
    /// The functions that are called at run time, by their entry.
    pub functions: HashMap<LabelId, usize>,
    /// Offsets of the kernel's parameters.
    pub params: Vec<u64>,
    /// Spaces and addresses of the module's variables.
    pub module: HashMap<String, (Space, u64)>,
    /// Rows beyond the registers: constants and special registers, set before the kernel starts.
    pub preset: RefCell<Preset>,
}

/// Rows preset before the kernel starts, and the totals of rows and predicates.
#[derive(Debug, Default)]
pub(crate) struct Preset {
    /// Rows in use.
    pub rows: u32,
    /// Predicates in use.
    pub predicates: u32,
    /// Constants by bits and width.
    pub constants: HashMap<(u128, u32), Slot>,
    /// Addresses in shared memory by width.
    pub shared: HashMap<(u64, u32), Slot>,
    /// Special registers by rows.
    pub specials: HashMap<(Special, u32), Slot>,
    /// The predicate that is always true.
    pub always: Option<PredSlot>,
    pub scratch: Option<Slot>,
}

impl Preset {
    fn take_rows(&mut self, count: u32) -> Slot {
        let slot = Slot(self.rows);
        self.rows += count;
        slot
    }
}

impl Layout {
    pub(crate) fn location(&self, id: RegisterId) -> Location {
        self.locations[id.0 as usize]
    }

    /// A row that holds the constant in every lane.
    pub(crate) fn constant(&self, value: u128, bits: u32) -> Slot {
        let mut preset = self.preset.borrow_mut();
        let width = rows(bits);
        if let Some(slot) = preset.constants.get(&(value, width)) {
            return *slot;
        }
        let slot = preset.take_rows(width);
        preset.constants.insert((value, width), slot);
        slot
    }

    /// A row that holds an address in the block's own shared memory.
    pub(crate) fn shared_address(&self, address: u64, bits: u32) -> Slot {
        let mut preset = self.preset.borrow_mut();
        let width = rows(bits);
        if let Some(slot) = preset.shared.get(&(address, width)) {
            return *slot;
        }
        let slot = preset.take_rows(width);
        preset.shared.insert((address, width), slot);
        slot
    }

    /// A row that holds the special register, such as `tid.x`.
    pub(crate) fn special(&self, name: &str, bits: u32) -> Result<Slot, Unsupported> {
        if let Some((_, address)) = self.module.get(name).filter(|_| name.starts_with(RESERVED)) {
            return Ok(self.shared_address(*address, bits));
        }
        if name.strip_prefix(RESERVED) == Some("cap") {
            return Ok(self.constant(RESERVED_BYTES.into(), bits));
        }
        let special = Special::from_name(name)
            .ok_or_else(|| Unsupported::new(format!("the special register %{name} is not known")))?;
        let mut preset = self.preset.borrow_mut();
        let width = rows(bits);
        if let Some(slot) = preset.specials.get(&(special, width)) {
            return Ok(*slot);
        }
        let slot = preset.take_rows(width);
        preset.specials.insert((special, width), slot);
        Ok(slot)
    }

    /// A predicate that is always true, or always false.
    pub(crate) fn constant_predicate(&self, value: bool) -> Condition {
        let mut preset = self.preset.borrow_mut();
        let next = PredSlot(preset.predicates);
        let slot = *preset.always.get_or_insert(next);
        if slot == next {
            preset.predicates += 1;
        }
        Condition { slot, negate: !value }
    }

    /// Scratch rows, never read.
    pub(crate) fn scratch(&self) -> Slot {
        let mut preset = self.preset.borrow_mut();
        if let Some(slot) = preset.scratch {
            return slot;
        }
        let slot = preset.take_rows(rows(128));
        preset.scratch = Some(slot);
        slot
    }

    /// The register with the address of a function's frame.
    pub(crate) fn frame(&self) -> Result<Base, Unsupported> {
        Ok(Base { slot: self.special(FRAME, 64)?, is_64: true })
    }

    /// Whether a variable lies in a function's frame.
    pub(crate) fn is_in_frame(&self, symbol: &Symbol) -> bool {
        let Symbol::Local(VariableId(id)) = symbol else { return false };
        let id = *id as usize;
        id >= self.first_in_frame && self.spaces[id] == Space::Local
    }

    /// Bytes of a variable of the kernel or of a function.
    pub(crate) fn bytes_of(&self, symbol: &Symbol) -> u32 {
        if let Symbol::Local(id) = symbol { self.bytes[id.0 as usize] } else { 0 }
    }

    /// The state space of a variable or parameter, and its address there.
    pub(crate) fn address_of(&self, symbol: &Symbol) -> Result<(Space, u64), Unsupported> {
        match symbol {
            Symbol::Local(id) => Ok((self.spaces[id.0 as usize], self.variables[id.0 as usize])),
            Symbol::Param(index) => Ok((Space::Param, self.params[*index])),
            Symbol::Return(_) => Err(Unsupported::new("a kernel returns nothing")),
            Symbol::Module(name) => self
                .module
                .get(name)
                .copied()
                .ok_or_else(|| Unsupported::new(format!("`{name}` is not a variable of this module"))),
        }
    }
}

/// Rows of a register of `bits` bits.
pub(crate) const fn rows(bits: u32) -> u32 {
    bits.div_ceil(32)
}
