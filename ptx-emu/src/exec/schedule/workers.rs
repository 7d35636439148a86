//! The host threads of a launch, and the detection that none of them can proceed.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Epochs of a thread that runs, and of one that has ended.
const RUNS: u64 = 0;
const ENDED: u64 = u64::MAX;

/// Idle rounds after which a thread sleeps between retries.
const SPINS: u32 = 64;
const SLEEP: Duration = Duration::from_micros(50);

/// Progress shared by the threads.
#[derive(Debug)]
pub(crate) struct Workers {
    /// Incremented at each thread's progress.
    epoch: AtomicU64,
    /// By thread, the epoch in which it could not proceed.
    blocked_in: Vec<AtomicU64>,
    /// By thread, whether there is no cluster left that it could begin.
    has_none: Vec<AtomicBool>,
    stop: AtomicBool,
    next: AtomicUsize,
}

/// What to do when no thread of a cluster can proceed by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another host thread may change that.
    TryAgain,
    /// The launch has ended.
    Stop,
    /// No host thread can proceed. One is told so at a time, as long as one may have clusters to begin.
    GiveUp,
}

impl Workers {
    pub(crate) fn new(threads: usize) -> Self {
        Self {
            epoch: AtomicU64::new(RUNS + 1),
            blocked_in: (0..threads).map(|_| AtomicU64::new(RUNS)).collect(),
            has_none: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            stop: AtomicBool::new(false),
            next: AtomicUsize::new(0),
        }
    }

    /// The next thread's index.
    pub(crate) fn number(&self) -> usize {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// The current epoch.
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::SeqCst)
    }

    /// A thread has made progress that others may wait for.
    pub(crate) fn progress(&self) {
        self.epoch.fetch_add(1, Ordering::SeqCst);
    }

    /// A thread could not proceed in that epoch, `times` times in a row.
    pub(crate) fn wait(&self, worker: usize, epoch: u64, times: u32) -> Next {
        if self.has_stopped() {
            return Next::Stop;
        }
        self.blocked_in[worker].store(epoch, Ordering::SeqCst);
        let is_blocked = |other: &AtomicU64| matches!(other.load(Ordering::SeqCst), at if at == epoch || at == ENDED);
        let may_begin = self.none_is_left() || !self.has_none[worker].load(Ordering::SeqCst);
        if may_begin && self.blocked_in.iter().all(is_blocked) && self.advance(epoch) {
            return Next::GiveUp;
        }
        if times < SPINS {
            std::thread::yield_now()
        } else {
            std::thread::sleep(SLEEP)
        }
        Next::TryAgain
    }

    /// Ends that epoch. Returns false if something has ended it before.
    fn advance(&self, epoch: u64) -> bool {
        self.epoch.compare_exchange(epoch, epoch + 1, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// A thread has no clusters left to begin. Returns whether that holds for all.
    pub(crate) fn has_none(&self, worker: usize) -> bool {
        self.has_none[worker].store(true, Ordering::SeqCst);
        self.none_is_left()
    }

    fn none_is_left(&self) -> bool {
        self.has_none.iter().all(|none| none.load(Ordering::SeqCst))
    }

    /// A thread has ended.
    pub(crate) fn end(&self, worker: usize) {
        self.has_none[worker].store(true, Ordering::SeqCst);
        self.blocked_in[worker].store(ENDED, Ordering::SeqCst);
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
        assert_eq!(workers.wait(b, epoch, 0), Next::TryAgain, "the other looks for clusters to begin");
        assert!(!workers.has_none(a));
        let epoch = workers.epoch();
        assert_eq!(workers.wait(b, epoch, 0), Next::TryAgain);
        assert_eq!(workers.wait(a, epoch, 0), Next::TryAgain, "it had none");
        assert_eq!(workers.wait(b, epoch, 0), Next::GiveUp, "this one may have some");
        workers.end(b);
        assert!(workers.has_none(a));
        assert_eq!(workers.wait(a, workers.epoch(), 0), Next::GiveUp, "nobody else is there");
        workers.stop();
        assert_eq!(workers.wait(a, workers.epoch(), 0), Next::Stop);
    }
}
