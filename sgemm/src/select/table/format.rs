//! The text of a table: `key = value` lines, a line of eighteen words for each kernel, and one of five for each shape and class.

use std::fmt::Write as _;

use gpu_kernels::Step;

use super::{Entry, Header, Table};
use crate::select::{Cost, Memory, POWERS};
use crate::{AccuracyClass, Error};

const TITLE: &str = "# What kernels cost on a device, by which `auto` chooses. Written by `cargo xtask tune`.";

/// What the words of the lines are. Times are in microseconds.
const MEMORY: &str = "# memory: a launch before or after the kernel, us; GB/s of these; GB/s of a kernel";
const COSTS: &str = "# kernel slots start round latency k_tile tile partial gbps uneven, powers of m n k blocks unequal A B C, candidate";
const ENTRIES: &str = "# m n k class kernel";

/// Constants of a kernel that are no powers.
const TIMES: usize = 8;

/// Whether a kernel is a candidate.
const YES: &str = "yes";
const NO: &str = "no";

/// A field of the header.
type Field = fn(&mut Header) -> &mut String;

/// The header's keys, and where their values are.
const KEYS: [(&str, Field); 6] = [
    ("device", |header| &mut header.device),
    ("driver", |header| &mut header.driver),
    ("cublas", |header| &mut header.cublas),
    ("date", |header| &mut header.date),
    ("commit", |header| &mut header.commit),
    ("how", |header| &mut header.how),
];

/// The key of the memory's line.
const MEMORY_KEY: &str = "memory";

/// Reads a table.
pub(super) fn parse(text: &str) -> Result<Table, Error> {
    let (mut header, mut memory, mut costs, mut entries) = (Header::default(), None, Vec::new(), Vec::new());
    let mut is_missing = KEYS.map(|_| true);
    let mut last = 0;
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        let bad = |reason| Error::BadTable { line: number, reason };
        last = number;
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((key, value)) = line.split_once('=') {
            let (key, value) = (key.trim(), value.trim());
            let known = KEYS.iter().position(|(known, _)| *known == key);
            let is_first = match known {
                Some(index) => std::mem::replace(&mut is_missing[index], false),
                None if key == MEMORY_KEY => memory.is_none(),
                None => return Err(bad(format!("there is no key '{key}'"))),
            };
            if !is_first {
                return Err(bad(format!("{key} is there twice")));
            }
            match known {
                Some(index) => *KEYS[index].1(&mut header) = value.to_owned(),
                None => memory = Some(self::memory(value).map_err(bad)?),
            }
            continue;
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [slug, slots, times @ .., is_candidate] if times.len() == TIMES + POWERS => {
                costs.push(cost(slug, slots, times, is_candidate).map_err(bad)?);
            }
            [m, n, k, class, slug] => {
                let entry = entry([m, n, k], class, slug).map_err(bad)?;
                if entries.iter().any(|other: &Entry| (other.shape, other.class) == (entry.shape, entry.class)) {
                    return Err(bad(format!("{m} x {n} x {k} in {class} is there twice")));
                }
                entries.push(entry);
            }
            words => {
                let of_cost = TIMES + POWERS + 3;
                return Err(bad(format!("{} words instead of {of_cost}, {COSTS}, or 5, {ENTRIES}", words.len())));
            }
        }
    }
    let missing = KEYS.iter().zip(is_missing).find(|(_, is_missing)| *is_missing).map(|((key, _), _)| *key);
    let ends = |key| Error::BadTable { line: last, reason: format!("the text ends, and {key} is missing") };
    match (missing, memory) {
        (None, Some(memory)) => Ok(Table { header, memory, costs, entries }),
        (Some(key), _) => Err(ends(key)),
        (None, None) => Err(ends(MEMORY_KEY)),
    }
}

