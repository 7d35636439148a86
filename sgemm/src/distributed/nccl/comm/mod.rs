//! One communicator of NCCL: calls that return at once, and are waited for with a deadline.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use cudarc::driver::sys::CUstream;

use super::library::{COPY_ENGINES, Library};
use super::sys::{self, Config, IN_PROGRESS, NcclComm, NcclWindow, SUCCESS, Status, UniqueId};
use crate::Error;
use crate::distributed::patience::Patience;
use crate::plan::Address;

/// How long the end of a communicator may take. After that it is left as it is: the process ends soon.
const END: Duration = Duration::from_secs(5);

/// A communicator.
#[derive(Debug)]
pub struct Comm {
    raw: NcclComm,
    library: &'static Library,
    /// The rank among all, which messages name.
    rank: usize,
    /// Whether it ends with this value.
    is_owned: bool,
    /// Something failed: it is to be aborted.
    is_broken: AtomicBool,
    /// It was aborted.
    is_gone: AtomicBool,
    /// NCCL's communicators are used by one thread at a time.
    turn: Mutex<()>,
}

// SAFETY: any thread may use a communicator, one at a time, which `turn` sees to.
unsafe impl Send for Comm {}
// SAFETY: as above.
unsafe impl Sync for Comm {}

/// What is sent and received by one call.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    pub send: Address,
    pub receive: Address,
    /// Elements: of one rank where ranks have parts.
    pub count: usize,
    /// NCCL's number of their type.
    pub element: c_int,
}

impl Comm {
    /// Joins the communicator of that id. The device's context is current.
    pub fn init(
        library: &'static Library,
        id: UniqueId,
        rank: usize,
        ranks: usize,
        patience: Patience,
    ) -> Result<Self, Error> {
        let what = || format!("set up a communicator of {ranks} ranks");
        let (Ok(count), Ok(place)) = (c_int::try_from(ranks), c_int::try_from(rank)) else {
            return Err(Error::Rank { rank, ranks });
        };
        let mut config = Config::NON_BLOCKING;
        let mut raw = ptr::null_mut();
        // SAFETY: NCCL writes to `raw` and reads `config` before it returns.
        let status = unsafe { (library.init_rank)(&raw mut raw, count, id, place, &raw mut config) };
        if raw.is_null() {
            return Err(Error::Collective { rank, what: what(), reason: library.text(status) });
        }
        let comm = Self::of(raw, library, rank, true);
        comm.settle(status, what, patience)?;
        Ok(comm)
    }

    /// One that others made, and end.
    ///
    /// # Safety
    /// The communicator lives as long as this value, and nobody else uses it at the same time.
    pub unsafe fn borrowed(raw: NcclComm, library: &'static Library) -> Result<Self, Error> {
        let mut comm = Self::of(raw, library, 0, false);
        comm.rank = comm.ask(library.user_rank)?;
        Ok(comm)
    }

    fn of(raw: NcclComm, library: &'static Library, rank: usize, is_owned: bool) -> Self {
        let [is_broken, is_gone] = [(); 2].map(|()| AtomicBool::new(false));
        Self { raw, library, rank, is_owned, is_broken, is_gone, turn: Mutex::new(()) }
    }

    /// The communicator of the ranks that give the same color, in the order of their keys. All ranks call it. `max_ctas` is the most
    /// blocks of its kernels.
    pub fn split(&self, color: usize, key: usize, max_ctas: u32, patience: Patience) -> Result<Self, Error> {
        let mut config = Config { max_ctas: max_ctas as c_int, ..Config::NON_BLOCKING };
        if self.library.version >= COPY_ENGINES {
            config.cta_policy = sys::CTA_POLICY_ZERO;
        }
        let (color, key) = (c_int::try_from(color).unwrap_or(c_int::MAX), c_int::try_from(key).unwrap_or(c_int::MAX));
        // NCCL's thread writes here when the communicator is ready: where it never is, the place stays.
        let place = Box::into_raw(Box::new(ptr::null_mut()));
        self.call(
            || "divide the communicator".into(),
            patience,
            |library, raw| {
                // SAFETY: the communicator is alive; `place` is leaked until the call is done, and `config` read before it returns.
                unsafe { (library.split)(raw, color, key, place, &raw mut config) }
            },
        )?;
        // SAFETY: the call is done, so that nobody else uses the place.
        let raw = *unsafe { Box::from_raw(place) };
        if raw.is_null() {
            return Err(self.failure("divide the communicator".into(), SUCCESS));
        }
        let comm = Self::of(raw, self.library, self.rank, true);
        comm.settle(SUCCESS, || "divide the communicator".into(), patience)?;
        Ok(comm)
    }

