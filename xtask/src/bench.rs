//! `bench`: measures all steps at the default sizes, and makes a report of it.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use results::Run;

use crate::workspace::{self, shown};
use crate::{regressions, report};

/// What `host` runs unless its own arguments say otherwise.
const LADDER: [(&str, &str); 2] = [("--kernel", "all"), ("--size", "ladder")];

/// The sizes at which the emulator counts what each step does, the one that documents show first.
const COUNTED_SIZES: &str = "1024,2048";

/// The exit code of `host` where Ctrl-C ended it.
const INTERRUPTED: i32 = 130;

/// The file of records, in the folder of a run.
const ROWS: &str = "rows.jsonl";

/// Measure every step beside cuBLAS, and make a report of it
///
/// Prints the tables, and keeps in a folder under target/bench/ the records as JSON lines, a page of pictures and tables
/// (report.html), and each picture as SVG and PNG. Measure on a GPU that does nothing else. Where there is none, the emulator
/// runs the steps on the CPU, a sample of blocks of each, and the times are modelled. Ctrl-C ends the measuring; the report is
/// of what there is.
#[derive(clap::Args)]
pub struct Args {
    /// Measure `auto` beside cuBLAS at sizes from 128 to 16384, instead of every step at a few
    #[arg(long, conflicts_with = "quick")]
    growth: bool,
    /// Measure what `auto` chooses for each shape of a set beside cuBLAS, and show how the ratio is distributed: a file of
    /// comma-separated values with columns m, n, k and perhaps op_a, op_b, order, batch, count; or random:COUNT:SEED. Needs a GPU.
    /// `-- --precision f16` gives the accuracy class, `-- --regret` times all kernels too
    #[arg(long, value_name = "SET", conflicts_with_all = ["growth", "quick", "baseline"])]
    shapes: Option<String>,
    /// Take a quick look: every step at one size, a few launches of each, or a few blocks in the emulator
    #[arg(long)]
    quick: bool,
    /// Compare with the records of an earlier run on the same device, and fail where a step is slower by more than noise: 3 %
    /// (2 % if modelled), and on top three times the spread of all times that are compared, which is half the distance of
    /// their quartiles. Times are taken as multiples of those of cuBLAS in the same run, so that a drift of clocks does not
    /// count
    #[arg(long, value_name = "FILE.jsonl")]
    baseline: Option<PathBuf>,
    /// Arguments of `host`, after `--`; they replace the defaults of the same name
    #[arg(last = true)]
    host: Vec<String>,
}

/// Runs `bench`.
pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(set) = &args.shapes {
        return shapes(set, &args.host);
    }
    // A file that cannot be read is better found before than after the measuring.
    let baseline = args.baseline.as_deref().map(read_baseline).transpose()?;
    let folder = new_folder("bench")?;
    let rows = folder.join(ROWS);
    let kernels = growth_kernels(&args.host);
    let defaults = if args.growth { [("--kernel", &*kernels), ("--size", "growth")] } else { LADDER };
    let fixed: &[&str] = if args.quick { &["--quick"] } else { &[] };
    let defaults = if args.quick { &defaults[..0] } else { &defaults };
    let mut host = host(fixed, defaults, &args.host, &rows);
    if let Some(file) = &args.baseline {
        host.arg("--same-device-as").arg(file);
    }
    let status = workspace::status_despite_interrupts(&mut host)?;
    if !has_records(&rows) {
        // Nothing was measured.
        let _ = fs::remove_file(&rows).and_then(|()| fs::remove_dir(&folder));
        return Ok(workspace::exit_code(status));
    }
    let has_ended = status.code().is_some_and(|code| code != INTERRUPTED);
    if has_ended && !args.growth && !args.quick {
        count(&args.host, &rows)?;
    }
    let run = report::read(&rows)?;
    report::write(&folder, baseline.as_slice().iter().chain([&run]).cloned().collect())?;
    let is_worse = baseline.map(|baseline| regressions::show(&baseline, &run)).transpose()?.unwrap_or(false);
    Ok(if status.success() && is_worse { ExitCode::FAILURE } else { workspace::exit_code(status) })
}

/// Measures the shapes of a set, and makes a report of them.
fn shapes(set: &str, arguments: &[String]) -> Result<ExitCode> {
    let folder = new_folder("bench")?;
    let rows = folder.join(ROWS);
    let status = workspace::status_despite_interrupts(&mut host(&["shapes", set], &[], arguments, &rows))?;
    if has_records(&rows) {
        report::write(&folder, vec![report::read(&rows)?])?;
    }
    Ok(workspace::exit_code(status))
}

/// What a run is to be compared with.
fn read_baseline(file: &Path) -> Result<Run> {
    let run = report::read(file)?;
    ensure!(!run.measurements.is_empty(), "{} has no times to compare with", file.display());
    Ok(run)
}

