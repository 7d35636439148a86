//! Events. Their times are the model's.

use std::ffi::c_uint;

use cudarc::driver::sys::{CUevent, CUresult, CUstream};

use super::functions;
use super::pointers::Out;
use crate::capture::submit;
use crate::machine::{Event, in_context, waited};
use crate::operation::Operation;
use crate::status::Answer;

/// `CU_EVENT_DISABLE_TIMING`.
const DISABLE_TIMING: c_uint = 2;

fn record(event: CUevent, stream: CUstream) -> Answer {
    let mut guard = in_context()?;
    let machine = &mut *guard;
    let (now, capture) = (machine.now_ms, machine.stream(stream)?.capture);
    let event = machine.events.get_mut(event)?;
    event.capture = capture;
    event.time_ms = capture.is_none().then_some(now);
    drop(guard);
    if capture.is_some() { submit(stream, Operation::Nothing) } else { Ok(()) }
}

/// That of a query: what was recorded is done.
fn query(event: CUevent) -> Answer {
    match waited()?.events.get(event)?.capture {
        Some(_) => Err(CUresult::CUDA_ERROR_CAPTURED_EVENT),
        None => Ok(()),
    }
}

fn elapsed(ms: Out<f32>, start: CUevent, end: CUevent) -> Answer {
    let machine = waited()?;
    let time = |event| {
        let Event { flags, time_ms, .. } = machine.events.get(event)?;
        time_ms.filter(|_| flags & DISABLE_TIMING == 0).ok_or(CUresult::CUDA_ERROR_INVALID_HANDLE)
    };
    ms.put((time(end)? - time(start)?) as f32)
}

functions! {
    fn cuEventCreate(event: Out<CUevent>, flags: c_uint) {
        event.put(in_context()?.events.insert(Event { flags, ..Event::default() }))
    }
    fn cuEventDestroy_v2(event: CUevent) {
        in_context()?.events.remove(event).map(drop)
    }
    fn cuEventRecord(event: CUevent, stream: CUstream) {
        record(event, stream)
    }
    fn cuEventRecordWithFlags(event: CUevent, stream: CUstream, _flags: c_uint) {
        record(event, stream)
    }
    fn cuEventQuery(event: CUevent) {
        query(event)
    }
    fn cuEventSynchronize(event: CUevent) {
        query(event)
    }
    fn cuEventElapsedTime(ms: Out<f32>, start: CUevent, end: CUevent) {
        elapsed(ms, start, end)
    }
    fn cuEventElapsedTime_v2(ms: Out<f32>, start: CUevent, end: CUevent) {
        elapsed(ms, start, end)
    }
}
