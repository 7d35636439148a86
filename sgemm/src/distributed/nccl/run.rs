//! A run: tasks queued in streams.

use std::time::Instant;

use cudarc::driver::sys::{CUdeviceptr, CUstream};
use cudarc::driver::{CudaStream, DevicePtr, DevicePtrMut};

use super::comm::Message;
use super::communicator::bind;
use super::copy::copy;
use super::gemm::{DistributedGemm, address_of};
use super::stream::{self, Stream};
use super::sys;
use crate::cuda::is_capturing;
use crate::distributed::schedule::{Buffer, Queue, Task, Work};
use crate::plan::Address;
use crate::{Abc, Error, Scalar};

/// What a run is given.
#[derive(Debug, Clone, Copy)]
struct Given {
    matrices: Abc<Address>,
    alpha: f32,
    beta: f32,
}

impl DistributedGemm {
    /// Queues C = alpha\*A\*B + beta\*C, of the matrices of this rank: after what is in the stream, and before what comes there later. All
    /// ranks call it. It does not wait for the result; at the first run NCCL connects ranks, and is waited for.
    ///
    /// # Errors
    /// [`Error::Elements`], [`Error::ShortBuffer`], [`Error::WrongDevice`], [`Error::Capturing`] and [`Error::Alignment`] before anything is
    /// queued. Then [`Error::Driver`] where the driver refuses; [`Error::Collective`], with this rank and the task, where another
    /// rank does not come. After those the communicator is aborted.
    pub fn run<I: Scalar, O: Scalar>(
        &mut self,
        stream: &CudaStream,
        alpha: f32,
        a: &dyn DevicePtr<I>,
        b: &dyn DevicePtr<I>,
        beta: f32,
        c: &mut dyn DevicePtrMut<O>,
    ) -> Result<(), Error> {
        self.plan.check_given([I::ELEMENT, O::ELEMENT], [a.len(), b.len(), c.len()])?;
        let handle = self.communicator.handle();
        handle.check_context("stream", stream.context())?;
        for (operand, of) in [("A", a.stream()), ("B", b.stream()), ("C", c.stream())] {
            handle.check_context(operand, of.context())?;
        }
        let (a, _read_a) = a.device_ptr(stream);
        let (b, _read_b) = b.device_ptr(stream);
        let (c, _written) = c.device_ptr_mut(stream);
        // SAFETY: the slices are of the handle's context and as long as the plan reaches. They are borrowed until all is queued, and are
        // freed in the order of the stream after that, which waits for the run.
        unsafe { self.run_raw(stream.cu_stream(), alpha, a, b, beta, c) }
    }

    /// The same on raw addresses and a raw stream.
    ///
    /// # Errors
    /// As of [`Self::run`].
    ///
    /// # Safety
    /// The stream is one of the communicator's context, or null. From the addresses on are the matrices of
    /// [`Plan::share`](crate::distributed::Plan::share), with the plan's elements and leading dimensions. They can be read, and C
    /// written, until the run is done, which the stream waits for; nothing else writes to them meanwhile.
    pub unsafe fn run_raw(
        &mut self,
        stream: CUstream,
        alpha: f32,
        a: CUdeviceptr,
        b: CUdeviceptr,
        beta: f32,
        c: CUdeviceptr,
    ) -> Result<(), Error> {
        bind(self.communicator.handle().context())?;
        if is_capturing(stream)? {
            return Err(Error::Capturing);
        }
        let given = Given { matrices: Abc { a, b, c }, alpha, beta };
        self.check_alignment(&given)?;
        self.queued = Some(Instant::now());
        // SAFETY: upheld by the caller.
        let outcome = unsafe { self.queue_all(stream, &given) };
        if outcome.is_err() {
            self.give_up();
        }
        outcome
    }

    /// Checks where operands begin, for all kernels.
    fn check_alignment(&self, given: &Given) -> Result<(), Error> {
        let base = |buffer| self.base(buffer, given);
        for task in self.plan.tasks() {
            let (gemm, bindings) = match &task.work {
                Work::Prepare { gemm, operand, source, target } => {
                    (*gemm, self.plan.bindings_of_prepass(*gemm, *operand, [*source, *target], base))
                }
                Work::Product(product) => {
                    (product.gemm, self.plan.bindings_of(product, [given.alpha, given.beta], base))
                }
                Work::Copy(_) | Work::AllGather { .. } | Work::ReduceScatter { .. } => continue,
            };
            self.gemms[gemm].plan().check_alignment(&bindings)?;
        }
        Ok(())
    }

