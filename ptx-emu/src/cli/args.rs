//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use ptx_emu::Checks;
use ptx_emu::device::{DEVICES, Device};
use ptx_emu::spec::Spec;

use super::launch_file::LaunchFileArgs;
use super::selection::Selection;

/// A longer budget is a typing error.
const MAX_SAMPLE_SECONDS: f64 = 1e6;

/// Steps of a trace, unless told.
const MAX_STEPS: usize = 500_000;

const EXAMPLES: &str = "\
Examples:
  ptx-emu list kernels.ptx
  ptx-emu run saxpy.ptx --grid 4 --block 256 --arg u32:1000 --arg f32:2 --arg in:f32:1000 --arg inout:f32:1000
  ptx-emu run k.ptx --entry k --grid 8,8 --block 16,16 --arg in:f32:@a.bin --arg out:f32:4096:@c.bin --counters table
  ptx-emu debug saxpy.ptx --grid 1 --block 64 --arg u32:64 --arg f32:2 --arg in:f32:64 --arg inout:f32:64
  ptx-emu launch softmax.toml
  ptx-emu exec --check -- cargo test

Exit codes, but those of `exec`, which are the program's:
  0  nothing is wrong, or remarks only
  1  the kernel did something wrong, the PTX cannot be run, or a result cannot be written
  2  the command line is wrong: an option, a SPEC, a file that is not there, a launch that does not fit the kernel
  3  warnings only: the kernel relies on what PTX does not guarantee";

const SPECS: &str = "\
SPEC, one for each parameter, in order:
  TYPE:VALUE                              a number: u32:5, s64:-1, b16:0xffff, f32:0.5, f64:1e-9, f16:inf, bf16:nan
  bytes:HEX                               any parameter by its bytes, such as a struct: bytes:0100000000000040
  in:TYPE:LEN[:seed=N][:fill=FILL]        a pointer to LEN elements
  in:TYPE:@FILE                           a pointer to what the file holds, little-endian
  out:TYPE:LEN[:@FILE]                    a pointer to LEN elements whose bits are all 1 (NaN); printed after the run,
                                          or written to the file
  inout:TYPE:LEN[:seed=N][:fill=FILL][:@FILE]
  inout:TYPE:@FILE[:@FILE]                both: what the kernel finds, and the file that its result goes to
  map:BOX[:swizzle=N][:shape=SHAPE]:BUFFER
                                          a tensor map of a buffer (in:, out: or inout:): map:16x64:swizzle=128:in:f16:30x416
  texture[:channels=N][:layered][:cubemap][:filter=linear][:address=MODE][:normalized][:normalized-values]:BUFFER
                                          the handle of a texture, of 1, 2 or 3 dimensions: texture:filter=linear:in:f32:30x416;
                                          MODE is clamp, border, wrap or mirror; the first extent counts layers, or 6 faces
  surface[:channels=N][:layered]:BUFFER   the handle of a surface: surface:inout:f32:30x416; channels are the last extent

  LEN is a number of elements, or extents with the contiguous one last, such as 30x416: findings then say row and column.

  TYPE is u8 to u64, s8 to s64, b8 to b64, f16, bf16, f32 or f64.
  FILL is uniform (the default: floating-point numbers from -1 to 1, any integers), zeros, iota (0, 1, 2, ...) or a number.
  Integers may be hexadecimal; of a floating-point number 0x... are its bits. A null pointer is u64:0.

Examples:
  ptx-emu run saxpy.ptx --grid 4 --block 256 --arg u32:1000 --arg f32:2 --arg in:f32:1000:fill=iota --arg inout:f32:1000
  ptx-emu run k.ptx --entry k --grid 8,8 --block 16,16 --arg in:f32:@a.bin --arg out:f32:4096:@c.bin
  ptx-emu run k.ptx --entry k --grid 4096 --block 128 --arg inout:u8:1000000 --check races,barriers --sample 2
  ptx-emu run k.ptx --entry k --grid 1 --block 32 --counters json | jq .counters.global_loads

