//! The PTX annotated with the counts of each line, as in a profiler's source view.

use std::collections::BTreeMap;

use ptx_emu::LineCounters;

use super::table::{grouped, table};

/// Characters of a line that are shown.
const WIDTH: usize = 64;

/// Consecutive lines without counts that are still shown.
const MAX_GAP: u32 = 12;

/// The counts of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    warps: u64,
    lanes: u64,
    requests: u64,
    sectors: u64,
    wavefronts: u64,
    diverged: u64,
}

/// The part of the text that was executed. The counts of a line sum over inlined calls and over several instructions on
/// the line.
pub fn listing(text: &str, lines: &[LineCounters]) -> String {
    let mut sums: BTreeMap<u32, Counts> = BTreeMap::new();
    for line in lines {
        let sum = sums.entry(line.line).or_default();
        sum.warps += line.warps;
        sum.lanes += line.lanes;
        sum.requests += line.requests;
        sum.sectors += line.sectors;
        sum.wavefronts += line.wavefronts;
        sum.diverged += line.diverged;
    }
    let source: Vec<&str> = text.lines().collect();
    let shown = |number: u32| source.get(number as usize - 1).map_or(String::new(), |line| shorten(line));
    let mut rows = Vec::new();
    let mut next = sums.keys().next().copied().unwrap_or_default();
    for (&number, counts) in &sums {
        if number - next > MAX_GAP {
            let text = format!("... {} lines that nothing ran", number - next);
            rows.push(row(String::new(), text, None));
        } else {
            let gap = (next..number).map(|line| (line, shown(line))).filter(|(_, text)| !text.is_empty());
            rows.extend(gap.map(|(line, text)| row(line.to_string(), text, None)));
        }
        rows.push(row(number.to_string(), shown(number), Some(counts)));
        next = number + 1;
    }
    let header = ["line", "PTX", "warps", "lanes", "requests", "sectors", "wavefronts", "diverged"];
    table(header, &[1], rows)
}

fn row(number: String, text: String, counts: Option<&Counts>) -> [String; 8] {
    let Some(counts) = counts else {
        let nothing = String::new;
        return [number, text, nothing(), nothing(), nothing(), nothing(), nothing(), nothing()];
    };
    let if_any = |count: u64| if count == 0 { String::new() } else { grouped(count) };
    let Counts { warps, lanes, requests, sectors, wavefronts, diverged } = *counts;
    let [requests, sectors, wavefronts, diverged] = [requests, sectors, wavefronts, diverged].map(if_any);
    [number, text, grouped(warps), grouped(lanes), requests, sectors, wavefronts, diverged]
}

/// The line without what is around it, tabs as spaces, cut where it is long.
fn shorten(line: &str) -> String {
    let line: String = line.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use ptx_emu::Class;

    use super::*;

    fn at(line: u32, warps: u64) -> LineCounters {
        let (instruction, class, none) = (String::new(), Class::Move, 0);
        let (lanes, requests, sectors, wavefronts, diverged) = (none, none, none, none, none);
        LineCounters { line, instruction, class, warps, lanes, requests, sectors, wavefronts, diverged }
    }

    #[test]
    fn lines_are_summed_and_long_gaps_are_left_out() {
        let text: String = (1..=40).map(|line| format!("\ttext {line}\n")).collect();
        let listing = listing(&text, &[at(3, 1), at(5, 7), at(3, 1), at(30, 4), at(99, 5)]);
        assert!(!listing.contains("text 2\n") && listing.contains("text 4"), "{listing}");
        assert!(listing.contains("24 lines that nothing ran") && !listing.contains("text 17"), "{listing}");
        let third = listing.lines().find(|line| line.contains("text 3")).unwrap();
        assert!(third.split_whitespace().any(|word| word == "2"), "{third}");
    }

    #[test]
    fn long_lines_are_cut() {
        assert_eq!(shorten("\tadd.u32\t%r1;  "), "add.u32 %r1;");
        assert_eq!(shorten(&"é".repeat(100)).chars().count(), WIDTH + 1);
    }
}
