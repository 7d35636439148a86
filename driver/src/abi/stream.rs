//! Streams, and captures of them.

use std::ffi::{c_int, c_uint};

use cudarc::driver::sys::{CUcontext, CUevent, CUgraph, CUresult, CUstream};

use super::functions;
use super::pointers::Out;
use crate::capture::{self, Mode};
use crate::machine::{Stream, current, in_context, waited};
use crate::status::Answer;

/// Of `CUstreamCaptureStatus`.
const NONE: c_uint = 0;
const ACTIVE: c_uint = 1;
const INVALIDATED: c_uint = 2;

/// Waits for a stream, which has nothing left to do. One that is captured cannot be waited for.
fn wait(stream: CUstream) -> Answer {
    let mut guard = waited()?;
    let machine = &mut *guard;
    let Some(number) = machine.stream(stream)?.capture else { return Ok(()) };
    machine.captures.get_mut(capture::handle(number))?.is_valid = false;
    Err(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
}

/// The status of a stream's capture, and its number.
fn captured(stream: CUstream) -> Answer<(c_uint, u64)> {
    let mut guard = in_context()?;
    let machine = &mut *guard;
    let Some(number) = machine.stream(stream)?.capture else { return Ok((NONE, 0)) };
    let is_valid = machine.captures.get(capture::handle(number))?.is_valid;
    Ok((if is_valid { ACTIVE } else { INVALIDATED }, number as u64))
}

functions! {
    fn cuStreamCreate(stream: Out<CUstream>, flags: c_uint) {
        let made = Stream { context: current().addr(), flags, ..Stream::default() };
        stream.put(in_context()?.streams.insert(made))
    }
    fn cuStreamCreateWithPriority(stream: Out<CUstream>, flags: c_uint, priority: c_int) {
        let made = Stream { context: current().addr(), flags, priority, capture: None };
        stream.put(in_context()?.streams.insert(made))
    }
    fn cuStreamDestroy_v2(stream: CUstream) {
        in_context()?.streams.remove(stream).map(drop)
    }
    fn cuStreamSynchronize(stream: CUstream) {
        wait(stream)
    }
    fn cuStreamQuery(stream: CUstream) {
        wait(stream)
    }
    fn cuStreamGetFlags(stream: CUstream, flags: Out<c_uint>) {
        flags.put(in_context()?.stream(stream)?.flags)
    }
    fn cuStreamGetPriority(stream: CUstream, priority: Out<c_int>) {
        priority.put(in_context()?.stream(stream)?.priority)
    }
    fn cuStreamGetCtx(stream: CUstream, context: Out<CUcontext>) {
        let of = in_context()?.stream(stream)?.context;
        // The default stream is the current context's.
        context.put(if of == 0 { current() } else { std::ptr::without_provenance_mut(of) })
    }
    fn cuStreamGetId(stream: CUstream, id: Out<u64>) {
        in_context()?.stream(stream)?;
        id.put(stream.addr() as u64)
    }
    fn cuStreamWaitEvent(stream: CUstream, event: CUevent, _flags: c_uint) {
        let mut guard = in_context()?;
        let machine = &mut *guard;
        let event = machine.events.get(event)?;
        let (recorded_in, is_recorded) = (event.capture, event.capture.is_some() || event.time_ms.is_some());
        if is_recorded { capture::wait(machine, stream, recorded_in) } else { Ok(()) }
    }
    fn cuStreamBeginCapture_v2(stream: CUstream, mode: c_uint) {
        drop(in_context()?);
        capture::begin(stream, Mode::of(mode)?)
    }
    fn cuStreamEndCapture(stream: CUstream, graph: Out<CUgraph>) {
        let captured = capture::end(stream).inspect_err(|_| graph.put_if_asked(std::ptr::null_mut()))?;
        graph.put(in_context()?.graphs.insert(captured))
    }
    fn cuStreamIsCapturing(stream: CUstream, status: Out<c_uint>) {
        status.put(captured(stream)?.0)
    }
    fn cuStreamGetCaptureInfo_v2(
        stream: CUstream, status: Out<c_uint>, id: Out<u64>, graph: Out<CUgraph>, dependencies: Out<*const u8>, count: Out<usize>,
    ) {
        let (found, number) = captured(stream)?;
        id.put_if_asked(number);
        graph.put_if_asked(std::ptr::null_mut());
        dependencies.put_if_asked(std::ptr::null());
        count.put_if_asked(0);
        status.put(found)
    }
    fn cuThreadExchangeStreamCaptureMode(_mode: Out<c_uint>) {
        Ok(())
    }
}
