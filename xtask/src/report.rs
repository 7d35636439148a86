//! `report`: files of results as pictures and a page.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use results::{Peers, Run};

use crate::book::{FOLDER, PEERS};
use crate::regressions;
use crate::report_links::links;
use crate::workspace::{relative, root, shown};

/// Show files of results as a page of pictures and tables, side by side where there are several
///
/// The files are those that `bench` wrote; those that later files are compared with come first. Writes report.html, which
/// needs nothing else, and each picture as SVG and PNG.
#[derive(clap::Args)]
pub struct Args {
    /// Files of results
    #[arg(value_name = "FILE.jsonl", required = true)]
    files: Vec<PathBuf>,
    /// The folder to write to, in one that is there [default: target/report, in the workspace]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// Runs `report`.
pub fn run(args: &Args) -> Result<ExitCode> {
    let runs = args.files.iter().map(|file| read(file)).collect::<Result<Vec<_>>>()?;
    let made = match &args.output {
        // Where its parent is not there, that is a typing error.
        Some(folder) if !folder.is_dir() => std::fs::create_dir(folder),
        Some(_) => Ok(()),
        None => std::fs::create_dir_all(default_folder()),
    };
    let folder = args.output.clone().unwrap_or_else(default_folder);
    made.with_context(|| format!("cannot make {}", folder.display()))?;
    let folder = std::path::absolute(folder).context("there is no such folder")?;
    if let [before, after @ ..] = &runs[..] {
        for after in after {
            // Runs that have no times in common can be shown side by side all the same.
            if let Err(reason) = regressions::show(before, after) {
                say!("not compared: {reason}");
            }
        }
    }
    write(&folder, runs)?;
    Ok(ExitCode::SUCCESS)
}

fn default_folder() -> PathBuf {
    root().join("target/report")
}

/// Reads a file of results, and says what of it is missing.
pub fn read(file: &Path) -> Result<Run> {
    let run = Run::read(file)?;
    if let Some(note) = run.note() {
        complain!("{note}");
    }
    Ok(run)
}

/// The committed run of the device that `runs` model, if all of them do: beside a model there is always a measurement.
fn reference(runs: &[Run]) -> Result<Option<Run>> {
    let rows = || runs.iter().flat_map(|run| &run.measurements);
    let Some(first) = rows().next() else { return Ok(None) };
    if rows().any(|row| !row.modelled) {
        return Ok(None);
    }
    let Some(file) = Run::newest_in(&root().join(FOLDER))? else { return Ok(None) };
    let mut run = Run::read(&file)?;
    // Sizes that the model has, where there are any: the pictures are of these.
    let is_common = |row: &results::Measurement| rows().any(|other| other.shape() == row.shape());
    if run.measurements.iter().any(is_common) {
        run.measurements.retain(is_common);
    }
    (run.counters, run.accuracy) = (Vec::new(), Vec::new());
    Ok(run.measurements.iter().any(|row| row.device == first.device).then_some(run))
}

/// Writes the report of runs into a folder, and says where it is. Beside runs that are all modelled, the committed one of their
/// device stands for reference.
pub fn write(folder: &Path, mut runs: Vec<Run>) -> Result<()> {
    runs.extend(reference(&runs)?);
    for run in &mut runs {
        run.name = relative(Path::new(&run.name));
    }
    let written = ::report::write(folder, &runs, &Peers::read(&root().join(PEERS))?, links(folder, &runs))?;
    let pictures = written.len().saturating_sub(1) / 2;
    let plural = if pictures == 1 { "" } else { "s" };
    say!("report: {}, and {pictures} picture{plural} beside it as SVG and PNG", shown(&folder.join("report.html")));
    Ok(())
}
