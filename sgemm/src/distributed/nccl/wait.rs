//! Waiting for a run, and what to say where it does not end.

use std::time::{Duration, Instant};

use super::gemm::DistributedGemm;
use super::stream::is_complete;
use crate::Error;
use crate::distributed::patience::Patience;

impl DistributedGemm {
    /// Waits until the last run is done, and no longer than `limit` since it was queued: for the time that it should take and
    /// [`Communicator::grace`](super::Communicator::grace), say. After an error the communicator is aborted, and the result undefined.
    ///
    /// # Errors
    /// [`Error::Collective`], which names this rank and the oldest task that is not done, or [`Error::Driver`].
    pub fn wait(&mut self, limit: Duration) -> Result<(), Error> {
        let Some(queued) = self.queued else { return Ok(()) };
        let outcome = self.poll(queued, limit);
        if outcome.is_err() {
            self.give_up();
        } else {
            self.queued = None;
        }
        outcome
    }

    fn poll(&self, queued: Instant, limit: Duration) -> Result<(), Error> {
        let patience = Patience::since(queued, limit);
        while !is_complete(&self.events.end)? {
            self.check()?;
            if !patience.pause() {
                return Err(patience.over(self.communicator.rank(), self.oldest()));
            }
        }
        // A communicator that was aborted lets its kernels end: without a result.
        self.check()
    }

    fn check(&self) -> Result<(), Error> {
        self.communicator.world().check(|| self.oldest())?;
        self.comms.iter().try_for_each(|comm| comm.check(|| self.oldest()))
    }

    /// The first task that is not done. All that it waits for is: those stand before it.
    fn oldest(&self) -> String {
        let is_open = |event| !is_complete(event).unwrap_or(false);
        let open = self.events.done.iter().position(is_open).and_then(|index| self.plan.tasks().get(index));
        open.map_or_else(|| "the end of the run".into(), ToString::to_string)
    }

    /// After a failure.
    pub(super) fn give_up(&mut self) {
        self.queued = None;
        self.communicator.give_up(self.memory.iter_mut().map(|(_, memory)| memory));
    }
}

impl Drop for DistributedGemm {
    fn drop(&mut self) {
        let since = self.queued.map_or(Duration::ZERO, |queued| queued.elapsed());
        let _ = self.wait(since + self.communicator.grace());
    }
}
