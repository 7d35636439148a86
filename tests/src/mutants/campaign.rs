//! Mutants of many steps, in parallel, with a file of results that a later run goes on with.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{iter, thread};

use anyhow::{Context, Result, anyhow};
use gpu_kernels::Step;
use serde::{Deserialize, Serialize};

use super::{Judge, Kind, Original, Verdict};

/// A mutant and its verdict: a line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The step's slug.
    pub step: String,
    /// Which of the seed's mutants of the step it is.
    pub number: u32,
    /// The seed.
    pub seed: u64,
    /// The kernels that it was made of: a hash of the step's PTX.
    pub ptx: String,
    /// The kind of change.
    pub kind: Kind,
    /// The line of the step's PTX, counted from 1.
    pub line: usize,
    /// The instruction.
    pub before: String,
    /// What stands there instead; empty where it is gone.
    pub after: String,
    /// What became of it.
    pub verdict: Verdict,
    /// What says so.
    pub reason: String,
}

/// A step's kernels and their judge.
struct Suspect {
    original: Original,
    judge: Judge,
    ptx: String,
}

impl Suspect {
    fn new(step: &'static Step) -> Result<Self> {
        let original = Original::new(step)?;
        // Of the text: FNV-1a.
        let bytes = original.text.bytes();
        let hash =
            bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        // Mutants run side by side.
        Ok(Self { original, judge: Judge::new(step, 1)?, ptx: format!("{hash:016x}") })
    }

    fn judged(&self, seed: u64, number: u32) -> Result<Judged> {
        let step = self.original.step().slug;
        let mutant = self.original.mutant(seed, number).ok_or_else(|| anyhow!("{step} has no mutants"))?;
        let (verdict, reason) = self.judge.verdict(&mutant)?;
        let (ptx, kind, line) = (self.ptx.clone(), mutant.kind, mutant.line);
        Ok(Judged {
            step: step.into(),
            number,
            seed,
            ptx,
            kind,
            line,
            before: mutant.before,
            after: mutant.after,
            verdict,
            reason,
        })
    }
}

/// Judges `count` mutants of a seed, the steps in turn. What the file has of them is not run again, and what is new is added to it at
/// once. `watch` gets each that is new. Returns all of them, by step and number.
///
/// # Errors
/// Where the file cannot be read or written; what has nothing to do with the mutants.
pub fn run(
    steps: &[&'static Step],
    count: u32,
    seed: u64,
    file: &Path,
    watch: &(dyn Fn(&Judged) + Sync),
) -> Result<Vec<Judged>> {
    let suspects = steps.iter().map(|step| Suspect::new(step)).collect::<Result<Vec<_>>>()?;
    let wanted: Vec<_> = (0..count).map(|index| (index as usize % steps.len(), index / steps.len() as u32)).collect();
    let is_wanted = |judged: &Judged| {
        let is_its = |suspect: &Suspect| suspect.original.step().slug == judged.step && suspect.ptx == judged.ptx;
        judged.seed == seed && suspects.iter().position(is_its).is_some_and(|at| wanted.contains(&(at, judged.number)))
    };
    let mut known = read(file)?;
    known.retain(is_wanted);
    let done: BTreeSet<_> = known.iter().map(|judged| (judged.step.clone(), judged.number)).collect();
    let is_new =
        |&&(at, number): &&(usize, u32)| !done.contains(&(suspects[at].original.step().slug.to_owned(), number));
    let left: Vec<_> = wanted.iter().filter(is_new).collect();

    let output = File::options().create(true).append(true).open(file);
    let output = Mutex::new(output.with_context(|| format!("cannot write {}", file.display()))?);
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<Judged>> {
        let mut own = Vec::new();
        while let Some(&&(at, number)) = left.get(next.fetch_add(1, Ordering::Relaxed)) {
            let judged = suspects[at].judged(seed, number)?;
            let line = serde_json::to_string(&judged)? + "\n";
            let mut output = output.lock().map_err(|_| anyhow!("another mutant failed"))?;
            output.write_all(line.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
            watch(&judged);
            drop(output);
            own.push(judged);
        }
        Ok(own)
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let new: Vec<Result<_>> = thread::scope(|scope| {
        let workers: Vec<_> = iter::repeat_with(|| scope.spawn(work)).take(cores).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err(anyhow!("a mutant broke the judge"))))
            .collect()
    });
    for new in new {
        known.extend(new?);
    }
    known.sort_by_key(|judged| (steps.iter().position(|step| step.slug == judged.step), judged.number));
    Ok(known)
}

/// What a file of results has; nothing where there is none. A last line that is not complete is left out.
fn read(file: &Path) -> Result<Vec<Judged>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let is_cut = !text.is_empty() && !text.ends_with('\n');
    let lines: Vec<_> = text.lines().zip(1..).collect();
    let whole = &lines[..lines.len() - usize::from(is_cut)];
    if is_cut {
        let whole: String = whole.iter().map(|(line, _)| format!("{line}\n")).collect();
        fs::write(file, whole).with_context(|| format!("cannot write {}", file.display()))?;
    }
    let judged = |(line, number): &(&str, usize)| {
        serde_json::from_str(line).map_err(|error| anyhow!("{}:{number}: is no mutant: {error}", file.display()))
    };
    whole.iter().map(judged).collect()
}

/// A table of verdicts by kind, and the mutants that a person must look at.
#[must_use]
pub fn report(judged: &[Judged]) -> String {
    let mut counts: BTreeMap<(Kind, Verdict), usize> = BTreeMap::new();
    judged.iter().for_each(|judged| *counts.entry((judged.kind, judged.verdict)).or_default() += 1);
    let name = |verdict: &Verdict| format!("{verdict:?}").to_lowercase();
    let mut text = format!("{:<12}", "");
    Verdict::ALL.iter().for_each(|verdict| text += &format!("{:>12}", name(verdict)));
    let row = |title: String, count: &dyn Fn(Verdict) -> usize| {
        let counts: String = Verdict::ALL.iter().map(|verdict| format!("{:>12}", count(*verdict))).collect();
        format!("\n{title:<12}{counts}")
    };
    for kind in Kind::ALL.into_iter().filter(|kind| judged.iter().any(|judged| judged.kind == *kind)) {
        let count = |verdict| counts.get(&(kind, verdict)).copied().unwrap_or(0);
        text += &row(format!("{kind:?}").to_lowercase(), &count);
    }
    let all = |verdict| judged.iter().filter(|judged| judged.verdict == verdict).count();
    text += &row("all".into(), &all);
    let (killed, open) = (all(Verdict::Killed), judged.iter().filter(|judged| judged.verdict.is_open()).count());
    let by_host =
        judged.iter().filter(|judged| judged.verdict == Verdict::Killed && judged.reason.starts_with("host: "));
    let by_host = by_host.count();
    text += &format!("\n{killed} of {} that are not equivalent are killed, {by_host} by host alone\n", killed + open);
    for Judged { step, number, kind, line, before, after, verdict, .. } in
        judged.iter().filter(|judged| judged.verdict.is_open())
    {
        let (kind, after) = (format!("{kind:?}").to_lowercase(), if after.is_empty() { "nothing" } else { after });
        text += &format!("{}: {step} {number}, {kind}, line {line}: `{before}` -> `{after}`\n", name(verdict));
    }
    text
}
