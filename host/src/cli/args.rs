//! The command line as it is typed. What it asks for is a [`RunRequest`](super::request::RunRequest).

use std::path::PathBuf;

mod together;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::shape::Shape;
use super::values::{MAX_LAUNCHES, factor, inputs, ops, order, precision, shape, size};
use crate::AccuracyClass;
use crate::backend::{Op, Order};
use crate::measure::accuracy::Inputs;
use crate::output::Format;
pub use together::Together;

/// Under which `--help` shows how kernels are timed.
const TIMING: &str = "Timing";

const EXAMPLES: &str = "\
Examples:
  host                                       the fastest kernel for this device, at 4096 x 4096 x 4096
  host --kernel 2d-tiling --size 4092        one step, its result verified, cuBLAS beside it
  host --quick                               the whole ladder at one size, in a few seconds
  host --kernel all --size 1024,4096         the whole ladder at two sizes
  host --kernel all --format json            one JSON object per kernel and size
  host --size 64x8192x8192,16x4096x4096      shapes that are not square: m x n x k
  host --precision fp32                      the fastest kernel of accuracy class fp32, tensor cores included
  host --m 1000 --n 7 --k 64 --beta -0.5     any shape: C = A*B - 0.5*C
  host --backend emulator --full --size 512  every block, without a GPU
  host --gpus 4 --size 16384                 one product over four GPUs, and how much faster that is than one
  host explain 2d-tiling --size 1024         why a step is fast: its counters beside those of its base
  host counters --size 1024                  the same for all steps, side by side
  host accuracy                              errors against f64 on hard inputs, beside those of SGEMM
  host shapes random:200:1 --precision f16   200 random shapes beside cuBLAS: how the ratio is distributed, and the worst by name
  host tune                                  measure which kernel is the fastest for which shape
  host list                                  the names that --kernel takes

Exit codes:
  0    every kernel ran and its result is right
  1    something failed: no such device, too little memory, a kernel that cannot run or is wrong
  2    the command line is wrong
  130  Ctrl-C, or SIGTERM, ended the run: what was done before is shown and written";

/// Runs, verifies and times SGEMM kernels written in Rust, cuBLAS beside them.
///
/// Computes C = alpha*A*B + beta*C, row-major, on random operands, in fp32 unless a kernel says otherwise. Every result is checked
/// against f64 before it is timed; the times are medians, with the L2 cache flushed before each launch. Where there is no CUDA
/// device, an emulator runs the kernels on the CPU, and the times are modelled.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES, max_term_width = 110, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub measure: Measure,
}

/// What is done instead of measuring.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show what the emulator counts for a step beside its base, the step that it changes, and say what the change did
    Explain(Explain),
    /// Compare the errors of kernels of accuracy class fp32 with those of SGEMM, on many kinds of inputs and lengths of k
    Accuracy(Accuracy),
    /// Show what the emulator counts for each kernel
    Counters(Counters),
    /// Time what `auto` chooses for each shape of a set beside cuBLAS, and show how the ratio is distributed: needs a CUDA device
    Shapes(Shapes),
    /// Time all kernels on many shapes, and write the table of constants that `auto` predicts times by: needs a CUDA device
    Tune(Tune),
    /// Print the names that --kernel takes, one per line
    List,
}

