//! Which of a block's sums a thread has partial sums of, and where these are published.

use super::{PITCH, THREADS};

/// A thread's place among those of its block: bundles of threads share the rows, groups of them k.
#[derive(Clone, Copy)]
pub(crate) struct Placement {
    /// Bundles, a power of two: 2^that.
    pub bundles_log2: u32,
    pub bundle: u32,
    pub group: u32,
    /// Rows of a bundle: 2^that.
    pub rows_log2: u32,
    /// Whether these are adjacent, or else as far apart as there are bundles.
    pub has_adjacent_rows: bool,
}

impl Placement {
    /// Groups, a power of two.
    #[inline(always)]
    pub fn groups(self) -> u32 {
        THREADS >> self.bundles_log2
    }

    /// Rows of all bundles: 2^that.
    #[inline(always)]
    pub fn block_rows_log2(self) -> u32 {
        self.bundles_log2 + self.rows_log2
    }

    /// Of a row of the block, the bundle and which of its rows it is.
    #[inline(always)]
    pub fn of_row(self, row: u32) -> (u32, u32) {
        let parts = |low_bits: u32| (row >> low_bits, row & ((1 << low_bits) - 1));
        if self.has_adjacent_rows {
            parts(self.rows_log2)
        } else {
            let (i, bundle) = parts(self.bundles_log2);
            (bundle, i)
        }
    }

    /// Where a partial sum is published. Neither those of adjacent bundles nor those of adjacent groups share a bank.
    #[inline(always)]
    pub fn place(self, vector: u32, of_bundle: u32, bundle: u32, group: u32) -> u32 {
        let thread = (group << self.bundles_log2) | (bundle ^ (group & ((1 << self.bundles_log2) - 1)));
        ((vector << self.rows_log2) + of_bundle) * PITCH + thread
    }

    /// Publishes this thread's partial sum of a vector and a row of its bundle.
    ///
    /// # Safety
    /// `smem` has [`smem_bytes`](super::reduction::smem_bytes), which no thread uses for something else any more.
    #[inline(always)]
    pub unsafe fn publish(self, smem: *mut f32, vector: usize, of_bundle: usize, sum: f32) {
        let place = self.place(vector as u32, of_bundle as u32, self.bundle, self.group);
        // SAFETY: within shared memory.
        unsafe { *smem.add(place as usize) = sum };
    }
}
