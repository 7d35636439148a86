//! A lowered kernel: decoded instructions, registers as rows, branch targets as indices.

mod call;
mod copy;
pub(crate) mod fragment;
mod memory;
mod names;
pub(crate) mod sparse;
mod special;
mod sync;
mod tensor;
mod texture;

pub(crate) use call::{Call, Function, Passed, Saved, Target};
pub(crate) use copy::{Async, Bulk, BulkEnd, Copy, CopySource, MapEdit, Reduce, Tensor};
pub(crate) use memory::{Access, AddressExpr, Atomic, AtomicElement, Base, Element};
pub(crate) use names::{Home, NamedRegister, NamedVariable, Names};
pub(crate) use special::Special;
pub(crate) use sync::{Barrier, BarrierKind, ClusterBarrier, Mbarrier, MbarrierKind, Phase, Reduced, Reduction};
pub(crate) use tensor::{
    Accumulator, Arithmetic, FragmentAccess, Fragments, IntegerFormat, Matrices, Mma, MmaOperand, MmaShape, Piece,
    Stride, Transpose, WarpMma, Wgmma,
};

pub(crate) use texture::{Fetched, Outside, TextureAccess, TextureKind};

use std::sync::Arc;

use crate::lanes::{Compute, Condition, Slot};
use crate::ops::shuffle::Shuffle;
use crate::syntax::LaunchBounds;
use crate::types::{Scope, Type};

/// An index in [`Program::instructions`].
pub(crate) type Pc = usize;

/// A lowered kernel.
pub(crate) struct Program {
    pub name: String,
    pub instructions: Vec<Instruction>,
    /// Rows and predicates of a warp's register file.
    pub rows: usize,
    pub predicates: usize,
    /// Constants: first row, bits, rows.
    pub constants: Vec<(Slot, u128, u32)>,
    /// Addresses in the block's own shared memory: first row, address, rows.
    pub shared: Vec<(Slot, u64, u32)>,
    /// Special registers: first row, rows.
    pub specials: Vec<(Special, Slot, u32)>,
    /// The predicate that is always true.
    pub always: Option<usize>,
    pub params: Vec<ParamInfo>,
    pub param_bytes: u32,
    pub bounds: LaunchBounds,
    /// Static shared memory, in bytes; dynamic shared memory follows, aligned.
    pub shared_bytes: u32,
    /// Offset of dynamic shared memory.
    pub dynamic_shared_offset: u32,
    /// What of it the driver initialises.
    pub reserved_shared: std::ops::Range<usize>,
    /// Local memory of a thread, in bytes, with its stack.
    pub local_bytes: u32,
    /// Where in local memory the stack begins, on which functions have their frames.
    pub stack: u32,
    /// Functions that are called at run time.
    pub functions: Vec<Function>,
    /// The register with the address of the function's frame, if any uses it.
    pub frame: Option<Slot>,
    /// Registers of a thread, estimated: see `lower::slots`.
    pub registers: u32,
    /// Names of the registers that some path reads before it writes them.
    pub undefined: Vec<Box<str>>,
    /// Names of the registers that MMAs in flight may use.
    pub watched: Vec<Box<str>>,
    pub names: Names,
    /// log2 of the bytes of the narrowest access to shared and to global memory, at most a word.
    pub shared_granule: u32,
    pub global_granule: u32,
    /// The module's variables and constants.
    pub image: Arc<crate::memory::Image>,
}

impl Program {
    /// Local memory of a thread that is no stack, in bytes.
    pub(crate) fn local_without_stack(&self) -> u32 {
        self.stack
    }

    /// Whether a thread has a stack.
    pub(crate) fn has_stack(&self) -> bool {
        self.stack < self.local_bytes
    }

    /// Whether it has the address of the launch's workspace.
    pub(crate) fn uses_workspace(&self) -> bool {
        self.specials.iter().any(|(special, ..)| matches!(special, Special::EnvReg1 | Special::EnvReg2))
    }

    /// Whether it calls `malloc` or `free`.
    pub(crate) fn uses_heap(&self) -> bool {
        self.instructions.iter().any(|it| matches!(it.action, Action::Malloc { .. } | Action::Free(_)))
    }

