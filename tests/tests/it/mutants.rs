//! A few mutants of each of some steps: none escapes, and what a later run finds in the file it does not run again.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use tests::mutants::Verdict;
use tests::mutants::campaign::{report, run};

/// Quick ones of each target and kind of mainloop: plain, with barriers, with `cp.async`.
const STEPS: [&str; 4] = ["naive", "2d-tiling", "vectorized", "async-copy"];
const SEED: u64 = 1;
const COUNT: u32 = 40;

#[test]
fn no_mutant_of_a_small_set_escapes() {
    let steps = STEPS.map(|slug| gpu_kernels::find(slug).expect("a step"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mutants.jsonl");
    let judged = run(&steps, COUNT, SEED, &file, &|_| ()).unwrap();
    assert_eq!(judged.len(), COUNT as usize);
    let open: Vec<_> = judged.iter().filter(|judged| judged.verdict.is_open()).cloned().collect();
    assert!(open.is_empty(), "{}", report(&open));
    let killed = judged.iter().filter(|judged| judged.verdict == Verdict::Killed).count();
    assert!(killed * 10 > judged.len() * 8, "{}", report(&judged));

    // As after Ctrl-C: one line is missing, one is not complete.
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<_> = text.lines().collect();
    fs::write(&file, format!("{}\n{}", lines[..lines.len() - 2].join("\n"), &lines[lines.len() - 2][..20])).unwrap();
    let again = AtomicU32::new(0);
    let resumed = run(&steps, COUNT, SEED, &file, &|_| {
        again.fetch_add(1, Ordering::Relaxed);
    })
    .unwrap();
    assert_eq!((resumed, again.into_inner()), (judged, 2), "the verdicts do not depend on what ran before");
    fs::write(&file, "{}\n").unwrap();
    assert!(run(&steps, 1, SEED, &file, &|_| ()).unwrap_err().to_string().contains("mutants.jsonl:1: is no mutant"));
}
