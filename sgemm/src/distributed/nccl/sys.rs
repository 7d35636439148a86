//! NCCL's C interface, as far as it is used: types and the configuration as `nccl.h` of 2.28 has them.
//!
//! Why not cudarc's: its loader never tries `libnccl.so.2`, which is what packages install; its safe communicator has neither abort nor
//! configuration nor a deadline, and panics where it is dropped after a failure; and its bindings panic for a function that is missing,
//! where this crate has a line to say.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use cudarc::driver::sys::CUstream;

/// `ncclComm_t`: a communicator.
pub type NcclComm = *mut c_void;

/// `ncclWindow_t`: memory that all ranks of a communicator have registered.
pub type NcclWindow = *mut c_void;

/// Bytes of `ncclUniqueId`.
pub const ID_BYTES: usize = 128;

/// `ncclUniqueId`, which is passed by value.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct UniqueId(pub [c_char; ID_BYTES]);

/// `ncclResult_t`: a number, since a library may know more of them than this file.
pub type Status = c_int;

/// `ncclSuccess`.
pub const SUCCESS: Status = 0;

/// `ncclInProgress`: what a non-blocking communicator says until it is ready again.
pub const IN_PROGRESS: Status = 7;

/// `ncclUint8`.
pub const UINT8: c_int = 1;

/// `ncclUint64`.
pub const UINT64: c_int = 5;

/// `ncclFloat32`.
pub const FLOAT32: c_int = 7;

/// `ncclFloat64`.
pub const FLOAT64: c_int = 8;

/// `ncclSum`.
pub const SUM: c_int = 0;

/// `ncclMax`.
pub const MAX: c_int = 2;

/// `NCCL_WIN_COLL_SYMMETRIC`: at the same offset on all ranks.
pub const WINDOW_SYMMETRIC: c_int = 1;

/// `NCCL_CTA_POLICY_ZERO`: copy engines instead of kernels, where there is a choice.
pub const CTA_POLICY_ZERO: c_int = 2;

/// `NCCL_CONFIG_UNDEF_INT`: NCCL's own choice.
pub const UNDEFINED: c_int = c_int::MIN;

/// The version whose configuration [`Config`] is.
pub const CONFIG_VERSION: c_int = 22800;

/// `ncclConfig_v22800`. A library that has a shorter one reads no further than that, and one that has a longer one takes its defaults for
/// what it finds neither in `size` nor in `version`: `parseCommConfig` of NCCL's `init.cc`, from 2.18 to 2.30.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Config {
    /// Bytes of this.
    pub size: usize,
    /// `0xcafebeef`.
    pub magic: u32,
    /// That of the header.
    pub version: u32,
    /// 0: calls return at once, and the communicator is asked until it is ready.
    pub blocking: c_int,
    pub cga_cluster_size: c_int,
    pub min_ctas: c_int,
    pub max_ctas: c_int,
    pub net_name: *const c_char,
    pub split_share: c_int,
    pub traffic_class: c_int,
    pub comm_name: *const c_char,
    pub collnet_enable: c_int,
    pub cta_policy: c_int,
    pub shrink_share: c_int,
    pub nvls_ctas: c_int,
    pub channels_per_net_peer: c_int,
    pub nvlink_centric_sched: c_int,
}

impl Config {
    /// Of a communicator whose calls return at once.
    pub const NON_BLOCKING: Self = Self {
        size: size_of::<Self>(),
        magic: 0xcafe_beef,
        version: CONFIG_VERSION as u32,
        blocking: 0,
        cga_cluster_size: UNDEFINED,
        min_ctas: UNDEFINED,
        max_ctas: UNDEFINED,
        net_name: ptr::null(),
        split_share: UNDEFINED,
        traffic_class: UNDEFINED,
        comm_name: ptr::null(),
        collnet_enable: UNDEFINED,
        cta_policy: UNDEFINED,
        shrink_share: UNDEFINED,
        nvls_ctas: UNDEFINED,
        channels_per_net_peer: UNDEFINED,
        nvlink_centric_sched: UNDEFINED,
    };
}

pub type GetVersion = unsafe extern "C" fn(*mut c_int) -> Status;
pub type GetUniqueId = unsafe extern "C" fn(*mut UniqueId) -> Status;
pub type GetErrorString = unsafe extern "C" fn(Status) -> *const c_char;
pub type GetLastError = unsafe extern "C" fn(NcclComm) -> *const c_char;
pub type InitRank = unsafe extern "C" fn(*mut NcclComm, c_int, UniqueId, c_int, *mut Config) -> Status;
pub type Split = unsafe extern "C" fn(NcclComm, c_int, c_int, *mut NcclComm, *mut Config) -> Status;
pub type OfComm = unsafe extern "C" fn(NcclComm) -> Status;
pub type AskComm = unsafe extern "C" fn(NcclComm, *mut c_int) -> Status;
pub type AllGather = unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, NcclComm, CUstream) -> Status;
pub type Reduce = unsafe extern "C" fn(*const c_void, *mut c_void, usize, c_int, c_int, NcclComm, CUstream) -> Status;
pub type MemAlloc = unsafe extern "C" fn(*mut *mut c_void, usize) -> Status;
pub type MemFree = unsafe extern "C" fn(*mut c_void) -> Status;
pub type Register = unsafe extern "C" fn(NcclComm, *mut c_void, usize, *mut NcclWindow, c_int) -> Status;
pub type Deregister = unsafe extern "C" fn(NcclComm, NcclWindow) -> Status;

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// As a C compiler lays out `ncclConfig_v22800` on 64-bit machines.
    #[test]
    fn the_configuration_is_laid_out_as_in_c() {
        assert_eq!(size_of::<Config>(), 80);
        let offsets = [
            offset_of!(Config, size),
            offset_of!(Config, magic),
            offset_of!(Config, version),
            offset_of!(Config, blocking),
            offset_of!(Config, cga_cluster_size),
            offset_of!(Config, min_ctas),
            offset_of!(Config, max_ctas),
            offset_of!(Config, net_name),
            offset_of!(Config, split_share),
            offset_of!(Config, traffic_class),
            offset_of!(Config, comm_name),
            offset_of!(Config, collnet_enable),
            offset_of!(Config, cta_policy),
            offset_of!(Config, shrink_share),
            offset_of!(Config, nvls_ctas),
            offset_of!(Config, channels_per_net_peer),
            offset_of!(Config, nvlink_centric_sched),
        ];
        assert_eq!(offsets, [0, 8, 12, 16, 20, 24, 28, 32, 40, 44, 48, 56, 60, 64, 68, 72, 76]);
        assert_eq!(size_of::<UniqueId>(), ID_BYTES);
    }
}
