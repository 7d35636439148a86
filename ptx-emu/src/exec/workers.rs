//! The threads of the host that run a launch: what each must know of the others to wait for them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Stands for a thread that does not wait, and for one that has ended.
const RUNS: u64 = 0;
const ENDED: u64 = u64::MAX;

/// Rounds in vain after which a thread sleeps between them.
const AWAKE: u32 = 64;
const NAP: Duration = Duration::from_micros(50);

/// What the threads know of each other.
#[derive(Debug)]
pub(super) struct Workers {
    /// Changes whenever one of them has done something.
    epoch: AtomicU64,
    /// By thread, the epoch in which it could not go on.
    stuck: Vec<AtomicU64>,
    stop: AtomicBool,
    next: AtomicUsize,
}

/// What to do where nobody of a cluster can go on by himself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Another thread may change that.
    TryAgain,
    /// The launch has come to its end.
    Stop,
    /// All threads are in the same situation.
    GiveUp,
}

impl Workers {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            epoch: AtomicU64::new(RUNS + 1),
            stuck: (0..threads).map(|_| AtomicU64::new(RUNS)).collect(),
            stop: AtomicBool::new(false),
            next: AtomicUsize::new(0),
        }
    }

    /// A number for one thread.
    pub(super) fn number(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Which epoch it is.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// A thread has done something that others may have waited for.
    pub(super) fn progress(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// A thread has found that it could not go on in that epoch, for so many times in a row.
    pub(super) fn wait(&self, worker: usize, epoch: u64, times: u32) -> Next {
        if self.has_stopped() {
            return Next::Stop;
        }
        self.stuck[worker].store(epoch, Ordering::SeqCst);
        let is_stuck = |other: &AtomicU64| matches!(other.load(Ordering::SeqCst), at if at == epoch || at == ENDED);
        if self.stuck.iter().all(is_stuck) && self.epoch() == epoch {
            return Next::GiveUp;
        }
        if times < AWAKE {
            std::thread::yield_now()
        } else {
            std::thread::sleep(NAP)
        }
        Next::TryAgain
    }

    /// A thread has ended.
    pub(super) fn end(&self, worker: usize) {
        self.stuck[worker].store(ENDED, Ordering::SeqCst);
        self.progress();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_give_up_or_none() {
        let workers = Workers::new(2);
        let [a, b] = [workers.number(), workers.number()];
        let epoch = workers.epoch();
        assert_eq!(workers.wait(a, epoch, 0), Next::TryAgain);
        workers.progress();
        assert_eq!(workers.wait(b, epoch, 0), Next::TryAgain, "something has happened since");
        let epoch = workers.epoch();
        assert_eq!(workers.wait(b, epoch, 0), Next::TryAgain);
        assert_eq!(workers.wait(a, epoch, 0), Next::GiveUp);
        workers.end(b);
        assert_eq!(workers.wait(a, workers.epoch(), 0), Next::GiveUp, "nobody else is there");
        workers.stop();
        assert_eq!(workers.wait(a, workers.epoch(), 0), Next::Stop);
    }
}
