//! Findings of a run: one for each line of the source, as text, as JSON and as SARIF.

use ptx_emu::syntax::Frame;
use ptx_emu::{Finding, Kernel, Rank, Report};
use serde::Serialize;
use serde_json::{Value, json};

use super::error::Error;
use super::output::ResultFile;
use super::suppress::Suppressions;

/// Lines of the PTX that a message names at most.
const MAX_LINES: usize = 8;

/// A finding, with others of its kind that come from the same line of the source.
pub struct Found<'a> {
    /// The first of them.
    pub finding: &'a Finding,
    /// Where its line comes from, the innermost call first.
    source: Vec<Frame<'a>>,
    /// Where the other instruction's line comes from.
    other: Vec<Frame<'a>>,
    /// The lines of the PTX of the others.
    more: Vec<u32>,
    /// Why it is suppressed, if it is.
    pub suppressed: Option<&'a str>,
}

/// The findings of a report, its fault last. A loop that the compiler unrolled gives one. A fault cannot be suppressed: the launch has no
/// results.
pub fn of<'a>(kernel: &'a Kernel, report: &'a Report, suppressions: &'a Suppressions) -> Vec<Found<'a>> {
    let mut all: Vec<Found<'a>> = Vec::new();
    for finding in &report.findings {
        let mut found = Found::new(kernel, finding);
        found.suppressed = suppressions.reason(kernel.name(), finding, [&found.source, &found.other]);
        match all.iter_mut().find(|earlier| earlier.is_same(&found)) {
            Some(earlier) => earlier.more.push(finding.line),
            None => all.push(found),
        }
    }
    all.extend(report.fault.iter().map(|fault| Found::new(kernel, fault)));
    all
}

impl<'a> Found<'a> {
    fn new(kernel: &'a Kernel, finding: &'a Finding) -> Self {
        let other = finding.other.map(|line| kernel.source(line)).unwrap_or_default();
        Self { finding, source: kernel.source(finding.line), other, more: Vec::new(), suppressed: None }
    }

    /// Whether both are of one kind, and from the same lines of the source.
    fn is_same(&self, other: &Self) -> bool {
        let kind = |found: &Self| (found.finding.kind, found.finding.rank, found.suppressed);
        !self.source.is_empty()
            && kind(self) == kind(other)
            && (&self.source, &self.other) == (&other.source, &other.other)
    }

    /// Lines that editors can jump from: `FILE:LINE: KIND: ...`, and behind it, where the compiler said so, the line of the source.
    pub fn lines(&self, file: &str) -> Vec<String> {
        let Finding { kind, rank, line, instruction, thread, what, .. } = self.finding;
        let rank = if *rank == Rank::Error { String::new() } else { format!("{}: ", rank.name()) };
        let mut lines = vec![format!("{file}:{line}: {rank}{}: `{instruction}`, {thread}: {what}", kind.name())];
        if !self.source.is_empty() {
            lines.push(format!("    {}", trace(&self.source)));
        }
        if !self.other.is_empty() {
            lines.push(format!("    the other: {}", trace(&self.other)));
        }
        if !self.more.is_empty() {
            let shown: Vec<_> = self.more.iter().take(MAX_LINES).map(u32::to_string).collect();
            let rest = if self.more.len() > MAX_LINES { ", ..." } else { "" };
            let [times, of] = match self.more.len() {
                1 => ["once".to_owned(), "line".to_owned()],
                count => [format!("{count} times"), "lines".to_owned()],
            };
            lines.push(format!("    {times} more from this line, in {of} {}{rest} of the PTX", shown.join(", ")));
        }
        lines
    }

    /// As JSON.
    pub fn json(&self) -> Value {
        let Finding { kind, rank, line, instruction, thread, what, other } = self.finding;
        json!({
            "kind": kind.name(),
            "rank": rank.name(),
            "line": line,
            "more_lines": self.more,
            "other_line": other,
            "instruction": instruction,
            "thread": thread.thread,
            "block": thread.block,
            "what": what,
            "source": places(&self.source),
            "other_source": places(&self.other),
        })
    }

    /// As a result of SARIF: where the source is known, the source's line, else that of the PTX.
    fn sarif(&self, file: &str) -> Value {
        let Finding { kind, rank, line, instruction, thread, what, other } = self.finding;
        let level = match rank {
            Rank::Error => "error",
            Rank::Warning => "warning",
            Rank::Remark => "note",
        };
        let here = if self.source.is_empty() { location(file, *line, 0) } else { located(&self.source[0]) };
        let calls = self.source.iter().skip(1).map(located);
        let other = match (self.other.first(), other) {
            (Some(frame), _) => Some(located(frame)),
            (None, Some(line)) => Some(location(file, *line, 0)),
            (None, None) => None,
        };
        let related: Vec<_> = calls.chain(other).chain([location(file, *line, 0)]).collect();
        let suppressions = self.suppressed.map(|reason| json!({ "kind": "external", "justification": reason }));
        json!({
            "ruleId": kind.name(),
            "level": level,
            "message": { "text": format!("`{instruction}`, {thread}: {what}") },
            "locations": [here],
            "relatedLocations": related,
            "occurrenceCount": 1 + self.more.len(),
            "suppressions": suppressions.into_iter().collect::<Vec<_>>(),
        })
    }
}

/// `kernel.cu:9:5 in load_tile, inlined at kernel.cu:40:9`
pub fn trace(frames: &[Frame<'_>]) -> String {
    let place = |Frame { file, line, column, function }: &Frame<'_>| {
        let column = if *column > 0 { format!(":{column}") } else { String::new() };
        let function = function.map(|name| format!(" in {name}")).unwrap_or_default();
        format!("{file}:{line}{column}{function}")
    };
    frames.iter().map(place).collect::<Vec<_>>().join(", inlined at ")
}

/// A place in the source, as JSON.
#[derive(Serialize)]
struct Place<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    function: Option<&'a str>,
}

fn places<'a>(frames: &'a [Frame<'a>]) -> Vec<Place<'a>> {
    let place = |&Frame { file, line, column, function }| Place { file, line, column, function };
    frames.iter().map(place).collect()
}

fn located(frame: &Frame<'_>) -> Value {
    location(frame.file, frame.line, frame.column)
}

fn location(file: &str, line: u32, column: u32) -> Value {
    let mut region = json!({ "startLine": line });
    if column > 0 {
        region["startColumn"] = column.into();
    }
    json!({ "physicalLocation": { "artifactLocation": { "uri": file.replace(' ', "%20") }, "region": region } })
}

/// Writes the findings of files of PTX as a log of SARIF 2.1.0, which editors and code hosts show beside the source.
pub fn write_sarif(to: ResultFile, all: &[(&str, &Found<'_>)]) -> Result<(), Error> {
    let mut rules: Vec<_> = all.iter().map(|(_, found)| found.finding.kind.name()).collect();
    rules.sort_unstable();
    rules.dedup();
    let rules: Vec<_> = rules.into_iter().map(|rule| json!({ "id": rule })).collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": { "name": "ptx-emu", "version": env!("CARGO_PKG_VERSION"), "rules": rules } },
            "results": all.iter().map(|(file, found)| found.sarif(file)).collect::<Vec<_>>(),
        }],
    });
    to.write(format!("{log:#}\n").as_bytes())
}