/// Verify and time kernels.
#[derive(Debug, Args)]
pub struct Measure {
    /// Kernels to run: names that `host list` shows; repeat it or separate them with commas [default: auto]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// The accuracy class that `auto`, `pinned` and `all` must meet: fp32-strict is fp32 on the CUDA cores; fp32 admits the tensor cores too,
    /// which are less accurate for short or sparse sums; tf32, f16 and bf16 are that arithmetic [default: fp32-strict for `auto`,
    /// every class for `all`]
    #[arg(long, value_name = "CLASS", value_parser = precision)]
    pub precision: Option<AccuracyClass>,
    /// Select by this table, which `host tune` wrote, instead of the built-in one of the device
    #[arg(long, value_name = "FILE")]
    pub tuned: Option<PathBuf>,
    /// Refuse to run on another device than that of these records, with which the run is to be compared
    #[arg(long, value_name = "FILE")]
    pub same_device_as: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub scalars: Scalars,
    /// Take a quick look: all kernels at 1024, unless others are asked for, with few launches, or few blocks in the emulator
    #[arg(long, help_heading = TIMING, conflicts_with_all = ["iterations", "warmup", "full"])]
    pub quick: bool,
    /// Timed launches per kernel [default: 10 to 200, for about half a second; from 5 where a launch takes over 200 ms]
    #[arg(long, help_heading = TIMING, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LAUNCHES)))]
    pub iterations: Option<u32>,
    /// Untimed launches before them [default: 2]
    #[arg(long, help_heading = TIMING, value_name = "N", value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_LAUNCHES)))]
    pub warmup: Option<u32>,
    #[command(flatten)]
    pub together: Together,
    #[command(flatten)]
    pub backend: Backend,
    /// Hand all that a step launches to the CUDA device in one piece, as a CUDA graph
    #[arg(long)]
    pub graphs: bool,
    #[command(flatten)]
    pub emulator: Emulator,
    #[command(flatten)]
    pub records: Records,
}

/// `host explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// The step
    #[arg(value_name = "STEP")]
    pub step: String,
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub scalars: Scalars,
    #[command(flatten)]
    pub emulator: Emulator,
    /// What to print
    #[arg(long, value_enum, default_value_t = ExplanationFormat::Table)]
    pub format: ExplanationFormat,
}

/// `host accuracy`.
#[derive(Debug, Args)]
pub struct Accuracy {
    /// Kernels to compare, by the names that `host list` shows; repeat it or separate them with commas [default: cuBLAS, a step in
    /// fp32, and those of its accuracy class in another arithmetic]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// Kinds of inputs; separate several with commas [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = inputs)]
    pub inputs: Vec<Inputs>,
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub backend: Backend,
    #[command(flatten)]
    pub model: Model,
    #[command(flatten)]
    pub records: Records,
}

/// `host counters`.
#[derive(Debug, Args)]
pub struct Counters {
    /// Steps, by the names that `host list` shows; repeat it or separate them with commas [default: every step]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub kernel: Vec<String>,
    #[command(flatten)]
    pub common: Common,
    #[command(flatten)]
    pub emulator: Emulator,
    #[command(flatten)]
    pub records: Records,
}

/// `host shapes`.
#[derive(Debug, Args)]
pub struct Shapes {
    /// A file of comma-separated values with a header that names m, n and k, and perhaps op_a, op_b (n or t), order (row or column),
    /// batch, and count, how often a program has the shape; or random:COUNT:SEED, sizes log-uniform from 1 to 18000
    #[arg(value_name = "SET")]
    pub set: String,
    /// The accuracy classes that the kernels must meet; separate several with commas
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = precision, default_value = AccuracyClass::Fp32Strict.name())]
    pub precision: Vec<AccuracyClass>,
    /// How A and B are stored where the set does not say it: nn, nt, tn or tt, as BLAS has it
    #[arg(long, help_heading = "Problems", value_name = "OPS", value_parser = ops, default_value = "nn")]
    pub op: [Op; 2],
    /// What is contiguous where the set does not say it: row or column
    #[arg(long, help_heading = "Problems", value_name = "ORDER", value_parser = order, default_value = "row")]
    pub order: Order,
    /// Products of a strided batch where the set does not say it
    #[arg(long, help_heading = "Problems", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub batch: u32,
    /// Time all kernels of the class too, and say how much slower than the fastest the chosen one is: takes far longer
    #[arg(long, help_heading = TIMING)]
    pub regret: bool,
    #[command(flatten)]
    pub device: Device,
    #[command(flatten)]
    pub records: Records,
}

