//! What CUDA allows of a launch, and what the host can hold and run of it.

use super::{Blocks, Launch};
use crate::program::Program;

/// Threads of a block at most.
pub const MAX_THREADS: u32 = 1024;

/// Dynamic shared memory of a block at most, in bytes; the same, with the static one.
pub const MAX_SHARED_BYTES: u32 = 227 << 10;

/// Blocks of a grid and threads of a block at most, by dimension.
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];

/// Blocks that run at most: even empty ones take seconds.
const MAX_BLOCKS_RUN: u64 = 1 << 26;

/// Registers and local memory of a cluster's threads at most, in bytes of the host's memory.
const MAX_CLUSTER_BYTES: u64 = 4 << 30;

/// Bytes of a register in the 32 lanes of a warp.
const ROW_BYTES: u64 = 128;

/// Threads, blocks and shared memory of an SM at most, in bytes, and what the driver reserves of it for each block. CUDA C
/// Programming Guide, "Technical Specifications per Compute Capability", 8.0 to 10.0.
const SM_THREADS: u64 = 2048;
const SM_BLOCKS: u64 = 32;
const SM_SHARED_BYTES: u64 = 228 << 10;
const RESERVED_SHARED_BYTES: u64 = 1 << 10;

/// The product of the sizes, or the largest number.
pub(crate) fn product(sizes: [u32; 3]) -> u64 {
    sizes.into_iter().fold(1u64, |all, size| all.saturating_mul(size.into()))
}

/// What is wrong with the sizes of a launch, its clusters aside.
pub(crate) fn check_sizes(program: &Program, launch: &Launch) -> Result<(), String> {
    let text = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
    let exceeds = |sizes: [u32; 3], most: [u32; 3]| sizes.into_iter().zip(most).any(|(size, most)| size > most);
    let threads = product(launch.block);
    if threads == 0 || threads > MAX_THREADS.into() || exceeds(launch.block, MAX_BLOCK) {
        let (block, most) = (text(launch.block), text(MAX_BLOCK));
        return Err(format!("a block of {block} threads; it has 1 to {MAX_THREADS}, and at most {most}"));
    }
    if launch.grid.contains(&0) || exceeds(launch.grid, MAX_GRID) {
        return Err(format!("a grid of {} blocks; it has 1 to {}", text(launch.grid), text(MAX_GRID)));
    }
    let blocks = product(launch.grid);
    if launch.blocks == Blocks::All && blocks > MAX_BLOCKS_RUN {
        return Err(format!("{blocks} blocks would take too long; at most {MAX_BLOCKS_RUN} run, or a sample of them"));
    }
    let shared = launch.dynamic_shared_bytes;
    if shared > MAX_SHARED_BYTES {
        return Err(format!("a block has at most {MAX_SHARED_BYTES} bytes of dynamic shared memory"));
    }
    let all = u64::from(program.dynamic_shared_offset) + u64::from(shared);
    if all > MAX_SHARED_BYTES.into() {
        let own = program.dynamic_shared_offset;
        return Err(format!("{own} bytes of static and {shared} of dynamic shared memory exceed {MAX_SHARED_BYTES}"));
    }
    Ok(())
}

/// What is wrong with a cluster of so many blocks: more memory than the host should give it.
pub(crate) fn check_memory(program: &Program, launch: &Launch, cluster_blocks: u64) -> Result<(), String> {
    let bytes = host_bytes(program, launch).saturating_mul(cluster_blocks);
    if bytes > MAX_CLUSTER_BYTES {
        let (gib, most) = (bytes >> 30, MAX_CLUSTER_BYTES >> 30);
        return Err(format!("its registers and local memory would take {gib} GiB of the host's memory, over {most}"));
    }
    Ok(())
}

/// Registers and local memory of a block's threads, in bytes of the host's memory.
fn host_bytes(program: &Program, launch: &Launch) -> u64 {
    let threads = product(launch.block);
    let registers = program.rows as u64 * ROW_BYTES * threads.div_ceil(32);
    registers.saturating_add(u64::from(program.local_bytes) * threads)
}

/// Clusters of so many blocks that are resident at once, if they wait for each other: as many as the device has room for,
/// their registers aside, and the host.
pub(crate) fn resident_clusters(program: &Program, launch: &Launch, cluster_blocks: u64) -> u64 {
    let threads = product(launch.block).next_multiple_of(32);
    let shared = u64::from(program.dynamic_shared_offset.max(program.shared_bytes) + launch.dynamic_shared_bytes);
    let of_sm = SM_BLOCKS.min(SM_THREADS / threads).min(SM_SHARED_BYTES / (shared + RESERVED_SHARED_BYTES));
    let of_host = MAX_CLUSTER_BYTES / host_bytes(program, launch).max(1);
    ((u64::from(launch.sm_count) * of_sm).min(of_host) / cluster_blocks).max(1)
}
