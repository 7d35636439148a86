//! Where warps wait for global memory, and how many instructions before that they issued the load.
//!
//! Derived from the program: from each load on, the most frequent path is followed to where the value is stored to
//! shared memory, or the copy is waited for, and on to the barrier after which other warps read it.

use std::collections::{BTreeMap, HashSet};
use std::ops::{Add, AddAssign};

use super::Count;
use crate::program::{Action, Async, BarrierKind, Instruction, Names, Pc, Program};
use crate::types::Space;
use serde::{Deserialize, Serialize};

/// Instructions after a load within which its wait is looked for.
const MAX_INSTRUCTIONS: u64 = 4096;

/// Waits for global memory.
///
/// Of transfers to shared memory there is one per barrier after which the data is read, however many loads it takes. Bulk copies are
/// not included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Waits {
    /// Warps that waited.
    pub warps: u64,
    /// Instructions between load and wait, summed over the waits.
    pub instructions: u64,
    /// Loads to registers that were waited for, by warp: each is stored to shared memory before the barrier.
    pub requests: u64,
    /// Bytes that these loaded.
    pub bytes: u64,
    /// Warps that waited for what they compute with, no barrier behind it: one for all loads before the same use.
    pub users: u64,
    /// Instructions between load and use, summed over these waits.
    pub used_after: u64,
}

impl Add for Waits {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Waits {
    fn add_assign(&mut self, other: Self) {
        self.warps += other.warps;
        self.instructions += other.instructions;
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.users += other.users;
        self.used_after += other.used_after;
    }
}

/// The waits of a program with these counts.
pub(crate) fn waits(program: &Program, counts: &[Count]) -> Waits {
    let Program { instructions, names, .. } = program;
    let path = Path { instructions, counts };
    let mut uses = Vec::new();
    let mut by_barrier: BTreeMap<Pc, Waits> = BTreeMap::new();
    for (load, count) in counts.iter().enumerate().filter(|(_, count)| count.requests > 0) {
        let Some((bytes, is_copy)) = load_bytes(&instructions[load]) else { continue };
        if let Some((barrier, distance)) = path.wait(load, is_copy) {
            let (warps, instructions) = (count.warps, count.warps.saturating_mul(distance));
            let loaded = if is_copy { [0; 2] } else { [count.requests, count.lanes * u64::from(bytes)] };
            let [requests, bytes] = loaded;
            *by_barrier.entry(barrier).or_default() +=
                Waits { warps, instructions, requests, bytes, ..Waits::default() };
        } else if !is_copy && let Some((pc, distance)) = path.first_use(load, names) {
            uses.push(Use { pc, load, warps: count.warps, distance });
        }
    }
    let mut waits = Waits::default();
    for (barrier, loads) in by_barrier {
        let warps = loads.warps.min(counts[barrier].warps);
        let instructions = (loads.instructions as f64 * warps as f64 / loads.warps as f64) as u64;
        waits += Waits { warps, instructions, ..loads };
    }
    waits + waits_of_uses(uses)
}

/// Where a warp computes with what it loaded.
struct Use {
    pc: Pc,
    load: Pc,
    warps: u64,
    distance: u64,
}

/// While a warp waits for one load, those that it issued before that arrive, too: only a load behind the last wait is waited for.
fn waits_of_uses(mut uses: Vec<Use>) -> Waits {
    uses.sort_unstable_by_key(|one| (one.pc, one.load));
    // The last wait, and the last for what the iteration before loaded.
    let (mut waits, mut last, mut last_ahead) = (Waits::default(), None, None);
    for Use { pc, load, warps, distance } in uses {
        let (is_served, wait) = if load > pc {
            (last_ahead == Some(pc), &mut last_ahead)
        } else {
            (last.is_some_and(|last| load < last), &mut last)
        };
        if is_served {
            continue;
        }
        *wait = Some(pc);
        waits += Waits { users: warps, used_after: warps.saturating_mul(distance), ..Waits::default() };
    }
    waits
}

/// Bytes that the instruction loads per lane from global memory, and whether it copies them to shared memory itself.
fn load_bytes(instruction: &Instruction) -> Option<(u32, bool)> {
    match &instruction.action {
        Action::Load(access) if access.space == Space::Global => Some((access.bytes(), false)),
        Action::Async(action) => match &**action {
            Async::Copy(copy) => Some((copy.bytes, true)),
            _ => None,
        },
        _ => None,
    }
}

/// The most frequent path.
struct Path<'a> {
    instructions: &'a [Instruction],
    counts: &'a [Count],
}

