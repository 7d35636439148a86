//! Finds what compiles kernels: the version of Rust that the crate pins in its `rust-toolchain.toml`, with the sources
//! of `core` and the LLVM tools of the same release.

use crate::CudaBuilderError;
use crate::cargo::isolate;
use serde::Deserialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A complete device toolchain.
#[derive(Debug, Clone)]
pub struct Toolchain {
    pub(crate) cargo: PathBuf,
    pub(crate) rustc: PathBuf,
    llvm: PathBuf,
    version: String,
}

const LLVM_TOOLS: [&str; 3] = ["llvm-link", "opt", "llc"];

impl Toolchain {
    /// The toolchain for the crate in that folder: rustup's, if it is complete, or else the system's.
    ///
    /// # Errors
    /// [`CudaBuilderError::NoToolchain`] names each place that was looked at and what it lacks.
    pub fn find(path_to_crate: impl AsRef<Path>) -> Result<Self, CudaBuilderError> {
        let version = pinned_version(path_to_crate.as_ref())?;
        let mut looked_at = vec![];
        for bin in rustup_toolchains(&version).into_iter().chain(system_folders()) {
            match Self::in_folder(&bin, &version) {
                Ok(toolchain) => return Ok(toolchain),
                Err(reason) => looked_at.push(format!("{}: {reason}", bin.display())),
            }
        }
        Err(CudaBuilderError::NoToolchain { version, looked_at })
    }

    /// The compiler, as the header of a PTX module names it: `rustc 1.96.0, LLVM 22.1.8`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its cargo, apart from the cargo or build script that this may run in. It may build the standard library: `-Zbuild-std`.
    #[must_use]
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        isolate(&mut command);
        command.env("RUSTC", &self.rustc).env("RUSTC_BOOTSTRAP", "1");
        command
    }

    /// The linker of WebAssembly beside its LLVM tools, if it is there.
    #[must_use]
    pub fn wasm_linker(&self) -> Option<PathBuf> {
        ["wasm-ld", "gcc-ld/wasm-ld"].map(|name| self.llvm.join(name)).into_iter().find(|path| path.exists())
    }

    pub(crate) fn llvm_tool(&self, name: &str) -> PathBuf {
        self.llvm.join(name)
    }

    fn in_folder(bin: &Path, version: &str) -> Result<Self, String> {
        let (cargo, rustc) = (bin.join("cargo"), bin.join("rustc"));
        for program in [&cargo, &rustc] {
            if !program.exists() {
                return Err(format!("no {}", program.file_name().unwrap_or_default().display()));
            }
        }
        let verbose = stdout(Command::new(&rustc).arg("-vV"))?;
        let field = |name: &str| verbose.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
        let (release, llvm_version, host) = (field("release:"), field("LLVM version:"), field("host:"));
        if release != version {
            return Err(format!("rustc is {release}, not {version}"));
        }
        let sysroot = PathBuf::from(stdout(Command::new(&rustc).args(["--print", "sysroot"]))?.trim());
        if !sysroot.join("lib/rustlib/src/rust/library/core").exists() {
            return Err("the sources of `core` (rust-src) are missing".into());
        }
        let llvm_major = llvm_version.split('.').next().unwrap_or_default();
        let llvm = [
            sysroot.join("lib/rustlib").join(host).join("bin"),
            PathBuf::from(format!("/usr/lib/llvm-{llvm_major}/bin")),
        ]
        .into_iter()
        .find(|folder| LLVM_TOOLS.iter().all(|tool| folder.join(tool).exists()))
        .ok_or_else(|| format!("the LLVM {llvm_major} tools ({}) are missing", LLVM_TOOLS.join(", ")))?;
        Ok(Self { cargo, rustc, llvm, version: format!("rustc {release}, LLVM {llvm_version}") })
    }
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}, {})", self.version, self.rustc.display(), self.llvm.display())
    }
}

/// The version in the crate's `rust-toolchain.toml`.
///
/// # Errors
/// [`CudaBuilderError::NoPin`] if there is none.
pub fn pinned_version(path_to_crate: &Path) -> Result<String, CudaBuilderError> {
    #[derive(Deserialize)]
    struct File {
        toolchain: Pin,
    }
    #[derive(Deserialize)]
    struct Pin {
        channel: String,
    }
    let path = path_to_crate.join("rust-toolchain.toml");
    let text = std::fs::read_to_string(&path).map_err(|_| CudaBuilderError::NoPin(path.clone()))?;
    let file: File = toml::from_str(&text).map_err(|_| CudaBuilderError::NoPin(path))?;
    Ok(file.toolchain.channel)
}

/// The `bin` folders of rustup's toolchains of that version: one, unless several host triples are installed.
fn rustup_toolchains(version: &str) -> Vec<PathBuf> {
    let home = std::env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".rustup")))
        .unwrap_or_default();
    let prefix = format!("{version}-");
    let mut folders: Vec<_> = std::fs::read_dir(home.join("toolchains"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix))
        .map(|entry| entry.path().join("bin"))
        .collect();
    folders.sort();
    folders
}

fn system_folders() -> [PathBuf; 2] {
    ["/usr/bin", "/usr/local/bin"].map(PathBuf::from)
}

fn stdout(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().display().to_string();
    // A rustup proxy or a build script may have pointed the loader at another toolchain's libraries.
    let output = command.env_remove("LD_LIBRARY_PATH").output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
