//! Operands of an instruction, as locations in the register file.

use super::Unsupported;
use super::layout::{Layout, Location, rows};
use crate::lanes::{Condition, PredSlot, Slot};
use crate::program::{AddressExpr, Base, Passed};
use crate::syntax::{Address, AddressBase, Instruction, LabelId, Operand};
use crate::types::{Space, Type};

/// The operands of one instruction.
pub(crate) struct Operands<'a> {
    instruction: &'a Instruction,
    layout: &'a Layout,
}

impl<'a> Operands<'a> {
    pub(crate) fn new(instruction: &'a Instruction, layout: &'a Layout) -> Self {
        Self { instruction, layout }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.instruction.operands.len()
    }

    /// The operand at that index, as written.
    pub(crate) fn get(&self, index: usize) -> Result<&'a Operand, Unsupported> {
        self.instruction
            .operands
            .get(index)
            .ok_or_else(|| Unsupported::new(format!("operand {} is missing", index + 1)))
    }

    /// Fails if there are more or fewer than `count`.
    pub(crate) fn expect(&self, count: usize) -> Result<(), Unsupported> {
        if self.count() == count {
            return Ok(());
        }
        Err(Unsupported::new(format!("{count} operands are expected, {} are there", self.count())))
    }

    /// The result register at that index, with the type's number of rows; scratch rows for `_`.
    pub(crate) fn dst(&self, index: usize, ty: Type) -> Result<Slot, Unsupported> {
        self.dst_of(self.get(index)?, ty)
    }

    /// As [`Self::dst`], within a vector or pair.
    pub(crate) fn dst_of(&self, operand: &Operand, ty: Type) -> Result<Slot, Unsupported> {
        match operand {
            Operand::Register(_) => self.src_of(operand, ty),
            Operand::Sink => Ok(self.layout.scratch()),
            _ => Err(Unsupported::new("the result must be a register")),
        }
    }

    /// Scratch rows, never read after the instruction.
    pub(crate) fn scratch(&self) -> Slot {
        self.layout.scratch()
    }

    /// The row of the source operand at that index: a register, a special register, a constant or an address, with the
    /// type's number of rows.
    pub(crate) fn src(&self, index: usize, ty: Type) -> Result<Slot, Unsupported> {
        self.src_of(self.get(index)?, ty)
    }

    /// As [`Self::src`], within a vector or pair.
    pub(crate) fn src_of(&self, operand: &Operand, ty: Type) -> Result<Slot, Unsupported> {
        let bits = ty.bits();
        match operand {
            Operand::Register(id) => match self.layout.location(*id) {
                Location::Rows(slot, width) if rows(width) == rows(bits) => Ok(slot),
                Location::Rows(_, width) => {
                    Err(Unsupported::new(format!("a register of {width} bits stands for a {ty} of {bits}")))
                }
                Location::Predicate(_) => Err(Unsupported::new("a predicate stands for a number")),
            },
            Operand::Integer(value) => Ok(self.layout.constant(truncate(*value, bits).into(), bits)),
            Operand::Single(value) => Ok(self.layout.constant((*value).into(), bits)),
            Operand::Double(value) if matches!(ty, Type::F32 | Type::B32) => {
                Ok(self.layout.constant((f64::from_bits(*value) as f32).to_bits().into(), bits))
            }
            Operand::Double(value) => Ok(self.layout.constant((*value).into(), bits)),
            Operand::Special(name) => self.layout.special(name, bits),
            Operand::Symbol { symbol, offset } => {
                let (space, start) = self.layout.address_of(symbol)?;
                let address = truncate(start.wrapping_add_signed(*offset), bits);
                Ok(match space {
                    Space::Shared if bits >= 32 => self.layout.shared_address(address, bits),
                    _ => self.layout.constant(address.into(), bits),
                })
            }
            _ => Err(Unsupported::new("a register or a number is expected")),
        }
    }

    /// As [`Self::src_of`], where `_` stands for an unused element.
    pub(crate) fn src_of_sink(&self, operand: &Operand, ty: Type) -> Result<Slot, Unsupported> {
        if *operand == Operand::Sink { Ok(self.layout.scratch()) } else { self.src_of(operand, ty) }
    }

    /// The result predicate at that index; `None` for `_`.
    pub(crate) fn pred_dst(&self, index: usize) -> Result<Option<PredSlot>, Unsupported> {
        self.pred_dst_of(self.get(index)?)
    }

    /// As [`Self::pred_dst`], within a pair.
    pub(crate) fn pred_dst_of(&self, operand: &Operand) -> Result<Option<PredSlot>, Unsupported> {
        match operand {
            Operand::Sink => Ok(None),
            operand => Ok(Some(self.pred_of(operand)?.slot)),
        }
    }

    /// The source predicate at that index, `p` or `!p`.
    pub(crate) fn pred(&self, index: usize) -> Result<Condition, Unsupported> {
        self.pred_of(self.get(index)?)
    }

    /// As [`Self::pred`], within a pair.
    pub(crate) fn pred_of(&self, operand: &Operand) -> Result<Condition, Unsupported> {
        let (id, negate) = match operand {
            Operand::Register(id) => (*id, false),
            Operand::Not(id) => (*id, true),
            Operand::Integer(value) => return Ok(self.layout.constant_predicate(*value != 0)),
            _ => return Err(Unsupported::new("a predicate is expected")),
        };
        match self.layout.location(id) {
            Location::Predicate(slot) => Ok(Condition { slot, negate }),
            Location::Rows(..) => Err(Unsupported::new("a predicate is expected, a register of bits is there")),
        }
    }

    /// The width in bits of the register at that index, `None` if it is not a register. `cvt` and others accept
    /// registers wider than the type.
    pub(crate) fn register_bits(&self, operand: &Operand) -> Option<u32> {
        match operand {
            Operand::Register(id) => match self.layout.location(*id) {
                Location::Rows(_, bits) => Some(bits),
                Location::Predicate(_) => None,
            },
            _ => None,
        }
    }

    /// The address at that index, and the state space of the variable that it names, if any.
    pub(crate) fn address(&self, index: usize) -> Result<(AddressExpr, Option<Space>), Unsupported> {
        let Operand::Address(address) = self.get(index)? else {
            return Err(Unsupported::new("an address in brackets is expected"));
        };
        if !address.coordinates.is_empty() {
            return Err(Unsupported::new("coordinates are not known here"));
        }
        self.address_of(address)
    }

    /// As [`Self::address`], for a tensor map.
    pub(crate) fn tensor(&self, index: usize) -> Result<(AddressExpr, Option<Space>), Unsupported> {
        match self.get(index)? {
            Operand::Address(address) => self.address_of(address),
            _ => Err(Unsupported::new("a tensor map in brackets is expected")),
        }
    }

    /// The coordinates after a tensor map.
    pub(crate) fn coordinates(&self, index: usize) -> Result<Box<[Slot]>, Unsupported> {
        match self.get(index)? {
            Operand::Address(address) => {
                address.coordinates.iter().map(|coordinate| self.src_of(coordinate, Type::S32)).collect()
            }
            _ => Ok(Box::default()),
        }
    }

    fn address_of(&self, address: &Address) -> Result<(AddressExpr, Option<Space>), Unsupported> {
        let offset = address.offset;
        match &address.base {
            AddressBase::Immediate => Ok((AddressExpr { base: None, offset }, None)),
            AddressBase::Symbol(symbol) => {
                let (space, start) = self.layout.address_of(symbol)?;
                let base = if self.layout.is_in_frame(symbol) { Some(self.layout.frame()?) } else { None };
                Ok((AddressExpr { base, offset: offset.wrapping_add_unsigned(start) }, Some(space)))
            }
            AddressBase::Register(id) => match self.layout.location(*id) {
                Location::Rows(slot, bits @ (32 | 64)) => {
                    Ok((AddressExpr { base: Some(Base { slot, is_64: bits == 64 }), offset }, None))
                }
                _ => Err(Unsupported::new("an address has 32 or 64 bits")),
            },
        }
    }

    /// The variables of a call, in the list at that index.
    pub(crate) fn variables(&self, index: usize) -> Result<Box<[Passed]>, Unsupported> {
        let Operand::List(variables) = self.get(index)? else {
            return Err(Unsupported::new("a list is expected"));
        };
        let passed = |variable: &Operand| match variable {
            Operand::Symbol { symbol, offset } => {
                let address =
                    Address { base: AddressBase::Symbol(symbol.clone()), offset: *offset, coordinates: vec![] };
                let (address, _) = self.address_of(&address)?;
                Ok(Passed { address, bytes: self.layout.bytes_of(symbol) })
            }
            _ => Err(Unsupported::new("a variable is expected")),
        };
        variables.iter().map(passed).collect()
    }

    /// The index of the function whose code begins at that label.
    pub(crate) fn function(&self, entry: LabelId) -> Result<usize, Unsupported> {
        self.layout.functions.get(&entry).copied().ok_or_else(|| Unsupported::new("a function is expected"))
    }

    /// The integer at that index.
    pub(crate) fn integer(&self, index: usize) -> Result<u64, Unsupported> {
        match self.get(index)? {
            Operand::Integer(value) => Ok(*value),
            _ => Err(Unsupported::new("a constant is expected")),
        }
    }
}

fn truncate(value: u64, bits: u32) -> u64 {
    if bits >= 64 { value } else { value & ((1 << bits) - 1) }
}
