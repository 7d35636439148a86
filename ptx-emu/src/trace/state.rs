//! Registers and memory between two steps.

use std::collections::HashMap;

use super::{Access, Region, RegisterFile, Step, Trace, WarpId};
use crate::launch::BlockIndex;
use crate::types::Space;

/// Lanes of a warp.
const LANES: u64 = 32;

/// The registers and the memory of a launch between two steps of its trace. It starts before the first.
#[derive(Debug, Clone)]
pub struct State {
    position: usize,
    registers: HashMap<WarpId, RegisterFile>,
    shared: HashMap<BlockIndex, Vec<u8>>,
    /// Local memory of a warp, lane by lane.
    local: HashMap<WarpId, Vec<u8>>,
    global: Vec<Region>,
    shared_bytes: usize,
    local_bytes: usize,
}

impl State {
    /// Before the first step.
    #[must_use]
    pub fn new(trace: &Trace) -> Self {
        Self {
            position: 0,
            registers: HashMap::new(),
            shared: HashMap::new(),
            local: HashMap::new(),
            global: trace.global.clone(),
            shared_bytes: trace.shared_bytes as usize,
            local_bytes: trace.local_bytes as usize,
        }
    }

    /// The index of the next step: so many have been executed.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }

    /// Executes the next step, and returns it; `None` at the end.
    pub fn forward<'t>(&mut self, trace: &'t Trace) -> Option<&'t Step> {
        let step = trace.steps.get(self.position)?;
        if !step.registers.is_empty() {
            let file = self.registers.entry(step.warp).or_default();
            step.registers.iter().for_each(|write| file.redo(write));
        }
        for access in step.accesses.iter().filter(|access| access.writes()) {
            self.put(step.warp, access, &access.after);
        }
        self.position += 1;
        Some(step)
    }

    /// Takes the last step back, and returns it; `None` at the beginning.
    pub fn back<'t>(&mut self, trace: &'t Trace) -> Option<&'t Step> {
        let step = trace.steps.get(self.position.checked_sub(1)?)?;
        for access in step.accesses.iter().rev().filter(|access| access.writes()) {
            self.put(step.warp, access, &access.before);
        }
        if let Some(file) = self.registers.get_mut(&step.warp) {
            step.registers.iter().rev().for_each(|write| file.undo(write));
        }
        self.position -= 1;
        Some(step)
    }

    /// Goes to before step `position`, or to the end where there are fewer.
    pub fn seek(&mut self, trace: &Trace, position: usize) {
        let position = position.min(trace.steps.len());
        while self.position < position && self.forward(trace).is_some() {}
        while self.position > position && self.back(trace).is_some() {}
    }

    /// A lane's value of a register, by its index in [`Trace::registers`]; `None` where it has none yet.
    #[must_use]
    pub fn register(&self, warp: WarpId, register: u32, lane: u32) -> Option<u128> {
        self.registers.get(&warp)?.get(register, lane)
    }

    /// The shared memory of a block; all zeros before it begins.
    #[must_use]
    pub fn shared(&self, block: BlockIndex) -> Vec<u8> {
        self.shared.get(&block).cloned().unwrap_or_else(|| vec![0; self.shared_bytes])
    }

    /// The local memory of a lane.
    #[must_use]
    pub fn local(&self, warp: WarpId, lane: u32) -> Vec<u8> {
        let all = self.local.get(&warp).and_then(|all| all.get(lane as usize * self.local_bytes..));
        all.map_or_else(|| vec![0; self.local_bytes], |rest| rest[..self.local_bytes.min(rest.len())].to_vec())
    }

    /// Bytes of global memory; `None` where they are not all in one allocation.
    #[must_use]
    pub fn global(&self, address: u64, bytes: usize) -> Option<Vec<u8>> {
        let region = &self.global[self.region(address)?];
        let offset = (address - region.base) as usize;
        Some(region.bytes.get(offset..)?.get(..bytes)?.to_vec())
    }

    /// All of global memory, by address.
    #[must_use]
    pub fn regions(&self) -> &[Region] {
        &self.global
    }

    fn region(&self, address: u64) -> Option<usize> {
        let after = self.global.partition_point(|region| region.base <= address);
        let index = after.checked_sub(1)?;
        (address - self.global[index].base < self.global[index].bytes.len() as u64).then_some(index)
    }

    fn put(&mut self, warp: WarpId, access: &Access, bytes: &[u8]) {
        let width = access.bytes as usize;
        for (place, bytes) in access.places.iter().zip(bytes.chunks(width.max(1))) {
            let (memory, offset) = match access.space {
                Space::Shared => {
                    let size = self.shared_bytes;
                    (self.shared.entry(access.block).or_insert_with(|| vec![0; size]), place.address)
                }
                Space::Local => {
                    let size = self.local_bytes;
                    let start = u64::from(place.lane) * size as u64;
                    let all = self.local.entry(warp).or_insert_with(|| vec![0; size * LANES as usize]);
                    (all, start + place.address)
                }
                _ => {
                    let Some(index) = self.region(place.address) else { continue };
                    let region = &mut self.global[index];
                    let offset = place.address - region.base;
                    (&mut region.bytes, offset)
                }
            };
            if let Some(to) = memory.get_mut(offset as usize..).and_then(|rest| rest.get_mut(..bytes.len())) {
                to.copy_from_slice(bytes);
            }
        }
    }
}
