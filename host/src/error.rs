//! What can go wrong: one line each, which says what to do.

use std::path::PathBuf;

use gpu_kernels::STEPS;

mod fault;

pub use fault::{Damage, Fault};

/// An error of this crate. Its text is one line, fit to be shown to a user as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What the library says.
    #[error("{0}")]
    Gemm(#[from] sgemm::Error),

    /// `--kernel` names nothing that is there.
    #[error("unknown kernel '{name}'{} `host list` shows all", match suggestion {
        Some(nearest) => format!(": did you mean '{nearest}'?"),
        None => ";".to_owned(),
    })]
    UnknownKernel {
        /// What was asked for.
        name: String,
        /// The nearest name that there is, if one is near.
        suggestion: Option<String>,
    },

    /// What is no step was named where only a step has what is asked for.
    #[error("'{name}' is no step: give the name of one, such as {}; `host list` shows all", STEPS[0].slug)]
    NotAStep {
        /// What was asked for.
        name: String,
    },

    /// An option that would do nothing.
    #[error("{option} has no effect here: {reason}; leave it out")]
    NoEffect {
        /// The option.
        option: &'static str,
        /// Why.
        reason: String,
    },

    /// A kernel was named, and an arithmetic that is not its own.
    #[error("{kernel} computes in {computes}, which --precision {asked} rules out: --precision {meets} allows it")]
    OtherPrecision {
        /// The kernel.
        kernel: &'static str,
        /// Its arithmetic.
        computes: &'static str,
        /// What was asked for.
        asked: &'static str,
        /// What would allow it.
        meets: &'static str,
    },

    /// There is no step that meets an accuracy class.
    #[error("no step computes in {0}: give another --precision")]
    NoStep(&'static str),

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
    #[error("not enough host memory: {}; give smaller sizes", if needed > available {
        format!("the matrices need {needed} bytes, {available} are there")
    } else {
        format!("this process may not have {needed} bytes more, although the machine has them: `ulimit -v` shows its limit")
    })]
    OutOfHostMemory {
        /// Bytes that are needed.
        needed: u64,
        /// Bytes that the machine has to spare.
        available: u64,
    },

    /// The device cannot run the step.
    #[error("{reason}: {}", match model {
        Some(model) => format!("--backend emulator --model {model} runs it"),
        None => "choose another kernel: `host list` shows all".to_owned(),
    })]
    Unsupported {
        /// What the step needs, and what the device has.
        reason: sgemm::Error,
        /// A device that the emulator knows and that runs it.
        model: Option<&'static str>,
    },

    /// cuBLAS cannot be loaded or started.
    #[error("cuBLAS is not there: {reason}")]
    NoCublas {
        /// Why.
        reason: String,
    },

    /// A table of what is fastest that cannot be used.
    #[error("{path} is not a table that `host tune` wrote: {reason}")]
    BadTable {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
    },

    /// Records that constants of kernels are wanted of.
    #[error("no times of kernels of one device in these records: `host tune` and `host shapes --regret` write such")]
    NoRows,

    /// Records that cannot be read.
    #[error(transparent)]
    Records(results::Error),

    /// There is nothing to measure on.
    #[error("`host tune` measures kernels, and no CUDA device was found: run it on a machine with one")]
    NothingToTune,

    /// A set of shapes that cannot be read.
    #[error("{set}: {reason}")]
    BadShapes {
        /// The set, as it was asked for.
        set: String,
        /// What is wrong, with the line of a file.
        reason: String,
    },

    /// There is no cuBLAS to be compared with.
    #[error("`host shapes` times kernels beside cuBLAS, and no CUDA device was found: run it on a machine with one")]
    NothingToCompare,

    /// A kernel whose inputs and results are not SGEMM's.
    #[error("{kernel} does not take and give f32: its accuracy is not SGEMM's to compare with")]
    NotComparable {
        /// The kernel.
        kernel: &'static str,
    },

    /// A kernel of accuracy class fp32 whose errors are larger than SGEMM's.
    #[error(
        "{kernel} is of accuracy class fp32, and its errors are larger than those of {other} in {larger} of {cases} cases"
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

    /// An option that has no meaning where several GPUs multiply together.
    #[error("{option} cannot be combined with several GPUs: {reason}")]
    NotTogether {
        /// The option.
        option: &'static str,
        /// Why not.
        reason: &'static str,
    },

    /// An option that has a meaning only where several GPUs multiply together.
    #[error("{option} is about several GPUs: give --gpus, or start the program by torchrun, mpirun or srun")]
    OneGpu {
        /// The option.
        option: &'static str,
    },

    /// A grid of another number of ranks.
    #[error("--grid {grid} has {has} ranks, and {ranks} are there: give one whose numbers multiply to {ranks}")]
    Grid {
        /// The grid.
        grid: String,
        /// Its ranks.
        has: usize,
        /// Those that there are.
        ranks: usize,
    },

    /// More ranks than GPUs.
    #[error("--gpus {asked}, and {}; check CUDA_VISIBLE_DEVICES, or start one process per GPU on several machines by torchrun, mpirun or srun", match count {
        1 => "this machine has one CUDA device".to_owned(),
        _ => format!("this machine has {count} CUDA devices"),
    })]
    TooFewGpus {
        /// What was asked for.
        asked: usize,
        /// Devices that there are.
        count: usize,
    },

    /// Another number of ranks than a launcher started.
    #[error("--gpus {asked}, and the launcher started {ranks} processes: leave out --gpus, or start as many")]
    OtherRanks {
        /// What was asked for.
        asked: usize,
        /// Processes.
        ranks: usize,
    },

    /// A rank's process that cannot be started.
    #[error("cannot start rank {rank}: {source}")]
    Launch {
        /// The rank.
        rank: usize,
        /// The system's reason.
        source: std::io::Error,
    },

    /// A distributed result that is wrong.
    #[error("the product over {ranks} GPUs at m = {m}, n = {n}, k = {k} is not verified: {fault}")]
    NotVerifiedTogether {
        /// Ranks.
        ranks: usize,
        /// Rows of C.
        m: u32,
        /// Columns of C.
        n: u32,
        /// Length of the sums.
        k: u32,
        /// The first thing found wrong, and on which rank.
        fault: String,
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
            | Self::NotAStep { .. }
            | Self::NoEffect { .. }
            | Self::OtherPrecision { .. }
            | Self::NoStep(_)
            | Self::Gemm(
                sgemm::Error::TooLarge { .. }
                | sgemm::Error::SizeOverflow { .. }
                | sgemm::Error::LeadingDimension { .. },
            )
            | Self::Scalars { .. }
            | Self::UnknownModel { .. }
            | Self::NotTogether { .. }
            | Self::OneGpu { .. }
            | Self::Grid { .. }
            | Self::TooFewGpus { .. }
            | Self::OtherRanks { .. }
            | Self::NotComparable { .. } => 2,
            Self::Interrupted => 130,
            _ => 1,
        }
    }
}