    /// Queues an AllGather in the stream.
    ///
    /// # Safety
    /// The stream is alive, of the communicator's device. At the addresses is memory of the device: `count` elements that are sent, as many
    /// for each rank that are received; it lives until the stream has come past this.
    pub unsafe fn all_gather(
        &self,
        message: Message,
        stream: CUstream,
        what: impl Fn() -> String,
        patience: Patience,
    ) -> Result<(), Error> {
        let Message { send, receive, count, element } = message;
        self.call(what, patience, |library, raw| {
            // SAFETY: upheld by the caller; the communicator is alive.
            unsafe { (library.all_gather)(pointer(send), pointer(receive), count, element, raw, stream) }
        })
    }

    /// Queues a ReduceScatter, which adds.
    ///
    /// # Safety
    /// As of [`Self::all_gather`], where `count` elements are received, and as many for each rank are sent.
    pub unsafe fn reduce_scatter(
        &self,
        message: Message,
        stream: CUstream,
        what: impl Fn() -> String,
        patience: Patience,
    ) -> Result<(), Error> {
        let Message { send, receive, count, element } = message;
        self.call(what, patience, |library, raw| {
            // SAFETY: upheld by the caller; the communicator is alive.
            unsafe { (library.reduce_scatter)(pointer(send), pointer(receive), count, element, sys::SUM, raw, stream) }
        })
    }

    /// Queues an AllReduce by NCCL's operation of that number.
    ///
    /// # Safety
    /// As of [`Self::all_gather`], where `count` elements are sent and received.
    pub unsafe fn all_reduce(
        &self,
        message: Message,
        operation: c_int,
        stream: CUstream,
        patience: Patience,
    ) -> Result<(), Error> {
        let Message { send, receive, count, element } = message;
        self.call(
            || "AllReduce".into(),
            patience,
            |library, raw| {
                // SAFETY: upheld by the caller; the communicator is alive.
                unsafe { (library.all_reduce)(pointer(send), pointer(receive), count, element, operation, raw, stream) }
            },
        )
    }

    /// Registers memory as a symmetric window. All ranks of the communicator call it, with as many bytes.
    ///
    /// # Safety
    /// The bytes were allocated by `ncclMemAlloc`, and live until the window is gone.
    pub unsafe fn register(&self, address: Address, bytes: usize, patience: Patience) -> Result<NcclWindow, Error> {
        let Some((register, _)) = self.library.windows else { return Ok(ptr::null_mut()) };
        // As in `split`.
        let place = Box::into_raw(Box::new(ptr::null_mut()));
        self.call(
            || "register a symmetric window".into(),
            patience,
            |_, raw| {
                // SAFETY: upheld by the caller; the communicator is alive, and `place` is leaked until the call is done.
                unsafe { register(raw, pointer(address), bytes, place, sys::WINDOW_SYMMETRIC) }
            },
        )?;
        // SAFETY: the call is done, so that nobody else uses the place.
        Ok(*unsafe { Box::from_raw(place) })
    }

    /// Ends a window, where the communicator still works.
    ///
    /// # Safety
    /// [`Self::register`] of this communicator returned it, and nothing uses it any more.
    pub unsafe fn deregister(&self, window: NcclWindow) {
        let Some((_, deregister)) = self.library.windows.filter(|_| !window.is_null() && !self.is_broken()) else {
            return;
        };
        let _ = self.call(
            || "end a symmetric window".into(),
            Patience::new(END),
            |_, raw| {
                // SAFETY: upheld by the caller; the communicator is alive.
                unsafe { deregister(raw, window) }
            },
        );
    }

    /// Ranks of it.
    pub fn ranks(&self) -> Result<usize, Error> {
        self.ask(self.library.count)
    }

    /// The rank among all.
    pub fn rank(&self) -> usize {
        self.rank
    }

