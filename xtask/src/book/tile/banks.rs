//! The panel of banks: where the first values of a warp's fragments lie in shared memory.

use std::collections::{BTreeMap, BTreeSet};

use gpu_kernels::Step;

use super::placement::{VEC, first_words};
use super::sheet::{Anchor, LINE, MARGIN, Sheet, WIDTH, heading};

/// Lanes of one wavefront, where each has an address of its own, and groups of banks that they can have.
const SERVED: u32 = 8;
const GROUPS: u32 = 8;

const CELL: [f64; 2] = [80.0, 21.0];
const NAME: f64 = 48.0;

/// From so many characters on, those of a cell are smaller.
const DENSE: usize = 10;

/// The lanes at each place: by quarter of the warp and group of banks, then by address.
type Places = BTreeMap<[u32; 2], BTreeMap<u32, Vec<u32>>>;

/// Draws the panel under `top` where fragments are read by 128 bits, and gives its lower end.
pub fn panel(sheet: &mut Sheet, step: &Step, top: f64) -> f64 {
    let lanes: Option<Vec<[u32; 2]>> = (0..32).map(|lane| first_words(step, lane)).collect();
    let Some(lanes) = lanes else { return top };
    let mut y = heading(sheet, top, "shared memory: which lanes of a warp load from which banks, 128 bits each");
    for group in 0..GROUPS {
        let x = MARGIN + NAME + f64::from(group) * CELL[0];
        let banks = format!("{} to {}", group * VEC, group * VEC + VEC - 1);
        sheet.text("mute", Anchor::Middle, [x + CELL[0] / 2.0, y + 12.0], &banks);
    }
    y += 18.0;
    let mut waits = false;
    for (name, shade, operand) in [("A", "a", 0), ("B", "b", 1)] {
        let places = places(lanes.iter().map(|words| words[operand]));
        waits |= places.values().any(|addresses| addresses.len() > 1);
        table(sheet, [name, shade], &places, y);
        y += 4.0 * CELL[1] + 8.0;
    }
    let words = match waits {
        true => "Bold: a bank conflict. The lanes read different words of the same banks, in two wavefronts.",
        false => "There is no bank conflict.",
    };
    let words = format!("A line is a quarter of the warp, 8 lanes. Lanes in one cell read the same 16 bytes. {words}");
    sheet.hanging([MARGIN, y + 12.0], 0.0, WIDTH - 2.0 * MARGIN, &words) - LINE / 2.0
}

fn places(words: impl Iterator<Item = u32>) -> Places {
    let mut places = Places::new();
    for (lane, word) in (0..).zip(words) {
        let place = [lane / SERVED, word / VEC % GROUPS];
        places.entry(place).or_default().entry(word).or_default().push(lane);
    }
    places
}

/// The cells of one operand.
fn table(sheet: &mut Sheet, [name, shade]: [&str; 2], places: &Places, y: f64) {
    sheet.text("bold", Anchor::Start, [MARGIN, y + 2.0 * CELL[1] + 4.0], name);
    for ([quarter, group], lanes) in places {
        let [x, y] = [MARGIN + NAME + f64::from(*group) * CELL[0], y + f64::from(*quarter) * CELL[1]];
        let is_conflict = lanes.len() > 1;
        sheet.rect(&format!("{shade}{}", if is_conflict { 2 } else { 1 }), [x, y, CELL[0], CELL[1]]);
        let text = lanes.values().map(|lanes| range(lanes)).collect::<Vec<_>>().join(" / ");
        let class = match text.len() {
            _ if is_conflict => "bold",
            DENSE.. => "dense",
            _ => "",
        };
        sheet.text(class, Anchor::Middle, [x + CELL[0] / 2.0, y + 15.0], &text);
    }
    for row in 0..=4 {
        let y = y + f64::from(row) * CELL[1];
        sheet.line("thin", [MARGIN + NAME, y], [MARGIN + NAME + f64::from(GROUPS) * CELL[0], y]);
    }
    sheet.rect("edge", [MARGIN + NAME, y, f64::from(GROUPS) * CELL[0], 4.0 * CELL[1]]);
}

/// Lanes in few words: `0-7`, `0 2 4 6`.
fn range(lanes: &[u32]) -> String {
    let distinct: BTreeSet<u32> = lanes.iter().copied().collect();
    match (distinct.first(), distinct.last()) {
        (Some(first), Some(last)) if distinct.len() > 2 && last - first + 1 == distinct.len() as u32 => {
            format!("{first}-{last}")
        }
        _ => distinct.iter().map(u32::to_string).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cells of A and of B in which lanes read different words.
    fn conflicts(slug: &str) -> [usize; 2] {
        let step = gpu_kernels::find(slug).unwrap();
        [0, 1].map(|operand| {
            let words = (0..32).map(|lane| first_words(step, lane).unwrap()[operand]);
            places(words).values().filter(|addresses| addresses.len() > 1).count()
        })
    }

    #[test]
    fn conflicts_are_where_they_were_counted() {
        assert_eq!(conflicts("vectorized"), [0, 16]);
        for slug in ["bank-conflicts", "transposed", "warp-tiling", "ilp", "autotuned", "split-k"] {
            assert_eq!(conflicts(slug), [0, 0], "{slug}");
        }
        assert_eq!(first_words(gpu_kernels::find("2d-tiling").unwrap(), 0), None);
    }

    #[test]
    fn lanes_are_named_shortly() {
        assert_eq!([&[0, 1, 2, 3][..], &[0, 2], &[5], &[0, 1, 4, 5]].map(range), ["0-3", "0 2", "5", "0 1 4 5"]);
    }
}
