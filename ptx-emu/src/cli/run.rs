//! `ptx-emu run`.

use std::time::Instant;

use ptx_emu::{Blocks, Grouping, Launch, Rank, Report};

use super::args::{CountersFormat, RunArgs};
use super::counters;
use super::error::Error;
use super::findings::{self, Found};
use super::lines;
use super::output::{ResultFile, complain, print};
use super::ready::Ready;
use super::traced;

/// The exit code of a run with warnings, but no errors.
const WARNINGS: u8 = 3;

/// Runs a kernel: findings on standard error, results and counters on standard output. Returns the exit code.
pub fn run(args: &RunArgs) -> Result<u8, Error> {
    if args.trace.is_some() && args.counters == Some(CountersFormat::Json) {
        return Err(Error::Usage("--counters json leaves no room for --trace: both go to standard output".to_owned()));
    }
    let mut ready = Ready::new(&args.launch)?;
    configure(&mut ready.launch, args);

    let sarif = args.sarif.as_deref().map(ResultFile::open).transpose()?;

    let start = Instant::now();
    let report = match args.trace {
        Some(selection) => traced::run(&mut ready, selection, args.steps)?,
        None => {
            let report = ready.kernel.launch(&mut ready.arguments.memory, &ready.launch);
            report.map_err(|error| Error::Usage(error.to_string()))?
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let Ready { source, kernel, arguments, launch } = ready;

    let found = findings::of(&kernel, &report);
    for line in found.iter().flat_map(|found| found.lines(&source.name)) {
        complain(&line);
    }
    if let Some(to) = sarif {
        findings::write_sarif(to, &source.name, &found)?;
    }
    match args.counters {
        // Nothing else is on standard output then.
        Some(CountersFormat::Json) => report.output.lines().for_each(complain),
        _ => print(&report.output)?,
    }
    // A launch that ended early has no valid results.
    let is_whole = report.fault.is_none() && !report.stopped;
    let results = if is_whole { arguments.results(args.print)? } else { String::new() };
    let text = match args.counters {
        None => results,
        Some(CountersFormat::Json) => counters::json(&source.name, &kernel, &launch, &report, &found, seconds),
        Some(CountersFormat::Table) => results + &counters::totals(&kernel, &launch, &report),
        Some(CountersFormat::Lines) => {
            let listing = lines::listing(&source.text, &report.counters.lines);
            format!("{results}{}\n{listing}", counters::totals(&kernel, &launch, &report))
        }
    };
    complain(&summary(kernel.name(), &report, &found, seconds));
    print(&text)?;
    Ok(match report.rank() {
        None | Some(Rank::Remark) => 0,
        Some(Rank::Error) => 1,
        Some(Rank::Warning) => WARNINGS,
    })
}

/// How `run` alone can run it.
fn configure(launch: &mut Launch, args: &RunArgs) {
    if let Some(budget) = args.sample {
        launch.blocks = Blocks::Sample { budget, seed: args.launch.seed, grouping: Grouping::default() };
    }
    launch.threads = args.threads.map_or(0, usize::from);
}

fn summary(name: &str, report: &Report, found: &[Found<'_>], seconds: f64) -> String {
    let is = |found: &&Found<'_>, is_remark| (found.finding.rank == Rank::Remark) == is_remark;
    let count = |is_remark: bool, noun: &str| match found.iter().filter(|found| is(found, is_remark)).count() {
        0 => None,
        1 => Some(format!("1 {noun}")),
        count => Some(format!("{count} {noun}s")),
    };
    let counts = [count(false, "finding"), count(true, "remark")].into_iter().flatten().collect::<Vec<_>>();
    let verdict = match &report.fault {
        Some(fault) => format!("stopped: {}", fault.kind.name()),
        None if report.stopped => "stopped".to_owned(),
        None if counts.is_empty() => "clean".to_owned(),
        None => counts.join(", "),
    };
    let (run, blocks) = (report.blocks_run, report.blocks);
    format!("{name}: {verdict}; {run} of {blocks} blocks in {:.1} ms", 1e3 * seconds)
}
