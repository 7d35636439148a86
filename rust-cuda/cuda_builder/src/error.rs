//! What can go wrong, each with what to do about it.

use std::path::PathBuf;

/// Why a crate of kernels was not built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// There is no crate in the folder.
    #[error("no crate of kernels at {}: there is no Cargo.toml", .0.display())]
    NoCrate(PathBuf),
    /// The crate's `rust-toolchain.toml` does not name a version.
    #[error("{}: expected `channel = \"VERSION\"`, the version of Rust that compiles the kernels", .0.display())]
    NoPin(PathBuf),
    /// Nothing on this machine can compile kernels.
    #[error(
        "no device toolchain: kernels are compiled with Rust {version}, its sources and its LLVM tools.\n\
         Run `cargo xtask setup`, or `rustup toolchain install {version} --component rust-src --component llvm-tools`.\n\
         Looked at:\n{}",
        looked_at.iter().map(|place| format!("  {place}")).collect::<Vec<_>>().join("\n")
    )]
    NoToolchain {
        /// The version that the crate pins.
        version: String,
        /// Each place that was looked at, and what it lacks.
        looked_at: Vec<String>,
    },
    /// The prebuilt module is of other sources, and nothing here can compile these.
    #[error("{} was compiled from other sources than these, and there is {reason}", prebuilt.display())]
    Stale {
        /// The prebuilt module.
        prebuilt: PathBuf,
        /// [`CudaBuilderError::NoToolchain`].
        reason: Box<CudaBuilderError>,
    },
    /// rustc or cargo refused the crate: their own words.
    #[error("the kernels did not compile:\n{0}")]
    BuildFailed(String),
    /// A tool of LLVM failed: its own words.
    #[error("{tool} failed:\n{message}")]
    Llvm {
        /// `llvm-link`, `opt` or `llc`.
        tool: &'static str,
        /// What it printed.
        message: String,
    },
    /// The crate has no function marked `#[kernel]`.
    #[error("the crate has no kernels: mark one with `#[kernel]`")]
    NoKernels,
    /// The crate has no kernel of a name that the module is to have.
    #[error("the crate has no kernel `{0}`")]
    MissingKernel(String),
    /// A static in shared memory has an initial value.
    #[error(
        "`{0}` is in shared memory, which cannot be initialised: make it `MaybeUninit<..> = MaybeUninit::uninit()`"
    )]
    InitialisedShared(String),
    /// An access to shared memory that the compiler could not prove to be one, and left generic: several times slower.
    #[error(
        "kernel `{kernel}` accesses shared memory through a generic pointer, PTX line {line}: `{instruction}`.\n\
         Keep pointers to shared and to global memory apart: do not choose between them at run time, \
         store them in memory or pass them to a function that is not inlined."
    )]
    GenericShared {
        /// The kernel or function.
        kernel: String,
        /// The line of the module, from 1.
        line: usize,
        /// The instruction that makes a shared address generic.
        instruction: String,
    },
    /// A PTX file without this crate's header.
    #[error("{}: not a module that cuda_builder wrote: line `// {field}: ...` is missing", path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
        /// The missing field.
        field: &'static str,
    },
    /// A file or program could not be read, written or started.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}
