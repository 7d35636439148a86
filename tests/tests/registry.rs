//! The registry is the only list of steps; this keeps it in order.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use gpu_kernels::{STEPS, Step, Tile, runnable};

/// Static shared memory that a block may have on every device. CUDA C++ Programming Guide, "Technical Specifications
/// per Compute Capability".
const MAX_STATIC_SMEM_BYTES: u32 = 48 * 1024;

fn for_each_step(check: impl Fn(&Step)) {
    assert!(!STEPS.is_empty());
    STEPS.iter().for_each(check);
}

fn steps_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpu-kernels/src/steps")
}

/// `2d-tiling` is the module `tiling_2d`: a Rust name cannot begin with a digit.
fn module_name(slug: &str) -> String {
    let mut words: Vec<_> = slug.split('-').collect();
    if slug.starts_with(|c: char| c.is_ascii_digit()) {
        words.rotate_left(1);
    }
    words.join("_")
}

#[test]
fn names_are_unique() {
    let slugs: HashSet<_> = runnable().map(|step| step.slug).collect();
    let kernels: HashSet<_> = runnable().map(|step| step.kernel).collect();
    assert_eq!((slugs.len(), kernels.len()), (runnable().count(), runnable().count()));
    for (group, _) in host::kernels::GROUPS {
        assert!(!slugs.contains(group), "{group} is a word of the command line");
    }
}

#[test]
fn slugs_are_lower_case_words() {
    for_each_step(|step| {
        assert!(step.slug.split('-').all(is_word), "{}", step.slug);
        assert_eq!(step.kernel, format!("sgemm_{}", module_name(step.slug)));
    });
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
}

/// `lane-sharing/6144` is a variant of `lane-sharing`.
#[test]
fn variants_are_named_after_their_step() {
    for_each_step(|step| {
        for variant in step.variants {
            let name = variant.slug.strip_prefix(step.slug).and_then(|rest| rest.strip_prefix('/'));
            let name = name.unwrap_or_else(|| panic!("{} is a variant of {}", variant.slug, step.slug));
            assert!(name.split('-').all(is_word), "{}", variant.slug);
            assert_eq!(variant.kernel, format!("{}_{}", step.kernel, name.replace('-', "_")));
            assert!(variant.variants.is_empty() && variant.base == step.base, "{}", variant.slug);
        }
    });
}

#[test]
fn each_step_is_a_file_in_the_ladders_order() {
    let mut files: Vec<_> = std::fs::read_dir(steps_folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|file| file != "mod.rs")
        .collect();
    files.sort();
    let expected = STEPS.iter().zip(1..).map(|(step, i)| format!("{i:02}_{}.rs", module_name(step.slug)));
    assert_eq!(files, expected.collect::<Vec<_>>());
}

#[test]
fn each_base_comes_earlier() {
    assert_eq!(STEPS[0].base, None);
    for (i, step) in STEPS.iter().enumerate().skip(1) {
        let base = step.base.unwrap_or_else(|| panic!("{} has no base", step.slug));
        assert!(STEPS[..i].iter().any(|earlier| earlier.slug == base), "{} is based on {base}", step.slug);
    }
}

#[test]
fn each_step_says_what_it_is_and_where_from() {
    for_each_step(|step| {
        for text in [step.summary, step.source] {
            assert!(!text.is_empty() && !text.contains('\n') && text == text.trim(), "{}: {text:?}", step.slug);
        }
    });
}

#[test]
fn blocks_can_be_launched() {
    for_each_step(|step| {
        assert!((1..=1024).contains(&step.threads()), "{}", step.slug);
        assert_eq!(step.threads() % 32, 0, "{}: not whole warps", step.slug);
        assert!(step.smem_bytes <= MAX_STATIC_SMEM_BYTES, "{}", step.slug);
    });
}

#[test]
fn threads_cover_the_tile_exactly() {
    for_each_step(|step| {
        let Tile { bm, bn, bk, tm, tn } = step.tile;
        assert!([bm, bn, bk, tm, tn].iter().all(|&size| size > 0), "{}", step.slug);
        assert_eq!((bm % tm, bn % tn), (0, 0), "{}", step.slug);
        assert_eq!(step.threads() * tm * tn, bm * bn, "{}", step.slug);
    });
}

#[test]
fn grids_cover_the_result() {
    for_each_step(|step| {
        let Tile { bm, bn, .. } = step.tile;
        assert_eq!(step.grid(2 * bm, 3 * bn, 1), [3, 2, 1]);
        assert_eq!(step.grid(2 * bm + 1, 3 * bn - 1, 1), [3, 3, 1]);
        assert_eq!(step.grid(0, 1, 1), [1, 0, 1]);
    });
}
