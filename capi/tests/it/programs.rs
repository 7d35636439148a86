//! The examples in C and C++ are compiled and run, on the emulator, as whoever installed the library compiles them: by the compiler
//! alone, by pkg-config and by CMake. `cargo xtask setup --c` installs these; where one is missing, the test of it says so and ends.

use std::path::Path;
use std::process::Command;

use crate::prefix::{capture, install, is_there, source};

/// Warnings that fail a build.
const STRICT: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// Runs a program that a test has built.
fn run(program: &Path, prefix: &Path) -> String {
    capture(Command::new(program).arg("emulator").env("LD_LIBRARY_PATH", prefix.join("lib")))
}

#[test]
fn c_and_cpp_are_compiled_and_right() {
    let folder = install();
    let prefix = folder.path();
    let (include, lib) = (prefix.join("include"), prefix.join("lib"));
    for (compiler, standard, example, says) in [
        ("cc", "-std=c99", "product.c", "NVIDIA H200, sgemm"),
        ("c++", "-std=c++11", "batch.cpp", "3 products are right"),
    ] {
        if !is_there(compiler) {
            continue;
        }
        let program = prefix.join(compiler);
        let mut compile = Command::new(compiler);
        compile.args(STRICT).arg(standard).arg("-I").arg(&include).arg(source().join("examples").join(example));
        capture(compile.arg("-L").arg(&lib).args(["-lsgemm", "-o"]).arg(&program));
        let said = run(&program, prefix);
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn pkg_config_has_the_flags_of_both_libraries() {
    if !is_there("pkg-config") || !is_there("cc") {
        return;
    }
    let folder = install();
    let prefix = folder.path();
    let flags = |options: &[&str]| {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).args(options).arg("sgemm");
        capture(&mut command).split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(flags(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    let shared = flags(&["--cflags", "--libs"]);
    let archive = prefix.join("lib/libsgemm.a").to_str().unwrap().to_owned();
    // As one does where both libraries are there and the static one is wanted.
    let of_static = flags(&["--static", "--cflags", "--libs"]).into_iter();
    let of_static: Vec<_> = of_static.map(|flag| if flag == "-lsgemm" { archive.clone() } else { flag }).collect();
    for (name, flags, needs) in [("shared", shared, true), ("static", of_static, false)] {
        let program = prefix.join(name);
        let example = source().join("examples/product.c");
        capture(Command::new("cc").arg(example).args(&flags).arg("-o").arg(&program));
        assert!(run(&program, prefix).contains("H200"));
        let is_run = Command::new(&program).arg("emulator").output().unwrap().status.success();
        assert_eq!(is_run, !needs, "the {name} library, where the loader does not find it");
    }
}

#[test]
fn cmake_finds_the_package() {
    if !is_there("cmake") || !is_there("cc") || !is_there("c++") {
        return;
    }
    let folder = install();
    let prefix = folder.path();
    let build = prefix.join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(source().join("examples")).arg("-B").arg(&build);
    capture(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    capture(Command::new("cmake").arg("--build").arg(&build));
    for program in ["product", "product_static", "batch"] {
        // CMake has them find the library where it was found.
        capture(Command::new(build.join(program)).arg("emulator"));
    }
}

/// The library has this version in all that names it.
#[test]
fn versions_agree() {
    let version = env!("CARGO_PKG_VERSION");
    let text = |path: &str| std::fs::read_to_string(source().join(path)).unwrap();
    assert!(text("lib/pkgconfig/sgemm.pc").contains(&format!("\nVersion: {version}\n")));
    let cmake = text("lib/cmake/sgemm/sgemm-config-version.cmake");
    let minor = version.rsplit_once('.').unwrap().0;
    assert!(cmake.contains(&format!("set(PACKAGE_VERSION \"{version}\")")));
    assert!(cmake.contains(&format!("VERSION_EQUAL \"{minor}\")")));
    assert!(text("examples/CMakeLists.txt").contains(&format!("find_package(sgemm {minor} REQUIRED)")));
}

/// A program that defines anything else is not disturbed.
#[test]
fn only_names_of_the_library_are_exported() {
    if !is_there("nm") {
        return;
    }
    let folder = install();
    let mut command = Command::new("nm");
    let symbols = capture(
        command.args(["-D", "--defined-only", "--format=just-symbols"]).arg(folder.path().join("lib/libsgemm.so")),
    );
    let mut symbols: Vec<_> = symbols.lines().collect();
    symbols.sort_unstable();
    let header = std::fs::read_to_string(source().join("include/sgemm.h")).unwrap();
    let called = |name: &&str| header.contains(&format!(" {name}(")) || header.contains(&format!("*{name}("));
    let strays: Vec<_> = symbols.iter().filter(|name| !called(name)).collect();
    assert!(strays.is_empty(), "{strays:?}");
    assert!(symbols.len() >= 18, "{symbols:?}");
}
