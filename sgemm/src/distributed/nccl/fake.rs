//! A stand-in for NCCL, so that what communicators do can be tested without one: it says what a test gives it to say, writes from another
//! thread as NCCL does, and keeps what it was asked.

use std::collections::VecDeque;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use cudarc::driver::sys::CUstream;

use super::library::{Library, Version};
use super::sys::{Config, IN_PROGRESS, NcclComm, NcclWindow, SUCCESS, Status, UniqueId};

/// `ncclRemoteError`.
pub const REMOTE: Status = 6;

/// What stands for a communicator: lives to the end of the process.
#[derive(Debug, Default)]
pub struct Fake(Mutex<State>);

#[derive(Debug, Default)]
pub struct State {
    /// What was called, and with what.
    pub calls: Vec<String>,
    /// What the next calls return; then success.
    pub returns: VecDeque<Status>,
    /// What is said when the communicator is asked how it is; then success, or what `always` is.
    pub states: VecDeque<Status>,
    pub always: Status,
    /// What a split gives.
    pub child: Option<&'static Fake>,
    /// The configuration of the last split.
    pub config: Option<(c_int, c_int, c_int)>,
}

impl Fake {
    pub fn leaked() -> &'static Self {
        Box::leak(Box::default())
    }

    pub fn raw(&'static self) -> NcclComm {
        ptr::from_ref(self).cast_mut().cast()
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn calls(&self) -> Vec<String> {
        self.state().calls.clone()
    }

    fn called(&self, call: impl Into<String>) -> Status {
        let mut state = self.state();
        state.calls.push(call.into());
        state.returns.pop_front().unwrap_or(SUCCESS)
    }
}

/// The stand-in that a communicator is.
fn of(comm: NcclComm) -> &'static Fake {
    // SAFETY: tests make communicators of leaked stand-ins alone.
    unsafe { &*comm.cast() }
}

/// The library of that version.
pub fn library(version: i32) -> &'static Library {
    Box::leak(Box::new(Library {
        version: Version(version),
        get_unique_id,
        get_error_string,
        get_last_error,
        init_rank,
        split,
        finalize,
        destroy,
        abort,
        async_error,
        count: rank,
        user_rank: rank,
        all_gather,
        reduce_scatter: reduce,
        all_reduce: reduce,
        mem_alloc,
        mem_free,
        windows: Some((register, deregister)),
    }))
}

unsafe extern "C" fn get_unique_id(_: *mut UniqueId) -> Status {
    SUCCESS
}

unsafe extern "C" fn get_error_string(status: Status) -> *const c_char {
    if status == REMOTE {
        c"remote process exited\nor there was a network error".as_ptr()
    } else {
        c"no error".as_ptr()
    }
}

unsafe extern "C" fn get_last_error(_: NcclComm) -> *const c_char {
    ptr::null()
}

/// The test hands over the communicator in place of an id: its address in the first bytes.
unsafe extern "C" fn init_rank(place: *mut NcclComm, _: c_int, id: UniqueId, rank: c_int, _: *mut Config) -> Status {
    let bytes = std::array::from_fn(|index| id.0[index].cast_unsigned());
    let comm = ptr::with_exposed_provenance_mut(usize::from_ne_bytes(bytes));
    // SAFETY: a place to write to, by the contract of NCCL.
    unsafe { *place = comm };
    of(comm).called(format!("init {rank}"))
}

unsafe extern "C" fn split(
    comm: NcclComm,
    color: c_int,
    key: c_int,
    place: *mut NcclComm,
    config: *mut Config,
) -> Status {
    let fake = of(comm);
    // SAFETY: readable until this returns, by the contract of NCCL.
    let config = unsafe { *config };
    let child = fake.state().child;
    fake.state().config = Some((config.blocking, config.max_ctas, config.cta_policy));
    let status = fake.called(format!("split {color} {key}"));
    // As NCCL does, when the call has returned: until then the communicator is in progress.
    fake.state().always = IN_PROGRESS;
    let place = place.expose_provenance();
    thread::spawn(move || {
        let raw = child.map_or(ptr::null_mut(), Fake::raw);
        // SAFETY: a place to write to until the communicator is no more in progress.
        unsafe { ptr::with_exposed_provenance_mut::<NcclComm>(place).write(raw) };
        fake.state().always = SUCCESS;
    });
    status
}

unsafe extern "C" fn finalize(comm: NcclComm) -> Status {
    of(comm).called("finalize")
}

unsafe extern "C" fn destroy(comm: NcclComm) -> Status {
    of(comm).called("destroy")
}

unsafe extern "C" fn abort(comm: NcclComm) -> Status {
    of(comm).called("abort")
}

unsafe extern "C" fn async_error(comm: NcclComm, state: *mut c_int) -> Status {
    let mut fake = of(comm).state();
    let next = fake.states.pop_front().unwrap_or(fake.always);
    // SAFETY: a place to write to, by the contract of NCCL.
    unsafe { *state = next };
    SUCCESS
}

unsafe extern "C" fn rank(_: NcclComm, answer: *mut c_int) -> Status {
    // SAFETY: a place to write to, by the contract of NCCL.
    unsafe { *answer = 3 };
    SUCCESS
}

unsafe extern "C" fn all_gather(
    _: *const c_void,
    _: *mut c_void,
    count: usize,
    element: c_int,
    comm: NcclComm,
    _: CUstream,
) -> Status {
    of(comm).called(format!("all gather {count} of {element}"))
}

unsafe extern "C" fn reduce(
    _: *const c_void,
    _: *mut c_void,
    count: usize,
    element: c_int,
    operation: c_int,
    comm: NcclComm,
    _: CUstream,
) -> Status {
    of(comm).called(format!("reduce {count} of {element} by {operation}"))
}

unsafe extern "C" fn mem_alloc(_: *mut *mut c_void, _: usize) -> Status {
    REMOTE
}

unsafe extern "C" fn mem_free(_: *mut c_void) -> Status {
    SUCCESS
}

unsafe extern "C" fn register(_: NcclComm, _: *mut c_void, _: usize, _: *mut NcclWindow, _: c_int) -> Status {
    SUCCESS
}

unsafe extern "C" fn deregister(_: NcclComm, _: NcclWindow) -> Status {
    SUCCESS
}
