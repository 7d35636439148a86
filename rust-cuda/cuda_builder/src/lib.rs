//! Compiles a `no_std` crate of kernels to one PTX module, with the builder of Rust CUDA and rustc's own NVPTX backend.
//!
//! ```no_run
//! use cuda_builder::{CudaBuilder, NvvmArch};
//!
//! CudaBuilder::new("kernels").arch(NvvmArch::Compute80).copy_to("kernels.ptx").build()?;
//! # Ok::<(), cuda_builder::CudaBuilderError>(())
//! ```
//!
//! The stages, one module each: [`toolchain`] finds the compiler that the crate pins, `cargo` has it write unoptimised
//! bitcode, `ir` gives shared memory its address space, kernels their grid constants and launch bounds, `llvm` links and optimises,
//! `ptx` refuses what must not be shipped and writes the header. [`tools`] finds NVIDIA's assembler for whoever asks.

mod arch;
mod cargo;
mod error;
mod ir;
mod llvm;
mod ptx;
pub mod toolchain;
pub mod tools;

use std::path::{Path, PathBuf};

pub use arch::NvvmArch;
pub use error::CudaBuilderError;
pub use ptx::Header;
pub use toolchain::Toolchain;

/// Builds a crate of kernels, usually from a build script. Kernels are compiled in release mode and panics become traps.
#[derive(Debug)]
pub struct CudaBuilder {
    path_to_crate: PathBuf,
    arch: NvvmArch,
    kernels: Option<Vec<String>>,
    build_args: Vec<String>,
    ptx_file_copy_path: Option<PathBuf>,
    prebuilt: Option<PathBuf>,
}

impl CudaBuilder {
    /// A builder for the crate in that folder, for [`NvvmArch::Compute80`].
    pub fn new(path_to_crate: impl AsRef<Path>) -> Self {
        Self {
            path_to_crate: path_to_crate.as_ref().to_owned(),
            arch: NvvmArch::Compute80,
            kernels: None,
            build_args: vec![],
            ptx_file_copy_path: None,
            prebuilt: None,
        }
    }

    /// The GPU architecture to compile for.
    #[must_use]
    pub fn arch(mut self, arch: NvvmArch) -> Self {
        self.arch = arch;
        self
    }

    /// The kernels that the module is to have, out of all that the crate has: a module for an older architecture leaves
    /// out those that need a newer one. Without it the module has all.
    #[must_use]
    pub fn kernels(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.kernels = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Further arguments for `cargo build`, such as `--features`.
    #[must_use]
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Where to put the PTX. Without it the module is left in the crate's target folder.
    #[must_use]
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.ptx_file_copy_path = Some(path.as_ref().to_owned());
        self
    }

    /// A PTX file that an earlier build of this crate wrote: used as it is, without any device toolchain, as long as the
    /// hash of the sources in its header is that of the sources here.
    #[must_use]
    pub fn prebuilt(mut self, path: impl AsRef<Path>) -> Self {
        self.prebuilt = Some(path.as_ref().to_owned());
        self
    }

    /// Builds the module and returns the path of the PTX. In a build script it also tells cargo what it depends on.
    ///
    /// # Errors
    /// [`CudaBuilderError`] says what is missing, or what is wrong with the crate or with what was made of it.
    pub fn build(self) -> Result<PathBuf, CudaBuilderError> {
        let package = cargo::Package::of(&self.path_to_crate)?;
        let sources = package.hash_sources()?;
        if std::env::var_os("OUT_DIR").is_some() {
            for path in package.sources().chain(self.prebuilt.as_deref()) {
                println!("cargo:rerun-if-changed={}", path.display());
            }
        }

        let ptx = match self.prebuilt_if_current(&sources)? {
            Some(ptx) => ptx,
            None => self.compile(&package, sources)?,
        };
        let path = match self.ptx_file_copy_path {
            Some(path) => path,
            None => package.target_dir()?.join(format!("{}.{}.ptx", package.name, self.arch)),
        };
        std::fs::write(&path, ptx).map_err(|source| CudaBuilderError::Io { path: path.clone(), source })?;
        Ok(path)
    }

    fn prebuilt_if_current(&self, sources: &str) -> Result<Option<String>, CudaBuilderError> {
        let Some(path) = self.prebuilt.as_deref().filter(|path| path.exists()) else {
            return Ok(None);
        };
        if Header::read(path)?.sources != sources {
            return Ok(None);
        }
        let ptx = std::fs::read_to_string(path).map_err(|source| CudaBuilderError::Io { path: path.into(), source })?;
        Ok(Some(ptx))
    }

    fn compile(&self, package: &cargo::Package, sources: String) -> Result<String, CudaBuilderError> {
        let toolchain = Toolchain::find(&self.path_to_crate).map_err(|reason| match &self.prebuilt {
            Some(prebuilt) if prebuilt.exists() => {
                CudaBuilderError::Stale { prebuilt: prebuilt.clone(), reason: Box::new(reason) }
            }
            _ => reason,
        })?;
        let target_dir = package.target_dir()?;
        // A folder for each architecture: in one, builds at the same time would wait for each other.
        let arch_dir = target_dir.join(self.arch.to_string());
        let bitcode = package.build(&toolchain, self.arch, &self.build_args, &arch_dir)?;
        let linked = llvm::link(&toolchain, &bitcode, &target_dir)?;
        let mut module = ir::rewrite(&linked)?;
        if let Some(names) = &self.kernels {
            module.keep(names)?;
        }
        let ptx = llvm::compile(&toolchain, &module, self.arch, &target_dir)?;
        ptx::refuse_generic_shared(&ptx)?;
        let header = Header { crate_name: package.name.clone(), sources, compiler: toolchain.version().to_owned() };
        Ok(format!("{header}{}", ptx::tidy(&ptx)))
    }
}
