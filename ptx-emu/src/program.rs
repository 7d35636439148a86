//! A kernel as the executor runs it: decoded once, its registers in rows, its branches to places.

use std::sync::Arc;

use crate::lanes::Compute;
use crate::ops::tensor_core::Format;
use crate::registers::{Condition, PredSlot, Slot};
use crate::special::Special;
use crate::syntax::LaunchBounds;
use crate::{Space, Type};

/// A place in [`Program::instructions`].
pub(crate) type Pc = usize;

/// A lowered kernel.
pub(crate) struct Program {
    pub name: String,
    pub instructions: Vec<Instruction>,
    /// Rows and predicates of a warp.
    pub rows: usize,
    pub predicates: usize,
    /// Rows that hold constants: first row, bits, rows.
    pub constants: Vec<(Slot, u128, u32)>,
    /// Rows that hold addresses in the block's own shared memory: first row, address, rows.
    pub shared: Vec<(Slot, u64, u32)>,
    /// Rows that hold special registers: first row, rows.
    pub specials: Vec<(Special, Slot, u32)>,
    /// The predicate that is always true.
    pub always: Option<usize>,
    pub params: Vec<ParamInfo>,
    pub param_bytes: u32,
    pub bounds: LaunchBounds,
    /// Static shared memory, in bytes; the dynamic one follows, aligned.
    pub shared_bytes: u32,
    /// Where dynamic shared memory begins.
    pub dynamic_shared_offset: u32,
    /// Local memory of a thread, in bytes.
    pub local_bytes: u32,
    /// Registers of a thread, estimated: see `lower::slots`.
    pub registers: u32,
    /// Names of the registers that a tensor core may read or write meanwhile.
    pub watched: Vec<Box<str>>,
    /// Bytes of the narrowest access to shared memory and to global memory, at most a word, as powers of two.
    pub shared_granule: u32,
    pub global_granule: u32,
    /// The module's variables and constants.
    pub image: Arc<crate::memory::Image>,
}

/// A parameter of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamInfo {
    /// Its type; of an array, that of an element.
    pub ty: Type,
    /// Where it begins among the parameters, in bytes.
    pub offset: u32,
    /// Its size in bytes.
    pub bytes: u32,
}

/// One instruction.
pub(crate) struct Instruction {
    pub guard: Option<Condition>,
    pub action: Action,
    /// What it does with registers that are watched.
    pub touch: Option<Box<Touch>>,
    /// Whether other lanes of the warp may be waiting to join here.
    pub is_join: bool,
    /// Where this place comes in the order in which diverged lanes are run: the least first.
    pub order: u32,
    /// Its line in the PTX, counted from 1.
    pub line: u32,
    /// Its text, for messages: the opcode.
    pub mnemonic: Box<str>,
}

/// What an instruction does.
pub(crate) enum Action {
    /// Something with registers.
    Compute(Compute),
    /// Something with registers that the lanes named by a register do together.
    Converge(Compute, Slot),
    Load(Box<Access>),
    Store(Box<Access>),
    Atomic(Box<Atomic>),
    /// Something that copies in the background.
    Async(Box<Async>),
    Mbarrier(Box<Mbarrier>),
    Matrices(Box<Matrices>),
    Wgmma(Box<Wgmma>),
    Branch(Pc),
    /// To one of these, by the lanes' index.
    BranchIndex(Slot, Box<[Pc]>),
    Exit,
    Trap,
    Barrier(Barrier),
    ClusterBarrier(ClusterBarrier),
    /// The lanes named by a register wait for each other.
    WarpBarrier(Slot),
    /// Orders memory accesses, which the executor does anyway.
    Fence,
    /// Orders them with those of the copy engine and of tensor cores.
    ProxyFence,
    /// Nothing that a program can see.
    Nop,
}

/// What an instruction does with the registers of `Program::watched`.
#[derive(Debug)]
pub(crate) enum Touch {
    /// Adds to `d`, and multiplies by what is in `a`.
    Multiply {
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

/// A load or store of one or more neighbouring elements.
pub(crate) struct Access {
    pub space: Space,
    pub address: AddressExpr,
    /// Bytes of an element.
    pub width: u32,
    /// Elements, and where they are.
    pub elements: Box<[Element]>,
    /// `.volatile`, `.relaxed`, `.acquire`, `.release`, ...: no race with others of its kind.
    pub is_strong: bool,
}

impl Access {
    pub(crate) fn bytes(&self) -> u32 {
        self.width * self.elements.len() as u32
    }
}

/// Where an element of an access is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    pub slot: Slot,
    /// Rows of the register.
    pub rows: u32,
    /// The element's sign goes on into the rest of the register.
    pub sign_extend: bool,
}

/// A register and a number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AddressExpr {
    pub base: Option<Base>,
    pub offset: i64,
}

/// A register that holds an address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Base {
    pub slot: Slot,
    pub is_64: bool,
}

/// An atomic operation, with the old value as its result or without one.
pub(crate) struct Atomic {
    pub space: Space,
    pub address: AddressExpr,
    /// Bytes that are exchanged.
    pub width: u32,
    /// Elements of a vector operation: result, first and second operand.
    pub elements: Box<[AtomicElement]>,
    /// The new value from the old one and the operands.
    pub apply: fn(u64, u64, u64) -> u64,
    /// As `apply`, in shared memory, which has other rules for subnormal numbers and NaN.
    pub apply_shared: fn(u64, u64, u64) -> u64,
}

