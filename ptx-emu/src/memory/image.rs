//! The initial contents of a module's variables.

use std::collections::HashMap;

use super::window;
use crate::syntax::{Initial, Module, Variable};
use crate::types::Space;

/// Bytes of a module's variables in one state space, at most.
const MAX_BYTES: u64 = 1 << 30;

/// Addresses and initial contents of the module's `.global` and `.const` variables.
#[derive(Debug, Default)]
pub(crate) struct Image {
    /// By name, the state space and the address in it.
    pub addresses: HashMap<String, (Space, u64)>,
    /// By name, why a variable cannot be used.
    pub failed: HashMap<String, String>,
    /// Names of the functions, by their index: see [`window::function`].
    pub functions: Vec<String>,
    /// By name, bytes of the `.const` variables.
    sizes: HashMap<String, u64>,
    /// Contents of `.global` variables, from [`window::VARIABLES`] on.
    pub global: Vec<u8>,
    /// Contents of `.const` variables.
    pub constant: Vec<u8>,
    /// Those of them without an initial value, which the host is to set: name, address, bytes.
    pub unset: Vec<(String, u64, u64)>,
}

impl Image {
    /// Lays the variables out.
    pub(crate) fn new(module: &Module) -> Self {
        let mut image = Self::default();
        for (index, function) in module.functions.iter().enumerate() {
            image.addresses.insert(function.name.clone(), (Space::Global, window::of_function(index)));
            image.functions.push(function.name.clone());
        }
        let mut sizes = [0u64; 2];
        for variable in module.variables.iter().filter(|variable| !variable.is_extern) {
            let (size, base) = match variable.space {
                Space::Global => (&mut sizes[0], window::VARIABLES),
                Space::Const => (&mut sizes[1], 0),
                _ => continue,
            };
            let start = size.next_multiple_of(variable.align.max(1).into());
            if start.saturating_add(variable.bytes) > MAX_BYTES {
                image.failed.insert(variable.name.clone(), "it does not fit into memory".to_owned());
                continue;
            }
            *size = start;
            image.addresses.insert(variable.name.clone(), (variable.space, base + *size));
            if variable.space == Space::Const {
                image.sizes.insert(variable.name.clone(), variable.bytes);
            }
            if variable.space == Space::Const && variable.initial.is_empty() {
                image.unset.push((variable.name.clone(), base + *size, variable.bytes));
            }
            *size += variable.bytes;
        }
        (image.global, image.constant) = (vec![0; sizes[0] as usize], vec![0; sizes[1] as usize]);
        for variable in &module.variables {
            if let Err(reason) = image.fill(variable) {
                image.failed.insert(variable.name.clone(), reason);
            }
        }
        image
    }

    /// The index of a function.
    pub(crate) fn function_index(&self, name: &str) -> usize {
        let address = self.addresses.get(name).map_or(0, |(_, address)| *address);
        window::function(address).unwrap_or(usize::MAX)
    }

    /// Bytes of a `.const` variable.
    pub(crate) fn constant_bytes(&self, name: &str) -> u64 {
        self.sizes.get(name).copied().unwrap_or_default()
    }

    fn fill(&mut self, variable: &Variable) -> Result<(), String> {
        let Some(&(space, address)) = self.addresses.get(&variable.name) else { return Ok(()) };
        for initial in &variable.initial {
            let (offset, bytes) = match initial {
                Initial::Bytes { offset, bytes } => (*offset, bytes.clone()),
                Initial::Address { offset, width, symbol, addend, generic } => {
                    let Some(&(of, target)) = self.addresses.get(symbol) else {
                        return Err(format!("the address of `{symbol}`, in its initial value, is not known"));
                    };
                    let base = if *generic { window::base(of) } else { 0 };
                    let value = (base + target).wrapping_add_signed(*addend);
                    (*offset, value.to_le_bytes().into_iter().take(*width as usize).collect())
                }
            };
            let (all, start) = match space {
                Space::Global => (&mut self.global, address - window::VARIABLES + offset),
                _ => (&mut self.constant, address + offset),
            };
            let Some(to) = all.get_mut(start as usize..).and_then(|rest| rest.get_mut(..bytes.len())) else {
                return Err("it is initialised beyond its end".to_owned());
            };
            to.copy_from_slice(&bytes);
        }
        Ok(())
    }
}
