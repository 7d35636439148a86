//! The syntax tree. Scopes are resolved: registers, variables and labels of a function are numbered.

use super::{SourceMap, SyntaxError};
use crate::types::{Space, Type};

/// A translation unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Module {
    /// `.version`: major, minor.
    pub version: (u32, u32),
    /// `.target`: the first name, such as `sm_90a`.
    pub target: String,
    /// `.address_size`: 64, or 32 where none is given.
    pub address_size: u32,
    /// Variables of the module: `.global`, `.const` and `.shared`.
    pub variables: Vec<Variable>,
    /// Kernels and device functions, declarations included, in the order of the text. A function that is declared and
    /// later defined stands here once, with its body.
    pub functions: Vec<Function>,
    /// What it was compiled from.
    pub source: SourceMap,
}

/// A kernel or a device function.
#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Kernel or device function.
    pub kind: FunctionKind,
    /// What it returns: none for a kernel.
    pub returns: Vec<Param>,
    /// What it takes.
    pub params: Vec<Param>,
    /// Its launch bounds.
    pub bounds: LaunchBounds,
    /// Its body; `None` for a function that is only declared, or whose body cannot be read.
    pub body: Option<Body>,
    /// Why its body cannot be read.
    pub error: Option<SyntaxError>,
    /// Where it begins, counted from 1.
    pub line: u32,
}

/// Called by the host or by the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionKind {
    /// `.entry`
    Entry,
    /// `.func`
    Device,
}

/// A parameter. Of a device function it may be a register (`.reg`) instead of memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: String,
    /// Its type; of an array, that of an element.
    pub ty: Type,
    /// Bytes in all.
    pub bytes: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// The register that it is, for `.reg` parameters of a device function with a body.
    pub register: Option<RegisterId>,
}

/// Performance-tuning and cluster directives; `None` or 0 where one is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaunchBounds {
    /// `.maxntid`: threads of a block at most, by dimension.
    pub max_threads: Option<[u32; 3]>,
    /// `.reqntid`: threads of a block exactly, by dimension.
    pub required_threads: Option<[u32; 3]>,
    /// `.minnctapersm`: blocks that must fit on an SM.
    pub min_blocks_per_sm: Option<u32>,
    /// `.maxnreg`: registers of a thread at most.
    pub max_registers: Option<u32>,
    /// `.reqnctapercluster` (or `.explicitcluster` with none): blocks of a cluster, by dimension.
    pub required_cluster: Option<[u32; 3]>,
}

/// A number of a register within its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterId(pub u32);

/// A number of a label within its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// A number of a variable within its function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableId(pub u32);

/// The body of a function, with inner scopes flattened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Body {
    /// Registers that some instruction names, by [`RegisterId`]. `.reg .b32 %r<1000>` declares names, not entries.
    pub registers: Vec<Register>,
    /// Variables, by [`VariableId`]: `.shared`, `.local`, and `.param` for calls.
    pub variables: Vec<Variable>,
    /// Names of the labels, by [`LabelId`], for messages.
    pub labels: Vec<String>,
    /// Instructions and labels in order.
    pub statements: Vec<Statement>,
}

/// A register of a function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Register {
    /// Its name, such as `%r12`.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// A variable in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub space: Space,
    /// Bytes in all; 0 for an `.extern .shared` array without a size, which is the dynamic shared memory.
    pub bytes: u64,
    /// Alignment in bytes.
    pub align: u32,
    /// What it holds at first; what is left out is 0.
    pub initial: Vec<Initial>,
    /// `.extern`: defined elsewhere, or by the launch.
    pub is_extern: bool,
    /// Where it is declared, counted from 1.
    pub line: u32,
}

/// A part of a variable's initial value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Initial {
    /// Bytes, little-endian.
    Bytes {
        /// From which byte on.
        offset: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The address of a symbol of the module.
    Address {
        /// At which byte.
        offset: u64,
        /// Its width in bytes.
        width: u32,
        /// The variable or function.
        symbol: String,
        /// Bytes that are added.
        addend: i64,
        /// `generic(...)`: the generic address.
        generic: bool,
    },
}

/// An instruction or a label.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// A label.
    Label(LabelId),
    /// An instruction.
    Instruction(Instruction),
    /// `name: .branchtargets a, b, c;`
    BranchTargets {
        /// The list's own name.
        name: LabelId,
        /// Where `brx.idx` goes.
        targets: Vec<LabelId>,
    },
}

/// An instruction as it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    /// `@p` or `@!p`.
    pub guard: Option<Guard>,
    /// The opcode's parts between dots, such as `["ld", "shared", "v4", "b32"]`; `::` stays inside of a part
    /// (`shared::cta`, `L2::128B`).
    pub opcode: Vec<String>,
    /// The operands in order. For `call`, a list in parentheses is an [`Operand::List`].
    pub operands: Vec<Operand>,
    /// Where it stands in the PTX, counted from 1.
    pub line: u32,
}

impl Instruction {
    /// The opcode as it is written, such as `ld.shared.v4.b32`.
    #[must_use]
    pub fn mnemonic(&self) -> String {
        self.opcode.join(".")
    }
}

/// The predicate under which an instruction runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub register: RegisterId,
    /// `@!p`
    pub negate: bool,
}

/// An operand.
#[derive(Debug, Clone, PartialEq)]
pub enum Operand {
    /// A register.
    Register(RegisterId),
    /// `!p`
    Not(RegisterId),
    /// A special register, such as `%tid.x` or `%laneid`, with its component.
    Special(String),
    /// An integer; negative ones in two's complement.
    Integer(u64),
    /// `0f3f800000`: the bits of an f32.
    Single(u32),
    /// `0d...` or a decimal number: the bits of an f64.
    Double(u64),
    /// The name of a variable or function, with `+ offset`: its address.
    Symbol {
        /// The variable, parameter or function.
        symbol: Symbol,
        /// Bytes that are added.
        offset: i64,
    },
    /// A label: where a branch goes.
    Label(LabelId),
    /// `[...]`
    Address(Address),
    /// `{a, b, ...}`
    Vector(Vec<Self>),
    /// `p|q`, of `setp`, `shfl` and `match`
    Pair(Box<Self>, Box<Self>),
    /// `(a, b, ...)`, of `call`
    List(Vec<Self>),
    /// `_`: an unused result.
    Sink,
}

/// An address expression in brackets. Tensor coordinates (`[map, {x, y}]`) are in `coordinates`; further operands
/// (`[a], [b]`) stay separate.
#[derive(Debug, Clone, PartialEq)]
pub struct Address {
    /// The base.
    pub base: AddressBase,
    /// Bytes that are added.
    pub offset: i64,
    /// `[base, {x, y}]`: the coordinates of a tensor or texture; empty elsewhere.
    pub coordinates: Vec<Operand>,
}

/// The base of an address.
#[derive(Debug, Clone, PartialEq)]
pub enum AddressBase {
    /// A register.
    Register(RegisterId),
    /// A variable or parameter.
    Symbol(Symbol),
    /// A number: the whole address is in `offset`.
    Immediate,
}

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Symbol {
    /// A variable of the function, the innermost scope first.
    Local(VariableId),
    /// A parameter of the function, by index.
    Param(usize),
    /// A return value of a device function, by index.
    Return(usize),
    /// A variable or function of the module, or one that is defined elsewhere, by its name.
    Module(String),
}
