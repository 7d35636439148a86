//! How far a thread has queued its tasks, for others that wait for these: an event that was not recorded yet would not be waited for.

use std::sync::{Condvar, Mutex, PoisonError};

use super::pool::lock;

/// How far a thread is.
#[derive(Default)]
pub(super) struct Progress {
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Default)]
struct State {
    /// All tasks of the thread before this one are queued.
    queued: usize,
    has_ended: bool,
}

impl Progress {
    /// Waits until a task is queued; says whether it is: not where the thread has ended before.
    pub fn wait(&self, task: usize) -> bool {
        let mut state = lock(&self.state);
        while state.queued <= task && !state.has_ended {
            state = self.has_changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.queued > task
    }

    pub fn reach(&self, queued: usize) {
        lock(&self.state).queued = queued;
        self.has_changed.notify_all();
    }
}

/// Says that a thread has ended, in whatever way, when this is dropped: so nobody waits for it for ever.
pub(super) struct Ending<'a>(pub &'a Progress);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        lock(&self.0.state).has_ended = true;
        self.0.has_changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_thread_that_has_ended() {
        let progress = &Progress::default();
        std::thread::scope(|scope| {
            let ending = Ending(progress);
            let waiting = scope.spawn(move || [0, 1].map(|task| progress.wait(task)));
            ending.0.reach(1);
            drop(ending);
            assert_eq!(waiting.join().unwrap(), [true, false]);
        });
    }
}
