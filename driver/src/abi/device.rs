//! Start, errors, devices.

use std::ffi::{c_char, c_int, c_uint};

use cudarc::driver::sys::{CUdevice, CUmemoryPool, CUresult, CUuuid};

use super::context::started;
use super::functions;
use super::pointers::{In, Out};
use crate::attribute;
use crate::machine::{Machine, machine};
use crate::status::{Answer, describe};

/// The version of CUDA whose interface this is, in part.
const VERSION: c_int = 13_000;

/// Of `CUmemPool_attribute`: up to this one they are ints, and numbers of 64 bits from there on.
const LAST_INT_ATTRIBUTE: c_uint = 3;

/// The device's memory pool, which stands for all.
const POOL: usize = 0x10;

impl Machine {
    /// Fails where the ordinal is not that of the one device.
    pub(super) fn check_device(&self, device: CUdevice) -> Answer {
        if device == 0 { Ok(()) } else { Err(CUresult::CUDA_ERROR_INVALID_DEVICE) }
    }
}

fn pool() -> CUmemoryPool {
    std::ptr::without_provenance_mut(POOL)
}

functions! {
    fn cuInit(flags: c_uint) {
        if flags != 0 {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        machine().is_initialised = true;
        Ok(())
    }
    fn cuDriverGetVersion(version: Out<c_int>) {
        version.put(VERSION)
    }
    fn cuGetErrorName(status: c_uint, name: Out<*const c_char>) {
        let [of, _] = describe(status).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        name.put(of.as_ptr())
    }
    fn cuGetErrorString(status: c_uint, text: Out<*const c_char>) {
        let [_, of] = describe(status).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        text.put(of.as_ptr())
    }
    fn cuDeviceGetCount(count: Out<c_int>) {
        drop(started()?);
        count.put(1)
    }
    fn cuDeviceGet(device: Out<CUdevice>, ordinal: c_int) {
        started()?.check_device(ordinal)?;
        device.put(ordinal)
    }
    fn cuDeviceGetName(name: Out<u8>, length: c_int, device: CUdevice) {
        let machine = started()?;
        machine.check_device(device)?;
        let room = usize::try_from(length).unwrap_or_default().saturating_sub(1);
        name.put_all(machine.device.emulated_name().bytes().take(room).chain([0]))
    }
    fn cuDeviceGetUuid_v2(uuid: Out<CUuuid>, device: CUdevice) {
        started()?.check_device(device)?;
        uuid.put(CUuuid { bytes: b"ptx-emu's device".map(|byte| byte as c_char) })
    }
    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: CUdevice) {
        let machine = started()?;
        machine.check_device(device)?;
        bytes.put(machine.device.memory_bytes as usize)
    }
    fn cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: CUdevice) {
        let machine = started()?;
        machine.check_device(device)?;
        value.put(attribute::of_device(machine.device, attribute))
    }
    fn cuDeviceCanAccessPeer(can: Out<c_int>, _device: CUdevice, _peer: CUdevice) {
        can.put(0)
    }
    fn cuDeviceGetDefaultMemPool(out: Out<CUmemoryPool>, device: CUdevice) {
        started()?.check_device(device)?;
        out.put(pool())
    }
    fn cuDeviceGetMemPool(out: Out<CUmemoryPool>, device: CUdevice) {
        started()?.check_device(device)?;
        out.put(pool())
    }
    fn cuDeviceSetMemPool(device: CUdevice, _pool: CUmemoryPool) {
        started()?.check_device(device)
    }
    fn cuMemPoolGetAttribute(_pool: CUmemoryPool, attribute: c_uint, value: Out<u64>) {
        if attribute <= LAST_INT_ATTRIBUTE { value.cast::<c_int>().put(0) } else { value.put(0) }
    }
    fn cuMemPoolSetAttribute(_pool: CUmemoryPool, _attribute: c_uint, _value: In<u64>) {
        Ok(())
    }
    fn cuMemPoolTrimTo(_pool: CUmemoryPool, _bytes: usize) {
        Ok(())
    }
    // Every pool is the device's.
    fn cuMemPoolCreate(out: Out<CUmemoryPool>, _properties: In<u8>) {
        drop(started()?);
        out.put(pool())
    }
}
