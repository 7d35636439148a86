//! How clusters learn of each other: by atomic and strong accesses to the same words of global memory.
//!
//! Each such access that writes is an event, which knows of what its warp had done, of what its cluster had learned, and of
//! the events at its word before it. A cluster that reads the word learns of all that.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clocks::join;

/// A place in the list of events. Each comes after those that it knows of.
pub(super) type EventId = u32;

/// Events of a launch beyond which it is taken that all clusters know of each other.
const MAX_EVENTS: usize = 1 << 24;

/// What the cluster of that number had done: its warp's clock.
#[derive(Debug)]
struct Release {
    cluster: u32,
    clock: Box<[u32]>,
}

/// Up to two events that came before, and what came to be known with this one.
#[derive(Debug, Default)]
struct Event {
    before: [Option<EventId>; 2],
    /// A place in `List::releases`.
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

/// What one cluster has learned.
#[derive(Debug, Default)]
pub(super) struct Knowledge {
    /// Everything that the cluster knows of came before this event.
    head: Option<EventId>,
    /// The last event that it learned of.
    last: Option<EventId>,
    /// The head for which `clocks` was made, the events that went into it, and by cluster up to when each warp is known.
    made_for: Option<EventId>,
    is_in: Vec<bool>,
    clocks: HashMap<u32, Box<[u32]>>,
    /// There were too many events.
    knows_all: bool,
}

impl Events {
    fn list(&self) -> MutexGuard<'_, List> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A warp of a cluster lets others know what it has done. `None` once there are too many events.
    pub(super) fn release(&self, knowledge: &mut Knowledge, cluster: u32, clock: Box<[u32]>) -> Option<EventId> {
        let mut list = self.list();
        let release = Some(list.releases.len() as u32);
        let event = list.push(Event { before: [knowledge.head, None], release })?;
        list.releases.push(Release { cluster, clock });
        Some(event)
    }

    /// The event that knows of both.
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
    /// Learns of an event and of all before it.
    pub(super) fn learn(&mut self, events: &Events, event: EventId) {
        if self.last != Some(event) {
            self.last = Some(event);
            match events.join(event, self.head) {
                Some(head) => self.head = Some(head),
                None => self.knows_all = true,
            }
        }
    }

    /// There are too many events to go on.
    pub(super) fn give_up(&mut self) {
        self.knows_all = true;
    }

    /// Whether what the warp of a cluster did at `time` is known.
    pub(super) fn has(&mut self, events: &Events, (cluster, warp, time): (u32, usize, u32)) -> bool {
        if self.knows_all {
            return true;
        }
        if self.made_for != self.head {
            self.follow(events);
        }
        self.clocks.get(&cluster).is_some_and(|clock| time <= clock[warp])
    }

    /// Takes in all events that came before the head and have not been taken in yet.
    fn follow(&mut self, events: &Events) {
        self.made_for = self.head;
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
