//! What must be true of the PTX of every step and variant, and of what ptxas makes of it.

use cuda_builder::tools;
use gpu_kernels::{KERNEL_ARGUMENTS, Step, runnable};
use host::PtxSource;
use std::process::Command;

/// The step's kernel: its signature and directives, and its body.
fn kernel(step: &'static Step) -> (String, String) {
    let module = PtxSource::BuiltIn.module(step).unwrap_or_else(|error| panic!("{error}")).to_owned();
    let start = module.find(&format!(".entry {}(", step.kernel)).expect("the entry");
    let kernel = &module[start..];
    let kernel = &kernel[..kernel.find("\n}").expect("the end of the kernel")];
    let (signature, body) = kernel.split_once("\n{").expect("a body");
    (signature.to_owned(), body.to_owned())
}

/// The opcodes of a body, such as `ld.shared.v4.b32`, without predicates and labels.
fn opcodes(body: &str) -> impl Iterator<Item = &str> {
    body.lines().map(str::trim).filter_map(|line| {
        let mut words = line.split_whitespace().filter(|word| !word.starts_with('@'));
        words.next().filter(|word| !word.starts_with(['.', '$', '{', '}']))
    })
}

fn count(body: &str, prefix: &str) -> usize {
    opcodes(body).filter(|opcode| opcode.starts_with(prefix)).count()
}

#[test]
fn every_kernel_takes_the_same_arguments() {
    for step in runnable() {
        let (signature, _) = kernel(step);
        let types: Vec<&str> = signature.split(".param .").skip(1).filter_map(|text| text.get(..3)).collect();
        let expected: Vec<&str> =
            KERNEL_ARGUMENTS.iter().map(|(_, ty)| if ty.starts_with('*') { "u64" } else { ty }).collect();
        assert_eq!(types, expected, "{}", step.slug);
    }
}

#[test]
fn memory_is_global_or_shared_and_never_local() {
    for step in runnable() {
        let (_, body) = kernel(step);
        assert!(!body.contains(".local"), "{}: local memory", step.slug);
        assert_eq!(count(&body, "cvta.shared") + count(&body, "cvta.local"), 0, "{}: a generic address", step.slug);
        for opcode in opcodes(&body).filter(|opcode| ["ld", "st", "atom", "red"].contains(&first_part(opcode))) {
            let space = opcode.split('.').find(|part| ["global", "shared", "param"].contains(part));
            assert!(space.is_some(), "{}: generic access `{opcode}`", step.slug);
        }
    }
}

fn first_part(opcode: &str) -> &str {
    opcode.split('.').next().unwrap_or_default()
}

#[test]
fn the_registry_tells_the_truth_about_launch_and_shared_memory() {
    for step in runnable() {
        let (signature, body) = kernel(step);
        let max_threads = format!(".maxntid {}", step.threads());
        assert!(signature.lines().any(|line| line == max_threads), "{}: {signature}", step.slug);
        let arrays = body.lines().filter(|line| line.trim_start().starts_with(".shared"));
        let bytes: u32 = arrays
            .map(|line| line.split(['[', ']']).nth(1).and_then(|bytes| bytes.parse::<u32>().ok()).expect("a size"))
            .sum();
        assert_eq!(bytes, step.smem_bytes, "{}: bytes of static shared memory", step.slug);
        assert_eq!(body.contains("__cuda_std_dynamic_shared_mem"), step.dynamic_smem_bytes > 0, "{}", step.slug);
    }
}

#[test]
fn products_are_fused_and_nothing_can_panic() {
    for step in runnable() {
        let (_, body) = kernel(step);
        let Step { tile, slug, .. } = step;
        let per_slice = (tile.tm * tile.tn * tile.bk) as usize;
        assert!(count(&body, "fma.rn.f32") >= per_slice, "{slug}: fewer FMAs than one slice has");
        // One product per element of C and path of the epilogue: alpha * sum.
        assert!(count(&body, "mul.f32") + count(&body, "mul.rn.f32") <= 8 * (tile.tm * tile.tn) as usize, "{slug}");
        assert_eq!(count(&body, "add.f32") + count(&body, "add.rn.f32"), 0, "{slug}: a sum that is not fused");
        assert_eq!(count(&body, "trap") + count(&body, "call"), 0, "{slug}: a panic or a call is left");
    }
}

#[test]
fn vector_loads_are_where_they_are_claimed() {
    for step in runnable().filter(|step| step.vector_loads) {
        let (_, body) = kernel(step);
        for opcode in ["ld.shared.v4", "st.shared.v4", "ld.global.v4", "st.global.v4"] {
            assert!(count(&body, opcode) > 0, "{}: no {opcode}", step.slug);
        }
        assert_eq!(count(&body, "ld.shared.b32"), 0, "{}: a fragment is loaded value by value", step.slug);
    }
}

#[test]
fn the_read_only_cache_serves_what_it_is_claimed_to() {
    let loads = |slug| {
        let (_, body) = kernel(gpu_kernels::find(slug).expect("a step"));
        (count(&body, "ld.global"), count(&body, "ld.global.nc"))
    };
    let ((all, read_only), (before, none)) = (loads("read-only-cache"), loads("bank-conflicts"));
    assert!(all == before && read_only >= 10 && none == 0, "{read_only} of {all} loads are read-only");
}

#[test]
fn ptxas_spills_nothing() {
    let Some(ptxas) = tools::find("ptxas") else {
        eprintln!("skipped: no ptxas (`cargo xtask setup --ptxas`)");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("module.ptx");
    for step in runnable() {
        let module = PtxSource::BuiltIn.module(step).unwrap_or_else(|error| panic!("{error}"));
        std::fs::write(&path, module).expect("a file");
        // The target itself, and the device that the results are measured on, for which drivers compile it.
        for arch in [step.target.name(), "sm_90a"] {
            let mut command = Command::new(&ptxas);
            command.args(["-v", &format!("-arch={arch}"), "-e", step.kernel, "-o", "/dev/null"]).arg(&path);
            let output = command.output().expect("ptxas");
            let report = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{} for {arch}: {report}", step.slug);
            let none = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
            assert!(report.contains(none), "{} for {arch}: {report}", step.slug);
        }
    }
}