impl Path<'_> {
    /// The next instruction, outside of the loop if it must not be one of `seen`.
    fn next(&self, pc: Pc, seen: Option<&HashSet<Pc>>) -> Option<Pc> {
        let Instruction { action, guard, .. } = &self.instructions[pc];
        let warps = |pc: Pc| self.counts.get(pc).map_or(0, |count| count.warps);
        let is_new = |pc: Pc| seen.is_none_or(|seen| !seen.contains(&pc));
        let next = match (action, guard) {
            (Action::Branch(target), None) => *target,
            (Action::Branch(target), Some(_))
                if (is_new(*target), warps(*target)) > (is_new(pc + 1), warps(pc + 1)) =>
            {
                *target
            }
            (Action::Exit | Action::Return | Action::Trap | Action::Assert(_), None) | (Action::BranchIndex(..), _) => {
                return None;
            }
            _ => pc + 1,
        };
        (next < self.instructions.len()).then_some(next)
    }

    /// The first instruction that reads what the load writes, and the instructions until it.
    fn first_use(&self, load: Pc, names: &Names) -> Option<(Pc, u64)> {
        let (written, mut pc) = (names.writes(load), load);
        for distance in 0..MAX_INSTRUCTIONS {
            pc = self.next(pc, None)?;
            if names.reads(pc).iter().any(|register| written.contains(register)) {
                return Some((pc, distance));
            }
            if pc == load {
                return None;
            }
        }
        None
    }

    /// The barrier after which other warps read what the load or copy delivers, and the instructions until the warp
    /// itself needs it.
    fn wait(&self, load: Pc, is_copy: bool) -> Option<(Pc, u64)> {
        let (mut pc, mut groups, mut needed, mut seen) = (load, 0, None, HashSet::new());
        for distance in 0..MAX_INSTRUCTIONS {
            seen.insert(pc);
            // Once it is needed, loops are left.
            pc = self.next(pc, needed.map(|_| &seen))?;
            let is_needed = match &self.instructions[pc].action {
                Action::Store(access) => !is_copy && access.space == Space::Shared,
                Action::Async(action) => match &**action {
                    Async::Commit => {
                        groups += 1;
                        false
                    }
                    // The copy is in the last of the groups committed after it, counted from the newest.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GlobalMemory, Launch, Module};

    /// The waits of 32 threads; %rd1 points to 64 words, %r1 and %r2 into shared memory, %r4 is 8.
    fn waits_of(body: &str) -> Waits {
        let text = format!(
            ".version 7.0 .target sm_80 .address_size 64
            .visible .entry k(.param .u64 data) {{
                .reg .b64 %rd<4>; .reg .b32 %r<9>; .reg .pred %p<2>; .shared .align 16 .b32 s[64];
                ld.param.u64 %rd1, [data]; mov.u32 %r1, s; add.u32 %r2, %r1, 128; mov.u32 %r4, 8;
                {body}
                ret;
            }}"
        );
        let mut memory = GlobalMemory::default();
        let data = memory.allocate_words(0..64);
        let launch =
            Launch { checks: crate::Checks::NONE, ..Launch::new([1, 1, 1], [32, 1, 1]).argument(data.to_le_bytes()) };
        let module = Module::parse(&text).unwrap();
        module.kernel("k").unwrap().launch(&mut memory, &launch).unwrap().counters.waits
    }

    #[test]
    fn what_goes_to_shared_memory_is_waited_for_once_for_each_barrier() {
        let k_tile = "ld.global.u32 %r3, [%rd1]; st.shared.u32 [%r1], %r3;
            ld.global.u32 %r3, [%rd1+4]; st.shared.u32 [%r1+4], %r3; bar.sync 0;";
        let once = Waits { warps: 1, requests: 2, bytes: 256, ..Waits::default() };
        assert_eq!(waits_of(k_tile), once);
        assert_eq!(waits_of(&format!("{k_tile} bar.sync 0; {k_tile}")).warps, 2);
    }

    #[test]
    fn what_is_computed_with_is_waited_for_at_its_first_use() {
        let used = |users, used_after| Waits { users, used_after, ..Waits::default() };
        assert_eq!(waits_of("ld.global.u32 %r3, [%rd1]; st.global.u32 [%rd1], %r3; bar.sync 0;"), used(1, 0));
        let two = "ld.global.u32 %r3, [%rd1]; ld.global.u32 %r5, [%rd1+4]; add.u32 %r6, %r3, 1; add.u32 %r6, %r6, %r5;";
        assert_eq!(waits_of(two), used(1, 1), "the second arrives with the first");
        let chain =
            "ld.global.u32 %r3, [%rd1]; add.u32 %r6, %r3, 1; ld.global.u32 %r5, [%rd1+4]; add.u32 %r6, %r6, %r5;";
        assert_eq!(waits_of(chain), used(2, 0));
        let looped = format!("LOOP: {two} sub.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra LOOP;");
        assert_eq!(waits_of(&looped), used(8, 8));
        let ahead = "ld.global.u32 %r3, [%rd1]; LOOP: add.u32 %r6, %r6, %r3; ld.global.u32 %r3, [%rd1+4];
            sub.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra LOOP;";
        assert_eq!(waits_of(ahead), used(9, 8 * 3));
    }

    #[test]
    fn loads_may_be_far_ahead() {
        let work = "add.u32 %r5, %r5, 1; ".repeat(100);
        let body = format!(
            "LOOP: ld.global.u32 %r3, [%rd1]; {work} st.shared.u32 [%r1], %r3; bar.sync 0;
            sub.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra LOOP;"
        );
        let waits = Waits { warps: 8, instructions: 800, requests: 8, bytes: 8 * 128, ..Waits::default() };
        assert_eq!(waits_of(&body), waits);
    }

    #[test]
    fn a_loop_of_loads_before_one_barrier_is_one_wait() {
        let body = "LOOP: ld.global.u32 %r3, [%rd1]; st.shared.u32 [%r1], %r3;
            sub.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra LOOP; bar.sync 0;";
        assert_eq!(waits_of(body), Waits { warps: 1, requests: 8, bytes: 8 * 128, ..Waits::default() });
    }

    #[test]
    fn a_group_of_copies_is_waited_for_when_fewer_may_be_left() {
        let body = |pending: u32| {
            format!(
                "LOOP: cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.commit_group;
                sub.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, 0;
                cp.async.wait_group {pending}; bar.sync 0; @%p1 bra LOOP;"
            )
        };
        let waits = [0, 1, 2].map(|pending| waits_of(&body(pending)));
        assert_eq!(waits.map(|waits| waits.warps), [8; 3]);
        // The loop has seven instructions.
        assert_eq!(waits.map(|waits| waits.instructions), [8 * 3, 8 * 10, 8 * 17]);
    }
}
