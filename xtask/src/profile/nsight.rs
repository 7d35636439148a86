//! Running Nsight Compute, and reading what it writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};
use gpu_kernels::Step;
use results::{METRICS, Profiled, Run};

use crate::workspace::{self, capture};

/// The kernel's time on the device, in ns.
const DURATION: &str = "gpu__time_duration.sum";

/// What the hardware counted.
#[derive(Debug)]
pub struct Hardware {
    /// The step or variant that ran.
    pub slug: &'static str,
    /// The device's name.
    pub device: String,
    /// The profiler and its version.
    pub tool: String,
    /// Nsight Compute's own report.
    pub report: PathBuf,
    /// The counts of the step's own kernel; the time includes what ran before it.
    pub profiled: Profiled,
}

/// A launch as the raw page has it.
#[derive(Debug, PartialEq)]
struct Launch {
    kernel: String,
    metrics: BTreeMap<String, f64>,
}

/// Profiles one launch of the step, and of what runs before it. An error is a line that says what is missing.
pub fn profile(step: &'static Step, size: &str) -> Result<Hardware> {
    let ncu = find().context("ncu, which the CUDA toolkit contains, is neither in PATH nor at its usual places")?;
    let report = workspace::root().join(format!("target/profile/{}-{size}.ncu-rep", step.slug.replace('/', "-")));
    fs::create_dir_all(report.with_file_name(""))?;
    let _ = fs::remove_file(&report);
    complain!("profiling {} at {size}", step.slug);
    let output =
        command(&ncu, step, size, &report).output().with_context(|| format!("cannot run {}", ncu.display()))?;
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    if !report.is_file() {
        return Err(failure(&format!("{stdout}\n{stderr}")));
    }
    let page = |name| -> Result<String> {
        let import = ["--csv", "--print-units", "base", "--page", name, "--import"];
        Ok(capture(Command::new(&ncu).args(import).arg(&report))?.0)
    };
    let (ran, mut profiled) = launch(&launches(&page("raw")?)?, step)?;
    profiled.opcodes = opcodes(&page("source")?, ran.kernel)?;
    Ok(Hardware { slug: ran.slug, device: device(&stdout), tool: tool(&ncu), report, profiled })
}

/// The profiler: in `PATH`, in a CUDA toolkit, or where Nsight Compute is installed by itself; of several the newest.
fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = |folder: &str, prefix: &str, end: &str| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let is_it = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix));
        let mut found: Vec<_> = entries.filter(is_it).map(|path| path.join(end)).collect();
        found.sort();
        found.into_iter().rev()
    };
    let installed = beside("/usr/local", "cuda", "bin").chain(beside("/opt/nvidia/nsight-compute", "", ""));
    std::env::split_paths(&path).chain(installed).map(|folder| folder.join("ncu")).find(|tool| tool.is_file())
}

/// How the step is run under the profiler: through cargo, as always.
fn command(ncu: &Path, step: &Step, size: &str, report: &Path) -> Command {
    let runnable = std::iter::once(step).chain(step.variants);
    let mut kernels: Vec<_> = runnable.flat_map(Step::kernels).collect();
    kernels.sort_unstable();
    kernels.dedup();
    let metrics: Vec<_> = METRICS.iter().flat_map(|metric| metric.source.all_metrics()).collect();
    let host = ["run", "--quiet", "--package", "host", "--", "--backend", "cuda", "--format", "json"];
    let host = workspace::cargo(host);
    let mut command = Command::new(ncu);
    command
        .current_dir(workspace::root())
        .args(["--target-processes", "all", "--clock-control", "none", "--cache-control", "all"])
        .args(["--kernel-name", &format!("regex:^({})$", kernels.join("|"))])
        .args(["--section", "SourceCounters", "--metrics", &metrics.join(",")])
        .args(["--force-overwrite", "--export"])
        .arg(report)
        .arg(host.get_program())
        .args(host.get_args())
        .args(["--kernel", step.slug, "--size", size, "--iterations", "1", "--warmup", "0"]);
    command
}

