//! What a step asks for, it gets: in the emulator, all blocks and samples, and on a CUDA device where there is one.
//!
//! The executable needs no cargo, so that it can be taken to a machine with a GPU.

use std::process::{Command, ExitCode};
use std::time::Duration;

use cuda_builder::tools;
use gpu_kernels::{Schedule, Step};
use host::backend::{Backend, BackendChoice, Options, open};
use host::bench::{Timing, compare};
use host::{Kernel, Operands, Problem, Verifier};
use libtest_mimic::{Arguments, Failed, Trial};
use tests::contract;
use tests::launches::{ALL, Launched};

fn main() -> ExitCode {
    // One at a time: each has the device, or all cores, to itself.
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let capability = match open(BackendChoice::Cuda, Options::default()) {
        Ok(opened) => Some(opened.backend.device().compute_capability),
        Err(error) => {
            eprintln!("nothing runs on a device: {error}");
            None
        }
    };
    let runs = |step: &Step| capability.is_some_and(|(major, minor)| step.target.runs_on(major, minor));
    let mut trials = vec![Trial::test("ptxas takes every module", ptxas_takes_every_module)];
    for launched in ALL {
        let Launched { step, .. } = launched;
        let emulator = move |budget| tests::emulator(step, launched.ptx(), budget);
        let all = move || keeps_the_contract(step, &mut emulator(None));
        let sample = move || is_verified(step, &mut emulator(Some(Duration::ZERO)));
        let device = move || {
            let options = Options { ptx: launched.ptx(), ..Options::default() };
            let mut backend = open(BackendChoice::Cuda, options)?.backend;
            keeps_the_contract(step, backend.as_mut())?;
            is_verified(step, backend.as_mut())
        };
        trials.push(Trial::test(step.slug, all).with_kind("emulator"));
        trials.push(Trial::test(step.slug, sample).with_kind("sample"));
        trials.push(Trial::test(step.slug, device).with_kind("device").with_ignored_flag(!runs(step)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
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

/// The contract, and that a launch leaves the workspace as it was: the next one needs it so.
fn keeps_the_contract(step: &'static Step, backend: &mut dyn Backend) -> Result<(), Failed> {
    let kernel = Kernel::Step(step);
    let problem = Problem::new(12, 401, 7)?.for_kernel(kernel)?;
    let fresh = Operands::random(&problem)?;
    backend.prepare(kernel)?;
    backend.upload(&fresh)?;
    for _ in 0..3 {
        backend.run(kernel, &problem)?;
    }
    if let Some(fault) = Verifier::new(&problem, &fresh).verify(&backend.download()?, kernel.precision()).fault {
        return Err(format!("after three launches: {fault}").into());
    }
    let failures = contract::failures(&contract::run(backend, step)?);
    match failures.first() {
        None => Ok(()),
        Some(first) => Err(format!("{} cases, the first of them: {first}", failures.len()).into()),
    }
}

/// Runs it on a problem of many blocks, aligned and not, and times it: that is more than one launch.
fn is_verified(step: &'static Step, backend: &mut dyn Backend) -> Result<(), Failed> {
    for n in [1440, 1441] {
        let problem = Problem::new(27, n, 33)?.with_scalars(1.5, -0.5)?;
        let timing = Timing { warmup: 2, iterations: Some(3) };
        let comparison = compare(backend, &[Kernel::Step(step)], &problem, timing, &mut |_| ())?;
        if let Some(error) = comparison.failures.first() {
            return Err(error.to_string().into());
        }
        let row = comparison.rows.first().ok_or("it did not run")?;
        let asks = step.maps.is_some() || step.schedule != Schedule::Tiles || !step.prepasses.is_empty();
        let (is_sample, workspace_bytes) = (row.sampled_blocks.is_some(), row.workspace_bytes);
        if row.modelled != is_sample || workspace_bytes.is_none_or(|bytes| bytes > 0 && !asks) {
            return Err(format!("{row:?}").into());
        }
    }
    Ok(())
}
