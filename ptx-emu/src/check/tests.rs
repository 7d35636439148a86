//! Tests of the checkers without a kernel: accesses and barriers as a block would tell them.

use super::clocks::Clocks;
use super::events::{Events, Knowledge};
use super::fences::Fences;
use super::race::Races;
use super::written::Written;
use super::{AccessKind, Observed};
use crate::lanes::{ALL_LANES, LANES, Mask};
use crate::types::{Scope, Semantics};

const WARPS: usize = 4;

/// What the clocks know its shared memory by.
const AREA: u64 = 1 << 63;

/// A block of four warps with 256 bytes of shared memory.
struct Block {
    clocks: Clocks,
    races: Races,
    fences: Fences,
    /// Of its strong accesses.
    semantics: Semantics,
}

impl Block {
    fn new(shift: u32) -> Self {
        Self {
            clocks: Clocks::new(WARPS, 1),
            races: Races::new(0..WARPS, WARPS, 256, shift),
            fences: Fences::new(WARPS),
            semantics: Semantics { acquires: true, releases: true, ..Semantics::DEFAULT },
        }
    }

    /// Lanes access a word each, or all the same; returns the racing instructions, and the thread there.
    fn access(
        &mut self,
        kind: AccessKind,
        pc: usize,
        (warp, mask): (usize, Mask),
        address: impl Fn(usize) -> u64,
        bytes: u32,
    ) -> Vec<(usize, usize)> {
        let addresses: [u64; LANES] = std::array::from_fn(address);
        let semantics = self.semantics;
        let access = Observed { semantics, ..Observed::weak(kind, pc, (warp, mask), &addresses, bytes) };
        let mut found = vec![];
        if kind.is_strong() && kind.reads() {
            self.fences.read(&mut self.clocks, &access, AREA);
        }
        self.races.access(&self.clocks, &access, &mut found);
        if kind.is_strong() && kind.writes() {
            self.fences.write(&mut self.clocks, &access, AREA);
        }
        let other = |what| if let super::What::Race { thread, .. } = what { thread } else { usize::MAX };
        found.into_iter().map(|discovery| (discovery.other.unwrap_or(usize::MAX), other(discovery.what))).collect()
    }

    /// Lane 0 of the warp accesses the first word.
    fn word(&mut self, kind: AccessKind, pc: usize, warp: usize) -> Vec<(usize, usize)> {
        self.access(kind, pc, (warp, 1), |_| 0, 4)
    }

    fn barrier_wait(&mut self, arrivers: &[usize], waiters: u32) {
        arrivers.iter().for_each(|&warp| self.clocks.arrive(1, warp));
        self.clocks.complete(1, waiters, 0, true);
    }
}

use AccessKind::{Atomic, Read, StrongRead, StrongWrite, Write};

#[test]
fn a_barrier_orders_and_nothing_else_does() {
    let mut block = Block::new(2);
    assert_eq!(block.word(Write, 1, 0), []);
    assert_eq!(block.word(Read, 2, 0), [], "a thread is in order with itself");
    assert_eq!(block.word(Read, 3, 1), [(1, 0)]);
    block.barrier_wait(&[0, 1, 2, 3], 0b1111);
    assert_eq!(block.word(Read, 4, 2), []);
    assert_eq!(block.word(Write, 5, 3), [(4, 64)]);
    assert_eq!(block.word(Write, 5, 3), [], "a pair of instructions is reported once");
}

#[test]
fn no_read_is_forgotten() {
    let mut block = Block::new(2);
    for warp in [1, 2, 3] {
        assert_eq!(block.word(Read, warp, warp), []);
    }
    block.barrier_wait(&[0, 2, 3], 0b1101);
    assert_eq!(block.word(Write, 9, 0), [(1, 32)]);
}

#[test]
fn who_arrives_learns_nothing() {
    let mut block = Block::new(2);
    assert_eq!(block.word(Write, 1, 0), []);
    block.barrier_wait(&[0, 1], 0b10);
    assert_eq!(block.word(Write, 2, 1), [], "who waits learns what those did that arrived");
    block.barrier_wait(&[0, 1], 0b10);
    assert_eq!(block.word(Read, 3, 0), [(2, 32)]);
}

