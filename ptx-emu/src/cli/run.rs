//! `ptx-emu run`.

use ptx_emu::{Blocks, Grouping, Launch};

use super::args::{CountersFormat, RunArgs};
use super::counters::{self, Run};
use super::error::Error;
use super::findings;
use super::launched::{Launched, exit_code};
use super::output::{ResultFile, complain, print};
use super::ready::Ready;
use super::suppress::Suppressions;
use super::traced;

/// Runs a kernel: findings on standard error, results and counters on standard output. Returns the exit code.
pub fn run(args: &RunArgs) -> Result<u8, Error> {
    if args.trace.is_some() && args.counters == Some(CountersFormat::Json) {
        return Err(Error::Usage("--counters json leaves no room for --trace: both go to standard output".to_owned()));
    }
    let Ready { source, kernel, mut memory, results, mut launch } = Ready::new(&args.launch)?;
    configure(&mut launch, args);
    let suppressions = args.suppress.as_deref().map(Suppressions::read).transpose()?.unwrap_or_default();
    let sarif = args.sarif.as_deref().map(ResultFile::open).transpose()?;

    let launched = match args.trace {
        Some(selection) => Launched::timed(kernel, launch, |kernel, launch| {
            traced::run(kernel, &mut memory, launch, &source.text, selection, args.steps)
        })?,
        None => Launched::run(kernel, &mut memory, launch)?,
    };

    let found = launched.found(&suppressions);
    launched.say(&source, &found, args.counters)?;
    if let Some(to) = sarif {
        let found: Vec<_> = found.iter().map(|found| (&*source.name, found)).collect();
        findings::write_sarif(to, &found)?;
    }
    // A launch that ended early has no valid results.
    let is_whole = launched.report.fault.is_none() && !launched.report.stopped;
    let results = if is_whole { results.give(&memory, args.print)? } else { String::new() };
    let text = match args.counters {
        Some(CountersFormat::Json) => counters::json(&Run::new(&source.name, &launched, &found)),
        format => results + &launched.counted(&source, format),
    };
    complain(&launched.summary(&found));
    suppressions.complain_of_unused();
    print(&text)?;
    Ok(exit_code(found.iter()))
}

/// How `run` alone can run it.
fn configure(launch: &mut Launch, args: &RunArgs) {
    if let Some(budget) = args.sample {
        launch.blocks = Blocks::Sample { budget, seed: args.launch.seed, grouping: Grouping::default() };
    }
    launch.threads = args.threads.map_or(0, usize::from);
}
