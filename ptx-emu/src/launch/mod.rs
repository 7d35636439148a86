//! A launch: grid, arguments, checkers, and which blocks run.

pub(crate) mod cluster;
mod constants;
pub(crate) mod limits;
mod sample;

pub(crate) use constants::Constants;
pub use limits::{MAX_SHARED_BYTES, MAX_THREADS};
pub use sample::{BlockIndex, Blocks, Grouping};
pub(crate) use sample::{CLASSES, Plan};

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::check::Checks;

/// The configuration of a launch.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Blocks, by dimension.
    pub grid: [u32; 3],
    /// Threads of a block, by dimension.
    pub block: [u32; 3],
    /// Blocks of a cluster, by dimension; if 1, 1, 1, the kernel's `.reqnctapercluster`.
    pub cluster: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_shared_bytes: u32,
    /// The kernel's arguments, each as its bytes.
    pub arguments: Vec<Vec<u8>>,
    /// Contents of `.const` variables by name, each as its first bytes: what the host sets by `cudaMemcpyToSymbol`.
    pub constants: Vec<(String, Vec<u8>)>,
    /// Enabled checkers.
    pub checks: Checks,
    /// Which blocks run.
    pub blocks: Blocks,
    /// Host threads; 0 for as many as there are cores.
    pub threads: usize,
    /// Instruction limit of a block, beyond which it counts as runaway.
    pub max_instructions: u64,
    /// SMs of the device: `%nsmid`.
    pub sm_count: u32,
    /// Stops the launch once set, even within blocks.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Launch {
    /// All blocks of the grid, all checkers enabled.
    #[must_use]
    pub fn new(grid: [u32; 3], block: [u32; 3]) -> Self {
        Self {
            grid,
            block,
            cluster: [1; 3],
            dynamic_shared_bytes: 0,
            arguments: vec![],
            constants: vec![],
            checks: Checks::ALL,
            blocks: Blocks::All,
            threads: 0,
            max_instructions: 1 << 30,
            sm_count: 132,
            stop: None,
        }
    }

    /// Adds an argument, as its little-endian bytes.
    #[must_use]
    pub fn argument<const N: usize>(mut self, bytes: [u8; N]) -> Self {
        self.arguments.push(bytes.to_vec());
        self
    }

    /// Sets a `.const` variable, or the first bytes of it.
    #[must_use]
    pub fn constant(mut self, name: &str, bytes: &[u8]) -> Self {
        self.constants.push((name.to_owned(), bytes.to_vec()));
        self
    }
}