/// Runs `host` with its own arguments and those `defaults` that they do not replace, and keeps its records under target/.
pub fn measure(folder: &str, fixed: &[&str], defaults: &[(&str, &str)], arguments: &[String]) -> Result<ExitCode> {
    let rows = new_folder(folder)?.join(ROWS);
    let status = workspace::status_despite_interrupts(&mut host(fixed, defaults, arguments, &rows))?;
    if has_records(&rows) {
        say!("rows: {}", shown(&rows));
    }
    Ok(workspace::exit_code(status))
}

/// A new folder under target/, named by the time.
fn new_folder(kind: &str) -> Result<PathBuf> {
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ").to_string();
    new_folder_in(&workspace::root().join("target").join(kind), &time)
}

/// A folder of that name that was not there; with a number where several runs begin in one second.
fn new_folder_in(parent: &Path, name: &str) -> Result<PathBuf> {
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let names = std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}-{number}")));
    for folder in names.map(|name| parent.join(name)) {
        match fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => {
                return result.map(|()| folder.clone()).with_context(|| format!("cannot make {}", folder.display()));
            }
        }
    }
    unreachable!("there is a number that no folder has")
}

/// The command that runs `host`, whose records go to `rows`.
fn host(fixed: &[&str], defaults: &[(&str, &str)], arguments: &[String], rows: &Path) -> Command {
    let mut command = workspace::host(&[]);
    command.args(fixed);
    for (name, value) in defaults.iter().filter(|(name, _)| value_of(arguments, name).is_none()) {
        command.args([name, value]);
    }
    command.arg("--json").arg(rows).args(arguments);
    command
}

/// Adds to `rows` what the emulator counts of the kernels that `arguments` name, by default of all steps.
fn count(arguments: &[String], rows: &Path) -> Result<()> {
    let counters = rows.with_file_name("counters.jsonl");
    let alike = ["--kernel", "--model"].into_iter().filter_map(|name| Some((name, value_of(arguments, name)?)));
    let mut command = workspace::host(&["--quiet"]);
    command.args(["counters", "--size", COUNTED_SIZES]).args(alike.flat_map(|(name, value)| [name, value]));
    command.arg("--json").arg(&counters);
    say!("");
    workspace::status_despite_interrupts(&mut command)?;
    if has_records(&counters) {
        let counted = fs::read(&counters).with_context(|| format!("cannot read {}", counters.display()))?;
        let mut file = File::options().append(true).open(rows)?;
        file.write_all(&counted).with_context(|| format!("cannot write {}", rows.display()))?;
        fs::remove_file(&counters)?;
    }
    Ok(())
}

fn has_records(file: &Path) -> bool {
    file.metadata().is_ok_and(|file| file.len() > 0)
}

/// `auto`, and cuBLAS in the arithmetic that `auto` is to have by `host`'s arguments.
fn growth_kernels(host: &[String]) -> String {
    match value_of(host, "--precision") {
        None | Some("fp32" | "fp32-strict") => "auto,cublas".into(),
        Some(other) => format!("auto,cublas-{other}"),
    }
}

/// The value that `arguments` give the option `name`, as `--size 64` or `--size=64`.
fn value_of<'a>(arguments: &'a [String], name: &str) -> Option<&'a str> {
    arguments.iter().enumerate().find_map(|(i, argument)| match argument.strip_prefix(name)? {
        "" => Some(arguments.get(i + 1).map_or("", String::as_str)),
        rest => rest.strip_prefix('='),
    })
}

#[cfg(test)]
mod tests {
    use super::{growth_kernels, new_folder_in, value_of};

    #[test]
    fn runs_of_one_second_have_folders_of_their_own() {
        let parent = tempfile::tempdir().unwrap();
        let new = || new_folder_in(&parent.path().join("bench"), "now").unwrap();
        let names = [new(), new(), new()].map(|folder| folder.file_name().unwrap().to_owned());
        assert_eq!(names, ["now", "now-2", "now-3"]);
    }

    #[test]
    fn growth_is_beside_the_same_arithmetic() {
        let kernels = |host: &[&str]| growth_kernels(&host.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        assert_eq!(kernels(&[]), "auto,cublas");
        assert_eq!(kernels(&["--seed", "1", "--precision", "fp32"]), "auto,cublas");
        assert_eq!(kernels(&["--precision=tf32"]), "auto,cublas-tf32");
        assert_eq!(kernels(&["--precision", "bf16"]), "auto,cublas-bf16");
    }

    #[test]
    fn given_options_replace_the_defaults() {
        let arguments = ["--size=64", "--kernel", "naive", "--sizes"].map(String::from);
        let value = |name| value_of(&arguments, name);
        assert_eq!([value("--size"), value("--kernel"), value("--json")], [Some("64"), Some("naive"), None]);
        assert_eq!([value("--sizes"), value_of(&arguments[3..], "--size")], [Some(""), None]);
    }
}
