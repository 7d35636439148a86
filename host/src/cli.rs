//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use gpu_kernels::{MAX_SIZE, Step};
use host::accuracy::{EMULATED, Inputs, MEASURED};
use host::backend::emulator::{BUDGET, MODELS, find_model};
use host::backend::{BackendChoice, Options};
use host::bench::Timing;
use host::kernels::{self, Selection};
use host::tune::SHAPES;
use host::tuned::Table;
use host::{Error, Problem, Promise, PtxSource, Stop, sizes};

/// The kernel where none is given.
const DEFAULT_KERNEL: &str = "auto";

/// The size where none is given.
const DEFAULT_SIZE: u32 = 4096;

/// How long each kernel runs that --counters counts.
const COUNTERS_BUDGET: Duration = Duration::from_millis(250);

/// How a quick look times.
const QUICK_TIMING: Timing = Timing { warmup: 1, iterations: Some(5) };

/// More launches than this are a slip of the finger.
const MAX_LAUNCHES: u32 = 1_000_000;

const EXAMPLES: &str = "\
Examples:
  host                                       the fastest kernel for this device, at 4096 x 4096 x 4096
  host --kernel 2d-tiling --size 4092        one step, its result verified, cuBLAS beside it
  host --quick                               the whole ladder at one size, in a few seconds
  host --kernel all --size 1024,4096         the whole ladder at two sizes
  host --kernel all --format json            one JSON object per kernel and size
  host --size 64x8192x8192,16x4096x4096      shapes that are not square: m x n x k
  host --precision fp32                      the fastest one with errors no larger than SGEMM's, tensor cores included
  host --m 1000 --n 7 --k 64 --beta -0.5     any shape: C = A*B - 0.5*C
  host --backend emulator --full --size 512  every block, without a GPU
  host --explain 2d-tiling --size 1024       why a step is fast: its counters beside those of its base
  host --counters --size 1024                the same for all steps, side by side
  host --accuracy                            errors against f64 on hard inputs, beside those of SGEMM
  host --tune                                measure which kernel is the fastest for which shape
  host --list                                the names that --kernel takes

Exit codes:
  0  every kernel ran and its result is right
  1  something failed: no such device, too little memory, a kernel that cannot run or is wrong
  2  the command line is wrong
  130  Ctrl-C ended it: what is done is shown and written";

/// Runs, verifies and times SGEMM kernels written in Rust, cuBLAS beside them.
///
/// Computes C = alpha*A*B + beta*C, row-major, on random operands, in fp32 unless a kernel says otherwise. Every result is checked against f64 before
/// it is timed; the times are medians, with the L2 cache flushed before each launch. Where there is no CUDA device, an
/// emulator runs the kernels on the CPU, and the times are modelled.
#[derive(Debug, Parser)]
#[command(version, after_help = EXAMPLES, max_term_width = 110)]
pub struct Args {
    /// Kernels to run: slugs out of --list, `cublas`, `auto` or `all`; repeat it or separate them with commas
    #[arg(long, value_name = "NAME", value_delimiter = ',', default_value = DEFAULT_KERNEL)]
    pub kernel: Vec<String>,

    /// What `auto` and `all` may compute in: fp32-strict is the CUDA cores' fp32; fp32 also allows the tensor cores, with errors
    /// no larger than SGEMM's; tf32, f16 and bf16 are themselves [default: fp32-strict for `auto`, everything for `all`]
    #[arg(long, value_name = "NAME", value_parser = promise, conflicts_with_all = ["explain", "accuracy"])]
    pub precision: Option<Promise>,

    /// Sizes, in elements: N for m = n = k, or MxNxK; `ladder` for those of `cargo xtask bench`, `growth` for many from 128 to
    /// 16384; separate several with commas [default: 4096]
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

    /// The factor of A*B
    #[arg(long, value_name = "X", default_value = "1", value_parser = factor, allow_negative_numbers = true)]
    pub alpha: f32,

    /// The factor of the old C; at 0 it is not read
    #[arg(long, value_name = "X", default_value = "0", value_parser = factor, allow_negative_numbers = true)]
    pub beta: f32,

    /// Take a quick look: all kernels at 1024, unless others are asked for, with few launches, or few blocks in the emulator
    #[arg(long, conflicts_with_all = ["iterations", "warmup", "full", "explain", "accuracy", "counters", "tune"])]
    pub quick: bool,

    /// Timed launches per kernel [default: 10 to 200, for about half a second; from 5 where a launch takes over 200 ms]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_LAUNCHES)))]
    pub iterations: Option<u32>,

