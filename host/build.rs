//! Compiles the steps to PTX, one module per target, and writes the tables of what is built in: modules, for `src/ptx.rs`, and
//! what was tuned, for `src/tuned.rs`.

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
    if let Err(error) = list_tables() {
        eprintln!("cannot read host/tuned: {error}");
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
        CudaBuilder::new("../gpu-kernels")
            .arch(name.parse::<NvvmArch>()?)
            .kernels(gpu_kernels::kernels(target))
            .prebuilt(format!("../gpu-kernels/ptx/{name}.ptx"))
            .copy_to(out.join(format!("{name}.ptx")))
            .build()?;
        table += &format!("    ({name:?}, include_str!(concat!(env!(\"OUT_DIR\"), \"/{name}.ptx\"))),\n");
    }
    fs::write(out.join("modules.rs"), table + "]\n")?;
    Ok(())
}

/// Writes the table of files that `src/tuned.rs` includes: those of host/tuned, by name.
fn list_tables() -> Result<()> {
    println!("cargo::rerun-if-changed=tuned");
    let paths = fs::read_dir("tuned")?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let mut tables: Vec<_> = paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
    tables.sort();
    let mut text = String::from("&[\n");
    for table in tables {
        let path = table.canonicalize()?;
        text += &format!("    ({:?}, include_str!({path:?})),\n", format!("host/{}", table.display()));
    }
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("tuned.rs"), text + "]\n")?;
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
