//! The text of a table: `key = value` lines of its header, and a line of eleven words for each shape and class.

use std::fmt::Write as _;

use super::{Entry, Header, Timed};
use crate::{AccuracyClass, Error};

/// What stands where there is no kernel or time.
const NONE: &str = "-";

const TITLE: &str = "# The fastest kernel of each shape, by which `auto` chooses. Written by `cargo xtask tune`.";

/// What the words of a line are. Times are in milliseconds.
const COLUMNS: [&str; 11] = ["m", "n", "k", "class", "kernel", "ms", "second", "ms", "autotuned", "ms", "cublas_ms"];

/// How wide each is written, at least. Fixed, so that a new line leaves the others as they are.
const WIDTHS: [usize; 11] = [5, 5, 5, 11, 26, 9, 26, 9, 26, 9, 9];

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

/// Reads a table, its entries in the order of their lines.
pub(super) fn parse(text: &str) -> Result<(Header, Vec<Entry>), Error> {
    let (mut header, mut entries) = (Header::default(), Vec::new());
    let mut is_missing = KEYS.map(|_| true);
    let mut last = 0;
    for (line, number) in text.lines().map(str::trim).zip(1..) {
        let bad = |reason| Error::BadTable { line: number, reason };
        last = number;
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((key, value)) = line.split_once('=') {
            let key = key.trim();
            let index = KEYS.iter().position(|(known, _)| *known == key);
            let index = index.ok_or_else(|| bad(format!("there is no key '{key}'")))?;
            if !std::mem::replace(&mut is_missing[index], false) {
                return Err(bad(format!("{key} is there twice")));
            }
            *KEYS[index].1(&mut header) = value.trim().to_owned();
        } else {
            entries.push(entry(line).map_err(bad)?);
        }
    }
    if let Some(((key, _), _)) = KEYS.iter().zip(is_missing).find(|(_, is_missing)| *is_missing) {
        return Err(Error::BadTable { line: last, reason: format!("the text ends, and {key} is missing") });
    }
    Ok((header, entries))
}

fn entry(line: &str) -> Result<Entry, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let Ok([m, n, k, class, kernel, ms, second, second_ms, autotuned, autotuned_ms, cublas_ms]) =
        <[&str; 11]>::try_from(words.as_slice())
    else {
        return Err(format!("{} words instead of {}: {}", words.len(), COLUMNS.len(), COLUMNS.join(" ")));
    };
    let size = |word: &str| match word.parse() {
        Ok(0_u32) | Err(_) => Err(format!("{m}x{n}x{k}: {word} is no size")),
        Ok(size) => Ok(size),
    };
    let time = |word: &str| match word.parse::<f64>() {
        Ok(ms) if ms.is_finite() && ms > 0.0 => Ok(ms),
        _ => Err(format!("{m}x{n}x{k}: {word} is no time")),
    };
    let timed = |slug: &str, ms: &str| {
        let step = gpu_kernels::find(slug).ok_or_else(|| format!("{m}x{n}x{k}: there is no kernel '{slug}'"))?;
        Ok(Timed { step, ms: time(ms)? })
    };
    let optional = |slug: &str, ms: &str| match (slug == NONE, ms == NONE) {
        (true, true) => Ok(None),
        (false, false) => timed(slug, ms).map(Some),
        _ => Err(format!("{m}x{n}x{k}: a kernel without its time, or a time without its kernel")),
    };
    Ok(Entry {
        shape: [size(m)?, size(n)?, size(k)?],
        class: AccuracyClass::find(class).ok_or_else(|| format!("{m}x{n}x{k}: there is no class '{class}'"))?,
        first: timed(kernel, ms)?,
        second: optional(second, second_ms)?,
        autotuned: optional(autotuned, autotuned_ms)?,
        cublas_ms: if cublas_ms == NONE { None } else { Some(time(cublas_ms)?) },
    })
}

/// What [`parse`] reads.
pub(super) fn write(header: &Header, entries: &[Entry]) -> String {
    let mut header = header.clone();
    let mut text = format!("{TITLE}\n");
    for (key, value) in KEYS {
        // A value is one line.
        let value = value(&mut header).split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "{}", format!("{key} = {value}").trim_end());
    }
    let _ = writeln!(text, "# Times in milliseconds; {NONE} where there is none.\n# {}", COLUMNS.join(" "));
    for entry in entries {
        let ms = |ms: Option<f64>| ms.map_or(NONE.to_owned(), |ms| format!("{ms:.5}"));
        let mut words = entry.shape.map(|size| size.to_string()).to_vec();
        words.push(entry.class.name().to_owned());
        for timed in [Some(entry.first), entry.second, entry.autotuned] {
            words.push(timed.map_or(NONE, |timed| timed.step.slug).to_owned());
            words.push(ms(timed.map(|timed| timed.ms)));
        }
        words.push(ms(entry.cublas_ms));
        let padded: Vec<_> = words.iter().zip(WIDTHS).map(|(word, width)| format!("{word:width$}")).collect();
        let _ = writeln!(text, "{}", padded.join(" ").trim_end());
    }
    text
}
