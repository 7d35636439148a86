//! All ranks: how they find each other, and what they tell each other before and after products.

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cudarc::driver::sys::{self as driver, CUdeviceptr, CUevent_flags, CUstream};
use cudarc::driver::{CudaContext, CudaStream, DevicePtrMut};

use super::comm::{Comm, Ending, Message};
use super::library::{Library, Version};
use super::memory::Memory;
use super::stream::{Stream, is_complete};
use super::sys::{self, ID_BYTES, SUCCESS, UniqueId};
use crate::Error;
use crate::cuda::{Handle, checked, failed};
use crate::distributed::grid::{Axis, Grid};
use crate::distributed::launcher::Launched;
use crate::distributed::patience::Patience;
use crate::distributed::rendezvous::meet;
use crate::plan::Address;

/// How long ranks wait for each other by default, beside the time that the work itself takes.
pub const GRACE: Duration = Duration::from_secs(30);

/// The name by which ranks find a communicator: made by one of them, and handed to the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id([u8; ID_BYTES]);

/// How values of all ranks are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// Their sum.
    Sum,
    /// The largest.
    Max,
}

/// The ranks of a distributed product, one process and one GPU each, joined by NCCL. Clones are the same communicator.
///
/// Whatever takes other ranks ends by a deadline. After an error of that, the communicator has been aborted: products are to be made
/// again, by new processes.
#[derive(Debug, Clone)]
pub struct Communicator {
    shared: Arc<Inner>,
    grace: Duration,
}

#[derive(Debug)]
struct Inner {
    // Dropped in this order.
    axes: Mutex<HashMap<(Grid, Axis), Arc<Comm>>>,
    /// For what ranks tell each other.
    stream: Stream,
    world: Comm,
    rank: usize,
    ranks: usize,
    handle: Handle,
}

impl Id {
    /// A new one. Where the environment has `NCCL_COMM_ID=host:port`, it is that address on every rank, and need not be handed on.
    ///
    /// # Errors
    /// [`Error::NoNccl`], [`Error::NcclTooOld`], [`Error::Collective`] where no network can be used.
    pub fn new() -> Result<Self, Error> {
        let library = Library::get()?;
        let mut id = UniqueId([0; ID_BYTES]);
        // SAFETY: `id` is a place to write an id to.
        match unsafe { (library.get_unique_id)(&raw mut id) } {
            SUCCESS => Ok(Self(id.0.map(c_char::cast_unsigned))),
            status => Err(Error::Collective { rank: 0, what: "make an id".into(), reason: library.text(status) }),
        }
    }

    /// Its bytes, for those who hand it to other processes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; ID_BYTES] {
        &self.0
    }

    /// The one of these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; ID_BYTES]) -> Self {
        Self(bytes)
    }
}

impl Communicator {
    /// Of the processes of a launcher. They meet at its address, unless `NCCL_COMM_ID` names another. `grace` is how long they wait for each
    /// other: [`GRACE`] by default.
    ///
    /// # Errors
    /// [`Error::Collective`] where ranks do not find each other; those of [`Self::new`].
    pub fn launched(handle: &Handle, launched: &Launched, grace: Duration) -> Result<Self, Error> {
        let given = std::env::var_os("NCCL_COMM_ID").is_some();
        let bytes = if given || launched.ranks == 1 {
            *Id::new()?.bytes()
        } else {
            Library::get()?;
            meet(launched, Patience::new(grace), || Id::new().map(|id| *id.bytes()))?
        };
        Self::new(handle, &Id::from_bytes(bytes), launched.rank, launched.ranks, grace)
    }

    /// Of the processes that were handed the same id, each with its own rank.
    ///
    /// # Errors
    /// [`Error::Rank`]; [`Error::NoNccl`], [`Error::NcclTooOld`]; [`Error::Collective`] where NCCL fails or a rank does not come.
    pub fn new(handle: &Handle, id: &Id, rank: usize, ranks: usize, grace: Duration) -> Result<Self, Error> {
        let library = Library::get()?;
        if rank >= ranks {
            return Err(Error::Rank { rank, ranks });
        }
        bind(handle.context())?;
        let id = UniqueId(id.0.map(u8::cast_signed));
        let world = Comm::init(library, id, rank, ranks, Patience::new(grace))?;
        Self::of(handle, world, ranks, grace)
    }

