//! Constant memory of a launch: what the module says, and what the host has set.

use std::sync::Arc;

use super::Launch;
use crate::memory::{GlobalMemory, Image};

/// Constant memory.
pub(crate) struct Constants {
    pub bytes: Vec<u8>,
    /// Variables that have no value: name, address and bytes.
    pub unset: Vec<(String, u64, u64)>,
}

impl Constants {
    /// The constants of a module that is mapped, with those of the launch; the error is a message.
    pub(crate) fn new(image: &Arc<Image>, memory: &GlobalMemory, launch: &Launch) -> Result<Self, String> {
        let bank = memory.constants(image);
        let (mut bytes, mut unset) = (bank.bytes, bank.unset);
        for (name, contents) in &launch.constants {
            let Some(variable) = image.variable(name).filter(|variable| variable.is_constant()) else {
                return Err(format!("there is no .const variable `{name}`"));
            };
            let room = variable.info.bytes;
            if contents.len() as u64 > room {
                return Err(format!("`{name}` has {room} bytes, {} are given", contents.len()));
            }
            bytes[variable.constant as usize..][..contents.len()].copy_from_slice(contents);
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
