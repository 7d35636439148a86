//! Timing launches by events, each from a cold L2 cache.

use cust::event::{Event, EventFlags};
use cust::memory::DeviceBuffer;
use cust::stream::Stream;

use super::failure::Context as _;
use super::launch::Launch;
use crate::Error;

/// A pair of events, and what flushes the L2 cache.
pub(super) struct Timer {
    start: Event,
    stop: Event,
    /// Twice the L2 cache: writing it leaves nothing else in there.
    flush: DeviceBuffer<u32>,
}

impl Timer {
    /// A timer for a device with so much L2 cache.
    pub(super) fn new(l2_bytes: u64) -> Result<Self, Error> {
        let event = || Event::new(EventFlags::DEFAULT).context("create an event");
        let words = 2 * l2_bytes as usize / size_of::<u32>();
        let flush = DeviceBuffer::zeroed(words.max(1)).context("allocate memory to flush the L2 cache with")?;
        Ok(Self { start: event()?, stop: event()?, flush })
    }

    /// Flushes the L2 cache, launches, waits, and returns the milliseconds of the launch alone.
    ///
    /// The device is busy with the flush while the host queues the launch behind it, so that it does not wait for the
    /// host between the two events.
    pub(super) fn time(&mut self, launch: &Launch, stream: &Stream) -> Result<f32, Error> {
        self.flush(stream)?;
        self.start.record(stream).context("record an event")?;
        launch.enqueue(stream)?;
        self.stop.record(stream).context("record an event")?;
        self.stop.synchronize().context(launch.what())?;
        self.stop.elapsed_time_f32(&self.start).context("read the events")
    }

    /// Flushes the L2 cache, in the stream's order.
    pub(super) fn flush(&self, stream: &Stream) -> Result<(), Error> {
        // SAFETY: the memory is this timer's own, nothing reads it, and freeing it waits for the device.
        unsafe { self.flush.index(..).set_32_async(0, stream) }.context("flush the L2 cache")
    }
}
