//! Memory for workspaces: what the program gave its handles, and a pool of our own below a limit.

use std::collections::HashMap;
use std::ptr;
use std::sync::{PoisonError, RwLock};

use sgemm::cuda::{CUdeviceptr, CUstream};
use sgemm::cudarc::driver::sys::{
    self, CUmemAllocationType, CUmemLocationType, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool, CUresult,
};
use sgemm::plan::WORKSPACE_ALIGNMENT;

use crate::abi::Handle;
use crate::call::Workspace;

/// What part of a device's memory the pool may take where nothing else is said.
const PART_OF_DEVICE: u64 = 16;

/// Workspaces by the handle's address.
static GIVEN: RwLock<Option<HashMap<usize, Workspace>>> = RwLock::new(None);

/// The program gave a handle a workspace, or took it back.
pub fn give(handle: Handle, workspace: Option<Workspace>) {
    let mut given = GIVEN.write().unwrap_or_else(PoisonError::into_inner);
    match workspace {
        Some(workspace) => drop(given.get_or_insert_default().insert(handle.addr(), workspace)),
        None => drop(given.as_mut().and_then(|given| given.remove(&handle.addr()))),
    }
}

/// The workspace of a handle: of no bytes where the program gave none.
pub fn given(handle: Handle) -> Workspace {
    let given = GIVEN.read().unwrap_or_else(PoisonError::into_inner);
    given.as_ref().and_then(|given| given.get(&handle.addr()).copied()).unwrap_or_default()
}

impl Workspace {
    /// Where so many bytes begin in it, as plans need them aligned.
    pub fn place(self, bytes: u64) -> Option<CUdeviceptr> {
        let begin = self.address.checked_next_multiple_of(WORKSPACE_ALIGNMENT)?;
        let has_room = begin.checked_add(bytes)? <= self.address.checked_add(self.bytes)?;
        (self.address != 0 && has_room).then_some(begin)
    }
}

/// A device's pool. What is freed stays in it, for the next call.
pub struct Pool {
    pool: CUmemoryPool,
    most_bytes: u64,
}

// SAFETY: a handle of the driver, which any thread may use, and which is not changed.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Pool {
    /// A pool of at most so many bytes; `None` where the device has none such.
    pub fn new(device: i32, most_bytes: Option<u64>) -> Option<Self> {
        let mut total = 0;
        // SAFETY: a place for a number.
        succeeded(unsafe { sys::cuDeviceTotalMem_v2(&raw mut total, device) })?;
        let most_bytes = most_bytes.unwrap_or(total as u64 / PART_OF_DEVICE);
        // SAFETY: all fields are numbers and pointers, for which zeros stand for what is not asked for.
        let mut properties: CUmemPoolProps = unsafe { std::mem::zeroed() };
        properties.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location.type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
        properties.location.__bindgen_anon_1.id = device;
        properties.maxSize = usize::try_from(most_bytes).unwrap_or(usize::MAX);
        let (mut pool, mut kept) = (ptr::null_mut(), most_bytes);
        let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: a place for a pool, and its properties; then a number of 64 bits, as that attribute is.
        unsafe {
            succeeded(sys::cuMemPoolCreate(&raw mut pool, &raw const properties))?;
            succeeded(sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut kept).cast()))?;
        }
        Some(Self { pool, most_bytes })
    }

    /// The most that it ever holds.
    pub fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// Memory in the stream's order; `None` where that would be above the limit, or the device has no room.
    ///
    /// # Safety
    /// The stream is one of the pool's device, and not captured.
    pub unsafe fn allocate(&self, bytes: u64, stream: CUstream) -> Option<CUdeviceptr> {
        let size = usize::try_from(bytes).ok().filter(|_| bytes <= self.most_bytes)?;
        let mut address = 0;
        // SAFETY: a place for an address; the rest is upheld by the caller.
        succeeded(unsafe { sys::cuMemAllocFromPoolAsync(&raw mut address, size, self.pool, stream) })?;
        Some(address)
    }
}

/// Frees memory in the stream's order.
///
/// # Safety
/// It was allocated by a pool for that stream, and nothing that is queued later uses it.
pub unsafe fn free(address: CUdeviceptr, stream: CUstream) {
    // SAFETY: upheld by the caller. A driver that refuses leaves nothing to do.
    let _ = unsafe { sys::cuMemFreeAsync(address, stream) };
}

fn succeeded(status: CUresult) -> Option<()> {
    (status == CUresult::CUDA_SUCCESS).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_has_room_behind_its_first_aligned_address() {
        let workspace = Workspace { address: 0x1010, bytes: 0x1000 };
        assert_eq!(workspace.place(0xf10), Some(0x1100));
        assert_eq!(workspace.place(0xf11), None);
        assert_eq!(workspace.place(u64::MAX), None);
        assert_eq!(Workspace::default().place(0), None);
    }

    #[test]
    fn handles_have_what_they_were_given_last() {
        let handle = ptr::without_provenance_mut(0xabc0);
        let workspace = Workspace { address: 0x1000, bytes: 64 };
        assert_eq!(given(handle), Workspace::default());
        give(handle, Some(workspace));
        assert_eq!(given(handle), workspace);
        give(handle, None);
        assert_eq!(given(handle), Workspace::default());
    }
}
