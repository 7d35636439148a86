//! `diff`: what one step changes in the source of another.

use std::fs;

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use gpu_kernels::Step;
use similar::{ChangeTag, TextDiff};

use crate::workspace::{parse_step, relative, step_file};

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
    let diff = TextDiff::from_lines(&old, &new);
    for line in diff.unified_diff().header(&relative(&from), &relative(&to)).to_string().lines() {
        let style = style(line);
        anstream::println!("{style}{line}{style:#}");
    }
    println!("{}", summary(&diff));
    Ok(())
}

/// How many lines went and how many came.
fn summary<'a>(diff: &TextDiff<'a, 'a, str>) -> String {
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    format!("{} lines removed, {} added", count(ChangeTag::Delete), count(ChangeTag::Insert))
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
        let diff = TextDiff::from_lines("a\nb\nc\n", "a\nx\ny\nc\n");
        assert_eq!(summary(&diff), "1 lines removed, 2 added");
    }
}