/// Why there is no report, from all that was said: by the profiler, or by the program that it ran.
fn failure(said: &str) -> anyhow::Error {
    if said.contains("ERR_NVGPUCTRPERM") {
        return anyhow!(
            "the driver lets only administrators read the GPU's counters (ERR_NVGPUCTRPERM): run this as root, or load \
             the driver's module with NVreg_RestrictProfilingToAdminUsers=0"
        );
    }
    let of_host = said.lines().find_map(|line| line.strip_prefix("error: "));
    let of_ncu = || said.lines().find_map(|line| line.strip_prefix("==ERROR== "));
    let warning = || said.lines().find_map(|line| line.strip_prefix("==WARNING== "));
    anyhow!("{}", of_host.or_else(of_ncu).or_else(warning).unwrap_or("ncu wrote no report").to_owned())
}

/// The launches on a raw page, in order.
fn launches(page: &str) -> Result<Vec<Launch>> {
    let rows = rows(page.lines())?;
    // A line of units follows the names.
    let [names, _, launches @ ..] = &rows[..] else { bail!("ncu printed no launches") };
    let launch = |row: &Vec<String>| {
        let cells = || names.iter().zip(row);
        let name = cells().find(|(name, _)| *name == "Kernel Name").map_or("", |(_, value)| value);
        let metrics = cells().filter_map(|(name, value)| Some((name.clone(), number(value)?)));
        Launch { kernel: bare(name).to_owned(), metrics: metrics.collect() }
    };
    Ok(launches.iter().map(launch).collect())
}

/// The first launch of the step or of one of its variants: which it was, and its metrics, its pre-passes' time included.
fn launch(launches: &[Launch], step: &'static Step) -> Result<(&'static Step, Profiled)> {
    let ran = |launch: &Launch| std::iter::once(step).chain(step.variants).find(|step| step.kernel == launch.kernel);
    let found = launches.iter().enumerate().find_map(|(index, launch)| Some((index, ran(launch)?)));
    let (index, ran) = found.with_context(|| format!("ncu saw no launch of {}", step.kernel))?;
    let mut metrics = launches[index].metrics.clone();
    let its_own = launches[..=index].iter().filter(|launch| ran.kernels().any(|kernel| kernel == launch.kernel));
    let durations: Option<f64> = its_own.map(|launch| launch.metrics.get(DURATION)).sum();
    metrics.extend(durations.map(|duration| (DURATION.to_owned(), duration)));
    Ok((ran, Profiled { metrics, ..Profiled::default() }))
}

/// How often warps executed each opcode, from a source page: in the first listing of the kernel, for each comes twice.
fn opcodes(page: &str, kernel: &str) -> Result<BTreeMap<String, u64>> {
    let is_heading = |line: &&str| line.starts_with("\"Kernel Name\"");
    let is_it = |line: &&str| is_heading(line) && line.split('"').nth(3).is_some_and(|name| bare(name) == kernel);
    let listing = page.lines().skip_while(|line| !is_it(line)).skip(1).take_while(|line| !is_heading(line));
    let rows = rows(listing)?;
    let column = |name| {
        let of_names = rows.first().and_then(|names| names.iter().position(|other| other == name));
        of_names.with_context(|| format!("ncu's source page has no `{name}` of {kernel}"))
    };
    let (source, executed) = (column("Source")?, column("Instructions Executed")?);
    let mut counts = BTreeMap::new();
    for row in rows.iter().skip(1) {
        let opcode = row.get(source).and_then(|text| text.split_whitespace().find(|word| !word.starts_with('@')));
        let count = row.get(executed).and_then(|text| number(text));
        if let (Some(opcode), Some(count)) = (opcode, count) {
            *counts.entry(opcode.trim_end_matches(';').to_owned()).or_default() += count as u64;
        }
    }
    Ok(counts)
}

/// The cells of those lines that are CSV, and no message of the profiler.
fn rows<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Vec<Vec<String>>> {
    let text: String = lines.filter(|line| line.starts_with('"')).flat_map(|line| [line, "\n"]).collect();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    Ok(reader.deserialize().collect::<Result<_, _>>()?)
}

