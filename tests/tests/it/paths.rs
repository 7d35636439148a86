//! What must be true of every path through a kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use gpu_kernels::{Target, targets};
use ptx_emu::syntax;
use sgemm::modules;
use tests::paths::{LAUNCH, WAIT, bodies, complaint};

/// A kernel that may be launched before the one ahead of it has ended must wait before it touches what that one does, and must not
/// end before: the launch behind it waits for its end, and so for that of the one ahead.
#[test]
fn kernels_wait_for_the_launch_before_them_on_every_path_to_global_memory_and_to_the_end() {
    for target in targets() {
        let text = modules::built_in(target).unwrap_or_else(|error| panic!("{error}"));
        let module = syntax::parse(text).unwrap_or_else(|error| panic!("{error}"));
        let names: Vec<_> = bodies(&module).map(|(name, _)| name).collect();
        assert!(gpu_kernels::kernels(target).all(|kernel| names.contains(&kernel)), "{}", target.name());
        if target == Target::Sm80 {
            assert!(!text.contains("griddepcontrol"), "sm_80 has no such launches");
            continue;
        }
        for (name, body) in bodies(&module) {
            assert_eq!(complaint(name, body), None, "{name}");
        }
    }
}

#[test]
fn a_kernel_that_does_not_wait_is_found() {
    let complaint_of = |kernel: &str, body: &str| {
        let text = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry {kernel}(.param .u64 a)\n{{\n\
             .reg .pred %p;\n.reg .b32 %r;\n.reg .b64 %a;\nld.param.u64 %a, [a];\nsetp.eq.u64 %p, %a, 0;\n{body}\nret;\n}}"
        );
        let module = syntax::parse(&text).unwrap_or_else(|error| panic!("{error}"));
        complaint(kernel, bodies(&module).next().expect("a kernel").1)
    };
    let complaint = |body: &str| complaint_of("k", body);
    let (both, load) = (format!("{WAIT};\n{LAUNCH};"), "ld.global.u32 %r, [%a];");
    for right in [
        format!("{both}\n{load}"),
        format!("@%p bra $one;\nmov.u32 %r, 1;\n$one:\n{both}\n{load}"),
        format!("@%p bra $other;\n{both}\n{load}\nret;\n$other:\n{both}\nbar.sync 0;"),
        format!("prefetch.tensormap [%a];\nbar.sync 0;\n$loop:\nld.shared.u32 %r, [%a];\n@%p bra $loop;\n{both}"),
    ] {
        assert_eq!(complaint(&right), None, "{right}");
    }
    for (wrong, why) in [
        (String::new(), "a way around"),
        (format!("{LAUNCH};\n{WAIT};"), "`griddepcontrol.launch_dependents` out of order"),
        (format!("{both}\n{WAIT};"), "`griddepcontrol.wait` out of order"),
        (format!("@%p bra $one;\n{both}\n$one:\n{both}"), "`griddepcontrol.wait` out of order"),
        (format!("@%p bra $no;\n{both}\nret;\n$no:\n{WAIT};"), "a way around"),
        (format!("{load}\n{both}"), "`ld.global.u32` before"),
        (format!("@%p {load}\n{both}"), "`ld.global.u32` before"),
        (format!("ld.u32 %r, [%a];\n{both}"), "`ld.u32` before"),
        (format!("red.global.add.u32 [%a], 1;\n{both}"), "`red.global.add.u32` before"),
        (format!("prefetch.global.L2 [%a];\n{both}"), "`prefetch.global.L2` before"),
        (format!("cp.async.ca.shared.global [%a], [%a], 4;\n{both}"), "`cp.async.ca.shared.global` before"),
        (format!("@%p bra $no;\n{both}\n$no:\n{load}"), "`ld.global.u32` before"),
        (format!("@%p bra $no;\n{WAIT};\n$no:\n{LAUNCH};"), "`griddepcontrol.launch_dependents` out of order"),
        (format!("@%p {WAIT};\n{LAUNCH};"), "out of order"),
        (format!("{WAIT};\n@%p {LAUNCH};"), "a way around"),
        (format!("@%p ret;\n{both}"), "a way around"),
        (format!("@%p bra $no;\n{both}\n$no:\n"), "a way around"),
    ] {
        let found = complaint(&wrong).unwrap_or_default();
        assert!(found.contains(why), "{wrong}: {found}");
    }
    // A pre-pass that waits at its end only.
    let last = |body: &str| complaint_of("split_columns_f16", body).unwrap_or_default();
    assert_eq!(last(&format!("{LAUNCH};\n{load}\n{WAIT};")), "");
    assert!(last(&format!("{load}\n{both}")).contains("`griddepcontrol.wait` out of order"));
    assert!(last(&format!("{LAUNCH};\n@%p bra $no;\n{WAIT};\n$no:\n")).contains("a way around"));
}

/// Steps whose kernels, and those of their variants, carry the stage of the k-tile before from one iteration to the next: there is none
/// in the first one, and nothing but copies reads it there.
const CARRY_THE_STAGE_BEFORE: [&str; 2] = ["hgemm", "tf32"];

/// What may be undefined may be anything to ptxas, which once took the index of the wrong iteration then: a hang, on a device only.
#[test]
fn no_path_reads_a_register_before_it_is_written() {
    let steps = CARRY_THE_STAGE_BEFORE.map(|slug| gpu_kernels::find(slug).expect("a step"));
    let steps = steps.into_iter().flat_map(|step| iter::once(step).chain(step.variants));
    let known: BTreeSet<_> =
        steps.flat_map(|step| iter::once(step.kernel).chain(step.fused)).map(str::to_owned).collect();
    let mut found = BTreeMap::new();
    for target in targets() {
        let module = modules::built_in(target).unwrap_or_else(|error| panic!("{error}"));
        let module = ptx_emu::Module::parse(module).unwrap_or_else(|error| panic!("{error}"));
        for name in module.kernels() {
            let kernel = module.kernel(name).unwrap_or_else(|error| panic!("{error}"));
            // Inline assembly's own registers have names without a `%`: there, write and read are under one predicate.
            let undefined = kernel.undefined_registers().filter(|register| register.starts_with('%'));
            let undefined: Vec<_> = undefined.map(str::to_owned).collect();
            if !undefined.is_empty() {
                found.insert(name.to_owned(), undefined);
            }
        }
    }
    assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), known, "{found:?}");
    assert!(found.values().all(|undefined| undefined.len() == 1), "{found:?}");
}
