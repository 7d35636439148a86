//! Where things stand in the workspace, how a step is named on the command line, and how programs are run.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result, ensure};
use gpu_kernels::{STEPS, Step, Target};

/// The workspace's root folder.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// The crate of the kernels.
pub fn kernels() -> PathBuf {
    root().join("gpu-kernels")
}

/// The folder of the committed PTX.
pub fn ptx_folder() -> PathBuf {
    root().join("sgemm/src/modules")
}

/// The committed PTX module of `target`.
pub fn ptx_file(target: Target) -> PathBuf {
    ptx_folder().join(format!("{}.ptx", target.name()))
}

/// `path` as seen from the workspace's root, for messages.
pub fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The file name that the step of position `index` must have: `05_tiling_2d.rs` for the kernel `sgemm_tiling_2d`.
pub fn step_file_name(index: usize, step: &Step) -> String {
    let elements = format!("_{}", step.precision.input().name());
    let name = step.kernel.trim_start_matches("sgemm_").trim_end_matches(&elements);
    format!("{:02}_{name}.rs", index + 1)
}

/// The source file of `step`.
pub fn step_file(step: &Step) -> PathBuf {
    let is_it =
        |other: &Step| other.slug == step.slug || other.variants.iter().any(|variant| variant.slug == step.slug);
    let index = STEPS.iter().position(is_it).expect("the step is in the registry");
    kernels().join("src/steps").join(step_file_name(index, &STEPS[index]))
}

/// Reads a step's slug from the command line; an unknown one comes back with the nearest that exists.
pub fn parse_step(slug: &str) -> Result<&'static Step, String> {
    gpu_kernels::find(slug).ok_or_else(|| {
        let nearest = STEPS.iter().map(|step| step.slug).max_by(|a, b| {
            let likeness = |known| strsim::jaro_winkler(slug, known);
            likeness(a).total_cmp(&likeness(b))
        });
        match nearest {
            Some(nearest) => format!("there is no such step; did you mean `{nearest}`?"),
            None => "there are no steps".into(),
        }
    })
}

/// `path` for messages, as one types it where one stands.
pub fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

/// A command that runs `host` where one stands, so that paths in its arguments mean what they say.
pub fn host(cargo_options: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg("run").args(cargo_options).arg("--manifest-path").arg(root().join("Cargo.toml"));
    command.args(["--package", "host", "--"]);
    command
}

/// A `cargo` command at the workspace's root.
pub fn cargo<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(args);
    command
}

/// Runs `command` with this process's own input and output.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("cannot run `{}`", text(command)))
}

/// Runs `command` as [`status`] does, and waits for it to end where Ctrl-C interrupts both: it has results to write. SIGTERM is
/// handed on, since it comes to this process alone.
pub fn status_despite_interrupts(command: &mut Command) -> Result<ExitStatus> {
    // Where there are no such signals, Ctrl-C ends this process alone.
    let _ = ctrlc::set_handler(|| ());
    let run = |command: &mut Command| {
        let mut child = command.spawn()?;
        #[cfg(unix)]
        let forwarding = forward_termination(child.id());
        let status = child.wait();
        #[cfg(unix)]
        forwarding.iter().for_each(signal_hook::iterator::Handle::close);
        status
    };
    run(command).with_context(|| format!("cannot run `{}`", text(command)))
}

/// Hands SIGTERM on to the child, until the handle is closed.
#[cfg(unix)]
fn forward_termination(child: u32) -> Option<signal_hook::iterator::Handle> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM]).ok()?;
    let (handle, child) = (signals.handle(), rustix::process::Pid::from_raw(child.try_into().ok()?)?);
    std::thread::spawn(move || {
        for _ in signals.forever() {
            // It may have ended by itself.
            let _ = rustix::process::kill_process(child, rustix::process::Signal::TERM);
        }
    });
    Some(handle)
}

/// Runs `command` as [`status`] does, and fails if it does.
pub fn run(command: &mut Command) -> Result<()> {
    let status = status(command)?;
    ensure!(status.success(), "`{}` failed ({status})", text(command));
    Ok(())
}

/// Runs `command` quietly: its standard output and its standard error.
pub fn capture(command: &mut Command) -> Result<(String, String)> {
    let output = command.output().with_context(|| format!("cannot run `{}`", text(command)))?;
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    ensure!(output.status.success(), "`{}` failed ({})\n{}", text(command), output.status, stderr.trim_end());
    Ok((stdout, stderr))
}

/// The exit code that hands on `status`: a program ended by a signal counts as failed.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

/// `command` as one would type it.
fn text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_its_file() {
        for step in STEPS {
            assert!(step_file(step).is_file(), "{}", step_file(step).display());
        }
    }

    #[test]
    fn an_unknown_step_names_the_nearest() {
        assert_eq!(parse_step("naive").unwrap().slug, "naive");
        assert!(parse_step("vectorised").unwrap_err().contains("`vectorized`"));
    }
}
