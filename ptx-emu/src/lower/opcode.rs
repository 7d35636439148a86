//! Opcodes: name, types and modifiers.

use std::cell::Cell;

use super::Unsupported;
use crate::syntax::Instruction;
use crate::types::Type;

/// An opcode. Each modifier must be taken by the code that lowers the instruction; [`Opcode::finish`] refuses unknown
/// ones.
pub(crate) struct Opcode<'a> {
    name: &'a str,
    types: Vec<Type>,
    modifiers: Vec<(&'a str, Cell<bool>)>,
}

impl<'a> Opcode<'a> {
    pub(crate) fn new(instruction: &'a Instruction) -> Self {
        let mut parts = instruction.opcode.iter().map(String::as_str);
        let name = parts.next().unwrap_or_default();
        let (mut types, mut modifiers) = (Vec::new(), Vec::new());
        for part in parts {
            match Type::from_name(part) {
                Some(ty) => types.push(ty),
                None => modifiers.push((part, Cell::new(false))),
            }
        }
        Self { name, types, modifiers }
    }

    /// The part before the first dot.
    pub(crate) fn name(&self) -> &'a str {
        self.name
    }

    /// The types, in order.
    pub(crate) fn types(&self) -> &[Type] {
        &self.types
    }

    /// The type at that index, which must exist.
    pub(crate) fn ty(&self, index: usize) -> Result<Type, Unsupported> {
        self.types.get(index).copied().ok_or_else(|| Unsupported::new("a type is missing"))
    }

    /// Takes the modifier, if present.
    pub(crate) fn take(&self, modifier: &str) -> bool {
        self.take_first(&[modifier]).is_some()
    }

    /// Takes the first of these modifiers that is present.
    pub(crate) fn take_first(&self, modifiers: &[&str]) -> Option<&'a str> {
        let (name, taken) = self.modifiers.iter().find(|(name, taken)| !taken.get() && modifiers.contains(name))?;
        taken.set(true);
        Some(name)
    }

    /// Whether the modifier is present, taken or not.
    pub(crate) fn has(&self, modifier: &str) -> bool {
        self.modifiers.iter().any(|(name, _)| *name == modifier)
    }

    /// Takes the first remaining modifier that satisfies the condition.
    pub(crate) fn take_if(&self, condition: impl Fn(&str) -> bool) -> Option<&'a str> {
        let (name, taken) = self.modifiers.iter().find(|(name, taken)| !taken.get() && condition(name))?;
        taken.set(true);
        Some(name)
    }

    /// Fails if a modifier was not taken.
    pub(crate) fn finish(&self) -> Result<(), Unsupported> {
        match self.modifiers.iter().find(|(_, taken)| !taken.get()) {
            Some((name, _)) => Err(Unsupported::new(format!("the modifier .{name} is not known here"))),
            None => Ok(()),
        }
    }
}