Exit codes:
  0  nothing is wrong, or remarks only
  1  the kernel did something wrong, the PTX cannot be run, or a result cannot be written
  2  the command line is wrong
  3  warnings only: the kernel relies on what PTX does not guarantee";

/// Runs PTX on the CPU: finds races, invalid addresses, reads of uninitialised memory and barriers that not all threads
/// reach, and counts what the kernel does.
#[derive(Debug, Parser)]
#[command(name = "ptx-emu", version, after_help = EXAMPLES, max_term_width = 120)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a kernel
    Run(Box<RunArgs>),
    /// Step through a launch, forwards and backwards, by commands on standard input
    Debug(Box<DebugArgs>),
    /// Run the launches of a launch file, in a row on the same memory
    Launch(LaunchFileArgs),
    /// List the kernels of a file: parameters, memory, registers, launch bounds
    List(FileArgs),
    /// Say whether every kernel of a file can be run
    Check(FileArgs),
    /// Run a program on the CUDA driver's interface with the emulator in place of the driver
    #[cfg(target_os = "linux")]
    Exec(ExecArgs),
}

/// The file of `list` and `check`.
#[derive(Debug, clap::Args)]
pub struct FileArgs {
    /// The PTX
    pub file: PathBuf,
}

/// The options of `exec`.
#[derive(Debug, clap::Args)]
pub struct ExecArgs {
    /// The device that the program sees
    #[arg(long, value_name = "NAME", default_value = DEVICES[0].slug, value_parser = device)]
    pub device: &'static Device,

    /// Run its kernels under all checkers: an error that they find fails what waits for the kernel
    #[arg(long)]
    pub check: bool,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub program: Vec<OsString>,
}

/// The options of `run`.
#[derive(Debug, clap::Args)]
#[command(after_help = SPECS)]
pub struct RunArgs {
    /// The launch.
    #[command(flatten)]
    pub launch: LaunchArgs,

    /// Print the counters
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub counters: Option<CountersFormat>,

    /// Also write the findings to this file, as SARIF 2.1.0
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,

    /// Leave out the findings that this file names: see the README
    #[arg(long, value_name = "FILE")]
    pub suppress: Option<PathBuf>,

    /// Elements to print of each result that is not written to a file
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub print: usize,

    /// Host threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,

    /// Run a sample of blocks for this many seconds: one of each class of edge block, then random ones. Counters are
    /// scaled up
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub sample: Option<Duration>,

    /// Print each instruction of a thread, a warp or all warps, with what it reads and writes: thread=5, warp=1,
    /// block=2,0/warp=1, or all. Runs on one host thread
    #[arg(long, value_name = "WHICH", value_parser = Selection::parse, conflicts_with_all = ["sample", "threads"])]
    pub trace: Option<Selection>,

    /// Instructions of warps that `--trace` records at most
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS, requires = "trace")]
    pub steps: usize,
}

/// The options of `debug`.
#[derive(Debug, clap::Args)]
#[command(after_help = SPECS)]
pub struct DebugArgs {
    /// The launch.
    #[command(flatten)]
    pub launch: LaunchArgs,

    /// Instructions of warps to record at most, about 0.5 KiB each
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS)]
    pub steps: usize,
}

/// The kernel and its launch.
#[derive(Debug, clap::Args)]
pub struct LaunchArgs {
    /// The PTX
    pub file: PathBuf,

    /// The kernel; may be left out where the file has only one
    #[arg(long, value_name = "NAME")]
    pub entry: Option<String>,

    /// Blocks of the grid: X, or X,Y, or X,Y,Z
    #[arg(long, value_name = "X,Y,Z", value_parser = dimensions)]
    pub grid: [u32; 3],

    /// Threads of a block
    #[arg(long, value_name = "X,Y,Z", value_parser = dimensions)]
    pub block: [u32; 3],

    /// Blocks of a cluster [default: what the kernel requires]
    #[arg(long, value_name = "X,Y,Z", value_parser = dimensions, default_value = "1", hide_default_value = true)]
    pub cluster: [u32; 3],