    /// Shared memory of a block, in bytes, with so much of it dynamic.
    pub(crate) fn shared_bytes_with(&self, dynamic: u32) -> u32 {
        match dynamic {
            0 => self.shared_bytes,
            dynamic => self.dynamic_shared_offset + dynamic,
        }
    }
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its type; of an array, the element type.
    pub ty: Type,
    /// Its offset among the parameters, in bytes.
    pub offset: u32,
    /// Its size in bytes.
    pub bytes: u32,
}

/// One instruction.
pub(crate) struct Instruction {
    pub guard: Option<Condition>,
    pub action: Action,
    /// Its use of watched registers.
    pub touch: Option<Box<Touch>>,
    /// Whether diverged lanes may reconverge here.
    pub is_join: bool,
    /// Its rank in the order in which diverged lanes run: the least first.
    pub order: u32,
    /// Its line in the PTX, counted from 1.
    pub line: u32,
    /// Its opcode, for messages.
    pub mnemonic: Box<str>,
}

/// The operation of an instruction.
pub(crate) enum Action {
    /// An operation on registers.
    Compute(Compute),
    /// An operation on registers that the lanes of a member mask execute together.
    Converge(Box<Converge>),
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<Atomic>),
    /// An asynchronous copy.
    Async(Box<Async>),
    Mbarrier(Box<Mbarrier>),
    Matrices(Box<Matrices>),
    Fragments(Box<Fragments>),
    Texture(Box<TextureAccess>),
    WarpMma(Box<WarpMma>),
    Wgmma(Box<Wgmma>),
    Branch(Pc),
    /// To one of these, by each lane's index.
    BranchIndex(Slot, Box<[Pc]>),
    /// A call that is not inlined, and the return from one.
    Call(Box<Call>),
    Return,
    /// `alloca`: bytes on the stack, at a multiple of `align`.
    Alloca {
        to: Slot,
        bytes: Slot,
        align: u32,
    },
    StackSave(Slot),
    StackRestore(Slot),
    Exit,
    Trap,
    Assert(Box<Assertion>),
    Print(Print),
    /// `malloc`, and `free` of an address.
    Malloc {
        to: Slot,
        bytes: Slot,
    },
    Free(Slot),
    /// `setmaxnreg`: registers of a thread from here on.
    MaxRegisters(u32),
    Barrier(Barrier),
    ClusterBarrier(ClusterBarrier),
    /// `bar.warp.sync` with a member mask.
    WarpBarrier(Slot),
    /// `fence` and `membar`. The executor is sequentially consistent: only the checkers need them.
    Fence(Scope),
    /// `fence.mbarrier_init`.
    MbarrierInitFence,
    /// `fence.proxy.async`.
    ProxyFence,
    /// No observable effect.
    Nop,
}

/// CUDA's `assert` where it fails.
pub(crate) struct Assertion {
    /// Addresses of the message, the file and the function, each text that ends with a NUL.
    pub texts: [Slot; 3],
    pub line: Slot,
}

/// CUDA's `vprintf`: the addresses of the format and of its arguments.
pub(crate) struct Print {
    pub format: Slot,
    pub arguments: Slot,
}

/// An operation of the lanes of a member mask.
pub(crate) struct Converge {
    pub compute: Compute,
    pub members: Slot,
    /// Of a shuffle: which lane each lane reads.
    pub source: Option<Source>,
    /// Whether it orders the lanes' accesses to memory, as `match` does.
    pub orders: bool,
}

/// Which lane a shuffle reads: its mode, and the operands `b` and `c`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source {
    pub shuffle: Shuffle,
    pub b: Slot,
    pub c: Slot,
}

/// An instruction's use of the registers of `Program::watched`.
#[derive(Debug)]
pub(crate) enum Touch {
    /// An MMA that accumulates to `d`, with A in `a`.
    Mma {
        d: Box<[u32]>,
        a: Box<[u32]>,
    },
    Copy {
        to: u32,
        from: u32,
    },
    Other {
        reads: Box<[u32]>,
        writes: Box<[u32]>,
    },
}
