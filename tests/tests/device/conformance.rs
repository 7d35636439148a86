//! The device gives what is recorded: one test per family of instructions, ignored where there is no device of compute
//! capability 9.0.

use std::path::{Path, PathBuf};

use host::backend::{BackendChoice, Device, Options, open};
use libtest_mimic::{Failed, Trial};
use tests::conformance::data::Recording;
use tests::conformance::{Family, device, families, folder, ptx, steps};

pub type Outcome = Result<(), Box<dyn std::error::Error>>;

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
        "recorded_by": "device --record",
    })
}

/// Writes the recording: of the families of these names alone, or of all that can be recorded.
pub fn record(folder: &Path, names: &[&str]) -> Outcome {
    std::fs::create_dir_all(folder)?;
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes);
    for family in families().into_iter().filter(|family| names.is_empty() || names.contains(&family.name)) {
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
    if names.is_empty() {
        write(steps::FILE, &steps::Recording::new(backend.as_mut())?.encode())?;
    }
    let manifest = format!("{:#}\n", manifest(backend.device()));
    write("recorded.json", manifest.as_bytes())?;
    Ok(())
}

/// Writes the PTX of every family.
pub fn write_ptx(folder: &Path) -> Outcome {
    std::fs::create_dir_all(folder)?;
    for family in families() {
        std::fs::write(folder.join(format!("{}.ptx", family.name)), ptx::module(&family.cases))?;
    }
    Ok(())
}

/// The tests, ignored unless the device is of the compute capability that was recorded.
pub fn trials(capability: Option<(u32, u32)>) -> impl Iterator<Item = Trial> {
    let runs = capability == Some((9, 0));
    let of_steps = || {
        let mut backend = open(BackendChoice::Cuda, Options::default())?.backend;
        same_file(&folder().join(steps::FILE), &steps::Recording::new(backend.as_mut())?.encode())
    };
    let of_steps = Trial::test("conformance::steps", of_steps).with_ignored_flag(!runs);
    families().into_iter().map(move |family| family_trial(family, runs)).chain([of_steps])
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
    Trial::test(format!("conformance::{name}"), test).with_ignored_flag(!runs || !is_recorded)
}

fn same_file(path: &PathBuf, now: &[u8]) -> Result<(), Failed> {
    if std::fs::read(path)? == now { Ok(()) } else { Err(format!("{} differs", path.display()).into()) }
}
