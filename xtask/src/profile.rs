//! `profile`: what Nsight Compute counts of a step, under our names and beside what the emulator counts.

mod nsight;

use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use gpu_kernels::Step;
use results::format::{grouped, significant};
use results::{Counters, METRICS, Metric, Profiled, Run, text_table};

use crate::workspace::{self, parse_step, relative};
use nsight::Hardware;

/// Show a step's counters: the hardware's, by Nsight Compute, beside the emulator's
///
/// Needs an NVIDIA GPU, and `ncu` of the CUDA toolkit, whose report is kept under target/profile/. Where one of them is
/// missing, a line says so, and the emulator's counters stand alone.
#[derive(clap::Args)]
pub struct Args {
    /// The step, or a variant of one
    #[arg(value_parser = parse_step)]
    step: &'static Step,
    /// The size, in elements: N for m = n = k, or MxNxK
    #[arg(long, value_name = "N", default_value = "1024", value_parser = parse_size)]
    size: String,
    /// The emulator runs every block, however long that takes, instead of a sample of a large grid
    #[arg(long)]
    full: bool,
    /// Show what Nsight Compute calls each of them, too
    #[arg(long)]
    names: bool,
}

/// Runs `profile`.
pub fn run(args: &Args) -> Result<()> {
    workspace::run(&mut workspace::cargo(["build", "--package", "host"]))?;
    let hardware = nsight::profile(args.step, &args.size);
    // A step with variants runs the one that suits the device and the size: the emulator counts the same.
    let slug = hardware.as_ref().map_or(args.step.slug, |hardware| hardware.slug);
    let counters = count(slug, &args.size, args.full)?;
    say!("{}", title(&counters, args.step.summary));
    match &hardware {
        Ok(hardware) => {
            say!("{}", setting(&counters, hardware));
            say!("{}", table(&counters, Some(&hardware.profiled), args.names));
            say!("{}", footnote(&counters, hardware));
        }
        Err(reason) => {
            say!("No hardware counters: {reason:#}");
            say!("{}", table(&counters, None, args.names));
        }
    }
    Ok(())
}

/// What the emulator counts of a step.
fn count(slug: &str, size: &str, full: bool) -> Result<Counters> {
    let mut host = workspace::host(&["--quiet"]);
    host.args(["counters", "--format", "json"]);
    host.args(["--kernel", slug, "--size", size]).args(full.then_some("--full"));
    // Complaints and progress are the user's to see; the records are ours.
    let output = host.stderr(Stdio::inherit()).output().context("cannot run host")?;
    ensure!(output.status.success(), "the emulator cannot count {slug} ({})", output.status);
    let records = Run::parse("host counters", &String::from_utf8_lossy(&output.stdout))?;
    records.counters.into_iter().next().context("host counters wrote no counters")
}

/// Reads `N` or `MxNxK` into `MxNxK`.
fn parse_size(text: &str) -> Result<String, String> {
    let sizes: Option<Vec<u32>> = text.split('x').map(|size| size.parse().ok().filter(|&size| size > 0)).collect();
    match sizes.as_deref() {
        Some([size]) => Ok(format!("{size}x{size}x{size}")),
        Some([m, n, k]) => Ok(format!("{m}x{n}x{k}")),
        _ => Err("give a size such as 1024, or 64x8192x8192 for m, n and k".into()),
    }
}

fn title(counters: &Counters, summary: &str) -> String {
    let Counters { kernel, m, n, k, device, blocks, blocks_run, .. } = counters;
    let part = if blocks_run == blocks { "all blocks".into() } else { format!("{blocks_run} of {blocks} blocks") };
    format!("{kernel}: {summary}\nm = {m}, n = {n}, k = {k}; emulator: {part}, as {device}")
}

fn setting(counters: &Counters, hardware: &Hardware) -> String {
    let mut text = format!("hardware: {}, by {}", hardware.device, hardware.tool);
    if hardware.device != counters.device {
        text += &format!("\nThe emulator stands for {}: occupancy and time are that device's", counters.device);
    }
    text
}

/// What the marks in the table mean, where there are any, and where to look on.
fn footnote(counters: &Counters, hardware: &Hardware) -> String {
    let is_off = |metric: &&Metric| {
        let theirs = metric.of_hardware(&hardware.profiled);
        theirs.is_some_and(|theirs| !metric.agrees(metric.of(counters), theirs))
    };
    let report = format!("All that Nsight Compute has of it: ncu-ui {}", relative(&hardware.report));
    match METRICS.iter().find(is_off) {
        Some(_) => format!("! further apart than where the emulator is held to the hardware\n{report}"),
        None => report,
    }
}

