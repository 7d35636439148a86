//! What must be true of the PTX of every step and variant, and of what ptxas makes of it.

use cuda_builder::tools;
use gpu_kernels::{
    Element, Operand, POSTPASS_ARGUMENTS, PREPASS_ARGUMENTS, Postpass, Precision, SPLIT_ARGUMENTS, STEPS,
    SUPPORT_KERNELS, Schedule, Step, TENSOR_MAP_BYTES, align, finish, runnable, targets, transpose,
};
use sgemm::ModuleSource;
use std::collections::{HashMap, HashSet};
use std::iter;
use std::process::Command;

/// A kernel of the step: its signature and directives, and its body.
fn entry(step: &Step, name: &str) -> (String, String) {
    let own = step.fused.filter(|fused| *fused == name).unwrap_or(step.kernel);
    entry_of(&ModuleSource::BuiltIn.module_of(step, own).unwrap_or_else(|error| panic!("{error}")), name)
}

/// A kernel of a module, likewise.
fn entry_of(module: &str, name: &str) -> (String, String) {
    let start = module.find(&format!(".entry {name}(")).expect("the entry");
    let kernel = &module[start..];
    let kernel = &kernel[..kernel.find("\n}").expect("the end of the kernel")];
    let (signature, body) = kernel.split_once("\n{").expect("a body");
    (signature.to_owned(), body.to_owned())
}

/// The step's own kernel.
fn kernel(step: &Step) -> (String, String) {
    entry(step, step.kernel)
}

/// Every support kernel of every target, with its name.
fn support_kernels() -> impl Iterator<Item = (&'static str, String, String)> {
    targets().flat_map(|target| {
        let module = ModuleSource::BuiltIn.support(target).unwrap_or_else(|error| panic!("{error}"));
        SUPPORT_KERNELS.map(|name| {
            let (signature, body) = entry_of(&module, name);
            (name, signature, body)
        })
    })
}

