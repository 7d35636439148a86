//! `diff`: what one step changes in the source of another.

use std::fs;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use gpu_kernels::{STEPS, Step};
use results::text_table;
use similar::{ChangeTag, TextDiff};

use crate::workspace::{parse_step, relative, step_file};

/// Lines around a change.
const AROUND: usize = 3;

/// Show what a step changes in its base or in another step: `diff 2d-tiling vectorized`
#[derive(clap::Args)]
pub struct Args {
    /// The step to compare from, or the only one given: that one is compared with its base
    #[arg(value_parser = parse_step, required_unless_present = "all")]
    from: Option<&'static Step>,
    /// The step to compare to
    #[arg(value_parser = parse_step)]
    to: Option<&'static Step>,
    /// Count the lines that each step changes in its base, as a table
    #[arg(long, conflicts_with = "from")]
    all: bool,
}

/// Runs `diff`.
pub fn run(args: &Args) -> Result<()> {
    let (from, to) = match (args.from, args.to) {
        (Some(from), Some(to)) => (from, to),
        (Some(step), None) => {
            let message = || format!("{} is the ladder's first step and has no base: name two steps", step.slug);
            (base(step).with_context(message)?, step)
        }
        (None, _) => return all(),
    };
    let Diff { text, removed, added } = between(from, to, AROUND)?;
    for line in text.lines() {
        let style = style(line);
        say!("{style}{line}{style:#}");
    }
    say!("{removed} lines removed, {added} added");
    Ok(())
}

/// The step that a step changes.
pub fn base(step: &Step) -> Option<&'static Step> {
    step.base.and_then(gpu_kernels::find)
}

/// What changes from one step's file to another's; so many lines stand around a change.
pub fn between(from: &Step, to: &Step, around: usize) -> Result<Diff> {
    let [from, to] = [from, to].map(step_file);
    let [old, new] = [fs::read_to_string(&from)?, fs::read_to_string(&to)?];
    Ok(Diff::new([(&relative(&from), &old), (&relative(&to), &new)], around))
}

/// Prints how many lines each step changes in its base.
fn all() -> Result<()> {
    let mut rows = Vec::new();
    let mut total = [0; 2];
    for step in STEPS {
        let lines = fs::read_to_string(step_file(step))?.lines().count();
        let mut row =
            vec![step.slug.to_owned(), base(step).map_or("-", |base| base.slug).to_owned(), lines.to_string()];
        match base(step) {
            Some(base) => {
                let Diff { removed, added, .. } = between(base, step, 0)?;
                total = [total[0] + removed, total[1] + added];
                row.extend([removed, added, removed + added].map(|count| count.to_string()));
            }
            None => row.extend(["-"; 3].map(str::to_owned)),
        }
        rows.push(row);
    }
    let [removed, added] = total;
    let sums = [removed, added, removed + added].map(|count| count.to_string());
    rows.push(["all", "", ""].map(str::to_owned).into_iter().chain(sums).collect());
    say!("{}", text_table(&[0, 1], ["step", "base", "lines", "removed", "added", "changed"], rows));
    Ok(())
}

/// What changes from one text to another.
pub struct Diff {
    /// The changes, as a unified diff.
    pub text: String,
    /// Lines that go.
    pub removed: usize,
    /// Lines that come.
    pub added: usize,
}

impl Diff {
    /// Compares two texts with their names; so many lines stand around a change.
    pub fn new([from, to]: [(&str, &str); 2], around: usize) -> Self {
        let diff = TextDiff::from_lines(from.1, to.1);
        let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
        Self {
            text: diff.unified_diff().context_radius(around).header(from.0, to.0).to_string(),
            removed: count(ChangeTag::Delete),
            added: count(ChangeTag::Insert),
        }
    }
}

fn style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => AnsiColor::Green.on_default(),
        Some(b'-') => AnsiColor::Red.on_default(),
        Some(b'@') => AnsiColor::Cyan.on_default(),
        _ => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_but_the_first_is_compared_with_its_base() {
        assert_eq!(STEPS.iter().filter(|step| base(step).is_none()).count(), 1);
        for step in STEPS {
            let Some(base) = base(step) else { continue };
            let Diff { removed, added, .. } = between(base, step, 0).unwrap();
            assert!(removed + added > 0, "{}", step.slug);
        }
    }

    #[test]
    fn changed_lines_are_counted() {
        let diff = Diff::new([("old", "a\nb\nc\n"), ("new", "a\nx\ny\nc\n")], 0);
        assert_eq!((diff.removed, diff.added), (1, 2));
        assert_eq!(diff.text, "--- old\n+++ new\n@@ -2 +2,2 @@\n-b\n+x\n+y\n");
    }
}