/// A number, whose digits may stand in groups of three.
fn number(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

/// A kernel's name without its parameters.
fn bare(name: &str) -> &str {
    name.split('(').next().unwrap_or_default()
}

/// The device's name, out of the record that the program printed.
fn device(stdout: &str) -> String {
    let records: String = stdout.lines().filter(|line| line.starts_with('{')).flat_map(|line| [line, "\n"]).collect();
    let run = Run::parse("host", &records).ok();
    run.and_then(|run| Some(run.measurements.into_iter().next()?.device)).unwrap_or_else(|| "an unknown GPU".into())
}

/// The profiler's name and version.
fn tool(ncu: &Path) -> String {
    let (text, _) = capture(Command::new(ncu).arg("--version")).unwrap_or_default();
    let version = text.lines().find_map(|line| line.strip_prefix("Version "));
    let version = version.and_then(|text| text.split_whitespace().next()).unwrap_or_default();
    format!("Nsight Compute {version}").trim_end().to_owned()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// What Nsight Compute 2025.3 exported of two steps at 500 on an H200, the columns that are of use here.
    const RAW: &str = include_str!("data/raw.csv");
    const SOURCE: &str = include_str!("data/source.csv");

    fn step(slug: &str) -> &'static Step {
        gpu_kernels::find(slug).unwrap()
    }

    /// The counts of `smem-tiling`.
    pub fn smem_tiling() -> Profiled {
        let step = step("smem-tiling");
        let (ran, profiled) = launch(&launches(RAW).unwrap(), step).unwrap();
        Profiled { opcodes: opcodes(SOURCE, ran.kernel).unwrap(), ..profiled }
    }

    #[test]
    fn exported_counts_are_read() {
        let profiled = smem_tiling();
        assert_eq!(profiled.metrics["smsp__inst_executed.sum"], 12_505_312.0);
        assert_eq!(profiled.metrics[DURATION], 36_640.0);
        assert!(!profiled.metrics.contains_key("Kernel Name"));
        assert_eq!(profiled.opcodes["BAR.SYNC.DEFER_BLOCKING"], 262_144);
        let instructions: u64 = profiled.opcodes.values().sum();
        assert_eq!(instructions, 12_505_312, "each instruction is counted once, with its guard or without");
        let missing = METRICS.iter().find(|metric| metric.of_hardware(&profiled).is_none());
        assert!(missing.is_none(), "{missing:?}");
    }

    #[test]
    fn the_time_is_that_of_all_launches_up_to_the_steps_first() {
        let step = step("transposed");
        let of = |kernel: &str, nanoseconds: f64| Launch {
            kernel: kernel.to_owned(),
            metrics: [(DURATION.to_owned(), nanoseconds)].into(),
        };
        let prepass = step.prepasses[0].kernel;
        let launched = [of(prepass, 5.0), of(step.kernel, 20.0), of(prepass, 7.0), of(step.kernel, 21.0)];
        let (ran, profiled) = launch(&launched, step).unwrap();
        assert_eq!((ran.slug, profiled.metrics[DURATION]), ("transposed", 25.0));
        assert!(launch(&launched[..1], step).unwrap_err().to_string().contains("no launch of sgemm_transposed"));
    }

    #[test]
    fn a_variant_that_ran_is_named() {
        let step = step("autotuned");
        let variant = &step.variants[1];
        let launched = [Launch { kernel: variant.kernel.to_owned(), metrics: BTreeMap::new() }];
        assert_eq!(launch(&launched, step).unwrap().0.slug, variant.slug);
    }

    #[test]
    fn a_failure_is_one_line() {
        let of = |said: &str| failure(said).to_string();
        let refused = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance \
                       Counters on the target device 0.";
        assert!(of(refused).contains("NVreg_RestrictProfilingToAdminUsers=0"));
        let no_gpu =
            "==PROF== Connected to process 7\nerror: there is no CUDA device\n==WARNING== No kernels were profiled.";
        assert_eq!(of(no_gpu), "there is no CUDA device");
        assert_eq!(of("==WARNING== No kernels were profiled.\n"), "No kernels were profiled.");
        assert_eq!(of(""), "ncu wrote no report");
        assert!([refused, no_gpu].iter().all(|said| !of(said).contains('\n')));
    }

    #[test]
    fn the_profiler_runs_the_step_and_what_comes_before_it_through_cargo() {
        let command = command(Path::new("ncu"), step("transposed"), "512x512x512", Path::new("report.ncu-rep"));
        let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        let text = words.join(" ");
        assert!(text.contains("--kernel-name regex:^(sgemm_transposed|transpose)$"), "{text}");
        assert!(text.contains("--export report.ncu-rep"), "{text}");
        assert!(text.ends_with("--kernel transposed --size 512x512x512 --iterations 1 --warmup 0"), "{text}");
    }
}
