//! Happens-before between clusters: by atomic and strong accesses to the same words of global memory.
//!
//! Each such write is an event. It succeeds the events that its warp had acquired and the earlier events at its word. A
//! warp that reads the word acquires all of them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clocks::join;

/// An index in the list of events. Events follow those that they succeed.
pub(super) type EventId = u32;

/// Event limit of a launch, beyond which all clusters count as synchronised.
const MAX_EVENTS: usize = 1 << 24;

/// A warp's clock at a release, and its cluster.
#[derive(Debug)]
struct Release {
    cluster: u32,
    clock: Box<[u32]>,
}

/// Up to two predecessors, and the release.
#[derive(Debug, Default)]
struct Event {
    before: [Option<EventId>; 2],
    /// Index in `List::releases`.
    release: Option<u32>,
}

#[derive(Debug, Default)]
struct List {
    events: Vec<Event>,
    releases: Vec<Release>,
}

/// The events of a launch.
#[derive(Debug, Default)]
pub(super) struct Events(Mutex<List>);

/// What one warp has acquired.
#[derive(Debug, Default)]
pub(super) struct Knowledge {
    /// The event that succeeds everything acquired.
    head: Option<EventId>,
    /// Earlier heads, with the warp's time from which each was valid.
    heads: Vec<(u32, EventId)>,
    /// The last event acquired.
    last: Option<EventId>,
    /// The head that `clocks` was computed for, the events included, and by cluster the joined clock.
    computed_for: Option<EventId>,
    is_in: Vec<bool>,
    clocks: HashMap<u32, Box<[u32]>>,
    /// The event limit was reached.
    is_saturated: bool,
}

impl Events {
    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A release by a warp of a cluster. `None` at the event limit.
    pub(super) fn release(&self, knowledge: &Knowledge, cluster: u32, clock: Box<[u32]>) -> Option<EventId> {
        let mut list = self.list();
        let release = Some(list.releases.len() as u32);
        let event = list.push(Event { before: [knowledge.head, None], release })?;
        list.releases.push(Release { cluster, clock });
        Some(event)
    }

    /// The event that succeeds both.
    pub(super) fn join(&self, a: EventId, b: Option<EventId>) -> Option<EventId> {
        match b {
            Some(b) if a != b => self.list().push(Event { before: [Some(a), Some(b)], release: None }),
            _ => Some(a),
        }
    }
}

impl List {
    fn push(&mut self, event: Event) -> Option<EventId> {
        let id = self.events.len();
        (id < MAX_EVENTS).then(|| self.events.push(event)).map(|()| id as EventId)
    }
}

impl Knowledge {
    /// Acquires an event and all before it, at that time.
    pub(super) fn learn(&mut self, events: &Events, event: EventId, time: u32) {
        if self.last == Some(event) || self.head == Some(event) {
            return;
        }
        self.last = Some(event);
        let Some(head) = events.join(event, self.head) else { return self.give_up() };
        self.head = Some(head);
        match self.heads.last_mut() {
            Some(last) if last.0 == time => last.1 = head,
            _ => self.heads.push((time, head)),
        }
    }

    /// The head at that time.
    pub(super) fn head_at(&self, time: u32) -> Option<EventId> {
        let known = self.heads.partition_point(|(from, _)| *from <= time);
        known.checked_sub(1).map(|index| self.heads[index].1)
    }

    /// The event limit is reached.
    pub(super) fn give_up(&mut self) {
        self.is_saturated = true;
    }

    /// Whether the access of a cluster's warp at `time` happens before.
    pub(super) fn has(&mut self, events: &Events, (cluster, warp, time): (u32, usize, u32)) -> bool {
        if self.is_saturated {
            return true;
        }
        if self.computed_for != self.head {
            self.follow(events);
        }
        self.clocks.get(&cluster).is_some_and(|clock| time <= clock[warp])
    }

    /// Joins all events before the head that are not yet included.
    fn follow(&mut self, events: &Events) {
        self.computed_for = self.head;
        let list = events.list();
        self.is_in.resize(list.events.len(), false);
        let mut rest: Vec<EventId> = self.head.into_iter().collect();
        while let Some(event) = rest.pop() {
            if std::mem::replace(&mut self.is_in[event as usize], true) {
                continue;
            }
            let Event { before, release } = &list.events[event as usize];
            rest.extend(before.iter().flatten());
            if let Some(Release { cluster, clock }) = release.map(|release| &list.releases[release as usize]) {
                let known = self.clocks.entry(*cluster).or_insert_with(|| vec![0; clock.len()].into());
                join(known, clock);
            }
        }
    }
}