    /// Dynamic shared memory of a block, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    pub shared: u32,

    /// An argument of the kernel, in order: see SPEC below
    #[arg(long = "arg", value_name = "SPEC", value_parser = Spec::parse)]
    pub arguments: Vec<Spec>,

    /// A `.const` or `.global` variable: what it holds before the launch, and with `out:` or `inout:`, that it is a result
    #[arg(long = "variable", visible_alias = "const", value_name = "NAME=SPEC", value_parser = variable)]
    pub variables: Vec<(String, Spec)>,

    /// Checkers to enable: `all`, `none`, or some of memory, uninitialized, races, barriers, separated by commas
    #[arg(long, value_name = "LIST", default_value = "all", value_parser = checks)]
    pub check: Checks,

    /// Instruction limit of a block, beyond which it counts as runaway
    #[arg(long, value_name = "N", default_value_t = 1 << 30, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_instructions: u64,

    /// Seed of random contents and of the sample
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// `--counters`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CountersFormat {
    /// Totals as a table
    Table,
    /// Totals, then the PTX annotated with the counts of each line
    Lines,
    /// One JSON object, and nothing else on standard output
    Json,
}

fn dimensions(text: &str) -> Result<[u32; 3], String> {
    let parts: Option<Vec<u32>> = text.split(',').map(|part| part.parse().ok().filter(|size| *size > 0)).collect();
    match parts.as_deref() {
        Some(&[x]) => Ok([x, 1, 1]),
        Some(&[x, y]) => Ok([x, y, 1]),
        Some(&[x, y, z]) => Ok([x, y, z]),
        _ => Err("give one to three whole numbers from 1 on, such as 4 or 16,16,1".to_owned()),
    }
}

fn variable(text: &str) -> Result<(String, Spec), String> {
    let (name, spec) = text.split_once('=').ok_or("give NAME=SPEC, such as coefficients=in:f32:4:fill=1")?;
    Ok((name.to_owned(), Spec::parse(spec)?))
}

pub fn checks(text: &str) -> Result<Checks, String> {
    match text {
        "all" => return Ok(Checks::ALL),
        "none" => return Ok(Checks::NONE),
        _ => {}
    }
    let mut checks = Checks::NONE;
    for name in text.split(',') {
        match name {
            "memory" => checks.memory = true,
            "uninitialized" => checks.uninitialized = true,
            "races" => (checks.races, checks.global_races) = (true, true),
            "barriers" => checks.barriers = true,
            _ => return Err(format!("'{name}' is none of all, none, memory, uninitialized, races, barriers")),
        }
    }
    Ok(checks)
}

fn device(slug: &str) -> Result<&'static Device, String> {
    let known = || DEVICES.map(|device| device.slug).join(", ");
    Device::find(slug).ok_or_else(|| format!("it is none of {}", known()))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.parse().ok().filter(|seconds| (0.0..=MAX_SAMPLE_SECONDS).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or_else(|| "give a number of seconds, such as 2 or 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn dimensions_are_filled_up_with_ones() {
        assert_eq!(dimensions("4").unwrap(), [4, 1, 1]);
        assert_eq!(dimensions("4,2").unwrap(), [4, 2, 1]);
        assert_eq!(dimensions("4,2,3").unwrap(), [4, 2, 3]);
        for text in ["", "0", "1,0", "1,2,3,4", "x", "-1", "4294967296", "1,,2"] {
            assert!(dimensions(text).is_err(), "{text}");
        }
    }

    #[test]
    fn checks_are_all_none_or_named() {
        assert_eq!((checks("all").unwrap(), checks("none").unwrap()), (Checks::ALL, Checks::NONE));
        assert_eq!(
            checks("races,memory").unwrap(),
            Checks { races: true, global_races: true, memory: true, ..Checks::NONE }
        );
        assert!(checks("race").unwrap_err().contains("'race'") && checks("").is_err() && checks("all,races").is_err());
    }
}
