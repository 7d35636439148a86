//! Modules' variables in global memory, where they stay from one launch to the next.

use std::sync::Arc;

use super::window::{self, LOADED, VARIABLES};
use super::{GlobalMemory, Image, Pointer};

/// Addresses between the variables of two modules are a multiple of so many.
const ALIGNMENT: u64 = 1 << 20;

/// A module whose variables are mapped.
#[derive(Debug)]
pub(crate) struct MappedModule {
    image: Arc<Image>,
    /// By variable, whether it is a constant that still has no value.
    unset: Vec<bool>,
}

/// A launch's constant memory.
pub(crate) struct ConstantBank {
    pub bytes: Vec<u8>,
    /// Constants without a value: name, address and bytes.
    pub unset: Vec<(String, u64, u64)>,
}

impl GlobalMemory {
    /// Where the variables of a module that is loaded next begin.
    pub(crate) fn next_module(&self) -> Pointer {
        let ends = self.modules.iter().map(|module| module.image.end.next_multiple_of(ALIGNMENT));
        ends.fold(LOADED, Pointer::max)
    }

    /// Maps a module's variables, with their initial contents, unless they are there. Those of another module that lie at the same
    /// addresses are gone.
    pub(crate) fn map_module(&mut self, image: &Arc<Image>) {
        if image.variables.is_empty() || self.modules.iter().any(|module| Arc::ptr_eq(&module.image, image)) {
            return;
        }
        let overlaps = |other: &Image| image.base < other.end && other.base < image.end;
        let replaced = self.modules.extract_if(.., |module| overlaps(&module.image));
        for module in replaced.collect::<Vec<_>>() {
            self.drop_range(module.image.base, module.image.end);
        }
        for variable in &image.variables {
            self.place(variable.info.address, &variable.contents);
        }
        self.sort();
        let unset = image.variables.iter().map(|variable| variable.is_unset).collect();
        self.modules.push(MappedModule { image: Arc::clone(image), unset });
    }

    /// Takes a module's variables out of memory.
    pub(crate) fn unmap_module(&mut self, image: &Arc<Image>) {
        let before = self.modules.len();
        self.modules.retain(|module| !Arc::ptr_eq(&module.image, image));
        if self.modules.len() < before {
            self.drop_range(image.base, image.end);
        }
    }

    /// Notes that the host has written there: constants among it have a value.
    pub(super) fn written(&mut self, pointer: Pointer, bytes: usize) {
        if !(VARIABLES..window::HEAP).contains(&pointer) {
            return;
        }
        let end = pointer.saturating_add(bytes as u64);
        for module in &mut self.modules {
            for (is_unset, variable) in module.unset.iter_mut().zip(&module.image.variables) {
                *is_unset &= end <= variable.info.address || variable.info.address + variable.info.bytes <= pointer;
            }
        }
    }

    /// The constant memory of a module whose variables are mapped.
    pub(crate) fn constants(&self, image: &Arc<Image>) -> ConstantBank {
        let mut bank = ConstantBank { bytes: vec![0; image.constant_bytes as usize], unset: vec![] };
        let mapped = self.modules.iter().find(|module| Arc::ptr_eq(&module.image, image));
        let Some(MappedModule { unset, .. }) = mapped else { return bank };
        let constants = image.variables.iter().zip(unset).filter(|(variable, _)| variable.is_constant());
        for (variable, is_unset) in constants {
            let (start, size) = (variable.constant, variable.info.bytes);
            let there = self.read_into(variable.info.address, &mut bank.bytes[start as usize..][..size as usize]);
            debug_assert!(there, "a mapped variable is in memory");
            if *is_unset {
                bank.unset.push((variable.info.name.clone(), start, size));
            }
        }
        bank
    }

    /// The name of the variable at that address, if one is.
    pub(crate) fn variable_at(&self, pointer: Pointer) -> Option<&str> {
        let variables = self.modules.iter().flat_map(|module| &module.image.variables);
        variables.map(|variable| &variable.info).find(|info| info.address == pointer).map(|info| info.name.as_str())
    }
}