    /// Of an existing `ncclComm_t`, which its owner destroys after this and all products that were planned with it.
    ///
    /// # Errors
    /// As of [`Self::new`].
    ///
    /// # Safety
    /// The communicator is of the handle's device and was made by the NCCL library that this process has loaded as `libnccl.so.2`. It
    /// lives as long as this value, its clones and what was planned with them, and nobody else uses it at the same time.
    pub unsafe fn from_raw(handle: &Handle, comm: *mut c_void, grace: Duration) -> Result<Self, Error> {
        let library = Library::get()?;
        bind(handle.context())?;
        // SAFETY: upheld by the caller.
        let world = unsafe { Comm::borrowed(comm, library) }?;
        let ranks = world.ranks()?;
        Self::of(handle, world, ranks, grace)
    }

    fn of(handle: &Handle, world: Comm, ranks: usize, grace: Duration) -> Result<Self, Error> {
        let stream = Stream::new(handle.context(), true)?;
        let (axes, rank, handle) = (Mutex::default(), world.rank(), handle.clone());
        Ok(Self { shared: Arc::new(Inner { axes, stream, world, rank, ranks, handle }), grace })
    }

    /// The same ranks, which from now on wait so long for each other: longer where one of them has other work to do in between.
    #[must_use]
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// This process's rank.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shared.rank
    }

    /// Processes.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.shared.ranks
    }

    /// How long ranks wait for each other.
    #[must_use]
    pub fn grace(&self) -> Duration {
        self.grace
    }

    /// Kernels and choices of this rank's device.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.shared.handle
    }

    /// NCCL's version, such as `2.28.9`.
    #[must_use]
    pub fn nccl_version(&self) -> String {
        let Version(number) = self.library().version;
        Version(number).to_string()
    }

    /// Queues in the stream: every rank's values become the sums, or the largest, over all ranks. All ranks call it with as many.
    ///
    /// # Errors
    /// [`Error::WrongDevice`]; [`Error::Collective`] where another rank does not come; [`Error::Driver`].
    pub fn all_reduce_on(
        &self,
        stream: &CudaStream,
        reduction: Reduction,
        values: &mut dyn DevicePtrMut<f64>,
    ) -> Result<(), Error> {
        self.handle().check_context("stream", stream.context())?;
        self.handle().check_context("values", values.stream().context())?;
        let count = values.len();
        let (address, _used) = values.device_ptr_mut(stream);
        // SAFETY: so many values are at the address, and are ordered by the guard.
        unsafe { self.all_reduce_raw(stream.cu_stream(), reduction, address, count) }
    }

    /// The same with values of the host, and waits for it.
    ///
    /// # Errors
    /// As of [`Self::all_reduce_on`].
    pub fn all_reduce(&self, reduction: Reduction, values: &mut [f64]) -> Result<(), Error> {
        let own = values.to_vec();
        let (count, stream) = (own.len(), self.shared.stream.raw());
        // SAFETY: the memory begins with so many values.
        self.exchange(&own, values, |memory, _| unsafe { self.all_reduce_raw(stream, reduction, memory, count) })
    }

    /// The values of all ranks, in the order of ranks. All ranks call it with as many; it waits for them.
    ///
    /// # Errors
    /// As of [`Self::all_reduce_on`].
    pub fn all_gather(&self, values: &[u64]) -> Result<Vec<u64>, Error> {
        let mut all = vec![0; values.len() * self.ranks()];
        self.exchange(values, &mut all, |send, receive| {
            let message = Message { send, receive, count: values.len(), element: sys::UINT64 };
            let what = || "AllGather of values".to_owned();
            // SAFETY: this rank's values are at one address, and there is room for all at the other.
            unsafe { self.shared.world.all_gather(message, self.shared.stream.raw(), what, self.patience()) }
        })?;
        Ok(all)
    }

    /// The same on a raw stream, of so many f64 at an address.
    ///
    /// # Errors
    /// As of [`Self::all_reduce_on`].
    ///
    /// # Safety
    /// The stream is one of the communicator's context, or null. At the address are so many values, which live, and are used by nobody else,
    /// until the stream has come past this.
    pub unsafe fn all_reduce_raw(
        &self,
        stream: CUstream,
        reduction: Reduction,
        address: CUdeviceptr,
        count: usize,
    ) -> Result<(), Error> {
        bind(self.handle().context())?;
        let operation = match reduction {
            Reduction::Sum => sys::SUM,
            Reduction::Max => sys::MAX,
        };
        let message = Message { send: address, receive: address, count, element: sys::FLOAT64 };
        // SAFETY: upheld by the caller.
        unsafe { self.shared.world.all_reduce(message, operation, stream, self.patience()) }
    }

    /// Copies values to the device, has `queue` do something there in the communicator's own stream, and waits for what it leaves. It is
    /// given where the values are, and where there is room for those that are received: the same where these are as many.
    fn exchange<T: Scalar64>(
        &self,
        own: &[T],
        received: &mut [T],
        queue: impl FnOnce(Address, Address) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let context = self.handle().context();
        let (bytes, all) = (size_of_val(own), size_of_val(received));
        let mut memory = Memory::plain(context, (bytes + all).max(1) as u64)?;
        let send = memory.address();
        let receive = if bytes == all { send } else { send + bytes as u64 };
        bind(context)?;
        // In the stream: the driver returns when it has staged the values, and the copy may still be under way then.
        let stream = self.shared.stream.raw();
        // SAFETY: as many bytes are there and in the memory. The driver has read them when it returns.
        let status = unsafe { driver::cuMemcpyHtoDAsync_v2(send, own.as_ptr().cast(), bytes, stream) };
        checked(status, || "copy values to the device".into())?;
        let done = queue(send, receive).and_then(|()| self.finish());
        // What did not end may still use it.
        done.inspect_err(|_| self.give_up([&mut memory]))?;
        // SAFETY: as many bytes are in the memory from there on, and in the slice, whose type takes any bits.
        let status = unsafe { driver::cuMemcpyDtoH_v2(received.as_mut_ptr().cast(), receive, all) };
        checked(status, || "copy values from the device".into())
    }

    /// Waits for the communicator's own stream.
    fn finish(&self) -> Result<(), Error> {
        let event = self.event(CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
        self.shared.stream.record(&event)?;
        let patience = self.patience();
        while !is_complete(&event)? {
            self.shared.world.check(|| "exchange of values".into())?;
            if !patience.pause() {
                return Err(patience.over(self.rank(), "exchange of values".into()));
            }
        }
        Ok(())
    }

    /// The communicator of this rank's group along an axis; all ranks ask for the same ones in the same order.
    pub(super) fn along(&self, grid: Grid, axis: Axis) -> Result<Arc<Comm>, Error> {
        let mut axes = self.shared.axes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(comm) = axes.get(&(grid, axis)) {
            return Ok(Arc::clone(comm));
        }
        bind(self.handle().context())?;
        let color = grid.group(self.rank(), axis)[0];
        let key = grid.position(self.rank()).along(axis);
        let comm = Arc::new(self.shared.world.split(color, key, super::MAX_CTAS, self.patience())?);
        axes.insert((grid, axis), Arc::clone(&comm));
        Ok(comm)
    }

    /// Ends all that waits for other ranks, on the host and on the device.
    pub fn abort(&self) {
        let axes = self.shared.axes.lock().unwrap_or_else(PoisonError::into_inner);
        // All at once, since each may hang.
        let all = axes.values().map(|comm| &**comm).chain([&self.shared.world]);
        all.filter_map(Comm::begin_abort).collect::<Vec<_>>().into_iter().for_each(Ending::wait);
    }

    pub(super) fn library(&self) -> &'static Library {
        self.shared.world.library()
    }

    pub(super) fn world(&self) -> &Comm {
        &self.shared.world
    }

    pub(super) fn patience(&self) -> Patience {
        Patience::new(self.grace)
    }
}

/// Numbers of 64 bits, any of which are values.
trait Scalar64: Copy {}

impl Scalar64 for u64 {}

impl Scalar64 for f64 {}

/// Makes the context current.
pub(super) fn bind(context: &Arc<CudaContext>) -> Result<(), Error> {
    context.bind_to_thread().map_err(|error| failed("use the device".into(), error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where NCCL is, it makes ids without a GPU, and tells what went wrong in its own words.
    #[test]
    fn an_id_or_one_line() {
        match Id::new() {
            Ok(id) => {
                let library = Library::get().unwrap();
                assert_eq!(library.text(SUCCESS), "no error");
                assert_eq!(Id::from_bytes(*id.bytes()), id);
                assert_ne!(Id::new(), Ok(id));
            }
            Err(error) => assert!(matches!(error, Error::NoNccl { .. } | Error::NcclTooOld { .. }), "{error}"),
        }
    }
}
