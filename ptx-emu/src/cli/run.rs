//! `ptx-emu run`.

use std::time::Instant;

use ptx_emu::{Blocks, Finding, Grouping, Launch, Rank, Report};

use super::args::{CountersFormat, RunArgs};
use super::arguments::{Arguments, constant};
use super::counters;
use super::error::Error;
use super::input::Source;
use super::lines;
use super::output::{complain, print};

/// The exit code of a run with warnings, but no errors.
const WARNINGS: u8 = 3;

/// Runs a kernel: findings on standard error, results and counters on standard output. Returns the exit code.
pub fn run(args: &RunArgs) -> Result<u8, Error> {
    let source = Source::read(&args.file)?;
    let kernel = source.kernel(args.entry.as_deref())?;
    let mut arguments = Arguments::new(&kernel, &args.arguments, args.seed)?;
    let mut launch = launch(args);
    launch.arguments = std::mem::take(&mut arguments.bytes);
    for (index, (name, spec)) in args.constants.iter().enumerate() {
        launch = launch.constant(name, &constant(spec, args.seed.wrapping_add(index as u64))?);
    }

    let start = Instant::now();
    let report = kernel.launch(&mut arguments.memory, &launch).map_err(|error| Error::Usage(error.to_string()))?;
    let seconds = start.elapsed().as_secs_f64();

    for finding in report.findings.iter().chain(&report.fault) {
        complain(&finding_line(&source.name, finding));
    }
    match args.counters {
        // Nothing else is on standard output then.
        Some(CountersFormat::Json) => report.output.lines().for_each(complain),
        _ => print(&report.output)?,
    }
    // A faulted launch has no valid results.
    let results = if report.fault.is_none() { arguments.results(args.print)? } else { String::new() };
    let text = match args.counters {
        None => results,
        Some(CountersFormat::Json) => counters::json(&source.name, &kernel, &launch, &report, seconds),
        Some(CountersFormat::Table) => results + &counters::totals(&kernel, &launch, &report),
        Some(CountersFormat::Lines) => {
            let listing = lines::listing(&source.text, &report.counters.lines);
            format!("{results}{}\n{listing}", counters::totals(&kernel, &launch, &report))
        }
    };
    complain(&summary(kernel.name(), &report, seconds));
    print(&text)?;
    Ok(match report.rank() {
        None | Some(Rank::Remark) => 0,
        Some(Rank::Error) => 1,
        Some(Rank::Warning) => WARNINGS,
    })
}

fn launch(args: &RunArgs) -> Launch {
    let blocks = match args.sample {
        Some(budget) => Blocks::Sample { budget, seed: args.seed, grouping: Grouping::default() },
        None => Blocks::All,
    };
    Launch {
        cluster: args.cluster,
        dynamic_shared_bytes: args.shared,
        checks: args.check,
        blocks,
        threads: args.threads.map_or(0, usize::from),
        max_instructions: args.max_instructions,
        ..Launch::new(args.grid, args.block)
    }
}

/// One line that editors can jump from: `FILE:LINE: KIND: ...`.
fn finding_line(file: &str, finding: &Finding) -> String {
    let Finding { kind, rank, line, instruction, thread, what, .. } = finding;
    let rank = if *rank == Rank::Error { String::new() } else { format!("{}: ", rank.name()) };
    format!("{file}:{line}: {rank}{}: `{instruction}`, {thread}: {what}", kind.name())
}

fn summary(name: &str, report: &Report, seconds: f64) -> String {
    let count = |is_remark: bool, noun: &str| match report
        .findings
        .iter()
        .filter(|finding| (finding.rank == Rank::Remark) == is_remark)
        .count()
    {
        0 => None,
        1 => Some(format!("1 {noun}")),
        count => Some(format!("{count} {noun}s")),
    };
    let counts = [count(false, "finding"), count(true, "remark")].into_iter().flatten().collect::<Vec<_>>();
    let verdict = match &report.fault {
        Some(fault) => format!("stopped: {}", fault.kind.name()),
        None if counts.is_empty() => "clean".to_owned(),
        None => counts.join(", "),
    };
    let (run, blocks) = (report.blocks_run, report.blocks);
    format!("{name}: {verdict}; {run} of {blocks} blocks in {:.1} ms", 1e3 * seconds)
}
