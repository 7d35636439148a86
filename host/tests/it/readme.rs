//! What the README tells a newcomer to type is understood.

use std::process::Command;

/// The arguments of each `cargo run -p host` in the README.
fn commands() -> Vec<Vec<String>> {
    let readme = include_str!("../../../README.md");
    let commands = readme.lines().filter_map(|line| line.trim().strip_prefix("cargo run -p host --"));
    commands.map(|arguments| arguments.split_whitespace().map(str::to_owned).collect()).collect()
}

#[test]
fn the_readmes_commands_are_understood() {
    assert!(commands().len() >= 3, "the README shows how to run `host`");
    for arguments in commands() {
        // A bad command line is found before a device is looked for, and has exit code 2. No device is there: 99. What
        // names its backend is small, and runs, as commands of the emulator do.
        let is_small = arguments.iter().any(|argument| ["--backend", "explain"].contains(&argument.as_str()));
        let are_several = arguments.iter().any(|argument| argument == "--gpus");
        let no_device: &[&str] = match (is_small, are_several) {
            (true, _) => &[],
            (false, true) => &["--backend", "cuda"],
            (false, false) => &["--backend", "cuda", "--device", "99"],
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_host"));
        if are_several {
            command.env("CUDA_VISIBLE_DEVICES", "");
        }
        let output = command.args(&arguments).args(no_device).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || output.status.code() == Some(1), "{arguments:?}: {stderr}");
    }
}
