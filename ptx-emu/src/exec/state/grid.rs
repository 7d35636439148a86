//! A launch: its dimensions, and the state that all blocks share.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::check::{Checks, GlobalRaces};
use crate::exec::record::Recording;
use crate::finding::Thread;
use crate::lanes::LANES;
use crate::launch::{BlockIndex, Constants};
use crate::memory::GlobalMemory;
use crate::program::Program;

/// Everything that the blocks of a launch share.
pub(crate) struct Grid<'a> {
    pub program: &'a Program,
    pub memory: &'a GlobalMemory,
    /// The kernel's parameters, as bytes.
    pub params: &'a [u8],
    pub constants: &'a Constants,
    /// Blocks, and threads of a block, by dimension.
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Blocks of a cluster, by dimension.
    pub cluster: [u32; 3],
    pub dynamic_shared: u32,
    pub sm_count: u32,
    /// Clusters that run side by side where they wait for each other.
    pub resident_clusters: usize,
    pub checks: Checks,
    /// The race checker of global memory, if enabled.
    pub global_races: Option<GlobalRaces>,
    /// Held during atomic operations on values that are not single words.
    pub wide_atomics: Mutex<()>,
    /// What `printf` printed.
    pub output: Mutex<String>,
    /// Instruction limit of a block.
    pub max_instructions: u64,
    /// Stops the launch once set.
    pub stop: Option<&'a AtomicBool>,
    /// Of what is executed, for a trace.
    pub recording: Option<Recording>,
}

impl Grid<'_> {
    /// Whether the launch has been told to stop.
    pub(crate) fn is_told_to_stop(&self) -> bool {
        self.stop.is_some_and(|stop| stop.load(Relaxed)) || self.recording.as_ref().is_some_and(Recording::is_full)
    }

    pub(crate) fn threads(&self) -> u32 {
        self.block.iter().product()
    }

    pub(crate) fn warps(&self) -> usize {
        (self.threads() as usize).div_ceil(LANES)
    }

    /// x, y, z of a thread, counted from 0 in its block.
    pub(crate) fn thread(&self, thread: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [thread % x, thread / x % y, thread / x / y]
    }

    pub(crate) fn shared_bytes(&self) -> usize {
        self.program.shared_bytes_with(self.dynamic_shared) as usize
    }

    /// Blocks of a cluster.
    pub(crate) fn cluster_blocks(&self) -> usize {
        self.cluster.iter().product::<u32>() as usize
    }

    /// A block's rank in its cluster.
    pub(crate) fn rank(&self, block: BlockIndex) -> usize {
        let [x, y, z] = std::array::from_fn(|dimension| block[dimension] % self.cluster[dimension]);
        (x + self.cluster[0] * (y + self.cluster[1] * z)) as usize
    }

    /// The block of that rank in a cluster.
    pub(crate) fn block_of(&self, cluster: BlockIndex, rank: usize) -> BlockIndex {
        let ([x, y, _], rank) = (self.cluster, rank as u32);
        let inside = [rank % x, rank / x % y, rank / x / y];
        std::array::from_fn(|dimension| cluster[dimension] * self.cluster[dimension] + inside[dimension])
    }

    /// The index of a block's cluster, among clusters.
    pub(crate) fn cluster_of(&self, block: BlockIndex) -> BlockIndex {
        std::array::from_fn(|dimension| block[dimension] / self.cluster[dimension])
    }

    /// The linear index of a cluster, x fastest; the inverse of [`Grid::cluster_index`].
    pub(crate) fn cluster_number(&self, [x, y, z]: BlockIndex) -> u32 {
        let [columns, rows, _] = self.cluster_of(self.grid);
        let number = |size: u32, last: u32, number: u32| last.wrapping_mul(size).wrapping_add(number);
        number(columns, number(rows, z, y), x)
    }

    pub(crate) fn cluster_index(&self, number: u32) -> BlockIndex {
        let [columns, rows, _] = self.cluster_of(self.grid);
        [number % columns, number / columns % rows, number / columns / rows]
    }

    /// The thread of that linear index in a cluster.
    pub(crate) fn thread_of(&self, cluster: BlockIndex, number: usize) -> Thread {
        let of_block = self.warps() * LANES;
        let block = self.block_of(cluster, number / of_block);
        Thread { thread: self.thread((number % of_block) as u32), block }
    }

    /// The block of that rank in the cluster of `block`, as text.
    pub(crate) fn peer_block(&self, block: BlockIndex, rank: usize) -> String {
        let [x, y, z] = self.block_of(self.cluster_of(block), rank);
        format!("block ({x}, {y}, {z})")
    }
}