/// One element of an atomic operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AtomicElement {
    pub result: Option<Slot>,
    pub a: Slot,
    pub b: Option<Slot>,
}

/// What is done with copies that go on while the thread does: `cp.async`.
pub(crate) enum Async {
    Copy(Copy),
    /// Closes the thread's group of copies.
    Commit,
    /// Waits for all of the thread's groups but the last so many; `None` for all copies, in groups or not.
    Wait(Option<u32>),
    Bulk(Bulk),
    Tensor(Tensor),
    /// As `Commit` and `Wait`, for bulk copies.
    CommitBulk,
    WaitBulk(u32),
}

/// A copy of many bytes between global and shared memory.
pub(crate) struct Bulk {
    pub shared: AddressExpr,
    pub global: AddressExpr,
    pub bytes: Slot,
    pub end: BulkEnd,
}

/// A copy of a box of a tensor.
pub(crate) struct Tensor {
    pub shared: AddressExpr,
    /// Where the tensor map is.
    pub map: AddressExpr,
    pub space: Space,
    /// The box's first element, by dimension.
    pub start: Box<[Slot]>,
    pub end: BulkEnd,
}

/// Which way a copy goes, and where it is waited for.
pub(crate) enum BulkEnd {
    /// To shared memory: at a barrier that counts the bytes that have come. `blocks`: to the same place in each of these
    /// blocks of the cluster, by rank.
    Barrier { barrier: AddressExpr, blocks: Option<Slot> },
    /// To global memory: with the thread's group.
    Group,
}

/// An operation on a barrier in shared memory.
pub(crate) struct Mbarrier {
    pub space: Space,
    pub address: AddressExpr,
    pub kind: MbarrierKind,
}

/// What is done with a barrier in shared memory.
pub(crate) enum MbarrierKind {
    Init(Slot),
    Invalidate,
    /// Bytes are to come, or have come.
    Expect(Slot),
    Complete(Slot),
    /// Arrives so often, once if it is not said, and expects bytes. `state`: where the barrier's bits go.
    Arrive {
        state: Option<Slot>,
        count: Option<Slot>,
        bytes: Option<Slot>,
        drop: bool,
        must_not_complete: bool,
    },
    /// Arrives when the thread's copies have ended; `adds` to those that are waited for.
    ArriveAfterCopies {
        adds: bool,
    },
    /// Whether a phase has ended.
    Test {
        to: Option<PredSlot>,
        phase: Phase,
    },
}

/// Matrices of 8 x 8 elements of 16 bits, of which each lane has two neighbours of each.
pub(crate) struct Matrices {
    pub is_store: bool,
    pub space: Space,
    /// In the first eight lanes, the rows of the first matrix, and so on.
    pub address: AddressExpr,
    /// One for each matrix.
    pub registers: Box<[Slot]>,
    pub transposed: bool,
}

/// What the warps of a group do with matrices that they multiply while they go on.
pub(crate) enum Wgmma {
    /// Orders accesses to registers.
    Fence,
    Multiply(Multiply),
    /// Closes the group of multiplications.
    Commit,
    /// Waits for all groups but the last so many.
    Wait(u32),
}

/// Adds the product of a matrix of 64 rows and one of so many columns to a third, or puts it there.
pub(crate) struct Multiply {
    pub format: Format,
    pub columns: u32,
    /// Four for each eight columns.
    pub d: Box<[Slot]>,
    pub a: MultiplySource,
    /// The descriptor of the second matrix, and whether its columns' neighbours lie side by side, not those along k.
    pub b: Slot,
    pub b_is_transposed: bool,
    pub adds: Condition,
    pub negates: bool,
}

/// Where the first matrix is.
pub(crate) enum MultiplySource {
    Registers(Box<[Slot]>),
    /// As `Multiply::b`.
    Shared {
        descriptor: Slot,
        is_transposed: bool,
    },
}

/// A phase of a barrier: that in which it had these bits, or by its parity.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Phase {
    Of(Slot),
    Parity(Slot),
}

/// A copy of up to 16 bytes from global to shared memory.
pub(crate) struct Copy {
    pub to: AddressExpr,
    pub from: AddressExpr,
    /// Bytes that are written.
    pub bytes: u32,
    pub source: CopySource,
}

/// How many bytes are read; the others are 0.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CopySource {
    All,
    /// So many, at most all.
    Bytes(Slot),
    /// All, or none where the predicate holds.
    Unless(Condition),
}

/// `bar` and `barrier`.
pub(crate) struct Barrier {
    pub kind: BarrierKind,
    /// Number of the barrier.
    pub id: Slot,
    /// How many threads take part; all of them where none is given.
    pub threads: Option<Slot>,
    /// All lanes of a warp must run it together.
    pub aligned: bool,
}

/// `barrier.cluster`: arrives, or waits for what it arrived at.
pub(crate) struct ClusterBarrier {
    pub waits: bool,
    /// All lanes of a warp must run it together.
    pub aligned: bool,
}

/// What a barrier does.
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// Counts a predicate over the threads: `.popc`, `.and`, `.or`.
    Reduce {
        operation: Reduction,
        source: Condition,
        to: Reduced,
    },
}

/// How `barrier.red` joins predicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reduction {
    Count,
    And,
    Or,
}

/// Where `barrier.red` puts its result.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reduced {
    Register(Slot),
    Predicate(PredSlot),
}