#[test]
fn what_follows_an_arrival_is_not_known() {
    let mut block = Block::new(2);
    block.clocks.arrive(1, 0);
    assert_eq!(block.word(Write, 1, 0), []);
    block.barrier_wait(&[1], 0b10);
    assert_eq!(block.word(Read, 2, 1), [(1, 0)]);
}

#[test]
fn lanes_are_ordered_by_their_synchronisation_only() {
    let adjacent = |lane: usize| 4 * (lane as u64 ^ 1);
    let mut block = Block::new(2);
    assert_eq!(block.access(Write, 1, (0, ALL_LANES), |lane| 4 * lane as u64, 4), []);
    assert_eq!(block.access(Read, 2, (0, ALL_LANES), adjacent, 4), [(1, 1)]);
    block.clocks.warp_synced(0, 0xff, ALL_LANES);
    assert_eq!(block.access(Write, 3, (0, 0xff), adjacent, 4), [], "they have synchronised");
    assert_eq!(
        block.access(Read, 4, (0, 0xff00), |lane| (4 * lane as u64).wrapping_sub(32), 4),
        [(3, 1)],
        "these have not"
    );
    block.clocks.warp_synced(0, 0xffff, 0xffff);
    assert_eq!(block.access(Write, 5, (0, 0xffff), adjacent, 4), [], "all live lanes have synchronised");
}

#[test]
fn lanes_of_one_store_race() {
    let mut block = Block::new(2);
    assert_eq!(block.access(Write, 1, (0, 0b1100), |_| 8, 4), [(1, 2)]);
    assert_eq!(block.access(Atomic, 2, (1, ALL_LANES), |_| 16, 4), []);
}

#[test]
fn bytes_are_told_apart_where_they_matter() {
    for (shift, races, both) in [(0, vec![], vec![(1, 0), (2, 32)]), (2, vec![(1, 0)], vec![(2, 32)])] {
        let mut block = Block::new(shift);
        assert_eq!(block.access(Write, 1, (0, 1), |_| 0, 1), []);
        assert_eq!(block.access(Write, 2, (1, 1), |_| 1, 1), races);
        assert_eq!(block.access(Read, 3, (2, 1), |_| 0, 2), both);
    }
}

#[test]
fn strong_accesses_order_what_is_around_them() {
    let mut block = Block::new(2);
    let flag = |_| 64;
    assert_eq!(block.word(Write, 1, 0), []);
    assert_eq!(block.access(StrongWrite, 2, (0, 1), flag, 4), []);
    assert_eq!(block.access(Write, 3, (0, 1), |_| 8, 4), []);
    assert_eq!(block.access(StrongRead, 4, (1, 1), flag, 4), []);
    assert_eq!(block.word(Read, 5, 1), [], "what came before the flag");
    assert_eq!(block.access(Read, 5, (1, 1), |_| 8, 4), [(3, 0)], "what came after it");
    assert_eq!(block.access(Read, 6, (2, 1), flag, 4), [(2, 0)], "a strong and a plain access race");
    assert_eq!(block.access(Write, 7, (3, 1), flag, 4), [(2, 0), (6, 64), (4, 32)]);
}

#[test]
fn relaxed_accesses_synchronise_by_fences_on_both_sides() {
    let flag = |_| 64;
    for (released, acquired, scope, is_ordered) in [
        (false, false, Scope::Device, false),
        (true, false, Scope::Device, false),
        (false, true, Scope::Device, false),
        (true, true, Scope::Device, true),
        (true, true, Scope::Block, true),
    ] {
        let mut block = Block { semantics: Semantics::DEFAULT, ..Block::new(2) };
        assert_eq!(block.word(Write, 1, 0), []);
        if released {
            block.fences.release(&mut block.clocks, (0, 1), Some(scope), None);
        }
        assert_eq!(block.access(Write, 3, (0, 1), |_| 8, 4), []);
        assert_eq!(block.access(StrongWrite, 2, (0, 1), flag, 4), []);
        assert_eq!(block.access(StrongRead, 4, (1, 1), flag, 4), []);
        if acquired {
            block.fences.acquire(&mut block.clocks, 1, 1, scope);
        }
        assert_eq!(block.word(Read, 5, 1).is_empty(), is_ordered, "{released} {acquired}");
        assert_eq!(block.access(Read, 6, (1, 1), |_| 8, 4), [(3, 0)], "what came after the fence");
        assert_eq!(block.fences.has_observed(0, 1), released);
    }
}

