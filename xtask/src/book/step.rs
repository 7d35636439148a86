//! What a step is, and what it changes.

use anyhow::{Context, Result};
use gpu_kernels::{Operand, Prepass, Schedule, Step};

use super::markdown::{cell, grouped, texts};
use super::pages::stem;
use super::tile::notes::split_format;
use crate::diff::{self, Diff};
use crate::workspace::{relative, step_file};

/// Lines around a change.
const AROUND: usize = 2;

/// The block `facts`: a table of the step's constants.
pub fn facts(step: &'static Step) -> Result<String> {
    let tile = step.tile;
    let threads = match step.block {
        [threads, 1, 1] => threads.to_string(),
        [x, y, _] => format!("{} ({x} x {y})", step.threads()),
    };
    let mut rows = vec![
        ("source file", format!("`{}`", relative(&step_file(step)))),
        ("idea", cell(step.summary)),
        ("from", cell(step.source)),
        ("base", base(step)),
        ("runs on", format!("{}; PTX for `{}`", step.target.devices(), step.target.name())),
        ("precision", precision(step)),
        ("tile of a block", format!("BM x BN = {} x {}", tile.bm, tile.bn)),
        ("k-tile", if tile.bk == 1 { "none: no shared memory".into() } else { format!("BK = {}", tile.bk) }),
        ("elements of C per thread", format!("TM x TN = {} x {}", tile.tm, tile.tn)),
        ("threads per block", threads),
        ("shared memory per block", shared_memory(step)),
    ];
    if step.cluster != [1, 1, 1] {
        let [x, y, z] = step.cluster;
        rows.push(("blocks per cluster", format!("{x} x {y} x {z}")));
    }
    if let Some(schedule) = schedule(step.schedule) {
        rows.push(("schedule", schedule));
    }
    if !step.prepasses.is_empty() {
        rows.push(("pre-passes", prepasses(step)));
    }
    if !step.variants.is_empty() {
        let slugs: Vec<_> = step.variants.iter().map(|variant| format!("`{}`", variant.slug)).collect();
        rows.push(("variants", slugs.join(", ")));
    }
    Ok(texts(["Step", &format!("`{}`", step.slug)], rows.into_iter().map(|(name, value)| [name.to_owned(), value])))
}

/// The block `diff`: what the step changes in its base's file, folded away.
pub fn diff(step: &'static Step) -> Result<String> {
    let base = diff::base(step).context("the ladder's first step has no base: remove this block")?;
    let Diff { text, removed, added } = diff::between(base, step, AROUND)?;
    let lines: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    Ok(format!(
        "<details>\n<summary>From <code>{}</code> to <code>{}</code>: {removed} lines removed, {added} added</summary>\n\n\
        ````diff\n{lines}````\n\n</details>\n",
        base.slug, step.slug
    ))
}

fn base(step: &Step) -> String {
    match diff::base(step) {
        Some(base) => format!("[`{}`]({}.md)", base.slug, stem(base)),
        None => "none: the ladder begins here".into(),
    }
}

fn precision(step: &Step) -> String {
    let [input, output] = [step.precision.input(), step.output].map(gpu_kernels::Element::name);
    let matrices =
        if input == output { format!("all matrices of {input}") } else { format!("A and B of {input}, C of {output}") };
    format!("{}, {matrices}, accumulators of f32", step.precision.name())
}

fn shared_memory(step: &Step) -> String {
    match (step.smem_bytes, step.dynamic_smem_bytes) {
        (0, 0) => "none".into(),
        (bytes, 0) => format!("{} bytes", grouped(bytes.into())),
        (0, bytes) => format!("{} bytes, dynamic", grouped(bytes.into())),
        (fixed, dynamic) => {
            format!("{} bytes, and {} dynamic", grouped(fixed.into()), grouped(dynamic.into()))
        }
    }
}

fn schedule(schedule: Schedule) -> Option<String> {
    match schedule {
        Schedule::DataParallel => None,
        Schedule::SplitK { splits } => Some(format!("split-K: {splits} splits per tile")),
        Schedule::PlannedSplitK { .. } => {
            Some("split-K: as many splits as the plan says, of a batch's problems side by side".into())
        }
        Schedule::SerialSplitK { splits } => Some(format!("split-K: {splits} splits per tile, one after the other")),
        Schedule::StreamK { blocks_per_sm, .. } => {
            let slots = if blocks_per_sm == 1 { "slot".into() } else { format!("{blocks_per_sm} slots") };
            Some(format!("stream-K: the tiles of the last wave are divided into equal work units, for {slots} per SM"))
        }
        Schedule::Persistent { .. } => Some("persistent: a block per SM computes tile after tile".into()),
        Schedule::PersistentBatch { blocks_per_sm, .. } => {
            Some(format!("persistent: {blocks_per_sm} per SM compute tile after tile, of all problems of a batch"))
        }
    }
}

/// What the pre-passes do: once for operands to which the same happens.
fn prepasses(step: &Step) -> String {
    let mut happens: Vec<(String, Vec<&str>)> = Vec::new();
    for prepass in step.prepasses {
        let operand = if prepass.operand == Operand::A { "A" } else { "B" };
        let what = what_happens(prepass, split_format(step));
        match happens.iter_mut().find(|(known, _)| *known == what) {
            Some((_, operands)) => operands.push(operand),
            None => happens.push((what, vec![operand])),
        }
    }
    let words = happens.iter().map(|(what, operands)| format!("{} {what}", operands.join(" and ")));
    words.collect::<Vec<_>>().join("; ")
}

fn what_happens(prepass: &Prepass, format: &str) -> String {
    let what = match (prepass.split, prepass.transposes) {
        (Some(_), true) => format!("transposed, split into hi and lo values of {format}"),
        (Some(_), false) => format!("split into hi and lo values of {format}"),
        (None, true) => "transposed".into(),
        (None, false) => "copied to aligned rows".into(),
    };
    let when = if prepass.only_unaligned { ", where rows do not start at multiples of 16 bytes" } else { "" };
    format!("{what}{when}")
}

#[cfg(test)]
mod tests {
    use gpu_kernels::STEPS;

    use super::*;

    #[test]
    fn facts_are_the_steps_own_constants() {
        for step in STEPS {
            let text = facts(step).unwrap();
            let Step { tile, slug, .. } = step;
            assert!(text.contains(&format!("BM x BN = {} x {}", tile.bm, tile.bn)), "{slug}: {text}");
            assert!(text.lines().all(|line| line.starts_with("| ") || line.starts_with("|-")), "{slug}: {text}");
        }
    }

    #[test]
    fn a_diff_is_folded_and_has_no_trailing_space() {
        let text = diff(gpu_kernels::find("coalesced").unwrap()).unwrap();
        assert!(text.starts_with("<details>\n<summary>From <code>naive</code> to <code>coalesced</code>: "), "{text}");
        assert!(text.contains("\n+const THREADS: u32 = BM * BN;\n") && !text.contains(" \n"), "{text}");
        assert!(diff(&STEPS[0]).is_err());
    }
}
