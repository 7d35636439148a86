//! Findings: errors of a kernel, detected while it ran.

use std::fmt;

/// An error of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its kind.
    pub kind: FindingKind,
    /// How grave it is.
    pub rank: Rank,
    /// The line of the PTX, counted from 1.
    pub line: u32,
    /// The instruction there.
    pub instruction: String,
    /// The line of the other instruction involved: in a race, the earlier one.
    pub other: Option<u32>,
    /// The thread, and its block.
    pub thread: Thread,
    /// What happened.
    pub what: String,
}

/// How grave a finding is, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rank {
    /// The kernel is wrong: its results are undefined, or it does not end.
    Error,
    /// PTX does not guarantee what the kernel relies on, although GPUs commonly provide it.
    Warning,
    /// Formally undefined, but without effect on results: threads that store the same value to one word.
    Remark,
}

impl Rank {
    /// Its name, such as `remark`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Remark => "remark",
        }
    }
}

/// A thread of a grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    /// x, y, z of the thread in its block.
    pub thread: [u32; 3],
    /// x, y, z of the block in the grid.
    pub block: [u32; 3],
}

/// The kinds of mistakes, by the checker that finds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingKind {
    /// An access to memory that is not there, or no longer.
    OutOfBounds,
    /// An address that is no multiple of the access's size.
    Misaligned,
    /// A copy by something that is no tensor map, or one of other dimensions.
    TensorMap,
    /// A read of memory that was never written, or that is not to be read.
    Uninitialized,
    /// Two accesses, one of them a write, that nothing puts in an order.
    Race,
    /// A barrier that not all threads reach.
    Barrier,
    /// Threads that wait for each other for ever.
    Deadlock,
    /// More instructions than were allowed.
    Runaway,
    /// `trap`
    Trap,
    /// CUDA's `assert` that failed.
    Assertion,
    /// A `brx.idx` whose index has no target.
    Branch,
    /// A call of an address where no function is that takes what is passed.
    Call,
    /// Calls that take more than the stack has.
    Stack,
    /// A `free` of what no `malloc` gave, or that was freed before.
    Heap,
    /// A shuffle that reads a lane which does not take part.
    Shuffle,
    /// More registers than a block has, by `setmaxnreg`.
    Registers,
}

impl FindingKind {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::OutOfBounds,
        Self::Misaligned,
        Self::TensorMap,
        Self::Uninitialized,
        Self::Race,
        Self::Barrier,
        Self::Deadlock,
        Self::Runaway,
        Self::Trap,
        Self::Assertion,
        Self::Branch,
        Self::Call,
        Self::Stack,
        Self::Heap,
        Self::Shuffle,
        Self::Registers,
    ];

    /// What stands before the description.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutOfBounds => "out of bounds",
            Self::Misaligned => "misaligned",
            Self::TensorMap => "tensor map",
            Self::Uninitialized => "uninitialised",
            Self::Race => "race",
            Self::Barrier => "barrier",
            Self::Deadlock => "deadlock",
            Self::Runaway => "runaway",
            Self::Trap => "trap",
            Self::Assertion => "assertion",
            Self::Branch => "branch",
            Self::Call => "call",
            Self::Stack => "stack",
            Self::Heap => "heap",
            Self::Shuffle => "shuffle",
            Self::Registers => "registers",
        }
    }
}

/// A number of things, such as `1 thread` and `2 threads`.
pub(crate) fn plural(count: impl Into<u64>, noun: &str) -> String {
    match count.into() {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([tx, ty, tz], [bx, by, bz]) = (self.thread, self.block);
        write!(f, "thread ({tx}, {ty}, {tz}) of block ({bx}, {by}, {bz})")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, rank, line, instruction, thread, what, .. } = self;
        if *rank != Rank::Error {
            write!(f, "{}: ", rank.name())?;
        }
        write!(f, "{}: line {line}, `{instruction}`, {thread}: {what}", kind.name())
    }
}
