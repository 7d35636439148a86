//! The whole way from Rust to PTX, with small kernels, one for each guarantee. Needs the device toolchain:
//! `cargo xtask setup`.

use cuda_builder::{CudaBuilder, CudaBuilderError, Header, NvvmArch, tools};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels")
}

/// Builds the test kernels with a feature; each test keeps its module in a folder of its own.
fn build(arch: NvvmArch, features: &str) -> Result<String, CudaBuilderError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = CudaBuilder::new(kernels())
        .arch(arch)
        .build_args(&["--features", features])
        .copy_to(folder.path().join("module.ptx"))
        .build()?;
    Ok(std::fs::read_to_string(path).expect("the module that was just written"))
}

fn module() -> &'static str {
    static MODULE: OnceLock<String> = OnceLock::new();
    MODULE.get_or_init(|| build(NvvmArch::Compute80, "").unwrap_or_else(|error| panic!("{error}")))
}

/// The text of one kernel, from its `.entry` to the end of its body.
fn entry(name: &str) -> &'static str {
    let start = module().find(&format!(".entry {name}(")).unwrap_or_else(|| panic!("no kernel {name}"));
    let body = &module()[start..];
    &body[..body.find("\n}").expect("the end of the kernel")]
}

fn count(text: &str, instruction: &str) -> usize {
    text.lines().filter(|line| line.contains(instruction)).count()
}

#[test]
fn two_shared_arrays_stay_two() {
    let text = entry("two_arrays");
    assert_eq!(count(text, ".shared .align 16 .b8"), 2, "{text}");
    assert_eq!((count(text, "st.shared"), count(text, "ld.shared")), (2, 2), "{text}");
}

#[test]
fn arrays_of_other_types_are_shared_memory_too() {
    let text = entry("other_types");
    for (bytes, ty) in [(64, "u8"), (512, "f64"), (128, "f16"), (512, "Pair")] {
        assert!(text.contains(&format!("[{bytes}];")), "no array of {bytes} bytes for {ty}:\n{text}");
    }
    // The pair's two fields may be one access of 64 bits or two of 32.
    assert!(count(text, "st.shared") >= 4 && count(text, "ld.shared") >= 4, "{text}");
    assert_eq!(count(text, "bar.sync") + count(text, "barrier.sync"), 4, "{text}");
}

#[test]
fn dynamic_shared_memory_lies_beside_static() {
    let text = entry("dynamic_and_static");
    assert!(module().contains(".extern .shared .align 1024 .b8 __cuda_std_dynamic_shared_mem[]"), "{}", module());
    assert_eq!(count(text, ".shared .align 16 .b8"), 1, "{text}");
    assert_eq!((count(text, "st.shared"), count(text, "ld.shared")), (2, 2), "{text}");
}

#[test]
fn an_access_inside_a_branch_is_shared() {
    let text = entry("in_a_branch");
    assert!(count(text, "st.shared") >= 1 && count(text, "ld.shared") == 1, "{text}");
    assert!(text.contains("ld.global") && text.contains("st.global"), "{text}");
}

#[test]
fn a_slice_is_a_pointer_and_a_length() {
    assert_eq!(count(entry("in_a_branch"), ".param .u64"), 4);
}

#[test]
fn a_reference_is_a_value_in_parameter_memory() {
    let hopper = build(NvvmArch::Compute90a, "grid-constant").unwrap_or_else(|error| panic!("{error}"));
    let text = &hopper[hopper.find(".entry by_value(").expect("the kernel")..];
    let text = &text[..text.find("\n}").expect("its end")];
    assert!(text.contains(".param .align 64 .b8 by_value_param_1[128]"), "{text}");
    assert!(text.contains("cvta.param.u64") && !text.contains(".local"), "it is copied:\n{text}");
}

#[test]
fn no_access_is_generic() {
    for line in module().lines().map(str::trim) {
        let operation = line.split_whitespace().find(|word| word.starts_with("ld.") || word.starts_with("st."));
        let space = operation.and_then(|operation| operation.split('.').nth(1));
        assert!(space.is_none_or(|space| ["shared", "global", "param"].contains(&space)), "generic access: {line}");
    }
}

#[test]
fn multiply_add_is_fused() {
    assert_eq!(count(entry("fused"), "fma.rn.f64"), 1);
}

#[test]
fn lanes_shuffle_by_one_instruction() {
    let text = entry("shuffled");
    assert_eq!(count(text, "shfl.sync.bfly.b32"), 1, "{text}");
    assert!(!text.contains("trap"), "a constant width is checked when the kernel is compiled:\n{text}");
}

