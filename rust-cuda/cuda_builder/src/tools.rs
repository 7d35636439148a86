//! Finds NVIDIA's command-line tools (`ptxas`, `cuobjdump`, `nvdisasm`), which are optional.

use std::path::PathBuf;

/// Where `cargo xtask setup --ptxas` puts the tools, relative to the workspace's target folder.
pub const TOOLS_FOLDER: &str = "cuda-tools";

/// The tool of that name: on the `PATH`, in a CUDA toolkit at its usual place, or in [`TOOLS_FOLDER`] below the target
/// folder of the workspace that the current folder lies in.
#[must_use]
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push("/usr/local/cuda/bin".into());
    let here = std::env::current_dir().unwrap_or_default();
    folders.extend(here.ancestors().map(|folder| folder.join("target").join(TOOLS_FOLDER).join("nvidia/cu13/bin")));
    folders.into_iter().map(|folder| folder.join(name)).find(|tool| tool.is_file())
}
