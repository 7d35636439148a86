//! Contexts, primary and others. All are of the one device, and share what it has.

use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys::{CUcontext, CUdevice, CUresult};

use super::functions;
use super::pointers::{In, Out};
use crate::attribute::PRIORITIES;
use crate::handles::fresh;
use crate::machine::{Machine, Primary, current, in_context, machine, waited, with_contexts};
use crate::status::Answer;

/// Of `cuCtxGetLimit`: what is never exceeded here.
const LIMIT: usize = 1 << 20;

/// A version of the interface: `cuCtxGetApiVersion`.
const API_VERSION: c_uint = 3020;

fn create(context: Out<CUcontext>, flags: c_uint, device: CUdevice) -> Answer {
    let mut machine = started()?;
    machine.check_device(device)?;
    let handle: CUcontext = machine.contexts.insert(flags);
    with_contexts(|contexts| contexts.push(handle.addr()));
    context.put(handle)
}

fn destroy(context: CUcontext) -> Answer {
    machine().contexts.remove(context).map_err(|_| CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
    with_contexts(|contexts| contexts.retain(|known| *known != context.addr()));
    Ok(())
}

/// The machine once `cuInit` was called.
pub(super) fn started() -> Answer<std::sync::MutexGuard<'static, Machine>> {
    let machine = machine();
    if machine.is_initialised { Ok(machine) } else { Err(CUresult::CUDA_ERROR_NOT_INITIALIZED) }
}

/// Fails where the context is none.
fn check(context: CUcontext) -> Answer {
    let machine = started()?;
    let is_primary = machine.primary.as_ref().is_some_and(|primary| primary.address == context.addr());
    if is_primary || machine.contexts.get(context).is_ok() { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_CONTEXT) }
}

functions! {
    fn cuDevicePrimaryCtxRetain(context: Out<CUcontext>, device: CUdevice) {
        let mut machine = started()?;
        machine.check_device(device)?;
        let primary = machine.primary.get_or_insert_with(|| {
            let address = fresh();
            Primary { address, id: address, retained: 0 }
        });
        primary.retained += 1;
        context.put(std::ptr::without_provenance_mut(primary.address))
    }
    fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) {
        let mut machine = started()?;
        machine.check_device(device)?;
        let primary = machine.primary.as_mut().filter(|primary| primary.retained > 0);
        primary.ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?.retained -= 1;
        Ok(())
    }
    fn cuDevicePrimaryCtxReset_v2(device: CUdevice) {
        let mut machine = started()?;
        machine.check_device(device)?;
        machine.reset_primary();
        Ok(())
    }
    fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, _flags: c_uint) {
        started()?.check_device(device)
    }
    fn cuDevicePrimaryCtxGetState(device: CUdevice, flags: Out<c_uint>, active: Out<c_int>) {
        let machine = started()?;
        machine.check_device(device)?;
        flags.put_if_asked(0);
        active.put(machine.primary.as_ref().is_some_and(|primary| primary.retained > 0).into())
    }
    fn cuCtxCreate_v2(context: Out<CUcontext>, flags: c_uint, device: CUdevice) {
        create(context, flags, device)
    }
    fn cuCtxCreate_v3(context: Out<CUcontext>, _affinity: In<c_void>, _count: c_int, flags: c_uint, device: CUdevice) {
        create(context, flags, device)
    }
    fn cuCtxCreate_v4(context: Out<CUcontext>, _parameters: In<c_void>, flags: c_uint, device: CUdevice) {
        create(context, flags, device)
    }
    fn cuCtxDestroy_v2(context: CUcontext) {
        destroy(context)
    }
    fn cuCtxGetCurrent(context: Out<CUcontext>) {
        drop(started()?);
        context.put(current())
    }
    fn cuCtxSetCurrent(context: CUcontext) {
        if !context.is_null() {
            check(context)?;
        }
        with_contexts(|contexts| {
            contexts.pop();
            if !context.is_null() {
                contexts.push(context.addr());
            }
        });
        Ok(())
    }
    fn cuCtxPushCurrent_v2(context: CUcontext) {
        check(context)?;
        with_contexts(|contexts| contexts.push(context.addr()));
        Ok(())
    }
    fn cuCtxPopCurrent_v2(context: Out<CUcontext>) {
        let popped = with_contexts(Vec::pop).ok_or(CUresult::CUDA_ERROR_INVALID_CONTEXT)?;
        context.put_if_asked(std::ptr::without_provenance_mut(popped));
        Ok(())
    }
    fn cuCtxGetDevice(device: Out<CUdevice>) {
        if current().is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_CONTEXT);
        }
        device.put(0)
    }
    fn cuCtxGetId(context: CUcontext, id: Out<u64>) {
        let asked = if context.is_null() { current() } else { context };
        check(asked)?;
        let primary = started()?.primary.as_ref().filter(|primary| primary.address == asked.addr()).map(|primary| primary.id);
        id.put(primary.unwrap_or_else(|| asked.addr()) as u64)
    }
    fn cuCtxSynchronize() {
        waited()?.forbid_in_capture()
    }
    fn cuCtxGetApiVersion(_context: CUcontext, version: Out<c_uint>) {
        version.put(API_VERSION)
    }
    fn cuCtxGetFlags(flags: Out<c_uint>) {
        let machine = in_context()?;
        flags.put(machine.contexts.get(current()).copied().unwrap_or_default())
    }
    fn cuCtxSetFlags(_flags: c_uint) {
        in_context().map(drop)
    }
    fn cuCtxGetLimit(value: Out<usize>, _limit: c_uint) {
        drop(in_context()?);
        value.put(LIMIT)
    }
    fn cuCtxSetLimit(_limit: c_uint, _value: usize) {
        in_context().map(drop)
    }
    fn cuCtxGetCacheConfig(config: Out<c_uint>) {
        drop(in_context()?);
        config.put(0)
    }
    fn cuCtxSetCacheConfig(_config: c_uint) {
        in_context().map(drop)
    }
    fn cuCtxGetSharedMemConfig(config: Out<c_uint>) {
        drop(in_context()?);
        config.put(1)
    }
    fn cuCtxSetSharedMemConfig(_config: c_uint) {
        in_context().map(drop)
    }
    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        drop(in_context()?);
        least.put_if_asked(PRIORITIES[0]);
        greatest.put_if_asked(PRIORITIES[1]);
        Ok(())
    }
}
