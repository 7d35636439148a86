//! Finds programs that are optional: NVIDIA's command-line tools (`ptxas`, `cuobjdump`, `nvdisasm`), and a browser.

use std::path::PathBuf;

/// Where `cargo xtask setup --ptxas` puts the tools, relative to the workspace's target folder.
pub const TOOLS_FOLDER: &str = "cuda-tools";

/// The names that Chromium goes by.
const BROWSERS: [&str; 5] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];

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

/// The Chromium that pages are tested in: what the environment's `CHROMIUM` names, or else one on the `PATH`.
#[must_use]
pub fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("CHROMIUM").filter(|name| !name.is_empty()).map(PathBuf::from);
    named.or_else(|| BROWSERS.into_iter().find_map(find))
}
