//! Where warps wait for what they have asked of global memory, and how long before that they asked.
//!
//! This is read off the program: from each load on, the way that most warps went is followed to where the value goes on to
//! shared memory, or a copy is waited for, and from there to the barrier behind which others read it.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;

use crate::counters::Count;
use crate::program::{Action, Async, BarrierKind, Instruction, Pc};
use crate::Space;

/// So many instructions after a load nobody waits for it any more.
const MAX_INSTRUCTIONS: u64 = 4096;

/// Waits for what goes from global to shared memory: one for each barrier behind which it is read, however many loads it
/// takes. Copies in bulk are not among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Waits {
    /// Warps that waited.
    pub warps: u64,
    /// Instructions that they ran after they had asked and before they waited, added up over the waits.
    pub instructions: u64,
    /// Loads that were waited for, by warps.
    pub requests: u64,
    /// Bytes that these brought.
    pub bytes: u64,
}

impl AddAssign for Waits {
    fn add_assign(&mut self, other: Self) {
        self.warps += other.warps;
        self.instructions += other.instructions;
        self.requests += other.requests;
        self.bytes += other.bytes;
    }
}

/// The waits of a program whose instructions were counted.
pub(crate) fn waits(instructions: &[Instruction], counts: &[Count]) -> Waits {
    let path = Path { instructions, counts };
    let mut by_barrier: BTreeMap<Pc, Waits> = BTreeMap::new();
    for (load, count) in counts.iter().enumerate().filter(|(_, count)| count.requests > 0) {
        if let Some((bytes, is_copy)) = loaded(&instructions[load])
            && let Some((barrier, distance)) = path.wait(load, is_copy)
        {
            *by_barrier.entry(barrier).or_default() += Waits {
                warps: count.warps,
                instructions: count.warps * distance,
                requests: count.requests,
                bytes: count.lanes * u64::from(bytes),
            };
        }
    }
    let mut waits = Waits::default();
    for (barrier, loads) in by_barrier {
        let warps = loads.warps.min(counts[barrier].warps);
        let instructions = (loads.instructions as f64 * warps as f64 / loads.warps as f64) as u64;
        waits += Waits { warps, instructions, ..loads };
    }
    waits
}

/// Bytes that the instruction brings a lane from global memory, and whether it copies them to shared memory by itself.
fn loaded(instruction: &Instruction) -> Option<(u32, bool)> {
    match &instruction.action {
        Action::Load(access) if access.space == Space::Global => Some((access.bytes(), false)),
        Action::Async(action) => match &**action {
            Async::Copy(copy) => Some((copy.bytes, true)),
            _ => None,
        },
        _ => None,
    }
}

/// The way that most warps went.
struct Path<'a> {
    instructions: &'a [Instruction],
    counts: &'a [Count],
}

impl Path<'_> {
    fn next(&self, pc: Pc) -> Option<Pc> {
        let Instruction { action, guard, .. } = &self.instructions[pc];
        let warps = |pc: Pc| self.counts.get(pc).map_or(0, |count| count.warps);
        let next = match (action, guard) {
            (Action::Branch(target), None) => *target,
            (Action::Branch(target), Some(_)) if warps(*target) > warps(pc + 1) => *target,
            (Action::Exit | Action::Trap, None) | (Action::BranchIndex(..), _) => return None,
            _ => pc + 1,
        };
        (next < self.instructions.len()).then_some(next)
    }

    /// The barrier behind which others read what the load or copy brings, and how many instructions after it the warp needs
    /// it itself.
    fn wait(&self, load: Pc, is_copy: bool) -> Option<(Pc, u64)> {
        let (mut pc, mut groups, mut needed) = (load, 0, None);
        for distance in 0..MAX_INSTRUCTIONS {
            pc = self.next(pc)?;
            let is_needed = match &self.instructions[pc].action {
                Action::Store(access) => !is_copy && access.space == Space::Shared,
                Action::Async(action) => match &**action {
                    Async::Commit => {
                        groups += 1;
                        false
                    }
                    // The copy is in the last of the groups that were closed behind it, counted from the newest.
                    Async::Wait(pending) => is_copy && pending.is_none_or(|pending| groups > pending),
                    _ => false,
                },
                Action::Barrier(barrier) if !matches!(barrier.kind, BarrierKind::Arrive) => {
                    if let Some(needed) = needed {
                        return Some((pc, needed));
                    }
                    false
                }
                _ => false,
            };
            if is_needed && needed.is_none() {
                needed = Some(distance);
            }
        }
        None
    }
}
