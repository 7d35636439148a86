//! The crate of kernels: what its sources are, and how the device toolchain compiles it to bitcode.

use crate::{CudaBuilderError, NvvmArch, Toolchain};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "nvptx64-nvidia-cuda";

/// A crate of kernels and the crates by path that it depends on.
pub(crate) struct Package {
    pub name: String,
    folder: PathBuf,
    /// Its own folder and those of its dependencies by path, in order.
    local_folders: Vec<PathBuf>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
}

#[derive(Deserialize)]
struct MetadataPackage {
    name: String,
    manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    path: Option<PathBuf>,
    kind: Option<String>,
}

impl Package {
    pub fn of(folder: &Path) -> Result<Self, CudaBuilderError> {
        let manifest = folder.join("Cargo.toml");
        let manifest = manifest.canonicalize().map_err(|_| CudaBuilderError::NoCrate(folder.to_owned()))?;
        let folder = manifest.parent().unwrap_or(folder).to_owned();
        let metadata = metadata(&manifest)?;
        let by_folder: HashMap<&Path, &MetadataPackage> =
            metadata.packages.iter().filter_map(|package| Some((package.manifest_path.parent()?, package))).collect();

        let mut local = BTreeSet::new();
        let mut queue = vec![folder.clone()];
        while let Some(next) = queue.pop() {
            let Some(package) = by_folder.get(next.as_path()) else { continue };
            if local.insert(next) {
                let normal = package.dependencies.iter().filter(|dependency| dependency.kind.is_none());
                queue.extend(normal.filter_map(|dependency| dependency.path.clone()));
            }
        }
        let name = by_folder.get(folder.as_path()).map_or_else(String::new, |package| package.name.clone());
        Ok(Self {
            name,
            folder,
            local_folders: local.into_iter().collect(),
            workspace_root: metadata.workspace_root,
            target_directory: metadata.target_directory,
        })
    }

    /// The folder for everything that is built here: apart from the host's, whose build this may be a part of.
    pub fn target_dir(&self) -> Result<PathBuf, CudaBuilderError> {
        let path = self.target_directory.join("cuda-builder");
        std::fs::create_dir_all(&path).map_err(|source| CudaBuilderError::Io { path: path.clone(), source })?;
        Ok(path)
    }

    /// The files and folders that the PTX depends on.
    pub fn sources(&self) -> impl Iterator<Item = &Path> {
        self.local_folders.iter().map(PathBuf::as_path)
    }

    /// The SHA-256 of every source file and manifest, in the order of their paths.
    pub fn hash_sources(&self) -> Result<String, CudaBuilderError> {
        let mut files = vec![];
        for folder in &self.local_folders {
            files.push(folder.join("Cargo.toml"));
            files.push(folder.join("rust-toolchain.toml"));
            walk(&folder.join("src"), &mut files)?;
        }
        files.retain(|path| path.exists());
        files.sort();
        let mut hash = Sha256::new();
        for path in &files {
            let text = std::fs::read(path).map_err(|source| CudaBuilderError::Io { path: path.clone(), source })?;
            let name = path.strip_prefix(&self.workspace_root).unwrap_or(path).to_string_lossy().into_owned();
            hash.update(format!("{name}\n{}\n", text.len()));
            hash.update(&text);
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Compiles the crate and its dependencies, `core` among them, to bitcode: the crate's own file first.
    ///
    /// rustc optimises nothing here (`no-prepopulate-passes`): no pass may see shared memory before it has its address
    /// space.
    pub fn build(
        &self,
        toolchain: &Toolchain,
        arch: NvvmArch,
        args: &[String],
        target_dir: &Path,
    ) -> Result<Vec<PathBuf>, CudaBuilderError> {
        let flags = [
            format!("-Ctarget-cpu={arch}"),
            "--emit=llvm-bc".into(),
            "-Cno-prepopulate-passes".into(),
            "-Zunstable-options".into(),
            "-Cpanic=immediate-abort".into(),
        ];
        let mut command = toolchain.cargo();
        command
            .current_dir(&self.folder)
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            .env("CARGO_PROFILE_RELEASE_DEBUG", "false")
            .args(["build", "--lib", "--release", "-Zbuild-std=core", "--message-format=json-render-diagnostics"])
            .args(["--target", TARGET])
            .arg("--target-dir")
            .arg(target_dir)
            .args(args);
        let output =
            command.output().map_err(|source| CudaBuilderError::Io { path: toolchain.cargo.clone(), source })?;
        if !output.status.success() {
            return Err(CudaBuilderError::BuildFailed(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let messages = String::from_utf8_lossy(&output.stdout);
        let mut artifacts: Vec<Artifact> =
            messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        // Messages come in the order in which crates happen to be done; functions, in that of the files.
        artifacts.sort_by_key(|artifact| {
            let folder = artifact.manifest_path.parent();
            (folder != Some(&self.folder), folder.and_then(Path::file_name).map(OsStr::to_owned))
        });
        Ok(artifacts.iter().filter_map(Artifact::bitcode).collect())
    }
}

/// Cargo's message about a crate that it compiled, or found compiled.
#[derive(Deserialize)]
struct Artifact {
    manifest_path: PathBuf,
    filenames: Vec<PathBuf>,
}

impl Artifact {
    /// The bitcode of a crate for the GPU, beside its metadata; `None` for what runs on the host.
    fn bitcode(&self) -> Option<PathBuf> {
        let metadata =
            self.filenames.iter().find(|path| path.extension().is_some_and(|extension| extension == "rmeta"))?;
        let on_gpu = metadata.components().any(|part| part.as_os_str() == TARGET);
        let stem = metadata.file_stem()?.to_str()?.strip_prefix("lib")?;
        on_gpu.then(|| metadata.with_file_name(stem).with_extension("bc"))
    }
}

fn metadata(manifest: &Path) -> Result<Metadata, CudaBuilderError> {
    let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let output = Command::new(&cargo)
        .args(["metadata", "--no-deps", "--format-version", "1", "--manifest-path"])
        .arg(manifest)
        .output()
        .map_err(|source| CudaBuilderError::Io { path: cargo, source })?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| CudaBuilderError::BuildFailed(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Clears what an outer cargo, rustup or build script set: the nested build would compile with the wrong rustc or flags,
/// or wait for the outer one's lock. Where the registry and its cache are stays.
pub(crate) fn isolate(command: &mut Command) {
    let keep = ["CARGO_HOME", "CARGO_HTTP_", "CARGO_NET_", "CARGO_REGISTR"];
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let build = ["CARGO", "RUSTC", "RUSTDOC", "RUSTFLAGS", "RUSTUP_TOOLCHAIN", "LD_LIBRARY_PATH"];
        let set_by_build = build.iter().any(|prefix| name.starts_with(prefix));
        if set_by_build && !keep.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name.as_ref());
        }
    }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), CudaBuilderError> {
    let io = |source| CudaBuilderError::Io { path: folder.to_owned(), source };
    for entry in std::fs::read_dir(folder).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