/// The counters of both, or of the emulator alone; what is zero everywhere is left out.
fn table(counters: &Counters, hardware: Option<&Profiled>, names: bool) -> String {
    let figures = if hardware.is_some() { 3 } else { 1 };
    let both = ["Nsight Compute", "difference"].into_iter().filter(|_| hardware.is_some());
    let header = ["", "emulator"].into_iter().chain(both).chain(names.then_some("there called"));
    let mut rows = Vec::new();
    for metric in METRICS {
        let ours = metric.of(counters);
        let theirs = hardware.map(|profiled| metric.of_hardware(profiled));
        if ours == 0.0 && theirs.flatten().unwrap_or(0.0) == 0.0 {
            continue;
        }
        let mut row = vec![metric.figure.name.to_owned(), figure(ours)];
        if let Some(theirs) = theirs {
            row.push(theirs.map_or("-".into(), figure));
            row.push(theirs.map_or("-".into(), |theirs| difference(metric, ours, theirs)));
        }
        row.extend(names.then(|| metric.of_nsight()));
        rows.push(row);
    }
    text_table(&[0, figures + 1], header, rows)
}

/// How far ours is from the hardware's, marked where that is too far.
fn difference(metric: &Metric, ours: f64, theirs: f64) -> String {
    let mark = if metric.agrees(ours, theirs) { "  " } else { " !" };
    let text = match 100.0 * (ours / theirs - 1.0) {
        _ if ours == theirs => "equal".to_owned(),
        percent if percent.is_finite() => format!("{percent:+.1} %"),
        _ => "-".to_owned(),
    };
    text + mark
}

/// Whole numbers with all their digits, others to three significant ones.
fn figure(value: f64) -> String {
    if value.fract() == 0.0 { grouped(value as u64) } else { significant(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counters of `smem-tiling` at 500, as far as the table needs them.
    fn counters() -> Counters {
        let text = include_str!("profile/data/counters.json");
        Run::parse("counters.json", text).unwrap().counters.remove(0)
    }

    fn line<'a>(table: &'a str, name: &str) -> &'a str {
        table
            .lines()
            .find(|line| line.trim_start().starts_with(name))
            .unwrap_or_else(|| panic!("no {name} in\n{table}"))
    }

    #[test]
    fn sizes_are_those_of_host() {
        assert_eq!(parse_size("512").as_deref(), Ok("512x512x512"));
        assert_eq!(parse_size("1x2x3").as_deref(), Ok("1x2x3"));
        assert!(["", "0", "2x3", "x", "-1"].iter().all(|text| parse_size(text).is_err()));
    }

    #[test]
    fn the_emulators_counters_stand_alone_where_there_is_no_gpu() {
        let text = table(&counters(), None, false);
        assert!(!text.contains("Nsight Compute") && !text.contains("smsp__"), "{text}");
        assert!(line(&text, "global loads").trim_end().ends_with("256 000"), "{text}");
        let named = table(&counters(), None, true);
        assert!(line(&named, "global loads").contains("smsp__sass_inst_executed_op_global_ld.sum + LDGSTS"), "{named}");
        assert!(!text.contains("bulk copies"), "what is zero everywhere is left out:\n{text}");
    }

    #[test]
    fn the_hardwares_counters_stand_beside_the_emulators() {
        let mut counters = counters();
        counters.barriers = 262_000;
        counters.shared_loads = 5_300_000;
        let text = table(&counters, Some(&nsight::tests::smem_tiling()), false);
        let cells =
            |name| line(&text, name).split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect::<Vec<_>>();
        assert_eq!(cells("global loads")[1..4], ["256 000", "256 000", "equal"], "{text}");
        assert_eq!(cells("barriers")[1..4], ["262 000", "262 144", "-0.1 %"], "{text}");
        assert_eq!(cells("shared loads")[1..4], ["5 300 000", "5 242 880", "+1.1 % !"], "{text}");
        assert_eq!(cells("occupancy")[2..4], ["100", "equal"], "{text}");
        assert_eq!(cells("modelled time")[2], "0.0366", "{text}");
    }
}
