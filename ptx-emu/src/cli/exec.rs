//! `ptx-emu exec`.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::args::ExecArgs;
use super::error::Error;

/// The library that has the driver's interface, as cargo names it: package `ptx-emu-driver`.
const LIBRARY: &str = "libptx_emu_driver.so";

/// The names by which programs load the driver.
const DRIVER: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// Where the loader looks first.
const SEARCH_PATH: &str = "LD_LIBRARY_PATH";

/// Exit codes of programs that a signal ended begin after this one.
const SIGNALS: i32 = 128;

/// Runs a program that finds the emulator under the driver's name. Returns its exit code.
pub fn exec(args: &ExecArgs) -> Result<u8, Error> {
    let library = library()?;
    let folder = tempfile::Builder::new()
        .prefix("ptx-emu-")
        .tempdir()
        .map_err(|source| Error::Write { path: env::temp_dir(), source })?;
    for name in DRIVER {
        let path = folder.path().join(name);
        symlink(&library, &path).map_err(|source| Error::Write { path, source })?;
    }
    let [program, arguments @ ..] = &args.program[..] else { return Err(Error::Usage("say which program".to_owned())) };
    let mut command = Command::new(program);
    command.args(arguments).env(SEARCH_PATH, search_path(folder.path())).env("PTX_EMU_DEVICE", args.device.slug);
    if args.check {
        command.env("PTX_EMU_CHECK", "all");
    }
    let status = command.status().map_err(|source| Error::Run { program: program.into(), source })?;
    let code = status.code().or_else(|| status.signal().map(|signal| SIGNALS + signal)).unwrap_or(SIGNALS);
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}

/// The library, which lies beside this program.
fn library() -> Result<PathBuf, Error> {
    let program = env::current_exe().map_err(|source: io::Error| Error::Read { path: LIBRARY.into(), source })?;
    let library = program.with_file_name(LIBRARY);
    if library.exists() {
        return Ok(library);
    }
    let folder = library.parent().unwrap_or(Path::new(".")).display().to_string();
    Err(Error::Usage(format!("{LIBRARY} is not in {folder}: build it with `cargo build -p ptx-emu-driver`")))
}

/// The folder, then where the loader would have looked.
fn search_path(folder: &Path) -> OsString {
    let mut path = folder.as_os_str().to_owned();
    if let Some(others) = env::var_os(SEARCH_PATH).filter(|others| !others.is_empty()) {
        path.push(":");
        path.push(others);
    }
    path
}
