//! Sizes that the hardware fixes, for what is computed from them at compile time.

/// Threads of a warp.
pub const WARP: u32 = 32;
/// Threads of a warpgroup.
pub(crate) const WARPGROUP: u32 = 128;
/// f32 values of a 128-bit access.
pub(crate) const VEC: u32 = 4;
/// Bytes of a sector, the unit in which global memory is read and written.
pub const SECTOR_BYTES: u32 = 32;
/// Bytes of a cache line.
pub const LINE_BYTES: u32 = 128;

/// Rows of the accumulators of one `wgmma`.
pub(crate) const WGMMA_M: u32 = 64;
/// Bytes of a row of an operand in shared memory, under the 128-byte swizzle.
pub const SWIZZLE_BYTES: u32 = 128;
/// Bytes of a swizzle atom, of eight such rows: the alignment of an operand of `wgmma`.
pub(crate) const SWIZZLE_ATOM_BYTES: u32 = 8 * SWIZZLE_BYTES;
