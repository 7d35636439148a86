//! The device gives what is recorded: one test per family of instructions, ignored where there is no device of compute
//! capability 9.0. With `--record FOLDER` it writes the recording instead, and with `--ptx FOLDER` the PTX of every
//! family, for other tools.
//!
//! The executable needs no cargo, so that it can be taken to a machine with a GPU.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use host::backend::{BackendChoice, Device, Options, open};
use libtest_mimic::{Arguments, Failed, Trial};
use tests::conformance::data::Recording;
use tests::conformance::{Family, device, families, folder, ptx, steps};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--record", folder] => record(Path::new(folder)),
        ["--ptx", folder] => write_ptx(Path::new(folder)),
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

/// Which device the data are of.
fn manifest(device: &Device) -> serde_json::Value {
    serde_json::json!({
        "device": device.name,
        "compute_capability": format!("{}.{}", device.compute_capability.0, device.compute_capability.1),
        "driver": device.driver,
        "cuda": device.cuda,
        "compiler": "the driver's own, from PTX",
        "date": jiff::Timestamp::now().strftime("%F").to_string(),
        "format": "tests/src/conformance/data.rs; the table of cases: tests/src/conformance/cases",
        "recorded_by": "conformance_device --record",
    })
}

fn record(folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder)?;
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes);
    for family in families() {
        match device::record(&family) {
            Ok(recording) => {
                let bytes = recording.encode(&family);
                println!("{}: {} cases, {} bytes", family.name, family.cases.len(), bytes.len());
                write(&format!("{}.bin", family.name), &bytes)?;
            }
            Err(error) => eprintln!("{}: {error}", family.name),
        }
    }
    let mut backend = open(BackendChoice::Cuda, Options::default())?.backend;
    write(steps::FILE, &steps::Recording::new(backend.as_mut())?.encode())?;
    let manifest = format!("{:#}\n", manifest(backend.device()));
    write("recorded.json", manifest.as_bytes())?;
    Ok(())
}

fn write_ptx(folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder)?;
    for family in families() {
        std::fs::write(folder.join(format!("{}.ptx", family.name)), ptx::module(&family.cases))?;
    }
    Ok(())
}

fn test() -> ExitCode {
    // One at a time: each has the device to itself.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let capability =
        open(BackendChoice::Cuda, Options::default()).map(|opened| opened.backend.device().compute_capability);
    if let Err(error) = &capability {
        eprintln!("the instructions are not run: {error}");
    }
    let runs = capability.is_ok_and(|capability| capability == (9, 0));
    let mut trials: Vec<Trial> = families().into_iter().map(|family| family_trial(family, runs)).collect();
    let of_steps = || {
        let mut backend = open(BackendChoice::Cuda, Options::default())?.backend;
        same_file(&folder().join(steps::FILE), &steps::Recording::new(backend.as_mut())?.encode())
    };
    trials.push(Trial::test("steps", of_steps).with_ignored_flag(!runs));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn family_trial(family: Family, runs: bool) -> Trial {
    let (name, is_recorded) = (family.name, Recording::exists(&family));
    let test = move || {
        let recorded = Recording::read(&family)?;
        let now = device::record(&family)?;
        let pairs = recorded.cases.iter().zip(&now.cases);
        let differ: Vec<&str> = pairs.filter(|(a, b)| a != b).map(|(case, _)| case.name.as_str()).collect();
        match (recorded == now, differ.is_empty()) {
            (true, _) => Ok(()),
            (false, true) => Err("the inputs differ from those recorded".into()),
            (false, false) => Err(format!("{} cases differ: {}", differ.len(), differ.join(", ")).into()),
        }
    };
    Trial::test(name, test).with_ignored_flag(!runs || !is_recorded)
}

fn same_file(path: &PathBuf, now: &[u8]) -> Result<(), Failed> {
    if std::fs::read(path)? == now { Ok(()) } else { Err(format!("{} differs", path.display()).into()) }
}
