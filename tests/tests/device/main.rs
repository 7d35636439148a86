//! The CUDA device: every step keeps the contract, every launch gets what it asks for, and every instruction gives what is
//! recorded. What cannot run here, since there is no device or another one, is ignored.
//!
//! Without a GPU, a part runs on the emulated driver, under all checkers: each step once, and what the library does with handles, groups and
//! calls. The rest has tests in `emulator`.
//!
//! A name says which: `contract::naive`, `layouts::naive`, `library::one call`, `shapes::fp32`,
//! `launches::plain`, `conformance::float`. With `--record FOLDER [FAMILY...]` the executable writes the
//! recording of the instructions, or of those families alone, instead, and with `--ptx FOLDER` their PTX, for other tools. It needs no cargo, so that it can be
//! taken to a machine with a GPU.

mod allocations;
mod conformance;
mod crowded;
mod distributed;
mod grading;
mod groups;
mod large;
mod launches;
mod library;
mod shapes;
mod steps;
mod streamed;
mod threads;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use gpu_kernels::STEPS;
use host::backend::{BackendChoice, Options, open};
use libtest_mimic::{Arguments, Trial};
use ptx_emu::device::Device;

/// Of the library's tests, those that an emulated device runs soon.
const EMULATED: [&str; 2] = ["one call", "a group is checked before any of it runs"];

/// The emulated driver, as cargo names it.
const DRIVER: &str = "libptx_emu_driver.so";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--record", folder, ref names @ ..] => conformance::record(Path::new(folder), names),
        ["--ptx", folder] => conformance::write_ptx(Path::new(folder)),
        _ => return test(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> ExitCode {
    // One at a time: each has the device to itself.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let (capability, is_emulated) = match open(BackendChoice::Cuda, Options::default()) {
        Ok(opened) => {
            let device = opened.backend.device();
            (Some(device.compute_capability), Device::is_emulated(&device.name))
        }
        Err(error) => {
            eprintln!("nothing runs on a device: {error}");
            match emulated() {
                Some(code) => return code,
                None => (None, false),
            }
        }
    };
    let trials = steps::trials(capability)
        .chain(library::trials(capability))
        .chain(shapes::trials(capability))
        .chain(launches::trials(capability))
        .chain(conformance::trials(capability))
        .map(|trial| {
            let is_left_out = is_emulated && !is_for_emulation(trial.name());
            let is_ignored = is_left_out || trial.has_ignored_flag();
            trial.with_ignored_flag(is_ignored)
        });
    libtest_mimic::run(&arguments, trials.collect::<Vec<Trial>>()).exit_code()
}

/// Whether an emulated device runs the test of that name.
fn is_for_emulation(name: &str) -> bool {
    match name.split_once("::") {
        Some(("layouts" | "fused", slug)) => STEPS.iter().any(|step| step.slug == slug),
        Some(("library", what)) => EMULATED.contains(&what),
        _ => false,
    }
}

/// Runs this test with the emulator in place of the driver, where both were built, beside or above this executable. `None` where they were
/// not, or this is such a run already.
fn emulated() -> Option<ExitCode> {
    let executable = env::current_exe().ok()?;
    let folders = executable.ancestors().skip(1).map(|folder| folder.join("ptx-emu"));
    let is_built = |program: &PathBuf| program.is_file() && program.with_file_name(DRIVER).is_file();
    let program = folders.into_iter().find(is_built).filter(|_| env::var_os("PTX_EMU_DEVICE").is_none())?;
    let command = ["exec", "--check", "--"];
    let status = Command::new(program).args(command).arg(&executable).args(env::args_os().skip(1)).status().ok()?;
    Some(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