    /// # Safety
    /// As of [`Self::run_raw`], and the context is current.
    unsafe fn queue_all(&self, caller: CUstream, given: &Given) -> Result<(), Error> {
        let events = &self.events;
        // SAFETY: the caller's stream is alive.
        unsafe { stream::record(&events.begin, caller) }?;
        for stream in &self.streams {
            stream.wait(&events.begin)?;
            // The run before this one, where its caller's stream was another.
            stream.wait(&events.end)?;
        }
        if let Some(marks) = &events.marks {
            self.stream(Queue::Inbound).record(&marks.begin)?;
        }
        for (index, task) in self.in_order() {
            let stream = self.stream(task.queue);
            task.after.iter().try_for_each(|before| stream.wait(&events.done[*before]))?;
            let mark = |which: usize| match &events.marks {
                Some(marks) => stream.record(&marks.tasks[index][which]),
                None => Ok(()),
            };
            mark(0)?;
            // SAFETY: the plan's tasks stay within the workspace, whose parts have the bytes that it says, and within the matrices, upheld
            // by the caller; what tasks share is ordered by `after`.
            unsafe { self.queue(index, task, stream, given) }?;
            mark(1)?;
            stream.record(&events.done[index])?;
        }
        let compute = self.stream(Queue::Compute);
        for queue in [Queue::Inbound, Queue::Outbound] {
            if let Some(last) = self.plan.tasks().iter().rposition(|task| task.queue == queue) {
                compute.wait(&events.done[last])?;
            }
        }
        compute.record(&events.end)?;
        // SAFETY: the caller's stream is alive.
        unsafe { stream::wait(caller, &events.end) }
    }

    /// The tasks as they are queued: first those that wait for nothing, since a call of NCCL takes the host longer than many others.
    fn in_order(&self) -> impl Iterator<Item = (usize, &Task)> {
        let mut is_free = [true; Queue::ALL.len()];
        let all = self.plan.tasks().iter().enumerate();
        let (free, others): (Vec<_>, Vec<_>) = all.partition(|(_, task)| {
            let is_free = &mut is_free[task.queue as usize];
            *is_free &= task.after.is_empty() && task.collective().is_none();
            *is_free
        });
        free.into_iter().chain(others)
    }

    /// # Safety
    /// As of [`Self::queue_all`], for the places of this task.
    unsafe fn queue(&self, index: usize, task: &Task, stream: &Stream, given: &Given) -> Result<(), Error> {
        let base = |buffer| self.base(buffer, given);
        let message = |send: Address, receive: Address, count: u64, element| Message {
            send,
            receive,
            count: count as usize,
            element,
        };
        let (what, patience) = (|| task.to_string(), self.communicator.patience());
        // SAFETY: upheld by the caller: all that is named lies in memory that is there until the run is done.
        unsafe {
            match &task.work {
                Work::Copy(_) => self.transfers[index].iter().try_for_each(|each| copy(each, base, stream)),
                Work::AllGather { axis, send, receive, bytes } => {
                    let Some(comm) = self.comms.get(*axis) else { return Ok(()) };
                    let message = message(send.address(base), receive.address(base), *bytes, sys::UINT8);
                    comm.all_gather(message, stream.raw(), what, patience)
                }
                Work::ReduceScatter { axis, send, receive, elements } => {
                    let Some(comm) = self.comms.get(*axis) else { return Ok(()) };
                    let message = message(send.address(base), receive.address(base), *elements, sys::FLOAT32);
                    comm.reduce_scatter(message, stream.raw(), what, patience)
                }
                Work::Prepare { gemm, operand, source, target } => {
                    let bindings = self.plan.bindings_of_prepass(*gemm, *operand, [*source, *target], base);
                    self.gemms[*gemm].prepare_raw(stream.raw(), *operand, &bindings)
                }
                Work::Product(product) => {
                    let bindings = self.plan.bindings_of(product, [given.alpha, given.beta], base);
                    self.gemms[product.gemm].run_raw(stream.raw(), &bindings)
                }
            }
        }
    }

    fn base(&self, buffer: Buffer, given: &Given) -> Address {
        match buffer {
            Buffer::A => given.matrices.a,
            Buffer::B => given.matrices.b,
            Buffer::C => given.matrices.c,
            part => address_of(&self.memory, part),
        }
    }

    fn stream(&self, queue: Queue) -> &Stream {
        &self.streams[queue as usize]
    }
}
