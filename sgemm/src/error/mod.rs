//! What can go wrong: one line each, which names the operand, the bound and the value.

mod text;

use gpu_kernels::Element;

use crate::AccuracyClass;

/// An error of this crate. Its text is one line, fit to be shown to a user as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A size or leading dimension that kernels cannot count: above [`gpu_kernels::MAX_SIZE`], or above a lower bound of a kernel whose
    /// pre-pass makes longer rows.
    TooLarge {
        /// `m`, `n`, `k`, `lda`, `ldb` or `ldc`.
        name: &'static str,
        /// What was asked for.
        value: usize,
        /// The largest that would do.
        most: usize,
    },

    /// The problem takes more blocks, or more launches, than can be had: far more memory than a device has, or a batch that is endless.
    TooManyBlocks {
        /// The kernel that would be launched.
        kernel: &'static str,
    },

    /// The matrices of these sizes have more bytes than an address can count.
    SizeOverflow {
        /// Rows of A and C.
        m: u32,
        /// Columns of B and C.
        n: u32,
        /// Columns of A, rows of B.
        k: u32,
    },

    /// A leading dimension is shorter than a row, or than a column where columns are contiguous.
    LeadingDimension {
        /// `lda`, `ldb`, `ldc` or `ldd`.
        name: &'static str,
        /// What was asked for.
        value: usize,
        /// The least that would do.
        least: usize,
    },

    /// Neither rows nor columns of a matrix are contiguous.
    Strides {
        /// `A`, `B`, `C` or `D`.
        operand: &'static str,
        /// Elements from a row to the next.
        row_stride: usize,
        /// Elements from a column to the next.
        column_stride: usize,
    },

    /// The elements of an operand, over the whole batch, have more bytes than a pointer difference can count.
    ExtentOverflow {
        /// `A`, `B`, `C` or `D`.
        operand: &'static str,
    },

    /// Problems of a batch would write to the same elements.
    BatchStride {
        /// `C` or `D`.
        operand: &'static str,
        /// Elements from one problem's matrix to the next one's.
        stride: usize,
        /// Elements from the first to the last of one matrix, both counted.
        elements: usize,
    },

    /// An alignment that is no power of two, or less than an element.
    BadAlignment {
        /// `A` or `B`.
        operand: &'static str,
        /// What was asked for, in bytes.
        bytes: usize,
        /// What the operand is made of.
        element: Element,
    },

    /// No kernel makes such a C of such operands.
    Output {
        /// What A and B are made of.
        input: Element,
        /// What C was to be made of.
        output: Element,
    },

    /// An accuracy class that is not one of operands of that type.
    Accuracy {
        /// The class.
        class: AccuracyClass,
        /// What A and B are made of.
        input: Element,
    },

    /// A buffer has fewer elements than the problem reads or writes there.
    ShortBuffer {
        /// `A`, `B`, `C`, `D`, `bias`, `alpha` or `beta`.
        operand: &'static str,
        /// What it has.
        elements: usize,
        /// What it needs.
        least: usize,
    },

    /// The problem needs a buffer that was not given, or was given one that it has no use for.
    Buffers {
        /// `D`, `bias`, `alpha` or `beta`.
        operand: &'static str,
        /// Whether the problem needs it.
        is_needed: bool,
    },

    /// An operand was prepared for a plan that reads it otherwise, or each problem of a batch has its own.
    Prepared {
        /// `A` or `B`.
        operand: &'static str,
    },

    /// A group was given the buffers of more or fewer problems than it has.
    GroupCount {
        /// Its problems.
        problems: usize,
        /// Those for which there are buffers.
        given: usize,
    },

    /// What is wrong with one problem of a group, or with its buffers.
    InGroup {
        /// The problem, counted from 0.
        index: usize,
        /// What it is.
        error: Box<Self>,
    },

    /// The workspace is smaller than the plan asks for.
    WorkspaceTooSmall {
        /// Its bytes.
        bytes: u64,
        /// The plan's.
        least: u64,
    },

    /// No kernel solves the problem with so little workspace.
    WorkspaceLimit {
        /// The most bytes that a plan may ask for.
        limit: u64,
        /// The least that any would.
        least: u64,
    },

    /// A stream or a buffer of another device, or of another context of it.
    WrongDevice {
        /// `stream`, `A`, `B`, `C`, `workspace` or what else it is.
        what: &'static str,
        /// The device that it is of, by its number.
        found: usize,
        /// The device of the handle.
        expected: usize,
    },

    /// The stream is being captured into a graph, which could outlive the buffers of the run.
    Capturing,

    /// A kernel was to run on matrices that are not made of what it takes.
    Elements {
        /// The kernel.
        kernel: &'static str,
        /// What it takes A and B as, and gives C as.
        takes: [Element; 2],
        /// What they are made of.
        found: [Element; 2],
    },

    /// An operand, or the workspace, that does not begin where kernels can read it.
    Alignment {
        /// `A`, `B`, `C`, `D` or `workspace`.
        operand: &'static str,
        /// Where it begins.
        address: u64,
        /// What that must be a multiple of.
        bytes: u64,
    },

    /// The device cannot run the kernel.
    Unsupported {
        /// The kernel.
        kernel: &'static str,
        /// The devices that it needs, as [`gpu_kernels::Target::devices`] names them.
        needs: &'static str,
        /// The device's name.
        device: String,
        /// The device's compute capability: major, minor.
        compute_capability: (u32, u32),
    },

    /// The emulator found that a kernel does what it must not.
    Emulated {
        /// The kernel.
        kernel: &'static str,
        /// What it does, with line and thread.
        finding: String,
    },

    /// An address of an emulated device at which no memory is allocated, or not so much.
    BadAddress {
        /// The address.
        address: u64,
        /// Bytes that were to be there; 0 where an allocation was to begin there.
        bytes: u64,
    },

    /// The host has no room for the memory of an emulated device.
    OutOfMemory {
        /// What was to be allocated.
        bytes: u64,
    },

    /// The CUDA driver's library cannot be loaded.
    NoDriver,

    /// The driver is there, a device is not.
    NoDevice,

    /// The driver is too old for what is asked of it.
    DriverTooOld {
        /// The newest CUDA version that it supports, such as `11.2`.
        found: String,
        /// The oldest that would do.
        oldest: String,
    },

    /// A call into the CUDA driver failed.
    Driver {
        /// What was tried, such as `run naive`; completes the sentence "cannot ...".
        what: String,
        /// The driver's code, such as `CUDA_ERROR_INVALID_VALUE`.
        code: String,
    },

    /// A product of matrices in the host's memory ended early: C is in part computed.
    Unfinished {
        /// Why.
        error: Box<Self>,
    },

    /// A PTX module is no PTX, or the driver does not accept it.
    BadModule {
        /// The module's name: the built-in one's, or a file's.
        module: String,
        /// Why.
        reason: String,
    },

    /// No PTX module for a target: this crate was built without the feature that it comes with.
    NoModule {
        /// The target, such as `sm_90a`.
        target: &'static str,
        /// The feature, such as `sm90`.
        feature: &'static str,
    },

    /// A PTX module without a kernel that a step launches.
    MissingKernel {
        /// The module's name.
        module: String,
        /// The entry point.
        kernel: String,
    },

    /// A rank that a grid does not have.
    Rank {
        /// The rank.
        rank: usize,
        /// The grid's.
        ranks: usize,
    },

    /// Plans or matrices for other ranks than the grid has.
    Ranks {
        /// The grid's.
        ranks: usize,
        /// Those that were given.
        given: usize,
    },

    /// Two ranks were given different arguments.
    Disagreement {
        /// The argument, such as `m`.
        argument: &'static str,
        /// The ranks.
        ranks: [usize; 2],
        /// What each of them was given.
        values: [u64; 2],
    },

    /// A rank did not get on with what ranks do together.
    Collective {
        /// The rank that waited.
        rank: usize,
        /// What for, such as `AllGather of chunk 3 of B`.
        what: String,
        /// Why it ended.
        reason: String,
    },

    /// Something that only a plan for one device has.
    NotDistributed {
        /// What it is, such as `a batch`.
        what: &'static str,
    },

    /// So few bytes of a GPU's memory that they do not hold what it multiplies at once.
    DeviceMemory {
        /// The bytes that it may use.
        limit: u64,
        /// Bytes that would do.
        enough: u64,
    },

    /// NCCL's library cannot be loaded.
    NoNccl {
        /// Why not, as the loader says.
        reason: String,
    },

    /// NCCL is too old for what is asked of it.
    NcclTooOld {
        /// Its version, such as `2.11.4`.
        found: String,
        /// The oldest that would do.
        oldest: String,
    },

    /// The environment does not say which rank a process is, or contradicts itself.
    Launcher {
        /// How.
        reason: String,
    },

    /// A table of what is fastest that cannot be read.
    BadTable {
        /// The line, counted from 1.
        line: usize,
        /// Why not.
        reason: String,
    },
}

impl std::error::Error for Error {}

impl Error {
    /// As that of the problem of this index, of a group.
    pub(crate) fn in_group(self, index: usize) -> Self {
        Self::InGroup { index, error: Box::new(self) }
    }

    /// As one that leaves C in part computed.
    #[cfg(feature = "distributed")]
    pub(crate) fn unfinished(self) -> Self {
        Self::Unfinished { error: Box::new(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_goes_to_any_thread() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Error>();
    }
}
