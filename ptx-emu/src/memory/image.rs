//! A module's variables: where they lie, and what they hold at first.

use std::collections::HashMap;

use super::{Pointer, window};
use crate::syntax::{Initial, Module, Variable};
use crate::types::Space;

/// Bytes of a module's variables in one state space, at most.
const MAX_BYTES: u64 = 1 << 30;

/// Variables in global memory begin at multiples of so many bytes, and as many lie between them: an access beyond the end of one does not
/// hit the next.
const SPACING: u64 = 256;

/// A variable of a module, `.global` or `.const`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariableInfo {
    /// Its name.
    pub name: String,
    /// [`Space::Global`] or [`Space::Const`].
    pub space: Space,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its address in global memory. What is written there before a launch is what kernels find, of a constant, too.
    pub address: Pointer,
}

/// A module's `.global` and `.const` variables.
#[derive(Debug, Default)]
pub(crate) struct Image {
    /// By name, the state space and the address in it, as instructions have it.
    pub addresses: HashMap<String, (Space, u64)>,
    /// By name, why a variable cannot be used.
    pub failed: HashMap<String, String>,
    /// Names of the functions, by their index: see [`window::function`].
    pub functions: Vec<String>,
    pub variables: Vec<InitialVariable>,
    /// Bytes of constant memory.
    pub constant_bytes: u64,
    /// Where its variables begin in global memory, and where they end.
    pub base: Pointer,
    pub end: Pointer,
}

/// A variable and its initial contents.
#[derive(Debug)]
pub(crate) struct InitialVariable {
    pub info: VariableInfo,
    /// Of a constant, its address in constant memory.
    pub constant: u64,
    pub contents: Vec<u8>,
    /// Whether it is a constant without an initial value, which the host is to set.
    pub is_unset: bool,
}

impl Image {
    /// Lays the variables out in global memory, between those addresses.
    pub(crate) fn new(module: &Module, from: Pointer, to: Pointer) -> Self {
        let mut image = Self { base: from, end: from, ..Self::default() };
        for (index, function) in module.functions.iter().enumerate() {
            image.addresses.insert(function.name.clone(), (Space::Global, window::of_function(index)));
            image.functions.push(function.name.clone());
        }
        let is_placed =
            |variable: &&Variable| !variable.is_extern && matches!(variable.space, Space::Global | Space::Const);
        let mut placed = Vec::new();
        for variable in module.variables.iter().filter(is_placed) {
            match image.place(variable, to) {
                Ok(()) => placed.push(variable),
                Err(reason) => {
                    image.failed.insert(variable.name.clone(), reason.to_owned());
                }
            }
        }
        let Self { addresses, failed, variables, .. } = &mut image;
        for (initial, variable) in variables.iter_mut().zip(placed) {
            if let Err(reason) = initial.fill(variable, addresses) {
                failed.insert(variable.name.clone(), reason);
            }
        }
        image
    }

    /// The index of a function.
    pub(crate) fn function_index(&self, name: &str) -> usize {
        let address = self.addresses.get(name).map_or(0, |(_, address)| *address);
        window::function(address).unwrap_or(usize::MAX)
    }

    /// The variable of that name.
    pub(crate) fn variable(&self, name: &str) -> Option<&InitialVariable> {
        self.variables.iter().find(|variable| variable.info.name == name)
    }

    fn place(&mut self, variable: &Variable, to: Pointer) -> Result<(), &'static str> {
        let Variable { space, bytes, .. } = *variable;
        let align = u64::from(variable.align.max(1));
        let constant = self.constant_bytes.next_multiple_of(align);
        let address = self.end.next_multiple_of(align.max(SPACING));
        let used = if space == Space::Const { constant } else { address - self.base };
        let end = address.saturating_add(bytes).saturating_add(SPACING);
        if used.saturating_add(bytes) > MAX_BYTES || end > to {
            return Err("it does not fit into memory");
        }
        self.end = end;
        if space == Space::Const {
            self.constant_bytes = constant + bytes;
        }
        let name = variable.name.clone();
        self.addresses.insert(name.clone(), (space, if space == Space::Const { constant } else { address }));
        self.variables.push(InitialVariable {
            info: VariableInfo { name, space, bytes, address },
            constant,
            contents: vec![0; bytes as usize],
            is_unset: space == Space::Const && variable.initial.is_empty(),
        });
        Ok(())
    }
}

impl InitialVariable {
    /// Whether it is in constant memory.
    pub(crate) fn is_constant(&self) -> bool {
        self.info.space == Space::Const
    }

    fn fill(&mut self, variable: &Variable, addresses: &HashMap<String, (Space, u64)>) -> Result<(), String> {
        for initial in &variable.initial {
            let (offset, bytes) = match initial {
                Initial::Bytes { offset, bytes } => (*offset, bytes.clone()),
                Initial::Address { offset, width, symbol, addend, generic } => {
                    let Some(&(of, target)) = addresses.get(symbol) else {
                        return Err(format!("the address of `{symbol}`, in its initial value, is not known"));
                    };
                    let base = if *generic { window::base(of) } else { 0 };
                    let value = (base + target).wrapping_add_signed(*addend);
                    (*offset, value.to_le_bytes().into_iter().take(*width as usize).collect())
                }
            };
            let rest = self.contents.get_mut(offset as usize..);
            let Some(to) = rest.and_then(|rest| rest.get_mut(..bytes.len())) else {
                return Err("it is initialised beyond its end".to_owned());
            };
            to.copy_from_slice(&bytes);
        }
        Ok(())
    }
}
