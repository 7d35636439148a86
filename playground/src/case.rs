//! What is run: memory, and launches on it.

use serde::{Deserialize, Serialize};

/// Memory, launches on it in order, and which of them is looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// PTX of the launches.
    pub modules: Vec<String>,
    /// Memory that several arguments may point to.
    #[serde(default)]
    pub memory: Vec<Memory>,
    /// The launches.
    pub launches: Vec<Launch>,
    /// The index of the launch that is traced, checked and counted. The others run without.
    #[serde(default)]
    pub traced: usize,
    /// Whether the checkers watch it.
    pub checks: bool,
    /// Steps of the trace at most.
    pub limit: usize,
}

/// A piece of global memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// What it is called, such as `A`.
    pub name: String,
    /// What it holds, as [`ptx_emu::spec`] has it: `in:f32:64`, `out:f32:64`.
    pub spec: String,
}

/// A launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The index of its module.
    #[serde(default)]
    pub module: usize,
    /// The kernel.
    pub kernel: String,
    /// Blocks, by dimension.
    pub grid: [u32; 3],
    /// Threads of a block, by dimension.
    pub block: [u32; 3],
    /// Blocks of a cluster, by dimension; 1, 1, 1 for what the kernel says.
    pub cluster: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// The kernel's arguments.
    pub arguments: Vec<Argument>,
}

/// An argument of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// The parameter, as the page calls it.
    pub name: String,
    /// What it is.
    pub value: Value,
}

/// What an argument is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Value {
    /// A number, or memory of its own, as [`ptx_emu::spec`] has it.
    Spec(String),
    /// Where something begins in the case's memory.
    Pointer(Place),
    /// A matrix as TMA reads it.
    Map(Map),
}

/// A place in the case's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The index of the piece of memory.
    pub memory: usize,
    /// Bytes from its beginning.
    pub offset: u64,
}

/// A tensor map.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Map {
    /// Where the tensor begins.
    pub at: Place,
    /// The type of its elements, such as `f32`.
    pub element: String,
    /// Elements by dimension, the contiguous one first.
    pub dims: Vec<u64>,
    /// Bytes from one to the next in every dimension but the first.
    pub strides: Vec<u64>,
    /// The box, in elements.
    pub copied: Vec<u32>,
    /// Bytes of the swizzle: 0, 32, 64 or 128.
    pub swizzle: u32,
}
