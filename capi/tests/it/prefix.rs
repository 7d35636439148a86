//! The library as `cargo xtask install` installs it, and programs that use it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tempfile::TempDir;

/// This crate's folder.
pub fn source() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A library that cargo has put beside the tests or above them.
pub fn built(name: &str) -> PathBuf {
    let folder = env::current_exe().unwrap();
    let mut folders = folder.ancestors().skip(1).map(|folder| folder.join(name));
    folders.find(|path| path.exists()).expect("cargo builds the library with its tests")
}

/// A folder with what is installed: the trees `include` and `lib` of this crate, and the libraries.
pub fn install() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for tree in ["include", "lib"] {
        copy(&source().join(tree), &folder.path().join(tree));
    }
    for (from, to) in [("libsgemm_capi.so", "libsgemm.so"), ("libsgemm_capi.a", "libsgemm.a")] {
        fs::hard_link(built(from), folder.path().join("lib").join(to))
            .or_else(|_| fs::copy(built(from), folder.path().join("lib").join(to)).map(drop))
            .unwrap();
    }
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Whether a program is there; where it is not, a line says so.
pub fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        println!("{program} is not installed: `cargo xtask setup --c` does that");
    }
    found
}

/// What a program says, which must succeed.
pub fn capture(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{command:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}
