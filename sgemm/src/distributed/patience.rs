//! Waiting with a deadline.

use std::thread;
use std::time::{Duration, Instant};

use crate::Error;

/// For as long as this, whoever waits asks again at once: what takes longer may be asked for less often.
const BUSY: Duration = Duration::from_millis(2);

/// From one question to the next after that.
const PAUSE: Duration = Duration::from_micros(100);

/// A wait that ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    since: Instant,
    limit: Duration,
}

impl Patience {
    /// From now on, for so long.
    pub fn new(limit: Duration) -> Self {
        Self::since(Instant::now(), limit)
    }

    /// From a time on, for so long.
    pub fn since(since: Instant, limit: Duration) -> Self {
        Self { since, limit }
    }

    /// How long it has been.
    pub fn waited(&self) -> Duration {
        self.since.elapsed()
    }

    /// What is left; zero when it is over.
    pub fn left(&self) -> Duration {
        self.limit.saturating_sub(self.waited())
    }

    /// What to say when it is over, and that is not done.
    pub fn over(&self, rank: usize, what: String) -> Error {
        let waited = self.waited().as_secs_f64();
        let reason = format!("not done after {waited:.1} s: another rank has ended, hangs, or was not started");
        Error::Collective { rank, what, reason }
    }

    /// Waits a little; false when it is over.
    pub fn pause(&self) -> bool {
        if self.waited() >= BUSY {
            return self.pause_for(PAUSE);
        }
        thread::yield_now();
        !self.left().is_zero()
    }

    /// Waits so long, or until it is over; false when it is.
    pub fn pause_for(&self, pause: Duration) -> bool {
        thread::sleep(pause.min(self.left()));
        !self.left().is_zero()
    }
}
