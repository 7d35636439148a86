//! One GPU: its memory, its streams and its kernels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::{CudaEvent, CudaSlice, CudaStream, DevicePtrMut, DriverError};

use super::host::Host;
use super::issue::Run;
use super::pool::Pool;
use super::staging::Staging;
use crate::Error;
use crate::cuda::{Gemm, Handle, failed};
use crate::distributed::Queue;
use crate::plan::Buffer;
use crate::streamed::Part;

/// What a GPU needs for its part. It is allocated once, before any run.
pub(super) struct Gpu {
    gemms: Vec<Gemm>,
    /// Of each task that another queue waits for.
    events: Vec<Option<CudaEvent>>,
    /// For A and B, or C, where they are pageable: made for the first run that needs them.
    staging: [Option<Staging>; 2],
    pool: Arc<Pool>,
    memory: CudaSlice<u8>,
    streams: [Arc<CudaStream>; Queue::ALL.len()],
    handle: Handle,
}

impl Gpu {
    /// Loads the kernels of a part, and allocates its memory.
    pub fn new(handle: &Handle, part: &Part, pool: Pool) -> Result<Self, Error> {
        let context = handle.context();
        let stream = |_| context.new_stream().map_err(|error| failed("make a stream".into(), error));
        let [first, second, third] = Queue::ALL.map(stream);
        let streams = [first?, second?, third?];
        let gemms = part.gemms().iter().map(|plan| handle.load(plan.clone())).collect::<Result<_, _>>()?;
        let mut is_waited_for = vec![false; part.tasks().len()];
        part.tasks().iter().flat_map(|task| &task.after).for_each(|before| is_waited_for[*before] = true);
        let event = |is_waited_for: bool| is_waited_for.then(|| context.new_event(None)).transpose();
        let events = is_waited_for.into_iter().map(event).collect::<Result<_, _>>();
        let events = events.map_err(|error| failed("make events".into(), error))?;
        let bytes = usize::try_from(part.memory_bytes()).unwrap_or(usize::MAX).max(1);
        let what =
            |error: DriverError| failed(format!("allocate {bytes} bytes of device {}", context.ordinal()), error);
        // SAFETY: no task reads what none has written.
        let memory = unsafe { streams[0].alloc(bytes) }.map_err(what)?;
        // Other streams use it, too.
        streams[0].synchronize().map_err(what)?;
        let (staging, pool, handle) = ([None, None], Arc::new(pool), handle.clone());
        Ok(Self { gemms, events, staging, pool, memory, streams, handle })
    }

    /// Makes the GPU's context current.
    pub fn bind(&self) -> Result<(), Error> {
        let what = |error| failed(format!("use device {}", self.handle.context().ordinal()), error);
        self.handle.context().bind_to_thread().map_err(what)
    }

    /// Does the tasks of the part, and returns when they are done; or when `has_failed` says that another GPU has failed.
    ///
    /// # Errors
    /// [`Error::Driver`] where the driver refuses; nothing uses the host's memory any more then.
    ///
    /// # Safety
    /// The matrices are as long as the part's problem says, and no thread writes to A and B, or uses the part's elements of C, meanwhile.
    pub unsafe fn run(
        &mut self,
        part: &Part,
        host: &Host,
        factors: [f32; 2],
        has_failed: &AtomicBool,
    ) -> Result<(), Error> {
        self.bind()?;
        let is_staged =
            [[Buffer::A, Buffer::B].into_iter().any(|matrix| !host.is_locked(matrix)), !host.is_locked(Buffer::C)];
        // Whatever is read of C is staged with A and B.
        for (staging, is_needed) in self.staging.iter_mut().zip([is_staged[0] || is_staged[1], is_staged[1]]) {
            if is_needed && staging.is_none() {
                *staging = Some(Staging::new(self.handle.context(), &self.pool)?);
            }
            staging.iter_mut().for_each(Staging::reset);
        }
        let Self { gemms, events, staging: [up, down], memory, streams, .. } = self;
        let (base, _used) = memory.device_ptr_mut(&streams[0]);
        let run = Run { part, host, factors, base, gemms, events, streams, has_failed };
        let idle = Idle(streams);
        // SAFETY: upheld by the caller; `idle` waits for all that was queued, whatever happens. The memory has the part's bytes, and the
        // context is current. Kernels were loaded for the plans of the part.
        unsafe { run.all(up.as_mut(), down.as_mut().filter(|_| is_staged[1])) }.inspect_err(|_| {
            has_failed.store(true, Ordering::Relaxed);
        })?;
        idle.wait()
    }
}

/// Streams that are waited for before the memory that they use is given back.
struct Idle<'a>(&'a [Arc<CudaStream>]);

impl Idle<'_> {
    fn wait(&self) -> Result<(), Error> {
        // Of all of them, also where one has failed.
        let all = self.0.iter().map(|stream| stream.synchronize());
        let failures = all.collect::<Vec<_>>();
        failures.into_iter().collect::<Result<(), _>>().map_err(|error| failed("multiply on a device".into(), error))
    }
}

impl Drop for Idle<'_> {
    fn drop(&mut self) {
        // Where this fails, so has the context, and with it all that was queued.
        drop(self.wait());
    }
}
