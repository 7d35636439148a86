//! `bench`: measures all steps at the default sizes.

use std::fs;
use std::process::ExitCode;

use anyhow::Result;

use crate::workspace::{self, relative};

/// What `host` runs unless its own arguments say otherwise.
const DEFAULTS: [(&str, &str); 2] = [("--kernel", "all"), ("--size", "1024,2048,4092,4096")];

/// How speed grows with the size, and where it stops.
const GROWTH_SIZES: (&str, &str) = (
    "--size",
    "128,256,384,512,768,1024,1280,1536,1792,2048,2560,3072,3584,4096,5120,6144,7168,8192,10240,12288,14336,16384",
);

/// Measure every step beside cuBLAS
///
/// Prints the table and keeps its rows as JSON lines under target/bench/. Measure on a GPU that does nothing else. Where
/// there is none, the emulator runs the steps on the CPU, a sample of blocks of each, and the times are modelled.
#[derive(clap::Args)]
pub struct Args {
    /// Measure `auto` beside cuBLAS at sizes from 128 to 16384, instead of every step at a few
    #[arg(long)]
    growth: bool,
    /// Arguments of `host`, after `--`; they replace the defaults of the same name
    #[arg(last = true)]
    host: Vec<String>,
}

/// Runs `bench`.
pub fn run(args: &Args) -> Result<ExitCode> {
    if args.growth {
        let kernels = growth_kernels(&args.host);
        measure("bench", &[], &[("--kernel", &kernels), GROWTH_SIZES], &args.host)
    } else {
        measure("bench", &[], &DEFAULTS, &args.host)
    }
}

/// `auto`, and cuBLAS in the arithmetic that `auto` is to have by `host`'s arguments.
fn growth_kernels(host: &[String]) -> String {
    let precision = host.iter().enumerate().find_map(|(i, argument)| match argument.strip_prefix("--precision")? {
        "" => host.get(i + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    });
    match precision {
        None | Some("fp32" | "fp32-strict") => "auto,cublas".into(),
        Some(other) => format!("auto,cublas-{other}"),
    }
}

/// Runs `host` with its own arguments and those `defaults` that they do not replace, and keeps its rows under target/.
pub fn measure(folder: &str, fixed: &[&str], defaults: &[(&str, &str)], host: &[String]) -> Result<ExitCode> {
    let time = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
    let json = workspace::root().join(format!("target/{folder}/{time}.jsonl"));
    fs::create_dir_all(json.with_file_name(""))?;

    let mut command = workspace::cargo(["run", "--package", "host", "--"]);
    command.args(fixed);
    for (name, value) in defaults.iter().filter(|(name, _)| !names(host, name)) {
        command.args([name, value]);
    }
    if !names(host, "--json") {
        command.arg("--json").arg(&json);
    }
    let status = workspace::status_despite_interrupts(command.args(host))?;
    if json.metadata().is_ok_and(|file| file.len() > 0) {
        println!("rows: {}", relative(&json));
    }
    Ok(workspace::exit_code(status))
}

/// Whether `arguments` give the option `name`, as `--size 64` or `--size=64`.
fn names(arguments: &[String], name: &str) -> bool {
    arguments
        .iter()
        .any(|argument| argument.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('=')))
}

#[cfg(test)]
mod tests {
    use super::{growth_kernels, names};

    #[test]
    fn growth_is_beside_the_same_arithmetic() {
        let kernels = |host: &[&str]| growth_kernels(&host.iter().map(|word| word.to_string()).collect::<Vec<_>>());
        assert_eq!(kernels(&[]), "auto,cublas");
        assert_eq!(kernels(&["--seed", "1", "--precision", "fp32"]), "auto,cublas");
        assert_eq!(kernels(&["--precision=tf32"]), "auto,cublas-tf32");
        assert_eq!(kernels(&["--precision", "bf16"]), "auto,cublas-bf16");
    }

    #[test]
    fn given_options_replace_the_defaults() {
        let arguments = ["--size=64", "--kernel", "naive", "--sizes"].map(String::from);
        assert!(names(&arguments, "--size") && names(&arguments, "--kernel"));
        assert!(!names(&arguments, "--json"));
        assert!(!names(&arguments[3..], "--size"));
    }
}
