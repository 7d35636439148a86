//! The last panel: which block computes what, where it is not just the tile at its place.

use gpu_kernels::{Schedule, Step, persistent_tile};

use super::svg::{Anchor, LINE, Svg, WIDTH};
use super::{MARGIN, heading};

/// The problem and the device of the examples: square matrices, and the multiprocessors of an H200.
const SIZE: u32 = 4096;
const SM_COUNT: u32 = 132;

const INSIDE: f64 = WIDTH - 2.0 * MARGIN;

/// Draws the panel under `top` where a schedule is worth it, and gives its lower end.
pub fn panel(svg: &mut Svg, step: &Step, top: f64) -> f64 {
    match step.schedule {
        Schedule::Tiles => top,
        Schedule::SplitK { parts } => split(svg, parts, top),
        Schedule::StreamK { .. } => stream(svg, step, top),
        Schedule::Persistent => persistent(svg, step, top),
    }
}

/// The k of a tile, shared by the blocks of a cluster.
fn split(svg: &mut Svg, parts: u32, top: f64) -> f64 {
    let top = heading(svg, top, &format!("one tile of C: a cluster of {parts} blocks shares its k"));
    let width = INSIDE / f64::from(parts);
    for part in 0..parts {
        let x = MARGIN + f64::from(part) * width;
        let class = ["a1", "a2"][part as usize % 2];
        svg.rect(class, [x, top, width, 24.0]);
        svg.text("", Anchor::Middle, [x + width / 2.0, top + 16.5], &format!("part {part} of k"));
        svg.arrow([x + width / 2.0, top + 24.0], [x + width / 2.0, top + 44.0]);
        // The block's sums of the whole tile, and the strip of it that it adds up and stores.
        let [left, side] = [x + width / 2.0 - 36.0, 72.0];
        svg.rect("c1", [left, top + 44.0, side, side]);
        let strip = side / f64::from(parts);
        svg.rect("c3", [left, top + 44.0 + f64::from(part) * strip, side, strip]);
        svg.rect("edge", [left, top + 44.0, side, side]);
        svg.text("", Anchor::Middle, [x + width / 2.0, top + 44.0 + side + LINE], &format!("block {part}"));
    }
    svg.rect("edge", [MARGIN, top, INSIDE, 24.0]);
    let words = "Each block leaves its sums of the whole tile in its shared memory. Of one part (dark) it adds up the sums of all \
        blocks, which it reads there, and stores it to C.";
    svg.hanging([MARGIN, top + 116.0 + 2.0 * LINE + 6.0], 0.0, INSIDE, words) - 4.0
}

/// The first tiles, cut into equal parts.
fn stream(svg: &mut Svg, step: &Step, top: f64) -> f64 {
    let streamed = step.streamed(SIZE, SIZE, SM_COUNT);
    let tiles = SIZE.div_ceil(step.tile.bm) * SIZE.div_ceil(step.tile.bn);
    let top = heading(svg, top, &format!("{SIZE} x {SIZE} on {SM_COUNT} multiprocessors: {tiles} tiles"));
    let shown = 5;
    let width = INSIDE / f64::from(shown);
    for tile in 0..shown {
        let x = MARGIN + f64::from(tile) * width;
        svg.rect(["c1", "c2"][tile as usize % 2], [x, top, width, 26.0]);
        svg.text("", Anchor::Middle, [x + width / 2.0, top + 17.5], &format!("k of tile {tile}"));
    }
    svg.rect("edge", [MARGIN, top, INSIDE, 26.0]);
    let part = f64::from(streamed.tiles) / f64::from(streamed.blocks);
    let y = top + 34.0;
    let mut block = 0;
    while f64::from(block) * part < f64::from(shown) {
        let [start, end] = [block, block + 1].map(|block| (f64::from(block) * part).min(f64::from(shown)) * width);
        svg.rect(["a1", "a2"][block as usize % 2], [MARGIN + start, y, end - start, 26.0]);
        svg.rect("edge", [MARGIN + start, y, end - start, 26.0]);
        if end - start > 60.0 {
            svg.text("", Anchor::Middle, [MARGIN + (start + end) / 2.0, y + 17.5], &format!("block {block}"));
        }
        block += 1;
    }
    let words = format!(
        "The first {} tiles are cut into {} equal parts along k, {part:.2} tiles each, and every multiprocessor has one. The other {} tiles are \
        {} for each. Where a part ends within a tile, its block leaves the sums in memory, and the block that has the tile's end adds them.",
        streamed.tiles,
        streamed.blocks,
        tiles - streamed.tiles,
        (tiles - streamed.tiles) / streamed.blocks.max(1),
    );
    svg.hanging([MARGIN, y + 26.0 + LINE + 6.0], 0.0, INSIDE, &words) - 4.0
}

/// The tiles that are computed at one time, by blocks that stay.
fn persistent(svg: &mut Svg, step: &Step, top: f64) -> f64 {
    let tile = step.tile;
    let [rows, columns] = [SIZE.div_ceil(tile.bm), SIZE.div_ceil(tile.bn)];
    let top = heading(svg, top, &format!("{SIZE} x {SIZE} on {SM_COUNT} multiprocessors: {} tiles", rows * columns));
    let scale = 240.0 / f64::from(SIZE);
    let [width, height] = [tile.bn, tile.bm].map(|side| f64::from(side) * scale);
    for number in 0..rows * columns {
        let [row, column] = persistent_tile(number, [rows, columns], tile.bm, step.cluster[0]);
        let class = ["c3", "c2", "c1"][(number / SM_COUNT).min(2) as usize];
        svg.rect(class, [MARGIN + f64::from(column) * width, top + f64::from(row) * height, width, height]);
    }
    for row in 0..=rows {
        let y = top + f64::from(row) * height;
        svg.line("thin", [MARGIN, y], [MARGIN + 240.0, y]);
    }
    for column in 0..=columns {
        let x = MARGIN + f64::from(column) * width;
        svg.line("thin", [x, top], [x, top + 240.0]);
    }
    svg.rect("edge", [MARGIN, top, 240.0, 240.0]);
    let x = MARGIN + 264.0;
    let mut y = top + 14.0;
    for (class, text) in [
        ("c3", format!("The first {SM_COUNT} tiles, at one time: each multiprocessor has a block that stays.")),
        ("c2", "The next ones: their slices come while C of the first is stored.".to_owned()),
        ("c1", "All others.".to_owned()),
    ] {
        svg.rect(class, [x, y - 11.0, 13.0, 13.0]);
        y = svg.hanging([x, y], 20.0, WIDTH - MARGIN - x, &text) + LINE / 2.0;
    }
    let words =
        "Tiles go down some rows, then to the next column: what is read of A and B at one time stays in the L2 cache.";
    svg.hanging([x, y], 0.0, WIDTH - MARGIN - x, words);
    top + 240.0 + 12.0
}
