//! `setup`: makes the device toolchain present, and on request NVIDIA's assembler, a browser, netlib's testers of BLAS, and what programs
//! in C, C++ and Python are built with.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use cuda_builder::toolchain::{Toolchain, pinned_version};
use cuda_builder::tools;

use crate::workspace;

/// Debian's packages of a newer Rust: the compiler, cargo, the sources of `core`, and LLVM's own tools.
const DEBIAN_PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "rust-web-llvm"];

/// NVIDIA's assembler and disassembler, as they lie on the Python Package Index.
const PTXAS_PACKAGES: [&str; 2] = ["nvidia-cuda-nvcc==13.*", "nvidia-cuda-nvdisasm==13.*"];

/// Debian's packages of a browser, and of a font for it: a bare machine has none.
const BROWSER_PACKAGES: [&str; 2] = ["chromium", "fonts-dejavu-core"];

/// Debian's package of netlib's testers of BLAS, and where one of them lies on x86-64.
const BLAS_PACKAGE: &str = "libblas-test";
const BLAS_TESTERS: &str = "/usr/lib/x86_64-linux-gnu/blas/xblat3s";

/// What programs in C, C++ and Python are built and run with: a command that succeeds where it is there, and Debian's package of it.
const LANGUAGE_TOOLS: [(&str, &[&str], &str); 6] = [
    ("c++", &["--version"], "g++"),
    ("cmake", &["--version"], "cmake"),
    ("pkg-config", &["--version"], "pkg-config"),
    ("/usr/bin/python3", &["--version"], "python3"),
    ("/usr/bin/python3", &["-c", "import numpy"], "python3-numpy"),
    ("/usr/bin/python3", &["-c", "import scipy.linalg"], "python3-scipy"),
];

/// Install what compiles kernels, if it is not there yet
///
/// That is the Rust version that gpu-kernels pins, with the sources of `core` and LLVM's tools. Where it is missing, it
/// is installed with apt (Debian as root, where apt offers that version) or with rustup; otherwise setup says what to
/// install. It is needed to change kernels: unchanged ones come with their PTX. It compiles the book's playground to
/// WebAssembly, too.
#[derive(clap::Args)]
pub struct Args {
    /// Also install ptxas and nvdisasm under target/, with pip: for `sass` and the tests of registers and spills
    #[arg(long)]
    ptxas: bool,
    /// Also install Chromium, with apt (Debian as root): for the tests of the report's page
    #[arg(long)]
    browser: bool,
    /// Also install netlib's testers of BLAS, with apt (Debian as root): for the tests of the library that is preloaded
    #[arg(long)]
    blas: bool,
    /// Also install a C++ compiler, CMake, pkg-config, NumPy and SciPy, with apt (Debian as root): for the tests of the libraries for C,
    /// Python and programs that nobody changes
    #[arg(long)]
    c: bool,
}

/// Runs `setup`.
pub fn run(args: &Args) -> Result<()> {
    toolchain()?;
    if let Err(error) = wasm_linker() {
        complain!("warning: the book gets no playground: {error:#}");
    }
    if args.ptxas {
        ptxas()?;
    }
    if args.browser {
        browser()?;
    }
    if args.blas {
        blas()?;
    }
    if args.c { c() } else { Ok(()) }
}

/// Makes the device toolchain present.
pub fn toolchain() -> Result<()> {
    if let Ok(toolchain) = Toolchain::find(workspace::kernels()) {
        say!("device toolchain: {toolchain}");
        return Ok(());
    }
    let version = pinned_version(&workspace::kernels())?;
    match Way::choose(&version) {
        Some(Way::Apt) => apt_get(["install", "-y", "--no-install-recommends"].into_iter().chain(DEBIAN_PACKAGES))?,
        Some(Way::Rustup) => {
            let components = ["--component", "rust-src", "--component", "llvm-tools"];
            let install = ["toolchain", "install", &version, "--profile", "minimal"];
            workspace::run(Command::new("rustup").args(install).args(components))?;
        }
        None => bail!(
            "kernels are compiled by Rust {version} with rust-src and llvm-tools, which is not here; \
             install rustup (https://rustup.rs) and run `cargo xtask setup` again"
        ),
    }
    let toolchain = Toolchain::find(workspace::kernels()).context("installed, but still not complete")?;
    say!("device toolchain: {toolchain}");
    Ok(())
}

/// Makes the linker of WebAssembly present, which the book's playground is linked by: of the device toolchain's LLVM. rustup's
/// toolchains have it; for Debian's it is a package of its own.
pub fn wasm_linker() -> Result<()> {
    let toolchain = Toolchain::find(workspace::kernels())?;
    if toolchain.wasm_linker().is_none() {
        ensure!(has_apt(), "there is no wasm-ld beside the device toolchain's LLVM tools");
        let package = linker_package(toolchain.version()).context("the device toolchain's LLVM has no version")?;
        update();
        apt_get(["install", "-y", "--no-install-recommends", &package])?;
    }
    let linker = toolchain.wasm_linker().context("installed, but wasm-ld is not where it was expected")?;
    say!("linker of WebAssembly: {}", linker.display());
    Ok(())
}

/// Debian's package of LLVM's linker, of the LLVM in `rustc 1.96.0, LLVM 22.1.8`.
fn linker_package(version: &str) -> Option<String> {
    let (_, llvm) = version.rsplit_once("LLVM ")?;
    Some(format!("lld-{}", llvm.split('.').next()?))
}

