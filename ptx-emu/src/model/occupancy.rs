//! Occupancy: resident blocks and warps of an SM, and the limiting resource.

use serde::Serialize;

use super::device::Device;
use crate::syntax::LaunchBounds;

/// Allocation granularity of registers per warp, and of warps over the SM's four partitions. CUDA Occupancy Calculator,
/// "GPU Data", compute capability 8.0 to 10.0.
const REGISTER_GRANULARITY: u32 = 256;
const WARP_GRANULARITY: u32 = 4;

/// Allocation granularity of shared memory, and the driver's reservation per block, in bytes.
const SHARED_GRANULARITY: u32 = 128;
const SHARED_RESERVED: u32 = 1024;

/// Registers of a thread at most.
const MAX_REGISTERS: u32 = 255;

/// Registers that a compiler needs beyond the live values, for addresses and loads in flight.
const REGISTER_SLACK: u32 = 6;

/// Resources of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Shared memory of a block in bytes, static and dynamic.
    pub shared_bytes: u32,
}

/// Occupancy of an SM.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Occupancy {
    /// Resident blocks.
    pub blocks: u32,
    /// Resident warps.
    pub warps: u32,
    /// Resident warps as a share of the maximum: 0 to 1.
    pub share: f64,
    /// The limiting resource.
    pub limit: Limit,
}

/// A resource of an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Its threads.
    Threads,
    /// Its registers.
    Registers,
    /// Its shared memory.
    SharedMemory,
    /// The number of resident blocks.
    Blocks,
}

impl Limit {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::Registers => "registers",
            Self::SharedMemory => "shared memory",
            Self::Blocks => "blocks",
        }
    }
}

impl Occupancy {
    /// The occupancy of blocks with these resources on this device; 0 blocks if none fits.
    ///
    /// ```
    /// use ptx_emu::device::Device;
    /// use ptx_emu::occupancy::{Limit, Occupancy, Resources};
    ///
    /// let h200 = Device::find("h200").expect("it is known");
    /// let resources = Resources { threads: 256, registers: 128, shared_bytes: 16 << 10 };
    /// let occupancy = Occupancy::new(h200, &resources);
    /// // 65536 registers are enough for 512 threads, of 2048.
    /// assert_eq!((occupancy.blocks, occupancy.share, occupancy.limit), (2, 0.25, Limit::Registers));
    /// ```
    #[must_use]
    pub fn new(device: &Device, resources: &Resources) -> Self {
        let warps = resources.threads.div_ceil(32).max(1);
        let per_warp = (resources.registers.max(1) * 32).next_multiple_of(REGISTER_GRANULARITY);
        let warps_by_registers = device.registers / per_warp / WARP_GRANULARITY * WARP_GRANULARITY;
        let shared = (resources.shared_bytes + SHARED_RESERVED).next_multiple_of(SHARED_GRANULARITY);
        let limits = [
            (device.threads / 32 / warps, Limit::Threads),
            (warps_by_registers / warps, Limit::Registers),
            (device.shared_bytes / shared, Limit::SharedMemory),
            (device.blocks, Limit::Blocks),
        ];
        let (blocks, limit) = limits.into_iter().min_by_key(|(blocks, _)| *blocks).unwrap_or((0, Limit::Blocks));
        let warps = blocks * warps;
        Self { blocks, warps, share: f64::from(warps) / f64::from(device.threads / 32), limit }
    }
}

/// Registers of a thread, estimated: the most values live at once plus some slack, within the launch bounds. Only the
/// device's compiler knows the actual number.
#[must_use]
pub fn estimate_registers(device: &Device, live: u32, threads: u32, bounds: &LaunchBounds) -> u32 {
    let wanted = live.saturating_add(REGISTER_SLACK).next_multiple_of(8);
    let blocks = bounds.min_blocks_per_sm.unwrap_or(1).max(1);
    let block = bounds.required_threads.or(bounds.max_threads).map_or(threads, |[x, y, z]| x * y * z);
    let warps = (block.div_ceil(32).max(1) * blocks).next_multiple_of(WARP_GRANULARITY);
    let most = (device.registers / warps / REGISTER_GRANULARITY * REGISTER_GRANULARITY / 32).min(MAX_REGISTERS);
    wanted.min(most).min(bounds.max_registers.unwrap_or(MAX_REGISTERS)).max(16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::device::DEVICES;

    fn occupancy(threads: u32, registers: u32, shared_bytes: u32) -> (u32, Limit) {
        let occupancy = Occupancy::new(&DEVICES[0], &Resources { threads, registers, shared_bytes });
        (occupancy.blocks, occupancy.limit)
    }

    #[test]
    fn the_scarcest_resource_decides() {
        // The CUDA Occupancy Calculator's answers for compute capability 9.0.
        assert_eq!(occupancy(1024, 32, 0), (2, Limit::Threads));
        assert_eq!(occupancy(256, 128, 8192), (2, Limit::Registers));
        assert_eq!(occupancy(256, 32, 100 << 10), (2, Limit::SharedMemory));
        assert_eq!(occupancy(32, 16, 0), (32, Limit::Blocks));
        assert_eq!(occupancy(1024, 255, 0), (0, Limit::Registers));
    }

    #[test]
    fn launch_bounds_limit_registers() {
        let bounds = |min_blocks| LaunchBounds {
            max_threads: Some([256, 1, 1]),
            min_blocks_per_sm: Some(min_blocks),
            ..LaunchBounds::default()
        };
        assert_eq!(estimate_registers(&DEVICES[0], 400, 256, &bounds(2)), 128);
        assert_eq!(estimate_registers(&DEVICES[0], 400, 256, &bounds(4)), 64);
        assert_eq!(estimate_registers(&DEVICES[0], 400, 256, &bounds(1)), 255);
        assert_eq!(estimate_registers(&DEVICES[0], 30, 256, &bounds(1)), 40);
    }
}
