//! LLVM's own tools: link the bitcode, optimise the rewritten module, write PTX.

use crate::ir::Module;
use crate::{CudaBuilderError, NvvmArch, Toolchain};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tile's inner product is hundreds of FMAs in a loop of eight, over arrays that must become registers: LLVM's own
/// limit would leave the loop rolled.
const UNROLL_THRESHOLD: &str = "-unroll-threshold=3000";

/// The passes. What is marked `#[inline(always)]` is inlined first, so that each access to shared memory gets its address
/// space before anything else looks at it. Alignment is inferred last, from addresses that are then in their final form:
/// contiguous accesses become one of 128 bits only if it is known.
const PASSES: &str = "-passes=internalize,globaldce,always-inline,function(sroa,infer-address-spaces),default<O3>,\
                      function(infer-address-spaces,infer-alignment)";

/// Loop strength reduction would keep a 64-bit pointer alive for each load of a loop. A register tile needs those
/// registers: with it, kernels at the limit of 128 spill.
const NO_STRENGTH_REDUCTION: &str = "-disable-lsr";

/// Links the first file and what it needs of the others into one module, as text.
pub(crate) fn link(toolchain: &Toolchain, bitcode: &[PathBuf], scratch: &Path) -> Result<String, CudaBuilderError> {
    let folder = scratch_folder(scratch)?;
    let linked = folder.path().join("linked.ll");
    let (kernels, dependencies) = bitcode.split_first().ok_or(CudaBuilderError::NoKernels)?;
    run(toolchain, "llvm-link", |command| {
        command.arg(kernels).arg("--only-needed").args(dependencies).arg("-S").arg("-o").arg(&linked)
    })?;
    read(&linked)
}

/// Optimises the module, with nothing but its kernels visible from outside, and compiles it to PTX.
///
/// The PTX version is the oldest that has the architecture, so that the oldest driver possible can load it.
pub(crate) fn compile(
    toolchain: &Toolchain,
    module: &Module,
    arch: NvvmArch,
    scratch: &Path,
) -> Result<String, CudaBuilderError> {
    let folder = scratch_folder(scratch)?;
    let [source, optimised, ptx] = ["module.ll", "optimised.bc", "module.ptx"].map(|name| folder.path().join(name));
    std::fs::write(&source, &module.text)
        .map_err(|error| CudaBuilderError::Io { path: source.clone(), source: error })?;
    let cpu = format!("-mcpu={arch}");
    run(toolchain, "opt", |command| {
        command
            .args([PASSES, UNROLL_THRESHOLD, &cpu])
            .arg(format!("-internalize-public-api-list={}", module.kernels.join(",")))
            .arg(&source)
            .arg("-o")
            .arg(&optimised)
    })?;
    run(toolchain, "llc", |command| {
        command.args(["-O3", NO_STRENGTH_REDUCTION, &cpu]).arg(&optimised).arg("-o").arg(&ptx)
    })?;
    read(&ptx)
}

fn run(
    toolchain: &Toolchain,
    tool: &'static str,
    arguments: impl FnOnce(&mut Command) -> &mut Command,
) -> Result<(), CudaBuilderError> {
    let path = toolchain.llvm_tool(tool);
    let mut command = Command::new(&path);
    command.env_remove("LD_LIBRARY_PATH");
    let output = arguments(&mut command).output().map_err(|source| CudaBuilderError::Io { path, source })?;
    if output.status.success() {
        return Ok(());
    }
    Err(CudaBuilderError::Llvm { tool, message: String::from_utf8_lossy(&output.stderr).trim().to_owned() })
}

/// A folder of its own for each build: several may run at once in one target folder.
fn scratch_folder(parent: &Path) -> Result<tempfile::TempDir, CudaBuilderError> {
    tempfile::tempdir_in(parent).map_err(|source| CudaBuilderError::Io { path: parent.to_owned(), source })
}

fn read(path: &Path) -> Result<String, CudaBuilderError> {
    std::fs::read_to_string(path).map_err(|source| CudaBuilderError::Io { path: path.to_owned(), source })
}
