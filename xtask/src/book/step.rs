//! What a step is, and what it changes.

use std::fs;

use anyhow::{Context, Result};
use gpu_kernels::{Operand, Prepass, Schedule, Step};

use super::markdown::{cell, grouped, texts};
use super::pages::stem;
use super::tile::notes::parts;
use crate::diff::Diff;
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
        ("arithmetic", arithmetic(step)),
        ("tile of a block", format!("BM x BN = {} x {}", tile.bm, tile.bn)),
        ("slice along k", if tile.bk == 1 { "none, no shared memory".into() } else { format!("BK = {}", tile.bk) }),
        ("results of a thread", format!("TM x TN = {} x {}", tile.tm, tile.tn)),
        ("threads of a block", threads),
        ("shared memory of a block", shared_memory(step)),
    ];
    if step.cluster != [1, 1, 1] {
        let [x, y, z] = step.cluster;
        rows.push(("blocks of a cluster", format!("{x} x {y} x {z}")));
    }
    if let Some(schedule) = schedule(step.schedule) {
        rows.push(("schedule", schedule));
    }
    if !step.prepasses.is_empty() {
        rows.push(("before it", prepasses(step)));
    }
    if !step.variants.is_empty() {
        let slugs: Vec<_> = step.variants.iter().map(|variant| format!("`{}`", variant.slug)).collect();
        rows.push(("variants", slugs.join(", ")));
    }
    Ok(texts(["Step", &format!("`{}`", step.slug)], rows.into_iter().map(|(name, value)| [name.to_owned(), value])))
}

/// The block `diff`: what the step changes in its base's file, folded away.
pub fn diff(step: &'static Step) -> Result<String> {
    let base =
        step.base.and_then(gpu_kernels::find).context("the ladder's first step has no base: remove this block")?;
    let [from, to] = [base, step].map(step_file);
    let [old, new] = [fs::read_to_string(&from)?, fs::read_to_string(&to)?];
    let Diff { text, removed, added } = Diff::new([(&relative(&from), &old), (&relative(&to), &new)], AROUND);
    let lines: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    Ok(format!(
        "<details>\n<summary>From <code>{}</code> to <code>{}</code>: {removed} lines removed, {added} added</summary>\n\n\
        ````diff\n{lines}````\n\n</details>\n",
        base.slug, step.slug
    ))
}

fn base(step: &Step) -> String {
    match step.base.and_then(gpu_kernels::find) {
        Some(base) => format!("[`{}`]({}.md)", base.slug, stem(base)),
        None => "none: the ladder begins here".into(),
    }
}

fn arithmetic(step: &Step) -> String {
    let [input, output] = [step.precision.input(), step.output].map(gpu_kernels::Element::name);
    let matrices =
        if input == output { format!("all matrices of {input}") } else { format!("A and B of {input}, C of {output}") };
    format!("{}, {matrices}, sums of f32", step.precision.name())
}

fn shared_memory(step: &Step) -> String {
    match (step.smem_bytes, step.dynamic_smem_bytes) {
        (0, 0) => "none".into(),
        (bytes, 0) => format!("{} bytes", grouped(bytes.into())),
        (0, bytes) => format!("{} bytes, asked for at the launch", grouped(bytes.into())),
        (fixed, dynamic) => {
            format!("{} bytes, and {} asked for at the launch", grouped(fixed.into()), grouped(dynamic.into()))
        }
    }
}

fn schedule(schedule: Schedule) -> Option<String> {
    match schedule {
        Schedule::Tiles => None,
        Schedule::SplitK { parts } => Some(format!("{parts} blocks share the k of a tile")),
        Schedule::StreamK { blocks_per_sm, .. } => {
            let places = if blocks_per_sm == 1 { "one block".into() } else { format!("{blocks_per_sm} blocks") };
            Some(format!("the tiles left over are cut into equal parts along k, for {places} on each multiprocessor"))
        }
        Schedule::Persistent => Some("a block for each multiprocessor, which goes from tile to tile".into()),
    }
}

/// What the pre-passes do, in words: once for operands to which the same happens.
fn prepasses(step: &Step) -> String {
    let mut happens: Vec<(String, Vec<&str>)> = Vec::new();
    for prepass in step.prepasses {
        let operand = if prepass.operand == Operand::A { "A" } else { "B" };
        let what = what_happens(prepass, parts(step));
        match happens.iter_mut().find(|(known, _)| *known == what) {
            Some((_, operands)) => operands.push(operand),
            None => happens.push((what, vec![operand])),
        }
    }
    let words = happens.iter().map(|(what, operands)| format!("{} {what}", operands.join(" and ")));
    words.collect::<Vec<_>>().join("; ")
}

fn what_happens(prepass: &Prepass, parts: &str) -> String {
    let what = match (prepass.split, prepass.transposes) {
        (Some(_), true) => format!("transposed, taken apart into {parts} parts"),
        (Some(_), false) => format!("taken apart into {parts} parts"),
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
