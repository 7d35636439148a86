//! Devices: the parameters of the timing model and of the occupancy calculation.

use serde::Serialize;

/// A GPU. Sizes are in bytes, throughputs per cycle of the SM clock.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Device {
    /// The name on the command line, such as `h200`.
    pub slug: &'static str,
    /// Its full name.
    pub name: &'static str,
    /// Compute capability: major, minor.
    pub compute_capability: (u32, u32),
    /// SMs.
    pub sm_count: u32,
    /// SM boost clock, in MHz.
    pub clock_mhz: u32,
    /// FP32 FMA lanes of an SM.
    pub fp32_lanes: u32,
    /// 32-bit registers of an SM.
    pub registers: u32,
    /// Resident threads of an SM at most.
    pub threads: u32,
    /// Resident blocks of an SM at most.
    pub blocks: u32,
    /// Shared memory of an SM, in bytes.
    pub shared_bytes: u32,
    /// L2 cache, in bytes.
    pub l2_bytes: u64,
    /// L2 read bandwidth of all SMs together, in bytes per cycle.
    pub l2_bytes_per_cycle: u32,
    /// Device memory, in bytes.
    pub memory_bytes: u64,
    /// Bandwidth of device memory, in 10^9 bytes per second.
    pub memory_gb_per_s: u32,
}

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

const H200: Device = Device {
    slug: "h200",
    name: "NVIDIA H200",
    compute_capability: (9, 0),
    sm_count: 132,
    clock_mhz: 1980,
    fp32_lanes: 128,
    registers: 65_536,
    threads: 2048,
    blocks: 32,
    shared_bytes: 228 << 10,
    l2_bytes: 50 * MIB,
    l2_bytes_per_cycle: 4800,
    memory_bytes: 141 * GIB,
    memory_gb_per_s: 4800,
};

/// The known devices, the default first. Sources: NVIDIA's architecture white papers for GA100, GA102, AD102, GH100 and
/// GB100, and the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". The H200's L2
/// bandwidth was measured, and is that of the H100, which has the same chip; the others' are scaled by their number of SMs.
pub const DEVICES: [Device; 6] = [
    H200,
    // The same chip, with less memory.
    Device { slug: "h100", name: "NVIDIA H100 80GB HBM3", memory_bytes: 80 * GIB, memory_gb_per_s: 3350, ..H200 },
    Device {
        slug: "a100",
        name: "NVIDIA A100 80GB",
        compute_capability: (8, 0),
        sm_count: 108,
        clock_mhz: 1410,
        fp32_lanes: 64,
        registers: 65_536,
        threads: 2048,
        blocks: 32,
        shared_bytes: 164 << 10,
        l2_bytes: 40 * MIB,
        l2_bytes_per_cycle: 3930,
        memory_bytes: 80 * GIB,
        memory_gb_per_s: 2039,
    },
    Device {
        slug: "rtx3090",
        name: "NVIDIA GeForce RTX 3090",
        compute_capability: (8, 6),
        sm_count: 82,
        clock_mhz: 1695,
        fp32_lanes: 128,
        registers: 65_536,
        threads: 1536,
        blocks: 16,
        shared_bytes: 100 << 10,
        l2_bytes: 6 * MIB,
        l2_bytes_per_cycle: 2980,
        memory_bytes: 24 * GIB,
        memory_gb_per_s: 936,
    },
    Device {
        slug: "rtx4090",
        name: "NVIDIA GeForce RTX 4090",
        compute_capability: (8, 9),
        sm_count: 128,
        clock_mhz: 2520,
        fp32_lanes: 128,
        registers: 65_536,
        threads: 1536,
        blocks: 24,
        shared_bytes: 100 << 10,
        l2_bytes: 72 * MIB,
        l2_bytes_per_cycle: 4650,
        memory_bytes: 24 * GIB,
        memory_gb_per_s: 1008,
    },
    Device {
        slug: "b200",
        name: "NVIDIA B200",
        compute_capability: (10, 0),
        sm_count: 148,
        clock_mhz: 1965,
        fp32_lanes: 128,
        registers: 65_536,
        threads: 2048,
        blocks: 32,
        shared_bytes: 228 << 10,
        l2_bytes: 126 * MIB,
        l2_bytes_per_cycle: 5380,
        memory_bytes: 180 * GIB,
        memory_gb_per_s: 8000,
    },
];

/// What follows a device's name where the CUDA driver's interface shows the emulator: a program that prints the name, or writes it beside a
/// time, says what it ran on.
const EMULATED: &str = " (ptx-emu)";

impl Device {
    /// The name that the CUDA driver's interface gives the emulated device.
    #[must_use]
    pub fn emulated_name(&self) -> String {
        format!("{}{EMULATED}", self.name)
    }

    /// Whether a device of that name, which a CUDA driver gave, is emulated.
    #[must_use]
    pub fn is_emulated(name: &str) -> bool {
        name.ends_with(EMULATED)
    }

    /// The device of that slug.
    #[must_use]
    pub fn find(slug: &str) -> Option<&'static Self> {
        DEVICES.iter().find(|device| device.slug == slug)
    }
}
