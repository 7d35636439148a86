//! A product over all ranks, planned: kernels loaded, memory allocated, streams and events created.

use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::CudaEvent;
use cudarc::driver::sys::CUevent_flags;

use super::agreement;
use super::comm::{Comm, Message};
use super::communicator::{Communicator, bind};
use super::memory::Memory;
use super::probe::uses_copy_engines;
use super::stream::Stream;
use super::timeline::Marks;
use super::{MAX_CTAS, sys};
use crate::cuda::{Gemm, failed};
use crate::distributed::grid::Axis;
use crate::distributed::plan::Plan;
use crate::distributed::schedule::{Buffer, Queue, Work};
use crate::distributed::scheme::Scheme;
use crate::distributed::transfer::{Transfer, transfers};
use crate::plan::Address;
use crate::{Abc, Device, Error, Problem};

/// One rank's part of a product over all ranks of a communicator: [`Communicator::plan`] makes it, on all of them. It has its own workspace
/// and streams.
///
/// [`Self::run`] queues everything and returns; [`Self::wait`] waits, until a deadline. One that is dropped waits for its last run, as long
/// as ranks wait for each other.
#[derive(Debug)]
pub struct DistributedGemm {
    // Dropped in this order: streams before what they use, windows before communicators.
    pub(super) streams: [Stream; 3],
    pub(super) events: Events,
    pub(super) memory: Vec<(Buffer, Memory)>,
    pub(super) comms: Comms,
    pub(super) gemms: Vec<Gemm>,
    pub(super) plan: Plan,
    /// Of each task that is a copy.
    pub(super) transfers: Vec<Vec<Transfer>>,
    uses_copy_engines: bool,
    /// When the last run was queued, unless it was waited for.
    pub(super) queued: Option<Instant>,
    pub(super) communicator: Communicator,
}

/// The communicators along each axis that has several ranks.
#[derive(Debug, Default)]
pub(super) struct Comms(Vec<(Axis, Arc<Comm>)>);

/// What orders queues, and tells how far they are.
#[derive(Debug)]
pub(super) struct Events {
    /// The caller's stream has come to the run.
    pub begin: CudaEvent,
    /// Of each task.
    pub done: Vec<CudaEvent>,
    /// All queues are done.
    pub end: CudaEvent,
    /// For a timeline.
    pub marks: Option<Marks>,
}

impl Communicator {
    /// Plans a product for this rank, whose matrices have no gaps between their rows or columns. All ranks call it, with the same problem
    /// and scheme: that is checked before anything else. Plans are made, run and dropped in the same order on all ranks.
    ///
    /// # Errors
    /// [`Error::Ranks`], [`Error::Disagreement`]; those of [`Plan::new`] and of [`Handle::load`](crate::cuda::Handle::load);
    /// [`Error::Driver`] where the device has no room; [`Error::Collective`] where NCCL fails, or another rank does not come.
    pub fn plan(&self, problem: &Problem, scheme: &Scheme) -> Result<DistributedGemm, Error> {
        self.plan_by(scheme, &|device| Plan::new(problem, scheme, self.rank(), device))
    }

    /// The same with the leading dimensions of the rank's own matrices.
    ///
    /// # Errors
    /// As of [`Self::plan`].
    pub fn plan_with_leading_dimensions(
        &self,
        problem: &Problem,
        scheme: &Scheme,
        leading: Abc<usize>,
    ) -> Result<DistributedGemm, Error> {
        let plan = |device: &Device| Plan::with_leading_dimensions(problem, scheme, self.rank(), device, leading);
        self.plan_by(scheme, &plan)
    }

    fn plan_by(
        &self,
        scheme: &Scheme,
        plan: &dyn Fn(&Device) -> Result<Plan, Error>,
    ) -> Result<DistributedGemm, Error> {
        let device = self.handle().device();
        let own = match scheme.grid.ranks() {
            ranks if ranks == self.ranks() => plan(device),
            ranks => Err(Error::Ranks { ranks, given: self.ranks() }),
        };
        // A rank without a plan says so, that the others need not wait for it.
        let all = self.all_gather(&agreement::message(own.as_ref().ok()));
        let own = own?;
        agreement::check(&own, &all?)?;
        let (comms, streams) = (Comms::new(self, scheme)?, self.streams()?);
        let mut memory = Vec::new();
        let shared = self.share(&own, &comms, &mut memory);
        let found = shared.and_then(|()| self.probe(&own, &comms, &memory, &streams[Queue::Inbound as usize]));
        let engines = found.inspect_err(|_| self.give_up(memory.iter_mut().map(|(_, memory)| memory)))?;
        // Kernels of NCCL want SMs of their own.
        let fewer = device.sm_count.saturating_sub(MAX_CTAS).max(1);
        let own = if engines == Some(false) { plan(&Device { sm_count: fewer, ..device.clone() })? } else { own };
        let others = Buffer::PARTS.into_iter().filter(|part| !SHARED.contains(part));
        for part in others {
            memory.push((part, Memory::plain(self.handle().context(), own.part_bytes(part))?));
        }
        let gemms = own.gemms().iter().map(|gemm| self.handle().load(gemm.clone())).collect::<Result<_, _>>()?;
        let copies = |work: &Work| if let Work::Copy(copy) = work { transfers(copy) } else { Vec::new() };
        Ok(DistributedGemm {
            streams,
            events: self.events(&own)?,
            memory,
            comms,
            gemms,
            transfers: own.tasks().iter().map(|task| copies(&task.work)).collect(),
            plan: own,
            uses_copy_engines: engines == Some(true),
            queued: None,
            communicator: self.clone(),
        })
    }