#[test]
fn scopes_that_leave_the_other_block_out_order_nothing() {
    for (scope, is_ordered) in [(Scope::Block, false), (Scope::Cluster, true)] {
        let mut cluster = Block::new(2);
        (cluster.clocks, cluster.semantics.scope) = (Clocks::new(WARPS, 2), scope);
        assert_eq!(cluster.word(Write, 1, 0), []);
        assert_eq!(cluster.access(Atomic, 2, (0, 1), |_| 64, 4), []);
        assert_eq!(cluster.access(Atomic, 3, (1, 1), |_| 64, 4), [], "a warp of the same block");
        assert_eq!(cluster.word(Read, 4, 1), []);
        assert_eq!(cluster.access(Atomic, 5, (2, 1), |_| 64, 4).is_empty(), is_ordered, "one of the other");
        assert_eq!(cluster.word(Read, 6, 2).is_empty(), is_ordered);
    }
}

#[test]
fn the_next_block_begins_anew() {
    let mut block = Block::new(2);
    assert_eq!(block.word(Write, 1, 0), []);
    assert_eq!(block.access(StrongRead, 2, (0, 1), |_| 32, 4), []);
    let forget = block.clocks.start();
    block.races.start(forget);
    assert_eq!(block.word(Read, 3, 1), []);
    assert_eq!(block.access(Write, 4, (1, 1), |_| 32, 4), []);
    assert_eq!(block.word(Write, 5, 2), [(3, 32)]);
}

#[test]
fn bytes_that_nobody_wrote() {
    let mut written = Written::new(8);
    let mut access = |kind, address: u64, bytes| {
        let addresses = [address; LANES];
        let access = Observed::weak(kind, 0, (0, 1), &addresses, bytes);
        written.access(&access, "shared", &addresses).is_some()
    };
    assert!(!access(Write, 0, 2));
    assert!(access(Read, 0, 4) && !access(Read, 0, 2) && access(Read, 3, 1));
    assert!(access(Atomic, 4, 4) && !access(Read, 4, 4), "found once: then it is written");
    assert!(!access(StrongWrite, 2, 2) && !access(Read, 0, 8));
    written.start();
    let addresses = [4; LANES];
    let read = Observed::weak(Read, 0, (0, 2), &addresses, 4);
    assert_eq!(written.access(&read, "shared", &addresses).map(|discovery| discovery.lane), Some(1));
}

#[test]
fn warps_know_what_came_before_the_events_they_learn_of() {
    let events = Events::default();
    let [first, mut second, mut third] = std::array::from_fn(|_| Knowledge::default());
    let a = events.release(&first, 7, [3, 0].into());
    second.learn(&events, a.unwrap(), 5);
    assert!(second.has(&events, (7, 0, 3)) && !second.has(&events, (7, 0, 4)) && !second.has(&events, (7, 1, 1)));
    let b = events.release(&second, 8, [0, 5].into());
    let c = events.release(&first, 7, [6, 0].into());
    let joined = events.join(b.unwrap(), c);
    assert!(!third.has(&events, (7, 0, 1)));
    third.learn(&events, b.unwrap(), 1);
    assert!(third.has(&events, (8, 1, 5)) && third.has(&events, (7, 0, 3)) && !third.has(&events, (7, 0, 6)));
    third.learn(&events, joined.unwrap(), 2);
    assert_eq!([0, 1, 2, 9].map(|time| third.head_at(time).is_some()), [false, true, true, true]);
    assert!(third.head_at(1) != third.head_at(2));
    assert!(third.has(&events, (7, 0, 6)) && !third.has(&events, (9, 0, 1)));
}