fn memory(value: &str) -> Result<Memory, String> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let [launch, pass_gbps, gbps] = words.as_slice() else { return Err(format!("{} words instead of 3", words.len())) };
    Ok(Memory { launch: number(launch)?, pass_gbps: positive(pass_gbps)?, gbps: positive(gbps)? })
}

fn cost(slug: &str, slots: &str, times: &[&str], is_candidate: &str) -> Result<(&'static Step, Cost), String> {
    let step = step(slug)?;
    let slots = slots.parse().ok().filter(|slots| *slots > 0).ok_or_else(|| format!("{slug}: {slots} is no count"))?;
    let of_kernel = |reason| format!("{slug}: {reason}");
    let time = |index: usize| number(times[index]).map_err(of_kernel);
    let [start, round, latency] = [time(0)?, time(1)?, time(2)?];
    let [k_tile, tile, partial] = [time(3)?, time(4)?, time(5)?];
    let gbps = positive(times[6]).map_err(of_kernel)?;
    let uneven = time(7)?;
    let mut powers = [0.0; POWERS];
    for (power, word) in powers.iter_mut().zip(&times[TIMES..]) {
        *power = finite(word).map_err(of_kernel)?;
    }
    let is_candidate = match is_candidate {
        YES => true,
        NO => false,
        word => return Err(format!("{slug}: {word} is neither {YES} nor {NO}")),
    };
    Ok((step, Cost { slots, start, round, latency, k_tile, tile, partial, gbps, uneven, powers, is_candidate }))
}

fn entry(sizes: [&str; 3], class: &str, slug: &str) -> Result<Entry, String> {
    let [m, n, k] = sizes.map(|word| match word.parse() {
        Ok(0_u32) | Err(_) => Err(format!("{word} is no size")),
        Ok(size) => Ok(size),
    });
    let class = AccuracyClass::find(class).ok_or_else(|| format!("there is no class '{class}'"))?;
    Ok(Entry { shape: [m?, n?, k?], class, step: step(slug)? })
}

fn step(slug: &str) -> Result<&'static Step, String> {
    gpu_kernels::find(slug).ok_or_else(|| format!("there is no kernel '{slug}'"))
}

fn number(word: &str) -> Result<f64, String> {
    finite(word).ok().filter(|value| *value >= 0.0).ok_or_else(|| format!("{word} is no number"))
}

fn finite(word: &str) -> Result<f64, String> {
    word.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| format!("{word} is no number"))
}

fn positive(word: &str) -> Result<f64, String> {
    number(word).and_then(|value| if value > 0.0 { Ok(value) } else { Err(format!("{word} is not positive")) })
}

/// What [`parse`] reads.
pub(super) fn write(table: &Table) -> String {
    let Table { header, memory, costs, entries } = table;
    let mut header = header.clone();
    let mut text = format!("{TITLE}\n");
    for (key, value) in KEYS {
        // A value is one line.
        let value = value(&mut header).split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{}", format!("{key} = {value}").trim_end());
    }
    let Memory { launch, pass_gbps, gbps } = memory;
    let _ = writeln!(text, "{MEMORY}\n{MEMORY_KEY} = {launch} {pass_gbps} {gbps}\n{COSTS}");
    for (step, cost) in costs {
        let Cost { slots, start, round, latency, k_tile, tile, partial, gbps, uneven, powers, is_candidate } = cost;
        let is_candidate = if *is_candidate { YES } else { NO };
        let times = [start, round, latency, k_tile, tile, partial, gbps, uneven].map(|value| format!("{value:8}"));
        let powers = powers.map(|power| format!("{power:6}"));
        let _ = writeln!(text, "{:26} {slots:2} {} {} {is_candidate}", step.slug, times.join(" "), powers.join(" "));
    }
    let _ = writeln!(text, "{ENTRIES}");
    for Entry { shape: [m, n, k], class, step } in entries {
        let _ = writeln!(text, "{m:5} {n:5} {k:5} {:11} {}", class.name(), step.slug);
    }
    text
}
