//! The sizes that the whole ladder is run at, m = n = k.

use std::time::Duration;

/// Sizes on a device: from those that do not fill it to those that do for long, and one that is no multiple of a tile.
pub const MEASURED: &[u32] = &[256, 512, 1024, 2048, 4092, 4096, 8192];

/// Sizes in the emulator: those that it can say most about in a few minutes. What is no multiple of a tile is a matter of edges,
/// of which every sample has all kinds.
pub const EMULATED: &[u32] = &[512, 1024, 2048, 4096];

/// How speed grows with the size, and where it stops.
pub const GROWTH: &[u32] = &[
    128, 256, 384, 512, 768, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584, 4096, 5120, 6144, 7168, 8192, 10240,
    12288, 14336, 16384,
];

/// The one size of a quick look.
pub const QUICK: u32 = 1024;

/// How long all kernels together run in the emulator before blocks are left out; those that must run, run all the same.
pub const BUDGET: Duration = Duration::from_secs(40);

/// The same of a quick look.
pub const QUICK_BUDGET: Duration = Duration::from_secs(5);