    /// Untimed launches before them
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_LAUNCHES)))]
    pub warmup: u32,

    /// What the operands are drawn from: the same seed gives the same operands [default: a fresh one, shown]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// The CUDA device, counted from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: usize,

    /// Hand all that a step launches to the CUDA device in one piece, as a CUDA graph
    #[arg(long)]
    pub graphs: bool,

    /// What runs the kernels
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    pub backend: BackendName,

    /// The emulator runs every block, however long that takes, instead of a sample of a large grid
    #[arg(long)]
    pub full: bool,

    /// The device whose times the emulator models: h200, a100, rtx3090, rtx4090 or b200
    #[arg(long, value_name = "NAME", default_value = MODELS[0].slug)]
    pub model: String,

    /// What to print: a table for people, one JSON object per line, or CSV
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Write the JSON lines to this file too, whatever --format says
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Run the kernels of this PTX file instead of the built-in ones
    #[arg(long, value_name = "FILE")]
    pub ptx: Option<PathBuf>,

    /// Show what the emulator counts for this step beside the step that it changes, and say what the change did
    #[arg(long, value_name = "SLUG", conflicts_with_all = ["kernel", "json", "iterations", "warmup"])]
    pub explain: Option<String>,

    /// Compare the errors of kernels that promise fp32's accuracy with those of SGEMM, on many kinds of inputs and at several
    /// lengths of the sums; --size N stands for m = n = N then, 2048 by default, and --kernel for what to compare instead
    #[arg(long, conflicts_with_all = ["alpha", "beta", "iterations", "warmup", "graphs", "full", "explain", "tune", "tuned"])]
    pub accuracy: bool,

    /// Show what the emulator counts for each of the kernels, by default for all steps
    #[arg(long, conflicts_with_all = ["alpha", "beta", "iterations", "warmup", "graphs", "backend", "explain", "accuracy", "tune", "tuned", "precision"])]
    pub counters: bool,

    /// The kinds of inputs of --accuracy [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = inputs, requires = "accuracy")]
    pub inputs: Vec<Inputs>,

    /// Search the fastest kernel for each size, by default for two dozen, and write them to the table that `auto` reads:
    /// needs a CUDA device
    #[arg(long, conflicts_with_all = ["kernel", "alpha", "beta", "iterations", "warmup", "backend", "full", "model", "format", "json", "explain", "tuned"])]
    pub tune: bool,

    /// The file that --tune writes [default: host/tuned/, and the device's name]
    #[arg(long, value_name = "FILE", requires = "tune")]
    pub output: Option<PathBuf>,

    /// Choose by this table, which --tune wrote, instead of the built-in one of the device
    #[arg(long, value_name = "FILE")]
    pub tuned: Option<PathBuf>,

    /// Print the names that --kernel takes, one per line, and stop
    #[arg(long)]
    pub list: bool,
}

/// What `--size` gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// `N`: m = n = k.
    Square(u32),
    /// `MxNxK`.
    Exact([u32; 3]),
    /// `ladder`.
    Ladder,
    /// `growth`.
    Growth,
}

/// `--backend`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// CUDA where there is a device, the emulator elsewhere.
    Auto,
    /// A CUDA device.
    Cuda,
    /// The project's PTX emulator, on the CPU, with modelled times.
    Emulator,
}

/// `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table.
    Table,
    /// One JSON object per line.
    Json,
    /// Comma-separated values under a line of names.
    Csv,
}

impl Shape {
    /// The m, n, k that it stands for.
    fn shapes(self, is_emulated: bool) -> Vec<[u32; 3]> {
        let squares = |sizes: &[u32]| sizes.iter().map(|&size| [size; 3]).collect();
        match self {
            Self::Square(size) => vec![[size; 3]],
            Self::Exact(shape) => vec![shape],
            Self::Ladder if is_emulated => squares(sizes::EMULATED),
            Self::Ladder => squares(sizes::MEASURED),
            Self::Growth => squares(sizes::GROWTH),
        }
    }
}

impl From<BackendName> for BackendChoice {
    fn from(name: BackendName) -> Self {
        match name {
            BackendName::Auto => Self::Auto,
            BackendName::Cuda => Self::Cuda,
            BackendName::Emulator => Self::Emulator,
        }
    }
}

impl Args {
    /// Whether kernels were asked for: those that there are by default are not the same in all that the program does.
    pub fn names_kernels(&self) -> bool {
        self.kernel != [DEFAULT_KERNEL]
    }

    /// The kernels that were asked for.
    pub fn selection(&self) -> Result<Selection, Error> {
        let is_all = self.quick && !self.names_kernels();
        let selection = if is_all { Selection::parse(&["all"])? } else { Selection::parse(&self.kernel)? };
        match self.precision {
            Some(promise) => selection.with_promise(promise),
            None => Ok(selection),
        }
    }

