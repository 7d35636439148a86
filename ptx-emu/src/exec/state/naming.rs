//! What memory is called in messages: by its label, as a variable, or as the argument that points to it.

use super::grid::Grid;
use crate::memory::{MAP_BYTES, Pointer, TensorMap};

/// The bytes of a pointer.
const POINTER_BYTES: u32 = 8;

impl Grid<'_> {
    /// The place of an address in global memory, such as `, argument 5, element 5000 (row 12, column 8)`; nothing where it is not known.
    pub(crate) fn place_of(&self, address: Pointer) -> String {
        let Ok(allocation) = self.memory.find(address) else { return String::new() };
        let Some(name) = self.name_of(allocation.base()) else { return String::new() };
        let offset = address - allocation.base();
        let element = allocation.label().map_or_else(|| format!("byte {offset}"), |label| label.element(offset));
        format!(", {name}, {element}")
    }

    /// What the allocation that begins there is called.
    pub(crate) fn name_of(&self, base: Pointer) -> Option<String> {
        let label = self.memory.find(base).ok().and_then(|allocation| allocation.label());
        let name = label.and_then(|label| label.name.as_deref()).or_else(|| self.memory.variable_at(base));
        name.map(|name| format!("`{name}`")).or_else(|| {
            let points_there = |argument: &[u8]| self.pointed_to_by(argument) == Some(base);
            let arguments = self.program.params.iter().map(|param| {
                let (offset, bytes) = (param.offset as usize, param.bytes as usize);
                self.params.get(offset..offset + bytes).unwrap_or_default()
            });
            let number = arguments.into_iter().position(points_there)?;
            Some(format!("argument {}", number + 1))
        })
    }

    /// The allocation, or what was one, that an argument points into: a pointer, or a tensor map.
    fn pointed_to_by(&self, argument: &[u8]) -> Option<Pointer> {
        let address = match <&[u8; MAP_BYTES]>::try_from(argument) {
            Ok(map) => TensorMap::decode(map)?.address(),
            Err(_) if argument.len() == POINTER_BYTES as usize => u64::from_le_bytes(argument.try_into().ok()?),
            Err(_) => return None,
        };
        self.memory.allocation_of(address)
    }
}
