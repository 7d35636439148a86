//! `diff`: what one step changes in the source of another.

use std::fs;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use gpu_kernels::Step;
use similar::{ChangeTag, TextDiff};

use crate::workspace::{parse_step, relative, step_file};

/// Lines around a change.
const AROUND: usize = 3;

/// Show what a step changes in its base or in another step: `diff 2d-tiling vectorized`
#[derive(clap::Args)]
pub struct Args {
    /// The step to compare from, or the only one given: that one is compared with its base
    #[arg(value_parser = parse_step)]
    from: &'static Step,
    /// The step to compare to
    #[arg(value_parser = parse_step)]
    to: Option<&'static Step>,
}

/// Runs `diff`.
pub fn run(args: &Args) -> Result<()> {
    let (from, to) = match args.to {
        Some(to) => (args.from, to),
        None => {
            let base = args.from.base.and_then(gpu_kernels::find);
            let message = || format!("{} is the ladder's first step and has no base: name two steps", args.from.slug);
            (base.with_context(message)?, args.from)
        }
    };
    let [from, to] = [from, to].map(step_file);
    let [old, new] = [&from, &to].map(fs::read_to_string);
    let (old, new) = (old?, new?);
    let Diff { text, removed, added } = Diff::new([(&relative(&from), &old), (&relative(&to), &new)], AROUND);
    for line in text.lines() {
        let style = style(line);
        anstream::println!("{style}{line}{style:#}");
    }
    println!("{removed} lines removed, {added} added");
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
    fn changed_lines_are_counted() {
        let diff = Diff::new([("old", "a\nb\nc\n"), ("new", "a\nx\ny\nc\n")], 0);
        assert_eq!((diff.removed, diff.added), (1, 2));
        assert_eq!(diff.text, "--- old\n+++ new\n@@ -2 +2,2 @@\n-b\n+x\n+y\n");
    }
}