    /// The problems that were asked for, in order.
    pub fn problems(&self, is_emulated: bool) -> Result<Vec<Problem>, Error> {
        self.of_shapes(match (self.m, self.n, self.k) {
            (Some(m), Some(n), Some(k)) => vec![[m, n, k]],
            _ if !self.size.is_empty() => self.size.iter().flat_map(|shape| shape.shapes(is_emulated)).collect(),
            _ if self.quick => vec![[sizes::QUICK; 3]],
            _ if self.tune => SHAPES.to_vec(),
            _ => vec![[DEFAULT_SIZE; 3]],
        })
    }

    /// The problems of `--accuracy`, in order: of each square result, one for each length of the sums.
    pub fn accuracy_problems(&self, is_emulated: bool) -> Result<Vec<Problem>, Error> {
        let (default, lengths) = if is_emulated { EMULATED } else { MEASURED };
        let at_all_lengths = |size: u32| lengths.iter().map(|&k| [size, size, k]).collect();
        let shapes = |shape: &Shape| match *shape {
            Shape::Square(size) => at_all_lengths(size),
            _ => shape.shapes(is_emulated),
        };
        self.of_shapes(match (self.m, self.n, self.k) {
            (Some(m), Some(n), Some(k)) => vec![[m, n, k]],
            _ if self.size.is_empty() => at_all_lengths(default),
            _ => self.size.iter().flat_map(shapes).collect(),
        })
    }

    fn of_shapes(&self, shapes: Vec<[u32; 3]>) -> Result<Vec<Problem>, Error> {
        // 32 bits are enough to differ, and short enough to be typed again.
        let seed = self.seed.unwrap_or_else(|| rand::random::<u32>().into());
        let problem =
            |[m, n, k]: [u32; 3]| Ok(Problem::new(m, n, k)?.with_scalars(self.alpha, self.beta)?.with_seed(seed));
        shapes.into_iter().map(problem).collect()
    }

    /// What to open the backend with.
    pub fn options(&self) -> Result<Options, Error> {
        let model = find_model(&self.model)?;
        let ptx = match &self.ptx {
            Some(path) => PtxSource::from_file(path)?,
            None => PtxSource::BuiltIn,
        };
        Ok(Options {
            device_ordinal: self.device,
            ptx,
            graphs: self.graphs,
            model,
            stop: Stop::default(),
            // Accuracy is that of all of C; what blocks of one kind do, few of them tell.
            budget: (!self.full && !self.accuracy).then_some(if self.counters { COUNTERS_BUDGET } else { BUDGET }),
        })
    }

    /// The table to choose by, if one was given.
    pub fn table(&self) -> Result<Option<Table>, Error> {
        self.tuned.as_deref().map(Table::from_file).transpose()
    }

    /// The step to explain, if one is to be.
    pub fn explain(&self) -> Result<Option<&'static Step>, Error> {
        self.explain.as_deref().map(kernels::find).transpose()
    }

    /// How long the emulator may run each of so many kernels, where it may not do as it likes.
    pub fn budget(&self, options: &Options, runs: usize) -> Option<Duration> {
        let all = if self.quick { sizes::QUICK_BUDGET } else { sizes::BUDGET };
        options.budget.map(|most| most.min(all / runs.max(1) as u32))
    }

    /// How to time.
    pub fn timing(&self) -> Timing {
        if self.quick {
            return QUICK_TIMING;
        }
        Timing { warmup: self.warmup, iterations: self.iterations }
    }
}

fn size(text: &str) -> Result<u32, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits {
        return Err(format!(
            "'{text}' is not a size: give a whole number of elements, such as {DEFAULT_SIZE}, or three as 64x8192x8192"
        ));
    }
    let size: Option<u32> = text.parse().ok().filter(|size| *size <= MAX_SIZE);
    size.ok_or_else(|| format!("'{text}' is too large: a size is at most {MAX_SIZE}"))
}

/// `N`, `MxNxK`, `ladder` or `growth`.
fn shape(text: &str) -> Result<Shape, String> {
    match text.split('x').collect::<Vec<_>>()[..] {
        ["ladder"] => Ok(Shape::Ladder),
        ["growth"] => Ok(Shape::Growth),
        [m, n, k] => Ok(Shape::Exact([size(m)?, size(n)?, size(k)?])),
        _ => Ok(Shape::Square(size(text)?)),
    }
}

fn promise(name: &str) -> Result<Promise, String> {
    let names = || Promise::ALL.map(Promise::name).join(", ");
    Promise::find(name).ok_or_else(|| format!("there is no precision '{name}'; those that there are: {}", names()))
}

fn inputs(name: &str) -> Result<Inputs, String> {
    let names = || Inputs::ALL.map(Inputs::name).join(", ");
    Inputs::find(name).ok_or_else(|| format!("there are no inputs '{name}'; those that there are: {}", names()))
}

fn factor(text: &str) -> Result<f32, String> {
    let value: Option<f32> = text.parse().ok().filter(|value: &f32| value.is_finite());
    value.ok_or_else(|| format!("'{text}' is not a factor: give a finite number, such as 0.5"))
}
