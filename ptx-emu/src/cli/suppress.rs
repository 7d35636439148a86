//! `--suppress`: findings that are known.

use std::cell::Cell;
use std::path::Path;

use ptx_emu::syntax::Frame;
use ptx_emu::{Finding, FindingKind};
use serde::Deserialize;

use super::error::Error;
use super::output::complain;
use super::toml_file;

/// The rules of a file, in its order.
#[derive(Debug, Default)]
pub struct Suppressions {
    name: String,
    rules: Vec<(Rule, Cell<bool>)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    suppress: Vec<Rule>,
}

/// What a finding must be, and why it is left out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    kind: Option<String>,
    kernel: Option<String>,
    /// FILE or FILE:LINE of the source.
    source: Option<String>,
    /// A line of the PTX.
    ptx: Option<u32>,
    reason: String,
}

impl Suppressions {
    /// Reads the rules.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let (name, File { suppress }) = toml_file::read(path)?;
        for (rule, number) in suppress.iter().zip(1..) {
            let fail = |reason: &str| Err(Error::Usage(format!("{name}: rule {number}: {reason}")));
            if rule.reason.trim().is_empty() {
                return fail("`reason` is empty: say why the finding is left out");
            }
            if rule.kind.is_none() && rule.kernel.is_none() && rule.source.is_none() && rule.ptx.is_none() {
                return fail("it would leave out everything: give `kind`, `kernel`, `source` or `ptx`");
            }
            let kinds = FindingKind::ALL.map(FindingKind::name);
            if let Some(kind) = rule.kind.as_ref().filter(|kind| !kinds.contains(&kind.as_str())) {
                return fail(&format!("`kind` is \"{kind}\", which is none of {}", kinds.join(", ")));
            }
        }
        Ok(Self { name, rules: suppress.into_iter().map(|rule| (rule, Cell::new(false))).collect() })
    }

    /// Why a finding is left out, if it is; its place in the source, and that of the other instruction.
    pub fn reason(&self, kernel: &str, finding: &Finding, frames: [&[Frame<'_>]; 2]) -> Option<&str> {
        let mut matching = self.rules.iter().filter(|(rule, _)| rule.matches(kernel, finding, frames));
        let (rule, is_used) = matching.next()?;
        is_used.set(true);
        Some(&rule.reason)
    }

    /// Says which rules have matched nothing.
    pub fn complain_of_unused(&self) {
        for ((rule, _), number) in self.rules.iter().zip(1..).filter(|((_, is_used), _)| !is_used.get()) {
            complain(&format!("note: {}: rule {number} has matched nothing: {}", self.name, rule.reason));
        }
    }
}

impl Rule {
    fn matches(&self, kernel: &str, finding: &Finding, frames: [&[Frame<'_>]; 2]) -> bool {
        let is = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|wanted| wanted == is);
        let is_line = |line: u32| finding.line == line || finding.other == Some(line);
        let is_source = |source: &String| frames.into_iter().flatten().any(|frame| is_at(frame, source));
        is(&self.kind, finding.kind.name())
            && is(&self.kernel, kernel)
            && self.ptx.is_none_or(is_line)
            && self.source.as_ref().is_none_or(is_source)
    }
}

/// Whether a place is in that FILE, or at that FILE:LINE; the file by its last names, such as `tile.cuh` for `include/tile.cuh`.
fn is_at(frame: &Frame<'_>, source: &str) -> bool {
    let with_line = source.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
    let (file, line) = with_line.map_or((source, None), |(file, line): (&str, u32)| (file, Some(line)));
    Path::new(frame.file).ends_with(file) && line.is_none_or(|line| line == frame.line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_files_by_their_last_names_and_lines() {
        let frame = Frame { file: "include/tile.cuh", line: 7, column: 12, function: None };
        for (source, is) in [
            ("tile.cuh", true),
            ("tile.cuh:7", true),
            ("include/tile.cuh:7", true),
            ("tile.cuh:8", false),
            ("le.cuh:7", false),
            ("other.cuh", false),
        ] {
            assert_eq!(is_at(&frame, source), is, "{source}");
        }
    }
}
