//! Whether tasks that touch the same memory have an order: of any tasks in queues.

use std::ops::Range;

/// A task as far as order and memory go.
#[derive(Debug, Clone)]
pub struct Step {
    /// Steps of one queue follow each other.
    pub queue: usize,
    /// Steps, by their index in the list, that have ended when this one begins.
    pub after: Vec<usize>,
    /// What it reads and writes.
    pub accesses: Vec<Access>,
}

/// Bytes of a memory, and whether they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Which memory.
    pub memory: usize,
    pub bytes: Range<u64>,
    pub is_write: bool,
}

/// Fails with two steps that touch the same bytes, at least one of them writing, while neither has ended when the other begins; and with a
/// step that waits for one behind it.
pub fn check(steps: &[Step]) -> Result<(), String> {
    let before = ancestors(steps)?;
    for later in 0..steps.len() {
        for earlier in (0..later).filter(|earlier| !before[later].contains(*earlier)) {
            let clash = |one: &Access, other: &Access| {
                let overlap = one.bytes.start < other.bytes.end && other.bytes.start < one.bytes.end;
                one.memory == other.memory && overlap && (one.is_write || other.is_write)
            };
            let accesses = &steps[later].accesses;
            let found = accesses.iter().find(|one| steps[earlier].accesses.iter().any(|other| clash(one, other)));
            if let Some(found) = found {
                return Err(format!("steps {earlier} and {later} have no order, and {later} has {found:?}"));
            }
        }
    }
    Ok(())
}

/// A set of steps.
#[derive(Clone)]
struct Set(Vec<u64>);

impl Set {
    fn contains(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 == 1
    }

    fn add(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    fn add_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }
}

/// Of each step, which others have ended when it begins.
fn ancestors(steps: &[Step]) -> Result<Vec<Set>, String> {
    let mut before: Vec<Set> = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let in_queue = (0..index).rev().find(|earlier| steps[*earlier].queue == step.queue);
        let mut all = Set(vec![0; steps.len().div_ceil(64)]);
        for direct in step.after.iter().copied().chain(in_queue) {
            if direct >= index {
                return Err(format!("step {index} waits for step {direct}, which is behind it"));
            }
            all.add(direct);
            all.add_all(&before[direct]);
        }
        before.push(all);
    }
    Ok(before)
}

#[test]
fn what_has_no_order_is_found() {
    let access = |is_write| vec![Access { memory: 0, bytes: 8..16, is_write }];
    let step = |queue, after: &[usize], is_write| Step { queue, after: after.to_vec(), accesses: access(is_write) };
    assert!(check(&[step(0, &[], true), step(1, &[0], false), step(2, &[], true)]).is_err());
    assert!(check(&[step(0, &[], true), step(1, &[0], false), step(2, &[1], true)]).is_ok());
    assert!(check(&[step(0, &[], false), step(1, &[], false)]).is_ok());
    assert!(check(&[step(0, &[1], false), step(1, &[], false)]).is_err());
}
