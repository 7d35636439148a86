//! One GPU: its memory, its streams and its kernels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::{CudaContext, CudaEvent, CudaStream, DriverError};

use super::host::Host;
use super::issue::Run;
use super::memory::Memory;
use super::peers::Peer;
use super::pool::Pool;
use super::progress::Progress;
use super::staging::Staging;
use crate::cuda::{Gemm, Handle, failed};
use crate::plan::Buffer;
use crate::streamed::{Part, Queue};
use crate::{Device, Error};

/// What a GPU needs for any part: streams, memory, and page-locked buffers.
pub(super) struct Gpu {
    /// For A and B, or C, where they are pageable: made for the first run that needs them.
    staging: [Option<Staging>; 2],
    pool: Arc<Pool>,
    /// As much as the largest part that was run took.
    memory: Option<Memory>,
    streams: [Arc<CudaStream>; Queue::ALL.len()],
    handle: Handle,
}

/// What a part needs on its GPU: kernels and events.
pub(super) struct Loaded {
    gemms: Vec<Gemm>,
    /// Of each task that another queue waits for, of this GPU or another one.
    events: Vec<Option<CudaEvent>>,
    context: Arc<CudaContext>,
}

impl Loaded {
    /// Loads the kernels of one of the parts.
    fn new(handle: &Handle, parts: &[Part], part: &Part) -> Result<Self, Error> {
        let context = Arc::clone(handle.context());
        let gemms = part.gemms().iter().map(|plan| handle.load(plan.clone())).collect::<Result<_, _>>()?;
        let mut is_waited_for = vec![false; part.tasks().len()];
        part.tasks().iter().flat_map(|task| &task.after).for_each(|before| is_waited_for[*before] = true);
        let of_peers = parts.iter().flat_map(Part::tasks).flat_map(|task| &task.after_peers);
        of_peers.filter(|before| before.gpu == part.gpu()).for_each(|before| is_waited_for[before.task] = true);
        let event = |is_waited_for: bool| is_waited_for.then(|| context.new_event(None)).transpose();
        let events = is_waited_for.into_iter().map(event).collect::<Result<_, _>>();
        let events = events.map_err(|error| failed("make events".into(), error))?;
        Ok(Self { gemms, events, context })
    }
}

impl Gpu {
    pub fn new(handle: &Handle, pool: Pool) -> Result<Self, Error> {
        let stream = |_| handle.context().new_stream().map_err(|error| failed("make a stream".into(), error));
        let [compute, inbound, peer, outbound] = Queue::ALL.map(stream);
        let streams = [compute?, inbound?, peer?, outbound?];
        Ok(Self { staging: [None, None], pool: Arc::new(pool), memory: None, streams, handle: handle.clone() })
    }

    pub fn device(&self) -> &Device {
        self.handle.device()
    }

    pub fn load(&self, parts: &[Part], part: &Part) -> Result<Loaded, Error> {
        Loaded::new(&self.handle, parts, part)
    }

    /// What the others need to know of this GPU, when it was [made ready](Self::make_ready).
    pub fn as_peer<'a>(&self, loaded: &'a Loaded) -> Peer<'a> {
        Peer {
            base: self.memory.as_ref().map_or(0, Memory::start),
            context: self.handle.context().cu_ctx(),
            events: &loaded.events,
            progress: Progress::default(),
        }
    }

    /// Whether a part was loaded for this GPU.
    pub fn is_of(&self, loaded: &Loaded) -> bool {
        *self.handle.context() == loaded.context
    }

    /// Makes the GPU's context current.
    pub fn bind(&self) -> Result<(), Error> {
        let what = |error| failed(format!("use device {}", self.handle.context().ordinal()), error);
        self.handle.context().bind_to_thread().map_err(what)
    }

    /// Has at least so much memory as the part takes: what there is, where that is enough.
    pub fn reserve(&mut self, part: &Part) -> Result<(), Error> {
        let bytes = usize::try_from(part.memory_bytes()).unwrap_or(usize::MAX).max(1);
        if self.memory.as_ref().is_some_and(|memory| memory.bytes() >= bytes) {
            return Ok(());
        }
        let ordinal = self.handle.context().ordinal();
        let what = |error: DriverError| failed(format!("allocate {bytes} bytes of device {ordinal}"), error);
        // Not both at once.
        self.memory = None;
        self.memory = Some(Memory::new(self.handle.context(), bytes).map_err(what)?);
        Ok(())
    }

    /// Has memory for the part, and page-locked buffers for the matrices that are pageable.
    pub fn make_ready(&mut self, part: &Part, host: &Host) -> Result<(), Error> {
        self.bind()?;
        self.reserve(part)?;
        let is_pageable = |matrices: &[Buffer]| matrices.iter().any(|matrix| !host.is_locked(*matrix));
        // Whatever is read of C is staged with A and B.
        let is_needed = [is_pageable(&[Buffer::A, Buffer::B, Buffer::C]), is_pageable(&[Buffer::C])];
        for (staging, is_needed) in self.staging.iter_mut().zip(is_needed) {
            if is_needed && staging.is_none() {
                *staging = Some(Staging::new(self.handle.context(), &self.pool)?);
            }
            // A run that failed may have left something.
            staging.iter_mut().for_each(Staging::reset);
        }
        Ok(())
    }

    /// Does the tasks of the part, and returns when they are done; or when `has_failed` says that another GPU has failed.
    ///
    /// # Errors
    /// [`Error::Driver`] where the driver refuses; nothing uses the host's memory any more then.
    ///
    /// # Safety
    /// The part is the one that was loaded, for this GPU, which was [made ready](Self::make_ready) for it. The matrices are as large as its
    /// problem says, and no thread writes to A and B, or uses the part's elements of C, meanwhile. The peers are the GPUs of all parts, by
    /// their numbers; they run their parts beside this one, and none's memory is freed or used otherwise until all have returned.
    pub unsafe fn run(
        &mut self,
        part: &Part,
        loaded: &Loaded,
        host: &Host,
        factors: [f32; 2],
        peers: &[Peer<'_>],
        has_failed: &AtomicBool,
    ) -> Result<(), Error> {
        self.bind()?;
        let Self { staging: [up, down], memory: Some(memory), streams, .. } = self else { return Ok(()) };
        let base = memory.start();
        let Loaded { gemms, events, .. } = loaded;
        let run = Run { part, host, factors, base, gemms, events, streams, peers, has_failed };
        let idle = Idle(streams);
        let down = down.as_mut().filter(|_| !host.is_locked(Buffer::C));
        // SAFETY: upheld by the caller; `idle` waits for all that was queued, whatever happens. The memory has the part's bytes, and the
        // context is current. Kernels were loaded for the plans of the part.
        unsafe { run.all(up.as_mut(), down) }.inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
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
