//! `ptx-emu run`.

use std::time::Instant;

use ptx_emu::{Blocks, Finding, Grouping, Launch, Report};

use super::args::{CountersFormat, RunArgs};
use super::arguments::Arguments;
use super::counters;
use super::error::Error;
use super::input::Source;
use super::lines;
use super::output::{complain, print};

/// Runs a kernel: findings on standard error, results and counters on standard output. Returns the exit code.
pub fn run(args: &RunArgs) -> Result<u8, Error> {
    let source = Source::read(&args.file)?;
    let kernel = source.kernel(args.entry.as_deref())?;
    let mut arguments = Arguments::new(&kernel, &args.arguments, args.seed)?;
    let mut launch = launch(args);
    launch.arguments = std::mem::take(&mut arguments.bytes);

    let start = Instant::now();
    let report = kernel.launch(&mut arguments.memory, &launch).map_err(|error| Error::Usage(error.to_string()))?;
    let seconds = start.elapsed().as_secs_f64();

    for finding in report.findings.iter().chain(&report.fault) {
        complain(&finding_line(&source.name, finding));
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
    Ok(u8::from(!report.is_clean()))
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
    let Finding { kind, line, instruction, thread, what, .. } = finding;
    format!("{file}:{line}: {}: `{instruction}`, {thread}: {what}", kind.name())
}

fn summary(name: &str, report: &Report, seconds: f64) -> String {
    let verdict = match (&report.fault, report.findings.len()) {
        (Some(fault), _) => format!("stopped: {}", fault.kind.name()),
        (None, 0) => "clean".to_owned(),
        (None, 1) => "1 finding".to_owned(),
        (None, count) => format!("{count} findings"),
    };
    let (run, blocks) = (report.blocks_run, report.blocks);
    format!("{name}: {verdict}; {run} of {blocks} blocks in {:.1} ms", 1e3 * seconds)
}
