//! Which options each command takes.

use std::collections::BTreeSet;

use crate::program::{assert_fails, host};

/// Each command, with the options that it takes beside `--help`, and nothing else.
const OPTIONS: [(&[&str], &[&str]); 7] = [
    (
        &[],
        &[
            "--kernel",
            "--precision",
            "--size",
            "--m",
            "--n",
            "--k",
            "--seed",
            "--alpha",
            "--beta",
            "--quick",
            "--iterations",
            "--warmup",
            "--gpus",
            "--grid",
            "--block",
            "--chunks",
            "--deadline",
            "--timeline",
            "--backend",
            "--device",
            "--graphs",
            "--full",
            "--model",
            "--ptx",
            "--tuned",
            "--same-device-as",
            "--format",
            "--json",
            "--version",
        ],
    ),
    (
        &["explain"],
        &["--size", "--m", "--n", "--k", "--seed", "--alpha", "--beta", "--full", "--model", "--ptx", "--format"],
    ),
    (
        &["accuracy"],
        &[
            "--kernel",
            "--inputs",
            "--size",
            "--m",
            "--n",
            "--k",
            "--seed",
            "--backend",
            "--device",
            "--model",
            "--ptx",
            "--format",
            "--json",
        ],
    ),
    (
        &["counters"],
        &["--kernel", "--size", "--m", "--n", "--k", "--seed", "--full", "--model", "--ptx", "--format", "--json"],
    ),
    (&["shapes"], &["--precision", "--op", "--order", "--batch", "--regret", "--device", "--format", "--json"]),
    (&["tune"], &["--precision", "--records", "--folds", "--model", "--device", "--output", "--json"]),
    (&["list"], &[]),
];

#[test]
fn help_explains_every_option() {
    for (command, options) in OPTIONS {
        let help = host(&[command, &["--help"]].concat());
        assert_eq!((help.code, help.stderr.as_str()), (0, ""));
        let is_option = |word: &&str| word.starts_with("--");
        let lines = help.stdout.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
        let mut shown: Vec<_> = lines.filter_map(|line| line.split_whitespace().find(is_option)).collect();
        shown.retain(|option| *option != "--help");
        shown.sort_unstable();
        let mut options = options.to_vec();
        options.sort_unstable();
        assert_eq!(shown, options, "{command:?}");
    }
    let help = host(&["--help"]).stdout;
    for text in ["Examples:", "Exit codes:", "explain", "accuracy", "counters", "shapes", "tune", "list"] {
        assert!(help.contains(text), "{text}");
    }
}

#[test]
fn options_of_one_command_are_not_those_of_another() {
    let all: BTreeSet<_> = OPTIONS.iter().flat_map(|(_, options)| options.iter().copied()).collect();
    for (command, options) in OPTIONS {
        for stray in all.iter().filter(|option| !options.contains(option)) {
            assert_fails(&[command, &[*stray]].concat(), 2, &[&format!("unexpected argument '{stray}'")]);
        }
    }
    // What is measured is not mixed with another command, and the options of old are none.
    assert_fails(&["--kernel", "naive", "counters"], 2, &["cannot be used with"]);
    for old in ["--explain", "--accuracy", "--counters", "--tune", "--list"] {
        assert_fails(&[old], 2, &[&format!("unexpected argument '{old}'")]);
    }
    assert_fails(&["2d-tiling"], 2, &["unrecognized subcommand '2d-tiling'"]);
}
