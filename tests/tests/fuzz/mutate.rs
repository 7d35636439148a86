//! Random changes of bytes.

use std::ops::Range;

use rand::RngExt;
use rand::rngs::SmallRng;

/// Numbers at the ends of types, and what is none.
const NUMBERS: [&str; 18] = [
    "0",
    "-0",
    "1",
    "-1",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "1e999",
    "1e-999",
    "nan",
];

/// The longest that an input becomes, beyond what it was made of.
const MAX_GROWTH: usize = 1 << 14;

/// The bytes with a few changes.
pub fn mutated(bytes: &[u8], corpus: &[Vec<u8>], words: &[&str], rng: &mut SmallRng) -> Vec<u8> {
    let mut changed = bytes.to_vec();
    let changes = 1 << rng.random_range(0..4);
    for _ in 0..rng.random_range(1..=changes) {
        change(&mut changed, corpus, words, rng);
    }
    changed.truncate(bytes.len() + MAX_GROWTH);
    changed
}

fn change(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&str], rng: &mut SmallRng) {
    let word = |rng: &mut SmallRng| words[rng.random_range(0..words.len())].as_bytes().to_vec();
    match rng.random_range(0..13) {
        0 => _ = bytes.drain(range(bytes, rng)),
        1 => {
            let copy = bytes[range(bytes, rng)].to_vec();
            insert(bytes, &copy, rng);
        }
        2 => bytes.truncate(rng.random_range(0..=bytes.len())),
        3 => {
            let place = range(bytes, rng);
            bytes[place].iter_mut().take(1).for_each(|byte| *byte = rng.random());
        }
        4 => {
            let place = range(bytes, rng);
            bytes[place].iter_mut().take(1).for_each(|byte| *byte ^= 1 << rng.random_range(0..8));
        }
        5 => {
            let other = &corpus[rng.random_range(0..corpus.len())];
            let part = other[range(other, rng)].to_vec();
            insert(bytes, &part, rng);
        }
        6 | 7 => {
            let number = NUMBERS[rng.random_range(0..NUMBERS.len())];
            replace(bytes, number.as_bytes(), rng, |byte| byte.is_ascii_digit() || b".-+".contains(byte));
        }
        8 => {
            let word = word(rng);
            replace(bytes, &word, rng, |byte| byte.is_ascii_alphanumeric() || b"_.%$".contains(byte));
        }
        9 => {
            let lines = line(bytes, rng);
            _ = bytes.drain(lines);
        }
        10 => {
            let copy = bytes[line(bytes, rng)].to_vec();
            insert(bytes, &copy, rng);
        }
        11 => {
            let noise: [u8; 32] = rng.random();
            insert(bytes, &noise, rng);
        }
        _ => {
            let word = word(rng);
            insert(bytes, &word, rng);
        }
    }
}

fn insert(bytes: &mut Vec<u8>, part: &[u8], rng: &mut SmallRng) {
    let at = rng.random_range(0..=bytes.len());
    bytes.splice(at..at, part.iter().copied());
}

/// A few bytes, or many.
fn range(bytes: &[u8], rng: &mut SmallRng) -> Range<usize> {
    let start = rng.random_range(0..=bytes.len());
    let most = if rng.random() { 4 } else { 400 };
    let length = rng.random_range(0..=most);
    start..(start + length).min(bytes.len())
}

/// A line, with its end.
fn line(bytes: &[u8], rng: &mut SmallRng) -> Range<usize> {
    let within = rng.random_range(0..=bytes.len());
    let is_end = |byte: &u8| *byte == b'\n';
    let start = bytes[..within].iter().rposition(is_end).map_or(0, |end| end + 1);
    start..bytes[within..].iter().position(is_end).map_or(bytes.len(), |end| within + end + 1)
}

/// Puts something in the place of a run of such bytes.
fn replace(bytes: &mut Vec<u8>, by: &[u8], rng: &mut SmallRng, is_part: impl Fn(&u8) -> bool) {
    let from = rng.random_range(0..=bytes.len());
    let Some(start) = bytes[from..].iter().position(&is_part).map(|offset| from + offset) else { return };
    let end = bytes[start..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |length| start + length);
    bytes.splice(start..end, by.iter().copied());
}
