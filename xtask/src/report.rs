//! `report`: files of results as pictures and a page.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use results::{Peers, Run};

use crate::book::PEERS;
use crate::regressions;
use crate::workspace::{relative, root};

/// Show files of results as a page of pictures and tables, side by side where there are several
///
/// The files are those that `bench` wrote; those that later files are compared with come first. Writes report.html, which
/// needs nothing else, and each picture as SVG and PNG.
#[derive(clap::Args)]
pub struct Args {
    /// Files of results
    #[arg(value_name = "FILE.jsonl", required = true)]
    files: Vec<PathBuf>,
    /// The folder to write to
    #[arg(long, value_name = "FOLDER", default_value = "target/report")]
    output: PathBuf,
}

/// Runs `report`.
pub fn run(args: &Args) -> Result<ExitCode> {
    let runs = args.files.iter().map(|file| Run::read(file)).collect::<Result<Vec<_>, _>>()?;
    let folder = std::path::absolute(&args.output).context("there is no such folder")?;
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    if let [before, after @ ..] = &runs[..] {
        for after in after {
            // Runs that have no times in common can be shown side by side all the same.
            if let Err(reason) = regressions::show(before, after) {
                println!("not compared: {reason}");
            }
        }
    }
    write(&folder, runs)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the report of runs into a folder, and says where it is.
pub fn write(folder: &Path, mut runs: Vec<Run>) -> Result<()> {
    for run in &mut runs {
        run.name = relative(Path::new(&run.name));
    }
    let written = ::report::write(folder, &runs, &Peers::read(&root().join(PEERS))?)?;
    let pictures = written.len().saturating_sub(1) / 2;
    let plural = if pictures == 1 { "" } else { "s" };
    println!(
        "report: {}, and {pictures} picture{plural} beside it as SVG and PNG",
        relative(&folder.join("report.html"))
    );
    Ok(())
}