/// `host tune`.
#[derive(Debug, Args)]
pub struct Tune {
    /// Time the kernels of these accuracy classes only; separate several with commas [default: fp32, tf32, f16, bf16]
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = precision, conflicts_with_all = ["records", "model"])]
    pub precision: Vec<AccuracyClass>,
    /// Instead of measuring, take the times of these records, which `host tune` wrote, or `host shapes --regret`
    #[arg(long, value_name = "FILE", value_delimiter = ',', conflicts_with = "ordinal")]
    pub records: Vec<PathBuf>,
    /// Divide these records into as many folds too, and say what choosing costs in each by what is fitted to the others
    #[arg(long, value_name = "COUNT", requires = "records", value_parser = clap::value_parser!(u8).range(2..))]
    pub folds: Option<u8>,
    /// Take the times that the emulator models for a device instead of measuring: h200, h100, a100, rtx3090, rtx4090 or b200
    #[arg(long, value_name = "NAME", conflicts_with_all = ["records", "json", "ordinal"])]
    pub model: Option<String>,
    #[command(flatten)]
    pub device: Device,
    /// The file to write [default: sgemm/src/select/tables/, and the device's name]
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the times as JSON lines to this file; - is standard output, which then has nothing else
    #[arg(long, help_heading = "Output", value_name = "FILE", conflicts_with = "records")]
    pub json: Option<PathBuf>,
}

/// What every command takes: sizes of the problems, what their operands are drawn from, and where the kernels come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Problems")]
pub struct Common {
    /// Sizes, in elements: N for m = n = k, or MxNxK; `ladder` for those of `cargo xtask bench`, `growth` for many from 128 to
    /// 16384; separate several with commas [default: 4096; `host accuracy`: m = n = 2048 at several k, 128 in the emulator]
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = shape, allow_negative_numbers = true)]
    pub size: Vec<Shape>,
    /// Rows of A and C, for one shape that is not square
    #[arg(long, value_name = "M", value_parser = size, allow_negative_numbers = true, conflicts_with = "size", requires_all = ["n", "k"])]
    pub m: Option<u32>,
    /// Columns of B and C
    #[arg(long, value_name = "N", value_parser = size, allow_negative_numbers = true, conflicts_with = "size", requires_all = ["m", "k"])]
    pub n: Option<u32>,
    /// Columns of A, rows of B
    #[arg(long, value_name = "K", value_parser = size, allow_negative_numbers = true, conflicts_with = "size", requires_all = ["m", "n"])]
    pub k: Option<u32>,
    /// What the operands are drawn from: the same seed gives the same operands [default: a fresh one, shown]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run the kernels of this PTX file instead of the built-in ones
    #[arg(long, help_heading = "Device", display_order = usize::MAX, value_name = "FILE")]
    pub ptx: Option<PathBuf>,
}

/// Alpha and beta.
#[derive(Debug, Args)]
#[command(next_help_heading = "Problems")]
pub struct Scalars {
    /// The factor of A*B
    #[arg(long, value_name = "X", default_value = "1", value_parser = factor, allow_negative_numbers = true)]
    pub alpha: f32,
    /// The factor of the old C; at 0 it is not read
    #[arg(long, value_name = "X", default_value = "0", value_parser = factor, allow_negative_numbers = true)]
    pub beta: f32,
}

/// What runs the kernels.
#[derive(Debug, Args)]
#[command(next_help_heading = "Device")]
pub struct Backend {
    /// What runs the kernels
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    pub backend: BackendName,
    #[command(flatten)]
    pub device: Device,
}

/// Which CUDA device.
#[derive(Debug, Args)]
#[command(next_help_heading = "Device")]
pub struct Device {
    /// The CUDA device, counted from 0 [default: 0]
    #[arg(long = "device", value_name = "N")]
    pub ordinal: Option<usize>,
}

/// How the emulator runs kernels.
#[derive(Debug, Args)]
#[command(next_help_heading = "Device")]
pub struct Emulator {
    /// The emulator runs every block, however long that takes, instead of a sample of a large grid
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub model: Model,
}

/// What the emulator stands for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Device")]
pub struct Model {
    /// The device whose times the emulator models: h200, h100, a100, rtx3090, rtx4090 or b200 [default: h200]
    #[arg(long = "model", value_name = "NAME")]
    pub slug: Option<String>,
}

/// Where the records go.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Records {
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    /// Write the JSON lines to this file too, whatever --format says, as soon as there are any; - is standard output, which then has
    /// nothing else
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `--backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// CUDA where there is a device, the emulator elsewhere
    Auto,
    /// A CUDA device
    Cuda,
    /// The project's PTX emulator, on the CPU, with modelled times
    Emulator,
}

/// `--format` of an explanation, which is no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExplanationFormat {
    /// A table and sentences for people
    Table,
    /// One JSON object per line
    Json,
}
