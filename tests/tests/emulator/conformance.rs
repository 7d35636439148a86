//! The emulator gives what an H200 gave, bit for bit: one test per instruction, and one per step of the ladder.

use std::collections::HashSet;
use std::process::Command;
use std::sync::Arc;

use cuda_builder::tools;
use gpu_kernels::STEPS;
use host::PtxSource;
use libtest_mimic::{Failed, Trial};
use tests::conformance::data::{Recording, sets};
use tests::conformance::{Case, Columns, UNRECORDED, emulator, families, folder, ptx, steps};

/// Rows that a failure shows.
const SHOWN: usize = 4;

pub fn trials() -> impl Iterator<Item = Trial> {
    let mut trials = vec![
        Trial::test("conformance::names are unique", names_are_unique),
        Trial::test("conformance::what is not recorded is listed", unrecorded_are_listed),
        Trial::test("conformance::ptxas takes every kernel", ptxas_takes_every_kernel),
        Trial::test("conformance::files are read as they were written", files_are_read_as_written),
    ];
    for family in families() {
        let kind = family.name;
        if !Recording::exists(&family) {
            for case in family.cases {
                let name = format!("conformance::{} (not recorded)", case.name);
                trials.push(Trial::test(name, move || runs(&case)).with_kind(kind));
            }
            continue;
        }
        match Recording::read(&family) {
            Ok(recording) => {
                let inputs: Arc<[Columns]> = recording.inputs.into();
                for (case, recorded) in family.cases.into_iter().zip(recording.cases) {
                    let inputs = Arc::clone(&inputs);
                    let name = format!("conformance::{}", case.name);
                    let test = move || compare(&case, &inputs[recorded.set], &recorded.results);
                    trials.push(Trial::test(name, test).with_kind(kind));
                }
            }
            Err(error) => trials.push(Trial::test(format!("conformance::{kind}"), || Err(error.into()))),
        }
    }
    let bytes = std::fs::read(folder().join(steps::FILE)).ok();
    let recording = bytes.and_then(|bytes| steps::Recording::decode(&bytes)).map(Arc::new);
    for step in STEPS {
        // A step that is new is not recorded until somebody with a GPU does so.
        let is_new = recording.as_ref().is_some_and(|known| known.c(step, 0).is_none());
        let recording = recording.clone();
        let test = move || same_as_recorded(step, recording.as_deref().ok_or("no recording")?);
        trials
            .push(Trial::test(format!("conformance::{}", step.slug), test).with_kind("step").with_ignored_flag(is_new));
    }
    trials.into_iter()
}

fn names_are_unique() -> Result<(), Failed> {
    let mut seen = HashSet::new();
    let cases = families().into_iter().flat_map(|family| family.cases);
    let twice: Vec<String> = cases.map(|case| case.name).filter(|name| !seen.insert(name.clone())).collect();
    if twice.is_empty() { Ok(()) } else { Err(format!("twice in the table: {}", twice.join(", ")).into()) }
}

fn unrecorded_are_listed() -> Result<(), Failed> {
    let families = families().into_iter();
    let unrecorded: Vec<&str> =
        families.filter(|family| !Recording::exists(family)).map(|family| family.name).collect();
    if unrecorded == UNRECORDED {
        return Ok(());
    }
    Err(format!("without a file: {unrecorded:?}; listed in UNRECORDED: {UNRECORDED:?}").into())
}

fn ptxas_takes_every_kernel() -> Result<(), Failed> {
    let Some(ptxas) = tools::find("ptxas") else {
        eprintln!("skipped: no ptxas (`cargo xtask setup --ptxas`)");
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    for family in families() {
        let path = folder.path().join("module.ptx");
        std::fs::write(&path, ptx::module(&family.cases))?;
        let output = Command::new(&ptxas).args(["-arch=sm_90a", "-o", "/dev/null"]).arg(&path).output()?;
        if !output.status.success() {
            return Err(format!("{}: {}", family.name, String::from_utf8_lossy(&output.stderr)).into());
        }
    }
    Ok(())
}

fn files_are_read_as_written() -> Result<(), Failed> {
    for family in families().into_iter().filter(Recording::exists) {
        let bytes = std::fs::read(folder().join(format!("{}.bin", family.name)))?;
        let recording = Recording::decode(&bytes).ok_or("no recording")?;
        let (sets, _) = sets(&family.cases);
        if !recording.inputs.iter().eq(sets.iter().map(|set| &set.columns)) {
            return Err(format!("{}: other inputs than those of the table: record again", family.name).into());
        }
        if recording.encode(&family) != bytes {
            return Err(format!("{}: written, it is another", family.name).into());
        }
        let cut =
            (0..bytes.len()).step_by(bytes.len() / 50 + 1).find(|end| Recording::decode(&bytes[..*end]).is_some());
        if let Some(end) = cut {
            return Err(format!("{}: {end} bytes of it pass for the whole", family.name).into());
        }
    }
    Ok(())
}

/// A case that nobody has recorded is run all the same.
fn runs(case: &Case) -> Result<(), Failed> {
    let (sets, _) = sets(std::slice::from_ref(case));
    emulator::run(case, &sets[0].columns)?;
    Ok(())
}

fn compare(case: &Case, inputs: &Columns, expected: &Columns) -> Result<(), Failed> {
    let got = emulator::run(case, inputs)?;
    let rows = expected.first().map_or(0, Vec::len);
    let differs = |row: &usize| (0..expected.len()).any(|column| expected[column][*row] != got[column][*row]);
    let wrong: Vec<usize> = (0..rows).filter(differs).collect();
    if wrong.is_empty() {
        return Ok(());
    }
    let row = |columns: &Columns, row: usize| {
        let values: Vec<String> = columns.iter().map(|column| format!("{:x}", column[row])).collect();
        values.join(" ")
    };
    let shown = wrong.iter().take(SHOWN).map(|&index| {
        let (inputs, expected, got) = (row(inputs, index), row(expected, index), row(&got, index));
        format!("\n  row {index}: of {inputs} the hardware makes {expected}, the emulator {got}")
    });
    let shown: String = shown.collect();
    Err(format!("{} of {rows} rows differ\n  {}{shown}", wrong.len(), case.code.replace('\n', "\n  ")).into())
}

fn same_as_recorded(step: &'static gpu_kernels::Step, recording: &steps::Recording) -> Result<(), Failed> {
    for (index, problem) in steps::problems()?.iter().enumerate() {
        let expected = recording.c(step, index).ok_or("the step is not recorded: record again")?;
        let got = steps::run(&mut tests::emulator(step, PtxSource::BuiltIn, None), step, problem)?;
        let differ = expected.iter().zip(&got).filter(|(a, b)| a != b).count();
        if differ > 0 || expected.len() != got.len() {
            return Err(format!("{problem:?}: {differ} of {} elements differ", expected.len()).into());
        }
    }
    Ok(())
}
