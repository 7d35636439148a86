//! What is handed to a device: kernels with their shapes and arguments.

use gpu_kernels::{Ab, Operand, TmaBox};

use super::buffer::{Buffer, Buffers, Place};
use super::slabs::Slab;

/// An address in a device's memory.
pub type Address = u64;

/// What a kernel takes, before addresses and factors are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument {
    /// A count of elements, rows or tiles.
    U32(u32),
    /// A stride.
    U64(u64),
    /// A number that the plan fixes.
    F32(f32),
    /// alpha of the run.
    Alpha,
    /// beta of the run.
    Beta,
    /// No address.
    Null,
    /// Where something begins.
    Place(Place),
    /// A matrix as TMA reads it.
    TensorMap(TensorMap<Place>),
}

/// What a kernel takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// A count of elements, rows or tiles.
    U32(u32),
    /// A stride.
    U64(u64),
    /// A factor.
    F32(f32),
    /// Where something begins.
    Address(Address),
    /// A matrix as TMA reads it.
    TensorMap(TensorMap<Address>),
}

/// What a run gives to a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bindings {
    /// Where each buffer begins; 0, as in [`Buffers::default`], for one that the plan does not use.
    pub addresses: Buffers<Address>,
    /// The factor of A\*B.
    pub alpha: f32,
    /// The factor of C.
    pub beta: f32,
    /// Whether the kernel's operands were rewritten before this run: their pre-passes are left out.
    pub are_prepared: Ab<bool>,
}

impl Bindings {
    /// Of a run in which nothing was prepared.
    #[must_use]
    pub fn new(addresses: Buffers<Address>, alpha: f32, beta: f32) -> Self {
        Self { addresses, alpha, beta, are_prepared: Ab::both(false) }
    }

    /// The same with the parts of a workspace there; those that have no bytes are left as they are.
    #[must_use]
    pub fn with_parts(self, parts: &Buffers<Address>) -> Self {
        let used = Buffer::PARTS.into_iter().filter(|part| parts[*part] != 0);
        Self { addresses: used.fold(self.addresses, |all, part| all.with(part, parts[part])), ..self }
    }
}

impl Argument {
    /// The argument of that run.
    #[must_use]
    pub fn value(self, bindings: &Bindings) -> Value {
        match self {
            Self::U32(value) => Value::U32(value),
            Self::U64(value) => Value::U64(value),
            Self::F32(value) => Value::F32(value),
            Self::Alpha => Value::F32(bindings.alpha),
            Self::Beta => Value::F32(bindings.beta),
            Self::Null => Value::Address(0),
            Self::Place(place) => Value::Address(place.address(&bindings.addresses)),
            Self::TensorMap(map) => {
                let TensorMap { at, rows, columns, ld, batch, tma_box } = map;
                let at = at.address(&bindings.addresses);
                Value::TensorMap(TensorMap { at, rows, columns, ld, batch, tma_box })
            }
        }
    }
}

/// Blocks and threads of a launch, by dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster.
    pub cluster: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub dynamic_smem_bytes: u32,
}

/// What a launch is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Rewrites an operand, as the step's kernel takes them.
    Prepass(Operand),
    /// The step's kernel.
    Product,
    /// Makes D of the step's sums.
    Postpass,
}

/// The module that holds a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleKind {
    /// The step's own.
    Step,
    /// That of [`gpu_kernels::SUPPORT_KERNELS`].
    Support,
}

/// A kernel, how to launch it, and with what.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// What it is there for.
    pub role: Role,
    /// Its entry point.
    pub kernel: &'static str,
    /// Where that is.
    pub module: ModuleKind,
    /// Its blocks and threads.
    pub shape: LaunchShape,
    /// With the names of the parameters, in order.
    pub arguments: Vec<(&'static str, Argument)>,
    /// The rows of C that it computes; those of the source where it is a pre-pass.
    pub slab: Slab,
    /// Whether each problem of a batch has it anew: not what rewrites an operand that all of them share.
    pub is_repeated: bool,
    /// Whether it waits for the launch before it at its end only.
    pub waits_last: bool,
}

/// What a tensor map says: a row-major matrix, and how a TMA load copies a box of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorMap<A> {
    /// Where the matrix begins: a multiple of 16 bytes.
    pub at: A,
    /// Its rows, at least 1.
    pub rows: u32,
    /// Its columns, at least 1.
    pub columns: u32,
    /// Elements from one row to the next: a multiple of 16 bytes.
    pub ld: u64,
    /// How many of them there are, at least 1, and the elements from one to the next, a multiple of 16 bytes: then it has three
    /// dimensions.
    pub batch: Option<(u32, u64)>,
    /// The box.
    pub tma_box: TmaBox,
}
