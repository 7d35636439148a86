//! `ptx-emu run`.

use std::time::Instant;

use ptx_emu::{Blocks, Grouping, Launch, Rank, Report};

use super::args::{CountersFormat, RunArgs};
use super::arguments::{Arguments, constant};
use super::counters;
use super::error::Error;
use super::findings::{self, Found};
use super::input::Source;
use super::lines;
use super::output::{ResultFile, complain, print};

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

    let sarif = args.sarif.as_deref().map(ResultFile::open).transpose()?;

    let start = Instant::now();
    let report = kernel.launch(&mut arguments.memory, &launch).map_err(|error| Error::Usage(error.to_string()))?;
    let seconds = start.elapsed().as_secs_f64();

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
    // A faulted launch has no valid results.
    let results = if report.fault.is_none() { arguments.results(args.print)? } else { String::new() };
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
        None if counts.is_empty() => "clean".to_owned(),
        None => counts.join(", "),
    };
    let (run, blocks) = (report.blocks_run, report.blocks);
    format!("{name}: {verdict}; {run} of {blocks} blocks in {:.1} ms", 1e3 * seconds)
}
