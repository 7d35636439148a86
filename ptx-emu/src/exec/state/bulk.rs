//! Bulk copies in flight: `cp.async.bulk`.

use std::sync::Arc;

use crate::check::Since;
use crate::memory::{Run, Swizzle};
use crate::program::{Pc, Reduce};

/// Alignment of addresses and sizes; also the granularity of swizzling.
pub(crate) const CHUNK_BYTES: u32 = 16;

/// A bulk copy in flight.
#[derive(Debug)]
pub(crate) struct PendingBulk {
    pub pc: Pc,
    /// The warp's index in the cluster.
    pub warp: usize,
    pub lane: usize,
    pub copy: BulkCopy,
    pub end: End,
    pub since: Option<Since>,
}

/// The source and destination of a bulk copy.
#[derive(Debug, Clone)]
pub(crate) struct BulkCopy {
    /// Contiguous runs in global memory and their offsets in shared memory. Bytes outside of all runs are zero-filled.
    pub runs: Arc<[Run]>,
    /// Rows in shared memory: address of the first, count, bytes, and distance.
    pub shared: u64,
    pub rows: u32,
    pub row_bytes: u32,
    pub pitch: u32,
    pub swizzle: Swizzle,
    /// Alignment of the address in shared memory.
    pub alignment: u32,
    /// What becomes of the elements in global memory, if they are not replaced.
    pub reduce: Option<Reduce>,
}

impl BulkCopy {
    /// Bytes copied or zero-filled.
    pub(crate) fn bytes(&self) -> u32 {
        self.rows * self.row_bytes
    }

    /// Their address ranges in shared memory.
    pub(crate) fn chunks(&self) -> Vec<(u64, u32)> {
        if self.row_bytes == self.pitch {
            // A swizzle permutes chunks within the range.
            return if self.bytes() == 0 { vec![] } else { vec![(self.shared, self.bytes())] };
        }
        let starts = (0..self.rows).map(|row| self.shared + u64::from(row) * u64::from(self.pitch));
        let chunks = starts.flat_map(|start| (start..start + u64::from(self.row_bytes)).step_by(CHUNK_BYTES as usize));
        chunks.map(|chunk| (self.swizzle.apply(chunk), CHUNK_BYTES)).collect()
    }
}

/// How a copy signals completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// To shared memory: at the mbarrier of this address.
    Barrier(u64),
    /// To global memory: with that bulk group of the thread.
    Group(u32),
}