    pub fn library(&self) -> &'static Library {
        self.library
    }

    /// Fails where NCCL has found that something did.
    pub fn check(&self, what: impl Fn() -> String) -> Result<(), Error> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        match self.state(&what)? {
            SUCCESS | IN_PROGRESS => Ok(()),
            status => Err(self.failure(what(), status)),
        }
    }

    /// Whether something failed, so that it is of no more use.
    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire) || self.is_gone.load(Ordering::Acquire)
    }

    fn ask(&self, question: sys::AskComm) -> Result<usize, Error> {
        let mut answer = 0;
        self.call(
            || "ask the communicator".into(),
            Patience::new(END),
            |_, raw| {
                // SAFETY: the communicator is alive, and `answer` a place to write an int to.
                unsafe { question(raw, &raw mut answer) }
            },
        )?;
        Ok(usize::try_from(answer).unwrap_or_default())
    }

    /// Calls NCCL, and waits until the communicator is ready for the next call: what NCCL queues in streams, its own threads queue.
    fn call(
        &self,
        what: impl Fn() -> String,
        patience: Patience,
        act: impl FnOnce(&Library, NcclComm) -> Status,
    ) -> Result<(), Error> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_broken() {
            return Err(Error::Collective {
                rank: self.rank,
                what: what(),
                reason: "the communicator has failed before".into(),
            });
        }
        self.settle(act(self.library, self.raw), what, patience)
    }

    fn settle(&self, mut status: Status, what: impl Fn() -> String, patience: Patience) -> Result<(), Error> {
        loop {
            if status != SUCCESS && status != IN_PROGRESS {
                return Err(self.failure(what(), status));
            }
            // A call may say that all is well while its thread has still to run.
            status = self.state(&what)?;
            if status == SUCCESS {
                return Ok(());
            }
            if status == IN_PROGRESS && !patience.pause() {
                self.is_broken.store(true, Ordering::Release);
                return Err(patience.over(self.rank, what()));
            }
        }
    }

    fn state(&self, what: impl Fn() -> String) -> Result<Status, Error> {
        if self.is_gone.load(Ordering::Acquire) {
            return Err(Error::Collective {
                rank: self.rank,
                what: what(),
                reason: "the communicator was aborted".into(),
            });
        }
        let mut state = SUCCESS;
        // SAFETY: the communicator is alive, and `state` a place to write an int to.
        match unsafe { (self.library.async_error)(self.raw, &raw mut state) } {
            SUCCESS => Ok(state),
            status => Err(self.failure(what(), status)),
        }
    }

    /// The error for a status, which breaks the communicator.
    fn failure(&self, what: String, status: Status) -> Error {
        self.is_broken.store(true, Ordering::Release);
        let mut reason = self.library.text(status);
        // SAFETY: NCCL takes any communicator, and returns a string of its own, or null.
        let last = unsafe { (self.library.get_last_error)(ptr::null_mut()) };
        if !last.is_null() {
            // SAFETY: as above, and it ends with a zero.
            let last = unsafe { CStr::from_ptr(last) }.to_string_lossy();
            reason.extend(last.split_whitespace().flat_map(|word| [" ", word]));
        }
        Error::Collective { rank: self.rank, what, reason }
    }

    /// Aborts: what waits on the device for other ranks ends, as far as NCCL can make it. Later calls fail.
    pub fn abort(&self) {
        if !self.is_owned || self.is_gone.swap(true, Ordering::AcqRel) {
            self.is_broken.store(true, Ordering::Release);
            return;
        }
        self.end(|library, raw| {
            // SAFETY: the communicator is alive, and used no more: `is_gone` was not set before.
            let _ = unsafe { (library.abort)(raw) };
        });
    }

    /// Does something that may hang, in a thread that is not waited for longer than [`END`].
    fn end(&self, act: impl FnOnce(&'static Library, NcclComm) + Send + 'static) {
        let (library, raw) = (self.library, Raw(self.raw));
        let (done, is_done) = mpsc::channel();
        let thread = thread::Builder::new().name("nccl-end".into()).spawn(move || {
            let raw = raw;
            act(library, raw.0);
            let _ = done.send(());
        });
        if thread.is_ok() {
            let _ = is_done.recv_timeout(END);
        }
    }
}

/// A communicator on its way to another thread.
struct Raw(NcclComm);

// SAFETY: any thread may use a communicator, and the one that gives it away uses it no more.
unsafe impl Send for Raw {}

impl Drop for Comm {
    fn drop(&mut self) {
        if !self.is_owned || self.is_gone.load(Ordering::Acquire) {
            return;
        }
        let is_final = !self.is_broken()
            && self
                .call(
                    || "end the communicator".into(),
                    Patience::new(END),
                    |library, raw| {
                        // SAFETY: the communicator is alive.
                        unsafe { (library.finalize)(raw) }
                    },
                )
                .is_ok();
        if !is_final {
            return self.abort();
        }
        self.end(|library, raw| {
            // SAFETY: the communicator is alive, and used no more.
            let _ = unsafe { (library.destroy)(raw) };
        });
    }
}

/// An address of the device as NCCL takes it.
fn pointer(address: Address) -> *mut c_void {
    ptr::without_provenance_mut(address as usize)
}

#[cfg(test)]
mod tests;