#[test]
fn launch_bounds_reach_the_ptx() {
    assert!(entry("two_arrays").contains(".maxntid 64\n"));
    assert!(!entry("two_arrays").contains(".minnctapersm"));
    assert!(entry("other_types").contains(".maxntid 64\n.minnctapersm 4\n"));
    assert!(!entry("fused").contains(".maxntid"));
}

#[test]
fn each_architecture_has_its_module() {
    assert!(module().contains("\n.target sm_80\n"));
    let hopper = build(NvvmArch::Compute90a, "").unwrap_or_else(|error| panic!("{error}"));
    assert!(hopper.contains("\n.target sm_90a\n"));
    assert!(hopper.contains(".entry two_arrays("));
}

#[test]
fn ptxas_takes_the_module() {
    let Some(ptxas) = tools::find("ptxas") else {
        eprintln!("skipped: no ptxas (`cargo xtask setup --ptxas`)");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("module.ptx");
    std::fs::write(&path, module()).expect("a file");
    let output = Command::new(ptxas).args(["-arch=sm_80", "-o", "/dev/null"]).arg(&path).output().expect("ptxas");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_generic_access_to_shared_memory_does_not_build() {
    let error = build(NvvmArch::Compute80, "generic-access").expect_err("a defect");
    assert!(
        matches!(&error, CudaBuilderError::GenericShared { kernel, .. } if kernel == "shared_or_global"),
        "{error}"
    );
}

#[test]
fn an_initialised_shared_array_does_not_build() {
    let error = build(NvvmArch::Compute80, "initialised-shared").expect_err("a defect").to_string();
    assert!(error.contains("`test_kernels::initialised::ONES` is in shared memory"), "{error}");
}

#[test]
fn a_compile_error_is_rustcs_own() {
    let error = build(NvvmArch::Compute80, "compile-error").expect_err("an error").to_string();
    assert!(error.contains("error[E0308]: mismatched types") && error.contains("src/lib.rs"), "{error}");
}

#[test]
fn a_folder_without_a_crate_is_named() {
    let error = CudaBuilder::new("no/such/folder").build().expect_err("no crate").to_string();
    assert!(error.contains("no crate of kernels at no/such/folder"), "{error}");
}

#[test]
fn without_a_toolchain_it_says_what_to_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let pin = "[toolchain]\nchannel = \"1.2.3\"\n";
    std::fs::write(folder.path().join("rust-toolchain.toml"), pin).expect("a file");
    let error = cuda_builder::Toolchain::find(folder.path()).expect_err("no such toolchain").to_string();
    assert!(error.contains("Rust 1.2.3") && error.contains("`cargo xtask setup`"), "{error}");
}

#[test]
fn a_prebuilt_module_of_other_sources_is_refused_without_a_toolchain() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
    std::fs::create_dir(folder.path().join("src")).expect("a folder");
    write("src/lib.rs", "#![no_std]\n");
    write("Cargo.toml", "[package]\nname = \"kernels\"\nedition = \"2024\"\n[workspace]\n");
    write("rust-toolchain.toml", "[toolchain]\nchannel = \"1.2.3\"\n");
    write("old.ptx", "// crate: kernels\n// sources: 0000\n// compiler: rustc 1.2.3\n.version 7.0\n");
    let prebuilt = folder.path().join("old.ptx");
    let error = CudaBuilder::new(folder.path()).prebuilt(&prebuilt).build().expect_err("it is stale").to_string();
    assert!(error.contains("old.ptx was compiled from other sources than these"), "{error}");
    assert!(error.contains("`cargo xtask setup`"), "{error}");
}

#[test]
fn a_prebuilt_module_is_used_while_its_sources_are_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [prebuilt, copy] = ["prebuilt.ptx", "copy.ptx"].map(|name| folder.path().join(name));
    std::fs::write(&prebuilt, format!("{}// marked\n", module())).expect("a file");
    let reuse = || CudaBuilder::new(kernels()).prebuilt(&prebuilt).copy_to(&copy).build().expect("a module");
    let read = |path: &Path| std::fs::read_to_string(path).expect("a module");

    assert!(read(&reuse()).ends_with("// marked\n"), "the same sources: not compiled again");

    let sources = Header::read(&prebuilt).expect("a header").sources;
    std::fs::write(&prebuilt, read(&prebuilt).replace(&sources, "0000")).expect("a file");
    assert_eq!(read(&reuse()), module(), "other sources: compiled");
}
