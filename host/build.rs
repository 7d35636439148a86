//! Compiles kernels that were changed since the library's modules were compiled, and writes a table of those for `src/backend/ptx.rs`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use cuda_builder::{CudaBuilder, NvvmArch};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() {
    if let Err(error) = build_modules() {
        eprintln!("{error}");
        std::process::exit(1);
    }
    println!("cargo::rustc-env=HOST_COMMIT={}", commit().as_deref().unwrap_or("unknown"));
    println!("cargo::rustc-env=HOST_RUSTC={}", rustc().as_deref().unwrap_or("unknown"));
}

fn build_modules() -> Result<()> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let mut table = String::from("&[\n");
    for target in gpu_kernels::targets() {
        let name = target.name();
        let committed = format!("../sgemm/src/modules/{name}.ptx");
        let built = CudaBuilder::new("../gpu-kernels")
            .arch(name.parse::<NvvmArch>()?)
            .kernels(gpu_kernels::kernels(target))
            .prebuilt(&committed)
            .copy_to(out.join(format!("{name}.ptx")))
            .build()?;
        // What the library has is not embedded twice.
        if fs::read(built)? != fs::read(committed)? {
            table += &format!("    ({name:?}, include_str!(concat!(env!(\"OUT_DIR\"), \"/{name}.ptx\"))),\n");
        }
    }
    fs::write(out.join("modules.rs"), table + "]\n")?;
    Ok(())
}

/// The compiler's name and version, such as `rustc 1.95.0`.
fn rustc() -> Option<String> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
}

/// The commit of this checkout; `None` outside of one, as in a source archive.
fn commit() -> Option<String> {
    // A source archive unpacked inside some other repository is not a checkout of this one.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // HEAD, the branch that it names, and the file that branches are packed into: what changes with a commit.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let path = git(&["rev-parse", "--git-path", name])?;
        // Cargo runs a build script on every build where a file that it watches is missing.
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