/// Makes `ptxas` and `nvdisasm` present.
pub fn ptxas() -> Result<()> {
    if let (Some(ptxas), Some(_)) = (tools::find("ptxas"), tools::find("nvdisasm")) {
        say!("ptxas: {}", workspace::relative(&ptxas));
        return Ok(());
    }
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--upgrade", "--target"]);
    pip.arg(workspace::root().join("target").join(tools::TOOLS_FOLDER))
        .args(PTXAS_PACKAGES)
        .env("PIP_ROOT_USER_ACTION", "ignore");
    workspace::run(&mut pip).context("ptxas comes with the CUDA toolkit, or by pip where Python 3 has it")?;
    let ptxas = tools::find("ptxas").context("installed, but ptxas is not where it was expected")?;
    say!("ptxas: {}", workspace::relative(&ptxas));
    Ok(())
}

/// Makes a browser present.
pub fn browser() -> Result<()> {
    if tools::browser().is_none() {
        ensure!(has_apt(), "no Chromium on the PATH; install it, or name its program in the variable CHROMIUM");
        update();
        apt_get(["install", "-y", "--no-install-recommends"].into_iter().chain(BROWSER_PACKAGES))?;
    }
    let browser = tools::browser().context("installed, but Chromium is not where it was expected")?;
    say!("browser: {}", browser.display());
    Ok(())
}

/// Makes netlib's testers of BLAS present.
pub fn blas() -> Result<()> {
    if !Path::new(BLAS_TESTERS).exists() {
        ensure!(has_apt(), "{BLAS_TESTERS} is not there, and only Debian has a package of it");
        update();
        apt_get(["install", "-y", "--no-install-recommends", BLAS_PACKAGE])?;
    }
    println!("BLAS testers: {BLAS_TESTERS}");
    Ok(())
}

/// Makes present what programs in C, C++ and Python are built with.
pub fn c() -> Result<()> {
    let missing = || {
        let is_missing = |(program, args, _): &(&str, &[&str], _)| !succeeds(Command::new(program).args(*args));
        LANGUAGE_TOOLS.into_iter().filter(is_missing).map(|(_, _, package)| package)
    };
    let packages: Vec<_> = missing().collect();
    if !packages.is_empty() {
        ensure!(has_apt(), "install {}", packages.join(", "));
        update();
        apt_get(["install", "-y", "--no-install-recommends"].into_iter().chain(packages))?;
    }
    let left: Vec<_> = missing().collect();
    ensure!(left.is_empty(), "installed, but still missing: {}", left.join(", "));
    say!("C++, CMake, pkg-config, NumPy and SciPy: there");
    Ok(())
}

/// How the device toolchain can be installed here.
enum Way {
    /// Debian's packages, as root.
    Apt,
    /// rustup's toolchain of the pinned version.
    Rustup,
}

impl Way {
    /// apt before rustup: a root shell with apt is a container or a CI machine, where it is the quicker one.
    fn choose(version: &str) -> Option<Self> {
        if has_apt() && apt_offers(version) {
            Some(Self::Apt)
        } else {
            succeeds(Command::new("rustup").arg("--version")).then_some(Self::Rustup)
        }
    }
}

/// Whether apt, with fresh lists, offers `version` of the compiler.
fn apt_offers(version: &str) -> bool {
    update();
    let policy = workspace::capture(Command::new("apt-cache").args(["policy", DEBIAN_PACKAGES[0]]));
    policy.is_ok_and(|(text, _)| candidate(&text).is_some_and(|offered| is_release(offered, version)))
}

/// Renews apt's lists; old ones may still do.
fn update() {
    if let Err(error) = apt_get(["update", "--quiet"]) {
        complain!("warning: {error:#}");
    }
}

/// Runs `apt-get`: no questions, several tries, and patience with another that holds its lock.
fn apt_get<'a>(args: impl IntoIterator<Item = &'a str>) -> Result<()> {
    let options = ["-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=120"];
    workspace::run(Command::new("apt-get").args(options).args(args).env("DEBIAN_FRONTEND", "noninteractive"))
}

/// The version that `apt-cache policy` would install.
fn candidate(policy: &str) -> Option<&str> {
    policy.lines().find_map(|line| line.trim().strip_prefix("Candidate:")).map(str::trim)
}

/// Whether a Debian version such as `1.96.0+dfsg1-1` packages the upstream release `release`.
fn is_release(debian: &str, release: &str) -> bool {
    debian.strip_prefix(release).is_some_and(|rest| rest.starts_with(['+', '-', '~']))
}

/// Whether this is Debian, and this process may install its packages.
fn has_apt() -> bool {
    Path::new("/etc/debian_version").exists() && is_root()
}

/// Whether this process is root's.
fn is_root() -> bool {
    workspace::capture(Command::new("id").arg("-u")).is_ok_and(|(uid, _)| uid.trim() == "0")
}

fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_is_that_of_the_same_llvm() {
        assert_eq!(linker_package("rustc 1.96.0, LLVM 22.1.8").as_deref(), Some("lld-22"));
        assert_eq!(linker_package("rustc"), None);
    }

    #[test]
    fn apt_policy_is_read() {
        let policy = "rustc-web:\n  Installed: (none)\n  Candidate: 1.96.0+dfsg1-1~deb12u2\n  Version table:\n";
        assert_eq!(candidate(policy), Some("1.96.0+dfsg1-1~deb12u2"));
        assert!(is_release("1.96.0+dfsg1-1~deb12u2", "1.96.0"));
        assert!(!is_release("1.96.01", "1.96.0"));
        assert!(!is_release("1.85.0+dfsg3-1", "1.96.0"));
        assert_eq!(candidate("N: Unable to locate package rustc-web"), None);
    }
}
