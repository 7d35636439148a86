//! The memory that plans take beside operands.

use std::sync::Arc;

use cudarc::driver::sys;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtrMut, SyncOnDrop};
use gpu_kernels::Ab;

use super::driver::{checked, failed};
use crate::Error;
use crate::plan::{Address, Buffer, Buffers, Place, Plan, WORKSPACE_ALIGNMENT};

/// Device memory for plans to compute in: any plans of a handle that need no more bytes, one after the other in the order of streams.
///
/// Flags of stream-K lie before the rest. They are zero between runs, so that no run but the first needs to clear them: hence
/// this type, where bytes alone would do otherwise.
#[derive(Debug)]
pub struct Workspace {
    /// One slice: each costs every run the events by which cudarc orders streams.
    memory: CudaSlice<u8>,
    flags: usize,
    /// Whether a run broke off in the midst of its launches.
    is_dirty: bool,
}

impl Workspace {
    /// Of so many bytes, with flags for any kernel on a device of so many SMs.
    pub(super) fn new(stream: &Arc<CudaStream>, sm_count: u32, bytes: u64) -> Result<Self, Error> {
        let what = || format!("allocate {bytes} bytes of workspace");
        let flags = sm_count as usize * MAX_BLOCKS_PER_SM;
        let all = usize::try_from(bytes).unwrap_or(usize::MAX).saturating_add(flag_bytes(flags));
        // SAFETY: no plan reads what it has not written there, but for the flags, which the first run clears.
        let memory = unsafe { stream.alloc(all) }.map_err(|error| failed(what(), error))?;
        Ok(Self { memory, flags, is_dirty: true })
    }

    /// Its bytes, without those of the flags.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.memory.len() - flag_bytes(self.flags)) as u64
    }

    pub(super) fn context(&self) -> &Arc<CudaContext> {
        self.memory.context()
    }

    /// Checks that the plan has room.
    pub(super) fn check(&self, plan: &Plan, are_prepared: Ab<bool>) -> Result<(), Error> {
        let least = memory_bytes(plan, are_prepared);
        if self.bytes() < least { Err(Error::WorkspaceTooSmall { bytes: self.bytes(), least }) } else { Ok(()) }
    }

    /// Before a run's launches: clears all flags at first, and where an earlier run broke off. Until [`Self::finish`], this one counts as
    /// if.
    ///
    /// # Safety
    /// The stream's context is current.
    pub(super) unsafe fn begin(&mut self, stream: &CudaStream) -> Result<(), Error> {
        if std::mem::replace(&mut self.is_dirty, true) {
            let words = self.flags;
            let (flags, _written) = self.memory.device_ptr_mut(stream);
            // SAFETY: the slice begins with so many words, and the guard orders what other streams do to it.
            let status = unsafe { sys::cuMemsetD32Async(flags, 0, words, stream.cu_stream()) };
            checked(status, || "clear the flags of the workspace".into())?;
        }
        Ok(())
    }

    /// All launches of a run are queued, so that it leaves the flags as they were.
    pub(super) fn finish(&mut self) {
        self.is_dirty = false;
    }

    /// Words that a run of the plan, without prepared operands, left in the memory: so many at that place.
    pub(super) fn words(
        &self,
        stream: &Arc<CudaStream>,
        plan: &Plan,
        (place, count): (Place, u32),
    ) -> Result<Vec<i32>, Error> {
        let parts = plan.part_bytes().with(Buffer::Flags, 0).at(0);
        let first = flag_bytes(self.flags) + place.address(&parts) as usize;
        let words = self.memory.slice(first..first + count as usize * 4);
        let bytes = stream.clone_dtoh(&words).map_err(|error| failed("read the workspace".into(), error))?;
        Ok(bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)).collect())
    }

    /// Where it is, in the stream's order, and what has to be dropped after the launches.
    pub(super) fn bind<'a>(&'a mut self, stream: &'a CudaStream) -> (Location, SyncOnDrop<'a>) {
        let behind_flags = flag_bytes(self.flags) as u64;
        let (flags, guard) = self.memory.device_ptr_mut(stream);
        (Location { flags, memory: flags + behind_flags }, guard)
    }
}

/// Where a workspace is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Location {
    flags: Address,
    memory: Address,
}

impl Location {
    /// Where the plan's parts are.
    pub(super) fn parts(self, plan: &Plan, are_prepared: Ab<bool>) -> Buffers<Address> {
        plan.part_bytes_with(are_prepared).with(Buffer::Flags, 0).at(self.memory).with(Buffer::Flags, self.flags)
    }
}

/// Bytes of so many flags and what aligns the parts behind them.
fn flag_bytes(flags: usize) -> usize {
    (flags * 4).next_multiple_of(WORKSPACE_ALIGNMENT as usize)
}

/// Bytes of a plan's workspace without its flags.
pub(super) fn memory_bytes(plan: &Plan, are_prepared: Ab<bool>) -> u64 {
    plan.part_bytes_with(are_prepared).with(Buffer::Flags, 0).total_bytes()
}

/// Blocks that any device has resident on an SM, and so flags of stream-K.
const MAX_BLOCKS_PER_SM: usize = 32;
