//! `ptx`: regenerates the committed PTX, or with `--check` compares it with what the sources compile to.

use std::fs;
use std::path::Path;
use std::thread;

use anyhow::{Context, Error, Result, bail, ensure};
use cuda_builder::{CudaBuilder, Header, NvvmArch, Toolchain};
use gpu_kernels::Target;

use crate::workspace::{self, ptx_file, ptx_folder, relative};

/// How many differing lines a report of drift shows of each file.
const SHOWN_LINES: usize = 3;

/// Compile the kernels and write sgemm/src/modules, one module for each target
#[derive(clap::Args)]
pub struct Args {
    /// Write nothing: fail if a committed module is not what the sources compile to
    #[arg(long)]
    check: bool,
}

/// Runs `ptx`.
pub fn run(args: &Args) -> Result<()> {
    if args.check { check() } else { generate() }
}

fn generate() -> Result<()> {
    fs::create_dir_all(ptx_folder())?;
    compile_all(|target| {
        compile(target, &ptx_file(target))?;
        Ok(format!("wrote {}", relative(&ptx_file(target))))
    })?;
    for name in superfluous()? {
        fs::remove_file(ptx_folder().join(&name))?;
        say!("removed {name}, which no step's target needs");
    }
    Ok(())
}

/// Fails if the committed PTX is not what the sources compile to.
pub fn check() -> Result<()> {
    let toolchain = Toolchain::find(workspace::kernels())?;
    let folder = tempfile::tempdir()?;
    compile_all(|target| {
        let file = ptx_file(target);
        ensure!(file.is_file(), "{} is missing: run `cargo xtask ptx`", relative(&file));
        let compiler = Header::read(&file)?.compiler;
        ensure!(
            compiler == toolchain.version(),
            "{} was compiled by {compiler}, and the device toolchain here is {}: \
             run `cargo xtask setup`, or `cargo xtask ptx` to move to this compiler",
            relative(&file),
            toolchain.version()
        );
        let fresh = folder.path().join(target.name());
        compile(target, &fresh)?;
        let [committed, compiled] = [file.as_path(), &fresh].map(fs::read_to_string);
        if let Some(difference) = difference(&committed?, &compiled?) {
            bail!("{} is not what the sources compile to: run `cargo xtask ptx`\n{difference}", relative(&file));
        }
        Ok(format!("{} is up to date", relative(&file)))
    })?;
    if let Some(name) = superfluous()?.first() {
        bail!("sgemm/src/modules/{name} belongs to no step's target: run `cargo xtask ptx`");
    }
    Ok(())
}

/// Runs `of_target` for all targets at once, and prints what it returns in their order, up to the first that fails.
fn compile_all(of_target: impl Fn(Target) -> Result<String> + Sync) -> Result<()> {
    let of_target = &of_target;
    thread::scope(|scope| {
        let compilations: Vec<_> =
            gpu_kernels::targets().map(|target| scope.spawn(move || of_target(target))).collect();
        for compilation in compilations {
            say!("{}", compilation.join().expect("no compilation panics")?);
        }
        Ok(())
    })
}

/// Compiles the kernels of `target` to `file`.
pub fn compile(target: Target, file: &Path) -> Result<()> {
    CudaBuilder::new(workspace::kernels())
        .arch(arch(target)?)
        .kernels(gpu_kernels::kernels(target))
        .copy_to(file)
        .build()?;
    Ok(())
}

/// `target` as cuda_builder knows it.
pub fn arch(target: Target) -> Result<NvvmArch> {
    target.name().parse().map_err(Error::msg)
}

/// The committed PTX files that belong to no target.
fn superfluous() -> Result<Vec<String>> {
    let expected: Vec<_> = gpu_kernels::targets().map(|target| format!("{}.ptx", target.name())).collect();
    let mut names = Vec::new();
    for entry in fs::read_dir(ptx_folder()).with_context(|| format!("cannot list {}", relative(&ptx_folder())))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".ptx") && !expected.contains(&name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The first lines in which `compiled` differs from `committed`; `None` if they are equal.
fn difference(committed: &str, compiled: &str) -> Option<String> {
    if committed == compiled {
        return None;
    }
    let same = committed.lines().zip(compiled.lines()).take_while(|(a, b)| a == b).count();
    let shown = |sign: char, text: &str| -> String {
        text.lines().skip(same).take(SHOWN_LINES).map(|line| format!("\n  {sign} {line}")).collect()
    };
    Some(format!("  line {}:{}{}", same + 1, shown('-', committed), shown('+', compiled)))
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn equal_modules_do_not_differ() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
    }

    #[test]
    fn the_first_differing_lines_are_shown() {
        let text = difference("a\nb\nc\n", "a\nx\nc\nd\n").unwrap();
        assert_eq!(text, "  line 2:\n  - b\n  - c\n  + x\n  + c\n  + d");
    }
}