/// Every kernel that a step or a variant needs, and every support kernel, with its name.
fn every_kernel() -> impl Iterator<Item = (&'static str, String, String)> {
    let of_steps = runnable().flat_map(|step| {
        step.kernels().chain(step.fused).map(|name| {
            let (signature, body) = entry(step, name);
            (name, signature, body)
        })
    });
    of_steps.chain(support_kernels())
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

/// How the declaration of a parameter begins, from its type in Rust.
fn declaration(kernel: &str, index: usize, ty: &str) -> String {
    match ty {
        "&TensorMap" => format!("align 64 .b8 {kernel}_param_{index}[{TENSOR_MAP_BYTES}]"),
        pointer if pointer.starts_with('*') => "u64 .ptr".to_owned(),
        ty => format!("{ty} "),
    }
}

/// Fails where the parameters in the signature are not of these types.
fn check_parameters(name: &str, signature: &str, expected: &[(&str, &str)]) {
    let got: Vec<&str> = signature.split(".param .").skip(1).collect();
    assert_eq!(got.len(), expected.len(), "{name}");
    for (index, (got, (argument, ty))) in got.iter().zip(expected).enumerate() {
        assert!(got.starts_with(&declaration(name, index, ty)), "{name}, {argument}: {ty} is .param .{got}");
    }
}

/// Every post-pass.
const POSTPASSES: [Postpass; 3] = [finish(Element::F32), finish(Element::F16), finish(Element::Bf16)];

#[test]
fn kernels_take_the_arguments_of_their_step() {
    for step in runnable() {
        for name in step.kernels().chain(step.fused) {
            let (signature, _) = entry(step, name);
            let splits = SPLIT_ARGUMENTS.into_iter().filter(|_| step.has_split_operands());
            let expected: Vec<_> = match name {
                _ if name == step.kernel => step.arguments().collect(),
                _ if Some(name) == step.fused => step.fused_arguments().collect(),
                _ => PREPASS_ARGUMENTS.into_iter().chain(splits).collect(),
            };
            check_parameters(name, &signature, &expected);
        }
    }
    let finishes = POSTPASSES.map(|postpass| postpass.kernel);
    for (name, signature, _) in support_kernels() {
        let expected = if finishes.contains(&name) { &POSTPASS_ARGUMENTS[..] } else { &PREPASS_ARGUMENTS[..] };
        check_parameters(name, &signature, expected);
    }
}

#[test]
fn memory_is_global_or_shared_and_never_local() {
    for (name, _, body) in every_kernel() {
        assert!(!body.contains(".local"), "{name}: local memory");
        assert_eq!(count(&body, "cvta.shared") + count(&body, "cvta.local"), 0, "{name}: a generic address");
        for opcode in opcodes(&body).filter(|opcode| ["ld", "st", "atom", "red"].contains(&first_part(opcode))) {
            let is_space = |part: &str| ["global", "shared", "param"].iter().any(|space| part.starts_with(space));
            assert!(opcode.split('.').any(is_space), "{name}: generic access `{opcode}`");
        }
    }
}

fn first_part(opcode: &str) -> &str {
    opcode.split('.').next().unwrap_or_default()
}

#[test]
fn the_registry_tells_the_truth_about_launch_and_shared_memory() {
    for (step, name) in
        runnable().flat_map(|step| iter::once(step.kernel).chain(step.fused).map(move |name| (step, name)))
    {
        let (signature, body) = entry(step, name);
        let max_threads = format!(".maxntid {}", step.threads());
        assert!(signature.lines().any(|line| line == max_threads), "{}: {signature}", step.slug);
        let arrays = body.lines().filter(|line| line.trim_start().starts_with(".shared"));
        let bytes: u32 = arrays
            .map(|line| line.split(['[', ']']).nth(1).and_then(|bytes| bytes.parse::<u32>().ok()).expect("a size"))
            .sum();
        assert_eq!(bytes, step.smem_bytes, "{}: bytes of static shared memory", step.slug);
        assert_eq!(body.contains("__cuda_std_dynamic_shared_mem"), step.dynamic_smem_bytes > 0, "{}", step.slug);
        for prepass in step.prepasses {
            let (signature, _) = entry(step, prepass.kernel);
            let max_threads = format!(".maxntid {}", prepass.threads);
            assert!(signature.lines().any(|line| line == max_threads), "{}: {signature}", prepass.kernel);
        }
    }
    let elements = [Element::F32, Element::F16];
    let prepasses = elements.map(|element| [align(Operand::A, element), transpose(Operand::A, element)]);
    let prepasses = prepasses.as_flattened().iter().map(|prepass| (prepass.kernel, prepass.threads));
    let threads: HashMap<_, _> =
        prepasses.chain(POSTPASSES.iter().map(|postpass| (postpass.kernel, postpass.threads))).collect();
    for (name, signature, body) in support_kernels() {
        let max_threads = format!(".maxntid {}", threads[name]);
        assert!(signature.lines().any(|line| line == max_threads), "{name}: {signature}");
        assert!(!body.contains(".shared"), "{name}: shared memory");
    }
}

#[test]
fn products_are_fused_and_nothing_can_panic() {
    for step in runnable() {
        let (_, body) = kernel(step);
        let Step { tile, slug, schedule, precision, .. } = *step;
        // Within braces, as inline assembly that needs a predicate.
        let has_mmas = ["wgmma.mma_async", "mma.sync"].iter().any(|mma| body.contains(mma));
        // One that reads its operands by itself may multiply numbers of 16 bits as f32.
        if precision != Precision::Fp32 && (has_mmas || step.maps.is_some()) {
            assert!(has_mmas, "{slug}: the tensor cores have nothing to do");
            continue;
        }
        // At most 8 columns of a k-tile are fully unrolled, or of what a thread has of them where threads share k.
        let columns = if step.is_planned() {
            tile.bm * tile.bn * tile.bk / (tile.tm * tile.tn * step.threads())
        } else {
            tile.bk
        };
        // Where hardly any k is expected, rows are a loop.
        let rows = if step.is_planned() && !step.may_be_split() { 1 } else { tile.tm };
        let per_loop = (rows * tile.tn * columns.min(8)) as usize;
        // A packed one is two.
        let fmas = count(&body, "fma.rn.f32") + count(&body, "fma.rn.f32x2");
        assert!(fmas >= per_loop, "{slug}: fewer FMAs than one k-tile has");
        // One product per element of C and path of the epilogue: alpha * sum.
        assert!(count(&body, "mul.f32") + count(&body, "mul.rn.f32") <= 8 * (tile.tm * tile.tn) as usize, "{slug}");
        let sums = count(&body, "add.f32") + count(&body, "add.rn.f32");
        assert!(sums == 0 || schedule != Schedule::DataParallel, "{slug}: a sum that is not fused");
    }
    for (name, _, body) in every_kernel() {
        assert_eq!(count(&body, "trap") + count(&body, "call"), 0, "{name}: a panic or a call is left");
    }
}

#[test]
fn vector_loads_are_where_they_are_claimed() {
    for step in runnable().filter(|step| step.vector_loads) {
        let (_, body) = kernel(step);
        for opcode in ["ld.shared.v4", "ld.global.v4", "st.global.v4"] {
            assert!(count(&body, opcode) > 0, "{}: no {opcode}", step.slug);
        }
        // Into shared memory: from registers, or past them by copies of 16 bytes.
        let stores = ["st.shared.v4", "cp.async.cg"].map(|opcode| count(&body, opcode));
        assert!(stores.iter().sum::<usize>() > 0, "{}: shared memory is filled value by value", step.slug);
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
fn ptxas_spills_nothing_and_serializes_nothing() {
    let Some(ptxas) = tools::find("ptxas") else {
        eprintln!("skipped: no ptxas (`cargo xtask setup --ptxas`)");
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("module.ptx");
    let assemble = |what: &str, module: &str, kernels: &HashSet<&str>, arch: &str| {
        std::fs::write(&path, module).expect("a file");
        let mut command = Command::new(&ptxas);
        command.args(["-v", &format!("-arch={arch}"), "-o", "/dev/null"]).arg(&path);
        let output = command.output().expect("ptxas");
        let report = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{what} for {arch}: {report}");
        let none = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
        let frames = report.lines().filter(|line| line.contains("stack frame"));
        let clean = frames.clone().filter(|line| line.contains(none)).count();
        assert_eq!((clean, frames.count()), (kernels.len(), clean), "{what} for {arch}: {report}");
        assert!(!report.contains("Potential Performance Loss"), "{what} for {arch}: {report}");
    };
    let entries = runnable().flat_map(|step| iter::once(step.kernel).chain(step.fused).map(move |entry| (step, entry)));
    for (step, entry) in entries {
        let module = ModuleSource::BuiltIn.module_of(step, entry).unwrap_or_else(|error| panic!("{error}"));
        // The device that the results are measured on, for which drivers compile it, and the target itself.
        let hopper = step.target.runs_on(9, 0).then_some("sm_90a");
        let target = Some(step.target.name()).filter(|_| hopper.is_none() || STEPS.contains(step));
        let mut architectures: Vec<&str> = hopper.into_iter().chain(target).collect();
        architectures.dedup();
        for arch in architectures {
            assemble(entry, &module, &step.kernels_of(entry).collect(), arch);
        }
    }
    for target in targets() {
        let module = ModuleSource::BuiltIn.support(target).unwrap_or_else(|error| panic!("{error}"));
        assemble("the support kernels", &module, &HashSet::from(SUPPORT_KERNELS), target.name());
    }
}

/// Roundings, and fences that no result shows.
#[test]
fn every_module_keeps_the_rules_of_texts() {
    for target in targets() {
        let module = sgemm::modules::built_in(target).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(tests::rules::complaint(module), None, "{}", target.name());
    }
}
