//! Constant memory of a launch: what the module says, and what the host has set.

use super::Launch;
use crate::memory::Image;
use crate::types::Space;

/// Constant memory.
pub(crate) struct Constants {
    pub bytes: Vec<u8>,
    /// Variables that have no value: name, address and bytes.
    pub unset: Vec<(String, u64, u64)>,
}

impl Constants {
    /// The module's constants with those of the launch; the error is a message.
    pub(crate) fn new(image: &Image, launch: &Launch) -> Result<Self, String> {
        let (mut bytes, mut unset) = (image.constant.clone(), image.unset.clone());
        for (name, contents) in &launch.constants {
            let Some(&(Space::Const, address)) = image.addresses.get(name) else {
                return Err(format!("there is no .const variable `{name}`"));
            };
            let room = image.constant_bytes(name);
            if contents.len() as u64 > room {
                return Err(format!("`{name}` has {room} bytes, {} are given", contents.len()));
            }
            bytes[address as usize..][..contents.len()].copy_from_slice(contents);
            unset.retain(|(other, ..)| other != name);
        }
        Ok(Self { bytes, unset })
    }

    /// The variable without a value that an access touches.
    pub(crate) fn unset_at(&self, address: u64, bytes: u32) -> Option<&str> {
        let touches = |start: u64, size: u64| address < start + size && start < address + u64::from(bytes);
        self.unset.iter().find(|(_, start, size)| touches(*start, *size)).map(|(name, ..)| name.as_str())
    }
}
