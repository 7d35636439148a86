//! The kernels beside the steps do what they say: for every size around their tiles, every alignment and far leading dimensions,
//! and touch nothing else.

mod gelu;
mod matrix;
mod postpasses;
mod prepasses;

use gpu_kernels::Target;
use libtest_mimic::{Failed, Trial};
use ptx_emu::{GlobalMemory, Kernel, Launch, Module, Report};
use sgemm::ModuleSource;
use sgemm::plan::Argument;

pub fn trials() -> impl Iterator<Item = Trial> {
    prepasses::trials().into_iter().chain(postpasses::trials()).chain(gelu::trials())
}

/// A support kernel.
fn kernel(name: &str) -> Result<Kernel, Failed> {
    Ok(Module::parse(&ModuleSource::BuiltIn.support(Target::Sm80)?)?.kernel(name)?)
}

/// Sizes around a tile's.
fn around(tile: u32) -> [u32; 5] {
    [1, tile - 1, tile, tile + 1, 2 * tile + 3]
}

/// Launches the kernel under all checkers, which must find nothing.
fn launch(
    kernel: &Kernel,
    launch: Launch,
    arguments: &[Argument],
    memory: &mut GlobalMemory,
) -> Result<Report, Failed> {
    let bytes = arguments.iter().map(|argument| match *argument {
        Argument::U32(value) => value.to_le_bytes().to_vec(),
        Argument::F32(value) => value.to_le_bytes().to_vec(),
        Argument::U64(value) | Argument::Address(value) => value.to_le_bytes().to_vec(),
        Argument::TensorMap(_) => unreachable!("no support kernel takes one"),
    });
    let report = kernel.launch(memory, &Launch { arguments: bytes.collect(), ..launch })?;
    match report.fault.iter().chain(&report.findings).next() {
        Some(finding) => Err(format!("{}: {finding}", kernel.name()).into()),
        None => Ok(report),
    }
}
