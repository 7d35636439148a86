//! A thread's place in its block and in the grid, and the barriers of a block.

use crate::gpu_only;

macro_rules! special_register {
    ($($(#[$doc:meta])* $name:ident = $intrinsic:ident;)*) => {$(
        $(#[$doc])*
        #[gpu_only]
        #[inline(always)]
        #[must_use]
        pub fn $name() -> u32 {
            // SAFETY: reads a special register; always defined.
            unsafe { core::arch::nvptx::$intrinsic() as u32 }
        }
    )*};
}

special_register! {
    /// The thread's x index in its block.
    thread_idx_x = _thread_idx_x;
    /// The thread's y index in its block.
    thread_idx_y = _thread_idx_y;
    /// The thread's z index in its block.
    thread_idx_z = _thread_idx_z;
    /// The block's x index in the grid.
    block_idx_x = _block_idx_x;
    /// The block's y index in the grid.
    block_idx_y = _block_idx_y;
    /// The block's z index in the grid.
    block_idx_z = _block_idx_z;
    /// Threads per block along x.
    block_dim_x = _block_dim_x;
    /// Threads per block along y.
    block_dim_y = _block_dim_y;
    /// Threads per block along z.
    block_dim_z = _block_dim_z;
    /// Blocks in the grid along x.
    grid_dim_x = _grid_dim_x;
    /// Blocks in the grid along y.
    grid_dim_y = _grid_dim_y;
    /// Blocks in the grid along z.
    grid_dim_z = _grid_dim_z;
}

/// The thread's x index in the whole grid: `block_idx_x * block_dim_x + thread_idx_x`.
#[inline(always)]
#[must_use]
pub fn index_1d() -> u32 {
    block_idx_x() * block_dim_x() + thread_idx_x()
}

/// Waits until every thread of the block is here; what each wrote to shared and global memory before it is then visible
/// to all of them. Every thread of the block must reach it.
#[gpu_only]
#[inline(always)]
pub fn sync_threads() {
    // SAFETY: a barrier has no preconditions beyond the one documented, whose breach hangs or faults the kernel.
    unsafe { core::arch::nvptx::_syncthreads() }
}
