//! Two runs compared, for people.

use anyhow::Result;
use results::format::significant;
use results::{Run, StepChange, compare, text_table};

/// Prints what became of each step since an earlier run. Returns whether a step is slower, or wrong.
pub fn show(before: &Run, after: &Run) -> Result<bool> {
    let steps = compare(before, after)?;
    let header = ["step", "precision", "sizes", "change, %", "at worst, %", "at", "noise, %", "verdict"];
    say!("\nCompared with {}: times, as multiples of cuBLAS's where it ran beside both; + is slower", before.name);
    say!("{}", text_table(&[0, 1], header, steps.iter().map(row)));
    let regressions: Vec<_> = steps.iter().filter(|step| step.is_regression()).map(|step| &*step.step).collect();
    match &regressions[..] {
        [] => say!("No step is slower by more than noise."),
        slower => say!("Slower, or no longer right: {}.", slower.join(", ")),
    }
    Ok(!regressions.is_empty())
}

fn row(step: &StepChange) -> Vec<String> {
    let percent = |ratio: f64| format!("{:+.1}", 100.0 * (ratio - 1.0));
    let worst = step.worst();
    let shape = worst.map(|change| match change.shape {
        [m, n, k] if m == n && n == k => m.to_string(),
        [m, n, k] => format!("{m}x{n}x{k}"),
    });
    vec![
        step.step.clone(),
        step.precision.clone(),
        step.changes.len().to_string(),
        percent(step.mean_time_ratio()),
        worst.map_or("-".into(), |change| percent(change.time_ratio)),
        shape.unwrap_or_default(),
        worst.map_or("-".into(), |change| significant(100.0 * change.noise)),
        if step.is_baseline { "drift".into() } else { step.verdict().name().into() },
    ]
}
