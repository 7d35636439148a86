//! `check package`: the library as others get it, by its features, its packages, and a crate that depends on these.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::workspace::{cargo, relative, root, run};

/// The library's package and those below it, with the name that each goes by in their manifests.
const PACKAGES: [(&str, &str); 5] = [
    ("sgemm", "sgemm"),
    ("gpu-kernels", "gpu-kernels"),
    ("ptx-emu", "ptx-emu"),
    ("sgemm-cuda-std", "cuda_std"),
    ("sgemm-cuda-std-macros", "cuda_std_macros"),
];

/// The features of `sgemm` that bring the kernels of a target, each alone: none at first.
const TARGET_FEATURES: [&str; 4] = ["", "sm80", "sm90", "sm100"];

/// The registry's limit on a package.
const MOST_BYTES: u64 = 10 << 20;

/// Fails if the library or the packages of it do not build, with any of its features.
pub fn check() -> Result<()> {
    for features in TARGET_FEATURES.into_iter().chain(["distributed"]) {
        let lints = ["clippy", "-p", "sgemm", "--no-default-features", "--features", features, "--", "-Dwarnings"];
        run(&mut cargo(lints))?;
    }
    let folder = root().join("target/downstream");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot empty {}", relative(&folder)))?;
    }
    packages(&folder)?;
    downstream(&folder)
}

/// Makes the packages, and unpacks each to a folder of its name.
fn packages(folder: &Path) -> Result<()> {
    // Without its lock file, cargo need not find one package on the registry to make the next; building them comes after this.
    let mut package =
        cargo(["package", "--allow-dirty", "--no-verify", "--exclude-lockfile", "--target-dir", "target"]);
    run(package.args(PACKAGES.iter().flat_map(|(name, _)| ["-p", name])))?;
    for (name, _) in PACKAGES {
        let archive = root().join(format!("target/package/{name}-{}.crate", env!("CARGO_PKG_VERSION")));
        let bytes = fs::metadata(&archive)?.len();
        ensure!(bytes <= MOST_BYTES, "{} has {bytes} bytes: the registry takes {MOST_BYTES}", relative(&archive));
        say!("{name}: {:.2} MiB", bytes as f64 / f64::from(1 << 20));

        let unpacked = folder.join(name);
        fs::create_dir_all(&unpacked)?;
        // With the present as its files' date: cargo would take others of the same date for what it has built before.
        run(Command::new("tar").args(["-xzm", "--strip-components=1", "-f"]).arg(&archive).arg("-C").arg(&unpacked))?;
        // Its dependencies are the other folders, as if they had come from the registry.
        let manifest = unpacked.join("Cargo.toml");
        let mut text = fs::read_to_string(&manifest)?;
        for (name, key) in PACKAGES {
            let section = format!("[dependencies.{key}]\n");
            text = text.replace(&section, &format!("{section}path = \"../{name}\"\n"));
        }
        fs::write(&manifest, text)?;
    }
    Ok(())
}

/// Builds and tests a crate that depends on the unpacked packages.
fn downstream(folder: &Path) -> Result<()> {
    let source = root().join("tests/downstream");
    let copy = folder.join("downstream");
    fs::create_dir_all(copy.join("src"))?;
    fs::create_dir_all(copy.join("tests"))?;
    for (from, to) in [
        (source.join("Cargo.toml"), "Cargo.toml"),
        (source.join("src/main.rs"), "src/main.rs"),
        (root().join("sgemm/tests/targets.rs"), "tests/targets.rs"),
        // What the workspace has is all that it needs.
        (root().join("Cargo.lock"), "Cargo.lock"),
    ] {
        fs::copy(&from, copy.join(to)).with_context(|| format!("cannot copy {}", relative(&from)))?;
    }
    let build = |args: &[&str]| {
        let mut command = cargo(args.iter().copied());
        run(command.current_dir(&copy).args(["--offline", "--target-dir"]).arg(root().join("target")))
    };
    build(&["run"])?;
    build(&["check", "--features", "f16"])?;
    build(&["check", "--features", "linked"])?;
    build(&["check", "--features", "kernels"])?;
    build(&["test", "--features", "emulator"])?;
    for features in TARGET_FEATURES {
        build(&["test", "--no-default-features", "--features", &format!("emulator,{features}")])?;
    }
    Ok(())
}
