//! Tasks on their way into the streams of a GPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};

use cudarc::driver::{CudaEvent, CudaStream, DriverError};

use super::copy::{HostDevice, Way};
use super::host::Host;
use super::peers::Peer;
use super::pool::no_thread;
use super::progress::{Ending, Progress};
use super::staging::Staging;
use crate::Error;
use crate::cuda::{CUdeviceptr, Gemm, failed};
use crate::streamed::{Part, Queue, Transfer, Work};

/// A run of one part on its GPU.
pub(super) struct Run<'a> {
    pub part: &'a Part,
    pub host: &'a Host,
    pub factors: [f32; 2],
    /// Where the GPU's memory begins.
    pub base: CUdeviceptr,
    pub gemms: &'a [Gemm],
    pub events: &'a [Option<CudaEvent>],
    pub streams: &'a [Arc<CudaStream>],
    /// All GPUs, by their numbers.
    pub peers: &'a [Peer<'a>],
    /// Whether a GPU has failed, so that the others may end.
    pub has_failed: &'a AtomicBool,
}

impl Run<'_> {
    /// Queues all tasks. With `down`, a thread of its own brings back C: it waits for what arrives, while this one is ahead.
    ///
    /// # Safety
    /// The context of the streams is current, the matrices are as long as the problem says, and the GPU's memory as large as the part
    /// says; nobody else uses that but the other parts of the plan, nor the part's elements of C, nor writes to A and B, until the streams of
    /// all GPUs have been waited for. So long the memory of all GPUs stays as it is.
    pub unsafe fn all(&self, up: Option<&mut Staging>, down: Option<&mut Staging>) -> Result<(), Error> {
        let Some(down) = down else {
            // SAFETY: upheld by the caller.
            return unsafe { self.issue(up, None) };
        };
        let progress = Progress::default();
        let (sender, receiver) = sync_channel(self.part.tasks().len());
        std::thread::scope(|scope| {
            let progress = &progress;
            let ending = Ending(progress);
            let download = move || {
                let _ending = ending;
                // SAFETY: upheld by the caller of this function, which waits for the thread.
                unsafe { self.download(down, &receiver, progress) }
            };
            let name = std::thread::Builder::new().name("sgemm-download".into());
            let thread = name.spawn_scoped(scope, download).map_err(no_thread)?;
            // SAFETY: upheld by the caller.
            let issued = unsafe { self.issue(up, Some((&sender, progress))) };
            drop(sender);
            let panicked =
                |_| Err(Error::Driver { what: "copy tiles back".into(), code: "the thread panicked".into() });
            // Where downloads have failed, that is why.
            thread.join().unwrap_or_else(panicked).and(issued)
        })
    }

    /// Queues the tasks in their order; downloads go to the thread that does them, where there is one.
    ///
    /// No thread waits for ever. What it waits for comes before in an order of all tasks, as [`join`](crate::streamed::side::join) has it, or
    /// its thread has ended. And streams wait for events that were recorded before, so that what is queued ends.
    ///
    /// # Safety
    /// As of [`Self::all`].
    unsafe fn issue(
        &self,
        mut up: Option<&mut Staging>,
        down: Option<(&SyncSender<usize>, &Progress)>,
    ) -> Result<(), Error> {
        for (index, task) in self.part.tasks().iter().enumerate() {
            if self.has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            if !task.is_needed(self.factors) {
                continue;
            }
            if let (Queue::Outbound, Some((sender, _))) = (task.queue, down) {
                if sender.send(index).is_err() {
                    return Ok(());
                }
                continue;
            }
            if let Some((_, progress)) = down {
                let awaited = task.after.iter().filter(|before| self.part.tasks()[**before].queue == Queue::Outbound);
                if !awaited.max().is_none_or(|last| progress.wait(*last)) {
                    return Ok(());
                }
            }
            // Another GPU that has ended before has failed.
            if !task.after_peers.iter().all(|before| self.peers[before.gpu].progress.wait(before.task)) {
                return Ok(());
            }
            self.wait(index)?;
            // SAFETY: upheld by the caller; what the task reads is written before, and what it writes is free: its queue and the events see
            // to that, as the plan has it.
            unsafe { self.run(index, &task.work, up.as_deref_mut()) }?;
            self.record(index)?;
            self.peers[self.part.gpu()].progress.reach(index + 1);
        }
        Ok(())
    }

    /// Brings tiles back, as the other thread has queued what computes them.
    ///
    /// # Safety
    /// As of [`Self::all`].
    unsafe fn download(&self, down: &mut Staging, tasks: &Receiver<usize>, progress: &Progress) -> Result<(), Error> {
        let stream = &self.streams[Queue::Outbound as usize];
        stream.context().bind_to_thread().map_err(queue)?;
        loop {
            let next = match tasks.try_recv() {
                // SAFETY: upheld by the caller.
                Err(TryRecvError::Empty) if unsafe { down.drain(self.host) }? => continue,
                Err(TryRecvError::Empty) => tasks.recv().ok(),
                next => next.ok(),
            };
            let Some(index) = next else { break };
            if let Work::Download(transfer) = &self.part.tasks()[index].work {
                self.wait(index)?;
                // SAFETY: upheld by the caller; the tile is computed, as the events say.
                unsafe { down.download(transfer, self.host, self.base, stream) }?;
                self.record(index)?;
            }
            progress.reach(index + 1);
        }
        // SAFETY: upheld by the caller.
        while unsafe { down.drain(self.host) }? {}
        Ok(())
    }

    /// Has the task's stream wait for the tasks of others that are before it.
    fn wait(&self, index: usize) -> Result<(), Error> {
        let task = &self.part.tasks()[index];
        let needed = task.after.iter().filter(|before| self.part.tasks()[**before].is_needed(self.factors));
        let own = needed.filter_map(|before| self.events[*before].as_ref());
        // Those of peers are needed where this one is.
        let peers = task.after_peers.iter().filter_map(|before| self.peers[before.gpu].events[before.task].as_ref());
        let mut events = own.chain(peers);
        events.try_for_each(|event| self.streams[task.queue as usize].wait(event)).map_err(queue)
    }

    fn record(&self, index: usize) -> Result<(), Error> {
        let stream = &self.streams[self.part.tasks()[index].queue as usize];
        self.events[index].as_ref().map_or(Ok(()), |event| event.record(stream)).map_err(queue)
    }

    /// # Safety
    /// As of [`Self::all`], and what comes before the task is queued.
    unsafe fn run(&self, index: usize, work: &Work, up: Option<&mut Staging>) -> Result<(), Error> {
        let stream = &self.streams[self.part.tasks()[index].queue as usize];
        let Self { part, base, host, .. } = *self;
        // SAFETY: upheld by the caller. Places are within the part's memory, lines within the matrices, and the workspace of a product as
        // large as its plan asks for: tests of the plan hold it to that.
        unsafe {
            match work {
                Work::Upload(transfer) => match up.filter(|_| !host.is_locked(transfer.matrix)) {
                    Some(up) => up.upload(transfer, host, base, stream),
                    None => self.direct(transfer).queue(Way::ToDevice, stream.cu_stream()),
                },
                Work::Download(transfer) => self.direct(transfer).queue(Way::ToHost, stream.cu_stream()),
                Work::Receive(copy) => self.peers[copy.gpu].queue(copy, base, stream),
                Work::Prepare { gemm, operand, source, target } => {
                    let bindings = part.bindings_of_prepass(*gemm, *operand, [*source, *target], base);
                    self.gemms[*gemm].prepare_raw(stream.cu_stream(), *operand, &bindings)
                }
                Work::Product(product) => {
                    let bindings = part.bindings_of(product, self.factors, base);
                    self.gemms[product.gemm].run_raw(stream.cu_stream(), &bindings)
                }
            }
        }
    }

    fn direct(&self, transfer: &Transfer) -> HostDevice {
        HostDevice {
            host: self.host.at(transfer.matrix, transfer.host),
            host_pitch: transfer.host_pitch,
            device: self.base + transfer.device,
            device_pitch: transfer.device_pitch,
            bytes: transfer.bytes,
            lines: transfer.lines,
        }
    }
}

fn queue(error: DriverError) -> Error {
    failed("queue a task".into(), error)
}
