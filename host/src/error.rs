//! What can go wrong: one line each, which says what to do.

use std::path::PathBuf;

use crate::verify::Fault;

/// An error of this crate. Its text is one line, fit to be shown to a user as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// `--kernel` names nothing that is there.
    #[error("unknown kernel '{name}'{} --list shows all", match suggestion {
        Some(nearest) => format!(": did you mean '{nearest}'?"),
        None => ";".to_owned(),
    })]
    UnknownKernel {
        /// What was asked for.
        name: String,
        /// The nearest name that there is, if one is near.
        suggestion: Option<String>,
    },

    /// A kernel was named, and an arithmetic that is not its own.
    #[error("{kernel} computes in {computes}, which --precision {asked} rules out: --precision {keeps} allows it")]
    OtherPrecision {
        /// The kernel.
        kernel: &'static str,
        /// Its arithmetic.
        computes: &'static str,
        /// What was asked for.
        asked: &'static str,
        /// What would allow it.
        keeps: &'static str,
    },

    /// There is no step that keeps a promise.
    #[error("no step computes in {0}: give another --precision")]
    NoStep(&'static str),

    /// A size or leading dimension that cannot be counted: above [`gpu_kernels::MAX_SIZE`], or less where a step needs more
    /// than the operands.
    #[error("{name} = {value} is too large: it is at most {most}")]
    TooLarge {
        /// `m`, `n`, `k`, `lda`, `ldb` or `ldc`.
        name: &'static str,
        /// What was asked for.
        value: u32,
        /// The largest that would do.
        most: u32,
    },

    /// The matrices of these sizes have more bytes than an address can count.
    #[error("m = {m}, n = {n}, k = {k}: the matrices' bytes overflow; give smaller sizes")]
    SizeOverflow {
        /// Rows of A and C.
        m: u32,
        /// Columns of B and C.
        n: u32,
        /// Columns of A, rows of B.
        k: u32,
    },

    /// A leading dimension is shorter than a row.
    #[error("{name} = {value} is too small: a row of that matrix has {columns} elements")]
    LeadingDimension {
        /// `lda`, `ldb` or `ldc`.
        name: &'static str,
        /// What was asked for.
        value: u32,
        /// The least that would do.
        columns: u32,
    },

    /// Alpha or beta with which C overflows, or that is no number.
    #[error("alpha = {alpha}, beta = {beta}: results would leave the range of {output}; give finite, smaller values")]
    Scalars {
        /// The factor of A*B.
        alpha: f32,
        /// The factor of C.
        beta: f32,
        /// What C is made of.
        output: &'static str,
    },

    /// A kernel was to run on matrices that are not made of what it takes.
    #[error("{kernel} takes {} and gives {}; the matrices are of {} and {}", takes[0], takes[1], found[0], found[1])]
    Elements {
        /// The kernel.
        kernel: &'static str,
        /// What it has A and B, and C, made of.
        takes: [&'static str; 2],
        /// What they are made of.
        found: [&'static str; 2],
    },

    /// `--model` names no device that is known.
    #[error("unknown device '{name}'; those that can be modelled: {models}")]
    UnknownModel {
        /// What was asked for.
        name: String,
        /// Those that there are.
        models: String,
    },

    /// The CUDA driver's library cannot be loaded.
    #[error(
        "no CUDA device was found: the NVIDIA driver (libcuda) is not installed; \
         run this on a machine with an NVIDIA GPU and its driver, or use --backend emulator"
    )]
    NoDriver,

    /// The driver is there, the device is not.
    #[error("no CUDA device {ordinal}: {}", match count {
        0 => "the driver sees no device; check nvidia-smi and CUDA_VISIBLE_DEVICES".to_owned(),
        1 => "there is one, number 0; use --device 0".to_owned(),
        _ => format!("there are {count}, numbered from 0; use --device 0 to {}", count - 1),
    })]
    NoDevice {
        /// The number that was asked for.
        ordinal: usize,
        /// Devices that there are.
        count: usize,
    },

    /// The emulator cannot do what it is asked for.
    #[error("the emulator cannot {what}: {reason}")]
    Emulator {
        /// What was tried, such as `run naive`.
        what: String,
        /// Why not.
        reason: String,
    },

    /// The emulator has found a mistake in a kernel.
    #[error("{kernel} is wrong: {finding}")]
    Emulated {
        /// The kernel.
        kernel: &'static str,
        /// What it does wrong, with the line of the PTX and the thread.
        finding: String,
    },

    /// A call into the CUDA driver or a library of it failed.
    #[error("cannot {what}: {reason}")]
    Cuda {
        /// What was tried, such as `launch sgemm_naive`.
        what: String,
        /// The driver's reason.
        reason: String,
    },

    /// The operands, and what a kernel takes beside them, do not fit into the device's memory.
    #[error("not enough device memory: {needed} bytes are needed, {available} are there; give smaller sizes")]
    OutOfMemory {
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that the device has.
        available: u64,
    },

    /// The operands, fresh and as a kernel left them, do not fit into the host's memory.
    #[error("not enough host memory: the matrices need {needed} bytes, {available} are there; give smaller sizes")]
    OutOfHostMemory {
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that the machine has to spare.
        available: u64,
    },

    /// The device cannot run the step.
    #[error(
        "{slug} needs {needs}; {device} has {}.{}: {}",
        compute_capability.0, compute_capability.1, match model {
            Some(model) => format!("--backend emulator --model {model} runs it"),
            None => "choose another kernel, --list shows all".to_owned(),
        }
    )]
    Unsupported {
        /// The step.
        slug: &'static str,
        /// The devices that it needs, as [`gpu_kernels::Target::devices`] names them.
        needs: &'static str,
        /// The device's name.
        device: String,
        /// The device's compute capability: major, minor.
        compute_capability: (u32, u32),
        /// A device that the emulator knows and that runs it.
        model: Option<&'static str>,
    },

    /// A PTX module is no PTX, or the driver does not accept it.
    #[error("{path} is not a PTX module that can be used: {reason}")]
    BadPtx {
        /// The file, or the built-in module's name.
        path: String,
        /// Why.
        reason: String,
    },

    /// A PTX module without the entry that the step needs.
    #[error("{path} has no kernel '{kernel}'; the file must hold the kernels that --kernel asks for")]
    MissingKernel {
        /// The file, or the built-in module's name.
        path: String,
        /// The entry point.
        kernel: String,
    },

    /// cuBLAS cannot be loaded or started.
    #[error("cuBLAS is not there: {reason}")]
    NoCublas {
        /// Why.
        reason: String,
    },

    /// A table of what is fastest that cannot be used.
    #[error("{path} is not a table that `--tune` wrote: {reason}")]
    BadTable {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },

    /// A table of another device where one is to be written.
    #[error("{path} is the table of {found}, and this is {device}: give another file by --output")]
    OtherTable {
        /// The file.
        path: String,
        /// The device that it is of.
        found: String,
        /// This one.
        device: String,
    },

    /// There is nothing to measure on.
    #[error("--tune measures kernels, and no CUDA device was found: run it on a machine with one")]
    NothingToTune,

    /// A kernel whose inputs and results are not SGEMM's.
    #[error("{kernel} does not take and give f32: its accuracy is not SGEMM's to compare with")]
    NotComparable {
        /// The kernel.
        kernel: &'static str,
    },

    /// A kernel that promises SGEMM's accuracy, and has larger errors.
    #[error(
        "{kernel} promises errors no larger than SGEMM's, and has larger ones than {other} in {larger} of {cases} cases"
    )]
    LessAccurate {
        /// The kernel.
        kernel: String,
        /// What it was compared with.
        other: String,
        /// In how many cases its errors are larger.
        larger: usize,
        /// In how many it was compared.
        cases: usize,
    },

    /// [`crate::Stop`] was raised while this went on.
    #[error("interrupted")]
    Interrupted,

    /// Output that cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Output {
        /// The file, or `standard output`.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },

    /// A kernel whose result is wrong.
    #[error("{kernel} at m = {m}, n = {n}, k = {k} is not verified: {fault}")]
    NotVerified {
        /// The kernel.
        kernel: &'static str,
        /// Rows of C.
        m: u32,
        /// Columns of C.
        n: u32,
        /// Length of the sums.
        k: u32,
        /// The first thing found wrong.
        fault: Fault,
    },
}

impl Error {
    /// The program's exit code for this error: 2 where the command line is at fault, 130 after Ctrl-C as shells have it, 1
    /// otherwise.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::UnknownKernel { .. }
            | Self::OtherPrecision { .. }
            | Self::NoStep(_)
            | Self::TooLarge { .. }
            | Self::SizeOverflow { .. }
            | Self::LeadingDimension { .. }
            | Self::Scalars { .. }
            | Self::UnknownModel { .. }
            | Self::NotComparable { .. } => 2,
            Self::Interrupted => 130,
            _ => 1,
        }
    }
}
