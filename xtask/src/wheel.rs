//! `wheel`: the Python package, with the libraries in it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::install;
use crate::workspace::{capture, relative, root};

/// What Python runs: the package's own build backend, which says how the wheel is called.
const SCRIPT: &str = "import backend, sys; print(backend.build_wheel(sys.argv[1]))";

/// Build the wheel of the Python package, with the libraries in it
///
/// It is for machines whose C library is this one's or newer, and any Python from 3.9 on. Python 3.11 or later builds it.
#[derive(clap::Args)]
pub struct Args {
    /// The folder that it is written to [default: target/wheel]
    #[arg(long)]
    output: Option<PathBuf>,
}

/// Runs `wheel`.
pub fn run(args: &Args) -> Result<()> {
    let library = install::shared(&install::build()?);
    let folder = args.output.clone().unwrap_or_else(|| root().join("target/wheel"));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let folder = folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))?;
    let mut python = Command::new("python3");
    python.current_dir(root().join("python")).args(["-B", "-c", SCRIPT]).arg(&folder).env("SGEMM_LIBRARY", library);
    let (name, _) = capture(&mut python).context("Python 3.11 or later builds the wheel")?;
    say!("wrote {}", relative(&folder.join(name.trim())));
    Ok(())
}
