//! What a step asks for, it gets: in the emulator, all blocks and samples.

use std::iter::once;
use std::process::Command;
use std::time::Duration;

use cuda_builder::tools;
use libtest_mimic::{Failed, Trial};
use tests::launches::{ALL, Launched, is_verified, keeps_the_contract};

pub fn trials() -> impl Iterator<Item = Trial> {
    let ptxas = Trial::test("launches::ptxas takes every module", ptxas_takes_every_module);
    once(ptxas).chain(ALL.into_iter().flat_map(of))
}

fn of(launched: Launched) -> [Trial; 2] {
    let step = launched.step;
    let emulator = move |budget| tests::emulator(step, launched.ptx(), budget);
    let all = move || Ok(keeps_the_contract(step, &mut emulator(None))?);
    let sample = move || Ok(is_verified(step, &mut emulator(Some(Duration::ZERO)))?);
    let name = format!("launches::{}", step.slug);
    [Trial::test(name.clone(), all).with_kind("all"), Trial::test(name, sample).with_kind("sample")]
}

fn ptxas_takes_every_module() -> Result<(), Failed> {
    let Some(ptxas) = tools::find("ptxas") else {
        eprintln!("skipped: no ptxas (`cargo xtask setup --ptxas`)");
        return Ok(());
    };
    let folder = tempfile::tempdir()?;
    for launched in ALL {
        let path = folder.path().join("module.ptx");
        std::fs::write(&path, launched.ptx().module(launched.step)?)?;
        let arch = format!("-arch={}", launched.step.target.name());
        let output = Command::new(&ptxas).args([&arch, "-o", "/dev/null"]).arg(&path).output()?;
        if !output.status.success() {
            return Err(format!("{}: {}", launched.step.slug, String::from_utf8_lossy(&output.stderr)).into());
        }
    }
    Ok(())
}
