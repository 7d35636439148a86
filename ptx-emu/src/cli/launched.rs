//! A launch that was made, and what is said of it.

use std::time::Instant;

use ptx_emu::{GlobalMemory, Kernel, Launch, Rank, Report};

use super::args::CountersFormat;
use super::counters::totals;
use super::error::Error;
use super::findings::{self, Found};
use super::input::Source;
use super::lines;
use super::output::{complain, print};
use super::suppress::Suppressions;

/// The exit code of a run with warnings, but no errors.
const WARNINGS: u8 = 3;

/// A launch of a kernel, and its report.
pub struct Launched {
    pub kernel: Kernel,
    pub launch: Launch,
    pub report: Report,
    pub seconds: f64,
}

impl Launched {
    /// Runs the kernel.
    pub fn run(kernel: Kernel, memory: &mut GlobalMemory, launch: Launch) -> Result<Self, Error> {
        Self::timed(kernel, launch, |kernel, launch| {
            kernel.launch(memory, launch).map_err(|error| Error::Usage(error.to_string()))
        })
    }

    /// Runs the kernel in that way.
    pub fn timed(
        kernel: Kernel,
        launch: Launch,
        run: impl FnOnce(&Kernel, &Launch) -> Result<Report, Error>,
    ) -> Result<Self, Error> {
        let start = Instant::now();
        let report = run(&kernel, &launch)?;
        Ok(Self { kernel, launch, report, seconds: start.elapsed().as_secs_f64() })
    }

    /// What was found.
    pub fn found<'a>(&'a self, suppressions: &'a Suppressions) -> Vec<Found<'a>> {
        findings::of(&self.kernel, &self.report, suppressions)
    }

    /// Says what was found on standard error, and what the kernel printed on standard output, unless that is for JSON.
    pub fn say(&self, source: &Source, found: &[Found<'_>], counters: Option<CountersFormat>) -> Result<(), Error> {
        for line in found.iter().filter(|found| found.suppressed.is_none()).flat_map(|found| found.lines(&source.name))
        {
            complain(&line);
        }
        match counters {
            // Nothing else is on standard output then.
            Some(CountersFormat::Json) => self.report.output.lines().for_each(complain),
            _ => print(&self.report.output)?,
        }
        Ok(())
    }

    /// The counters as text; nothing where none, or JSON, are asked for.
    pub fn counted(&self, source: &Source, counters: Option<CountersFormat>) -> String {
        match counters {
            None | Some(CountersFormat::Json) => String::new(),
            Some(CountersFormat::Table) => totals(self),
            Some(CountersFormat::Lines) => {
                let listing = lines::listing(&source.text, &self.report.counters.lines);
                format!("{}\n{listing}", totals(self))
            }
        }
    }

    /// `saxpy: clean; 4 of 4 blocks in 0.6 ms`
    pub fn summary(&self, found: &[Found<'_>]) -> String {
        let count = |noun: &str, is: &dyn Fn(&Found<'_>) -> bool| match found.iter().filter(|found| is(found)).count() {
            0 => None,
            1 => Some(format!("1 {noun}")),
            count => Some(format!("{count} {noun}s")),
        };
        let is_remark = |found: &Found<'_>| found.finding.rank == Rank::Remark;
        let counts = [
            count("finding", &|found| found.suppressed.is_none() && !is_remark(found)),
            count("remark", &|found| found.suppressed.is_none() && is_remark(found)),
        ];
        let counts = counts.into_iter().flatten().collect::<Vec<_>>();
        let verdict = match &self.report.fault {
            Some(fault) => format!("stopped: {}", fault.kind.name()),
            None if self.report.stopped => "stopped".to_owned(),
            None if counts.is_empty() => "clean".to_owned(),
            None => counts.join(", "),
        };
        let suppressed = match found.iter().filter(|found| found.suppressed.is_some()).count() {
            0 => String::new(),
            count => format!(", {count} suppressed"),
        };
        let (name, run, blocks) = (self.kernel.name(), self.report.blocks_run, self.report.blocks);
        format!("{name}: {verdict}{suppressed}; {run} of {blocks} blocks in {:.1} ms", 1e3 * self.seconds)
    }
}

/// The exit code for what was found.
pub fn exit_code<'a>(found: impl Iterator<Item = &'a Found<'a>>) -> u8 {
    let ranks = found.filter(|found| found.suppressed.is_none()).map(|found| found.finding.rank);
    match ranks.min() {
        None | Some(Rank::Remark) => 0,
        Some(Rank::Error) => 1,
        Some(Rank::Warning) => WARNINGS,
    }
}
