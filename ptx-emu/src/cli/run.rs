//! `ptx-emu run`.

use ptx_emu::{Blocks, GlobalMemory, Grouping, Launch};

use super::args::{CountersFormat, RunArgs};
use super::arguments;
use super::buffers::Results;
use super::counters::{self, Run};
use super::error::Error;
use super::findings;
use super::input::Source;
use super::launched::{Launched, exit_code};
use super::output::{ResultFile, complain, print};
use super::suppress::Suppressions;

/// Runs a kernel: findings on standard error, results and counters on standard output. Returns the exit code.
pub fn run(args: &RunArgs) -> Result<u8, Error> {
    let mut memory = GlobalMemory::default();
    let source = Source::load(&args.file, &mut memory)?;
    let kernel = source.kernel(args.entry.as_deref())?;
    let suppressions = args.suppress.as_deref().map(Suppressions::read).transpose()?.unwrap_or_default();
    let mut results = Results::default();
    let mut launch = launch(args);
    launch.arguments = arguments::make(&kernel, &args.arguments, args.seed, &mut memory, &mut results)?;
    for (index, (name, spec)) in args.variables.iter().enumerate() {
        let variable = source.variable(name)?;
        let set = results.set(&mut memory, variable, spec, args.seed.wrapping_add(index as u64));
        set.map_err(|error| error.at(&format!("variable '{name}={}'", spec.text)))?;
    }
    let sarif = args.sarif.as_deref().map(ResultFile::open).transpose()?;

    let launched = Launched::run(kernel, &mut memory, launch)?;

    let found = launched.found(&suppressions);
    launched.say(&source, &found, args.counters)?;
    if let Some(to) = sarif {
        let found: Vec<_> = found.iter().map(|found| (&*source.name, found)).collect();
        findings::write_sarif(to, &found)?;
    }
    // A faulted launch has no valid results.
    let results = if launched.report.fault.is_none() { results.give(&memory, args.print)? } else { String::new() };
    let text = match args.counters {
        Some(CountersFormat::Json) => counters::json(&Run::new(&source.name, &launched, &found)),
        format => results + &launched.counted(&source, format),
    };
    complain(&launched.summary(&found));
    suppressions.complain_of_unused();
    print(&text)?;
    Ok(exit_code(found.iter()))
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