    /// Allocates what collectives send and receive, as symmetric windows of the communicators that use it.
    fn share(&self, plan: &Plan, comms: &Comms, all: &mut Vec<(Buffer, Memory)>) -> Result<(), Error> {
        for part in SHARED {
            let memory = Memory::shared(self.handle().context(), self.library(), plan.part_bytes(part))?;
            all.push((part, memory));
        }
        for (part, memory) in all {
            let is_sum = [Buffer::Partial, Buffer::Reduced].contains(part);
            for (_, comm) in comms.0.iter().filter(|(axis, _)| (*axis == Axis::Layers) == is_sum) {
                memory.register(comm, self.patience())?;
            }
        }
        Ok(())
    }

    /// Whether the largest AllGather along each axis takes copy engines; `None` where there is none.
    fn probe(
        &self,
        plan: &Plan,
        comms: &Comms,
        memory: &[(Buffer, Memory)],
        stream: &Stream,
    ) -> Result<Option<bool>, Error> {
        let base = |buffer| address_of(memory, buffer);
        let mut found = None;
        for (axis, comm) in &comms.0 {
            let messages = plan.tasks().iter().filter_map(|task| match task.work {
                Work::AllGather { axis: own, send, receive, bytes } if own == *axis => {
                    let [send, receive] = [send, receive].map(|place| place.address(base));
                    Some(Message { send, receive, count: bytes as usize, element: sys::UINT8 })
                }
                _ => None,
            });
            if let Some(message) = messages.max_by_key(|message| message.count) {
                bind(self.handle().context())?;
                // SAFETY: the message is that of a task of the plan, within the memory that was allocated for it.
                let engines =
                    unsafe { uses_copy_engines(comm, stream, self.handle().context(), message, self.patience()) }?;
                found = Some(engines && found.unwrap_or(true));
            }
        }
        Ok(found)
    }

    /// One for each queue. What comes and goes is placed before products, which have more to do than there is room for.
    fn streams(&self) -> Result<[Stream; 3], Error> {
        let stream = |queue| Stream::new(self.handle().context(), queue != Queue::Compute);
        let [compute, inbound, outbound] = Queue::ALL;
        Ok([stream(compute)?, stream(inbound)?, stream(outbound)?])
    }

    fn events(&self, plan: &Plan) -> Result<Events, Error> {
        let event = || self.event(CUevent_flags::CU_EVENT_DISABLE_TIMING);
        let done = plan.tasks().iter().map(|_| event()).collect::<Result<_, _>>()?;
        Ok(Events { begin: event()?, done, end: event()?, marks: None })
    }

    /// Aborts what may wait for ever, and leaves memory to the process that something may still use.
    pub(super) fn give_up<'a>(&self, memory: impl IntoIterator<Item = &'a mut Memory>) {
        memory.into_iter().for_each(Memory::leak);
        self.abort();
    }

    pub(super) fn event(&self, flags: CUevent_flags) -> Result<CudaEvent, Error> {
        self.handle().context().new_event(Some(flags)).map_err(|error| failed("create an event".into(), error))
    }
}

/// The parts of a workspace that other ranks read or write.
const SHARED: [Buffer; 3] = [Buffer::Received, Buffer::Partial, Buffer::Reduced];

/// Where a part of the workspace is; 0 where it has no bytes.
pub(super) fn address_of(memory: &[(Buffer, Memory)], buffer: Buffer) -> Address {
    memory.iter().find(|(part, _)| *part == buffer).map_or(0, |(_, memory)| memory.address())
}

impl Comms {
    fn new(communicator: &Communicator, scheme: &Scheme) -> Result<Self, Error> {
        let several = Axis::ALL.into_iter().filter(|axis| scheme.grid.along(*axis) > 1);
        several.map(|axis| Ok((axis, communicator.along(scheme.grid, axis)?))).collect::<Result<_, _>>().map(Self)
    }

    /// That along an axis.
    pub fn get(&self, axis: Axis) -> Option<&Comm> {
        self.0.iter().find(|(own, _)| *own == axis).map(|(_, comm)| &**comm)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Comm> {
        self.0.iter().map(|(_, comm)| &**comm)
    }
}

impl DistributedGemm {
    /// What this rank does.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether all AllGathers take copy engines, as they were asked for, so that products have all SMs.
    #[must_use]
    pub fn uses_copy_engines(&self) -> bool {
        self.uses_copy_engines
    }

    /// The ranks.
    #[must_use]
    pub fn communicator(&self) -> &Communicator {
        &self.communicator
    }
}
