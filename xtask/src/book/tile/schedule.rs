//! The last panel: which block computes what, where the schedule is not one tile per block.

use gpu_kernels::{Coord, Extent, Group, Schedule, Step, persistent_tile};

use super::sheet::{Anchor, LINE, MARGIN, Sheet, WIDTH, heading};

/// The problem and the device of the examples: square matrices, and the SMs of an H200.
const SIZE: u32 = 4096;
const SM_COUNT: u32 = 132;

const INSIDE: f64 = WIDTH - 2.0 * MARGIN;

/// Draws the panel under `top` where there is such a schedule, and gives its lower end.
pub fn panel(sheet: &mut Sheet, step: &Step, top: f64) -> f64 {
    match step.schedule {
        Schedule::DataParallel | Schedule::SerialSplitK { .. } | Schedule::PlannedSplitK { .. } => top,
        Schedule::SplitK { splits } => split(sheet, splits, top),
        Schedule::StreamK { .. } => stream(sheet, step, top),
        Schedule::Persistent { group } => persistent(sheet, step, group, top),
        Schedule::PersistentBatch { .. } => persistent(sheet, step, Group::ALONE, top),
    }
}

/// The k of a tile, shared by the blocks of a cluster.
fn split(sheet: &mut Sheet, splits: u32, top: f64) -> f64 {
    let top = heading(sheet, top, &format!("one tile of C: its k, divided among a cluster of {splits} blocks"));
    let width = INSIDE / f64::from(splits);
    for split in 0..splits {
        let x = MARGIN + f64::from(split) * width;
        let class = ["a1", "a2"][split as usize % 2];
        sheet.rect(class, [x, top, width, 24.0]);
        sheet.text("", Anchor::Middle, [x + width / 2.0, top + 16.5], &format!("split {split} of k"));
        sheet.arrow([x + width / 2.0, top + 24.0], [x + width / 2.0, top + 44.0]);
        // The block's partial tile, and the strip of it that it reduces and stores.
        let [left, side] = [x + width / 2.0 - 36.0, 72.0];
        sheet.rect("c1", [left, top + 44.0, side, side]);
        let strip = side / f64::from(splits);
        sheet.rect("c3", [left, top + 44.0 + f64::from(split) * strip, side, strip]);
        sheet.rect("edge", [left, top + 44.0, side, side]);
        sheet.text("", Anchor::Middle, [x + width / 2.0, top + 44.0 + side + LINE], &format!("block {split}"));
    }
    sheet.rect("edge", [MARGIN, top, INSIDE, 24.0]);
    let words = "Each block publishes its partial tile in its shared memory. It reduces one strip (dark) of the partial tiles of all \
        blocks, read through distributed shared memory, and stores it to C.";
    sheet.hanging([MARGIN, top + 116.0 + 2.0 * LINE + 6.0], 0.0, INSIDE, words) - 4.0
}

/// The stream-K tiles, divided into equal work units.
fn stream(sheet: &mut Sheet, step: &Step, top: f64) -> f64 {
    let streamed = step.stream_k_tiles(SIZE, SIZE, SM_COUNT);
    let tiles = SIZE.div_ceil(step.tile.bm) * SIZE.div_ceil(step.tile.bn);
    let top = heading(sheet, top, &format!("{SIZE} x {SIZE} on {SM_COUNT} SMs: {tiles} tiles"));
    let shown = 5;
    let width = INSIDE / f64::from(shown);
    for tile in 0..shown {
        let x = MARGIN + f64::from(tile) * width;
        sheet.rect(["c1", "c2"][tile as usize % 2], [x, top, width, 26.0]);
        sheet.text("", Anchor::Middle, [x + width / 2.0, top + 17.5], &format!("k of tile {tile}"));
    }
    sheet.rect("edge", [MARGIN, top, INSIDE, 26.0]);
    let part = f64::from(streamed.tiles) / f64::from(streamed.blocks);
    let y = top + 34.0;
    let mut block = 0;
    while f64::from(block) * part < f64::from(shown) {
        let [start, end] = [block, block + 1].map(|block| (f64::from(block) * part).min(f64::from(shown)) * width);
        sheet.rect(["a1", "a2"][block as usize % 2], [MARGIN + start, y, end - start, 26.0]);
        sheet.rect("edge", [MARGIN + start, y, end - start, 26.0]);
        if end - start > 60.0 {
            sheet.text("", Anchor::Middle, [MARGIN + (start + end) / 2.0, y + 17.5], &format!("block {block}"));
        }
        block += 1;
    }
    let words = format!(
        "The first {} tiles are stream-K tiles: their k-tiles are divided into {} equal work units of {part:.2} tiles, one per SM. The \
        other {} are data-parallel tiles, {} per SM. Where a work unit ends within a tile, its block publishes a partial tile in the \
        reduction workspace. The block that has the tile's end loads and reduces it: the fixup.",
        streamed.tiles,
        streamed.blocks,
        tiles - streamed.tiles,
        (tiles - streamed.tiles) / streamed.blocks.max(1),
    );
    sheet.hanging([MARGIN, y + 26.0 + LINE + 6.0], 0.0, INSIDE, &words) - 4.0
}

/// The tiles that are computed at one time, by persistent blocks.
fn persistent(sheet: &mut Sheet, step: &Step, group: Group, top: f64) -> f64 {
    let tile = step.tile;
    let [rows, columns] = [SIZE.div_ceil(tile.bm), SIZE.div_ceil(tile.bn)];
    let top = heading(sheet, top, &format!("{SIZE} x {SIZE} on {SM_COUNT} SMs: {} tiles", rows * columns));
    let scale = 240.0 / f64::from(SIZE);
    let [width, height] = [tile.bn, tile.bm].map(|side| f64::from(side) * scale);
    for number in 0..rows * columns {
        let Coord { row, col: column } = persistent_tile(number, Extent { rows, cols: columns }, tile.bm, group);
        let class = ["c3", "c2", "c1"][(number / SM_COUNT).min(2) as usize];
        sheet.rect(class, [MARGIN + f64::from(column) * width, top + f64::from(row) * height, width, height]);
    }
    for row in 0..=rows {
        let y = top + f64::from(row) * height;
        sheet.line("thin", [MARGIN, y], [MARGIN + 240.0, y]);
    }
    for column in 0..=columns {
        let x = MARGIN + f64::from(column) * width;
        sheet.line("thin", [x, top], [x, top + 240.0]);
    }
    sheet.rect("edge", [MARGIN, top, 240.0, 240.0]);
    let x = MARGIN + 264.0;
    let mut y = top + 14.0;
    for (class, text) in [
        ("c3", format!("The first {SM_COUNT} tiles, at one time: a persistent block per SM.")),
        ("c2", "The next ones: their k-tiles are loaded while C of the first is stored.".to_owned()),
        ("c1", "All others.".to_owned()),
    ] {
        sheet.rect(class, [x, y - 11.0, 13.0, 13.0]);
        y = sheet.hanging([x, y], 20.0, WIDTH - MARGIN - x, &text) + LINE / 2.0;
    }
    let words = "Tiles go down some rows, then to the next column: the operands that are read at one time stay in L2.";
    sheet.hanging([x, y], 0.0, WIDTH - MARGIN - x, words);
    top + 240.0 + 12.0
}
