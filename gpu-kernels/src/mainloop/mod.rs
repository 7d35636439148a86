//! Mainloops that several steps share: what runs along k, from tiles in global memory to accumulators.

pub(crate) mod any_layout;
#[cfg(feature = "device")]
pub(crate) mod cp_async_tiles;
pub(crate) mod gemv;
#[cfg(feature = "device")]
pub(crate) mod gmem;
pub(crate) mod half_tile;
pub(crate) mod long;
pub(crate) mod narrow;
#[cfg(feature = "device")]
pub(crate) mod operand_copy;
pub(crate) mod outer_product;
pub(crate) mod simt_tma;
pub(crate) mod split_mma;
pub(crate) mod square_tile;
pub(crate) mod strip;
pub(crate) mod tf32_tile;
#[cfg(feature = "device")]
pub(crate) mod thread_tile;
pub(crate) mod warp_specialized;
#[cfg(feature = "device")]
pub(crate) mod warp_tile;

/// Lanes of a warp along m and n, on the CUDA cores.
pub(crate) const LANES_M: u32 = 8;
pub(crate) const LANES_N: u32 = 4;

/// Work on one tile of C: the mainloop adds the products of these k-tiles.
#[cfg(feature = "device")]
pub(crate) struct WorkTile {
    /// The tile's first row.
    pub row: u32,
    /// The tile's first column.
    pub col: u32,
    pub k_tiles: core::ops::Range<u32>,
}
