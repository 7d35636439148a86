//! `ptx-emu launch`: several launches in a row on the same memory, which a launch file describes.

mod file;
mod memory;

use std::path::{Path, PathBuf};

use ptx_emu::{Checks, GlobalMemory, Kernel, Launch};
use serde::Serialize;

use super::args::CountersFormat;
use super::counters::{self, Run};
use super::error::Error;
use super::findings;
use super::input::Source;
use super::launched::{Launched, exit_code};
use super::output::{ResultFile, complain, print};
use super::suppress::Suppressions;
use super::toml_file;
use file::{File, LaunchEntry};
use memory::Memory;

const FORMAT: &str = r#"The file, in TOML; paths are relative to it:
  ptx = "kernels.ptx"                        # the PTX; a launch may name another

  [buffers]                                  # by name: in:, out: or inout:, as of `run`
  x = "in:f32:30x416:fill=iota"
  y = "inout:f32:12480:@y.bin"

  [variables]                                # .global and .const variables: before the first launch, and results of the last
  scale = "f32:2"
  total = "out:u32:1"

  [tensor-maps]                              # of buffers; extents as in their shape, the contiguous one last
  tiles = { buffer = "x", box = [16, 64], swizzle = 128 }      # also: shape, strides in bytes

  [textures]                                 # of buffers; extents as in their shape, of several channels these last
  image = { buffer = "x", filter = "linear", address = "border" }   # also: channels, layered, cubemap, normalized, normalized-values

  [surfaces]
  canvas = { buffer = "x" }                  # also: channels, layered

  [[launch]]                                 # one after the other
  kernel = "saxpy"                           # may be left out where the file has only one
  grid = [4, 1]
  block = 256
  cluster = 2                                # where the kernel does not say
  shared = 4096                              # dynamic shared memory, in bytes
  args = [1000, 2.0, "x", "y", "tiles", "image", { buffer = "x", offset = 416 }, "bytes:0102"]

  Also, before the first table: check = "all", seed = 1, threads, max-instructions. A number among the arguments has the
  parameter's type; the offset of a pointer is in elements."#;

/// The options of `launch`.
#[derive(Debug, clap::Args)]
#[command(after_help = FORMAT)]
pub struct LaunchFileArgs {
    /// The launch file: see below
    pub file: PathBuf,

    /// Print the counters of each launch
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
}

/// The launches of a file, as JSON.
#[derive(Serialize)]
struct Runs<'a> {
    launches: Vec<Run<'a>>,
}

/// Runs the launches. What does not fit is found before the first; a fault ends them. Returns the exit code.
pub fn run(args: &LaunchFileArgs) -> Result<u8, Error> {
    let (name, file): (String, File) = toml_file::read(&args.file)?;
    let folder = args.file.parent().unwrap_or(Path::new("."));
    let suppressions = args.suppress.as_deref().map(Suppressions::read).transpose()?.unwrap_or_default();
    let mut global = GlobalMemory::default();
    let sources = sources(&file, folder, &mut global)?;
    let mut memory = Memory::new(&file, folder, &sources, &mut global).map_err(|error| error.at(&name))?;
    let mut ready = Vec::new();
    for (entry, number) in file.launches.iter().zip(1..) {
        let prepared = prepare(&file, entry, folder, &sources, &mut memory, &mut global);
        ready.push(prepared.map_err(|error| error.at(&format!("{name}: launch {number}")))?);
    }
    let sarif = args.sarif.as_deref().map(ResultFile::open).transpose()?;

    let mut all: Vec<(&Source, Launched)> = Vec::new();
    for ((source, kernel, launch), number) in ready.into_iter().zip(1..) {
        let launched = Launched::run(kernel, &mut global, launch);
        let launched = launched.map_err(|error| error.at(&format!("{name}: launch {number}")))?;
        let found = launched.found(&suppressions);
        launched.say(source, &found, args.counters)?;
        print(&launched.counted(source, args.counters))?;
        complain(&format!("launch {number}, {}", launched.summary(&found)));
        let is_fault = launched.report.fault.is_some();
        all.push((source, launched));
        if is_fault {
            break;
        }
    }

    let found: Vec<_> = all.iter().map(|(source, launched)| (&*source.name, launched.found(&suppressions))).collect();
    if let Some(to) = sarif {
        let found: Vec<_> = found.iter().flat_map(|(file, found)| found.iter().map(|found| (*file, found))).collect();
        findings::write_sarif(to, &found)?;
    }
    suppressions.complain_of_unused();
    // Behind a fault there are no valid results.
    let is_whole = all.iter().all(|(_, launched)| launched.report.fault.is_none());
    let results = if is_whole { memory.results.give(&global, args.print)? } else { String::new() };
    print(&match args.counters {
        Some(CountersFormat::Json) => {
            let runs =
                all.iter().zip(&found).map(|((source, launched), (_, found))| Run::new(&source.name, launched, found));
            counters::json(&Runs { launches: runs.collect() })
        }
        _ => results,
    })?;
    Ok(exit_code(found.iter().flat_map(|(_, found)| found)))
}

/// The files of PTX, each once.
fn sources(file: &File, folder: &Path, memory: &mut GlobalMemory) -> Result<Vec<(PathBuf, Source)>, Error> {
    let mut sources: Vec<(PathBuf, Source)> = Vec::new();
    for path in file.launches.iter().map(|entry| entry.ptx.as_ref().unwrap_or(&file.ptx)) {
        if sources.iter().all(|(known, _)| known != path) {
            sources.push((path.clone(), Source::load(&folder.join(path), memory)?));
        }
    }
    Ok(sources)
}

/// A launch, with its arguments.
fn prepare<'a>(
    file: &File,
    entry: &LaunchEntry,
    folder: &Path,
    sources: &'a [(PathBuf, Source)],
    memory: &mut Memory,
    global: &mut GlobalMemory,
) -> Result<(&'a Source, Kernel, Launch), Error> {
    let path = entry.ptx.as_ref().unwrap_or(&file.ptx);
    let source = sources.iter().find(|(known, _)| known == path).map(|(_, source)| source);
    let missing = || Error::Usage(format!("{} was not read", folder.join(path).display()));
    let source = source.ok_or_else(missing)?;
    let kernel = source.kernel(entry.kernel.as_deref())?;
    let arguments = memory.arguments(&kernel, &entry.args, global)?;
    let sizes = Launch::new(entry.grid.0, entry.block.0);
    let launch = Launch {
        arguments,
        cluster: entry.cluster.0,
        dynamic_shared_bytes: entry.shared,
        checks: file.check.as_ref().map_or(Checks::ALL, |check| check.0),
        threads: file.threads.map_or(0, usize::from),
        max_instructions: file.max_instructions.unwrap_or(sizes.max_instructions),
        ..sizes
    };
    Ok((source, kernel, launch))
}
