//! The first panel: a block's tile of C, and a k-tile of A and of B, to scale.

use gpu_kernels::{Operand, Precision, Step};

use super::accesses::{columns, rectangles, rows, sectors};
use super::notes::{self, Example, TOUCHED};
use super::placement::{Place, Share, has_warp_mmas, shares_k};
use super::sheet::{Anchor, LINE, Sheet, heading};

/// Where the picture ends and the notes begin.
const NOTES: f64 = 464.0;
const NOTES_WIDTH: f64 = 244.0;

/// From A to C and from B to C: labels stand between.
const GAP: f64 = 30.0;
const LEFT: f64 = 88.0;
const TALLEST: f64 = 350.0;

/// Where the matrices are, and how large an element is.
struct Frame {
    a: [f64; 2],
    b: [f64; 2],
    c: [f64; 2],
    scale: f64,
    /// Columns of A and rows of B that are drawn.
    depth: u32,
}

impl Frame {
    fn of(step: &Step, top: f64) -> Self {
        let tile = step.tile;
        let depth = notes::depth(step);
        let blocks = notes::blocks_beside(step);
        let width = NOTES - 20.0 - LEFT - GAP - f64::from(blocks - 1) * GAP;
        let [across, down] = [depth + blocks * tile.bn, depth + tile.bm].map(f64::from);
        let scale = (width / across).min((TALLEST - GAP) / down);
        let drawn = f64::from(depth) * scale;
        let [x, y] = [LEFT + drawn + GAP, top + 26.0 + drawn + GAP];
        Self { a: [LEFT, y], b: [x, top + 26.0], c: [x, y], scale, depth }
    }

    /// A rectangle of elements of the matrix whose corner is at `origin`.
    fn rect(&self, sheet: &mut Sheet, class: &str, origin: [f64; 2], [row, column, rows, columns]: [u32; 4]) {
        let [row, column, rows, columns] =
            [row, column, rows, columns].map(|elements| f64::from(elements) * self.scale);
        sheet.rect(class, [origin[0] + column, origin[1] + row, columns, rows]);
    }

    fn all(&self, sheet: &mut Sheet, class: &str, origin: [f64; 2], places: impl IntoIterator<Item = Place>) {
        for rectangle in rectangles(places) {
            self.rect(sheet, class, origin, rectangle);
        }
    }
}

/// Draws the panel under `top`, and gives its lower end.
pub fn panel(sheet: &mut Sheet, step: &Step, top: f64) -> f64 {
    let top = heading(sheet, top, &format!("{}: what a block multiplies, to scale", step.slug));
    let frame = Frame::of(step, top);
    matrices(sheet, step, &frame);
    if step.tile.bk == 1 {
        one_access(sheet, step, &frame);
    } else {
        parts(sheet, step, &frame);
        copies(sheet, step, &frame);
    }
    outlines(sheet, step, &frame);
    labels(sheet, step, &frame);
    let picture = frame.c[1] + f64::from(step.tile.bm) * frame.scale + 2.0 * LINE;
    picture.max(notes::draw(sheet, &notes::of(step), [NOTES, top + 14.0], NOTES_WIDTH))
}

/// The k-tiles and the tile, and those of the cluster's other blocks beside it.
fn matrices(sheet: &mut Sheet, step: &Step, frame: &Frame) {
    let (tile, depth) = (step.tile, frame.depth);
    for block in 1..notes::blocks_beside(step) {
        let x = f64::from(block) * (f64::from(tile.bn) * frame.scale + GAP);
        frame.rect(sheet, "ghost", [frame.b[0] + x, frame.b[1]], [0, 0, depth, tile.bn]);
        frame.rect(sheet, "ghost", [frame.c[0] + x, frame.c[1]], [0, 0, tile.bm, tile.bn]);
        let middle = frame.c[0] + x + f64::from(tile.bn) * frame.scale / 2.0;
        sheet.text(
            "mute",
            Anchor::Middle,
            [middle, frame.c[1] + f64::from(tile.bm) * frame.scale / 2.0],
            &format!("block {block}"),
        );
    }
    frame.rect(sheet, "a1", frame.a, [0, 0, tile.bm, depth]);
    frame.rect(sheet, "b1", frame.b, [0, 0, depth, tile.bn]);
    frame.rect(sheet, "c1", frame.c, [0, 0, tile.bm, tile.bn]);
}

/// What one load of each matrix touches, where there is no shared memory: elements, and the sectors that they lie in.
fn one_access(sheet: &mut Sheet, step: &Step, frame: &Frame) {
    let Example { group, .. } = Example::of(step);
    let a = rows(&group).into_iter().map(|row| [row, TOUCHED]);
    let b = columns(&group).into_iter().map(|column| [TOUCHED, column]);
    for (shade, origin, places) in
        [("a", frame.a, a.collect()), ("b", frame.b, b.collect()), ("c", frame.c, group.clone())] as [(_, _, Vec<_>); 3]
    {
        frame.all(sheet, &format!("{shade}2"), origin, sectors(places.clone()));
        frame.all(sheet, &format!("{shade}3"), origin, places);
    }
}

/// The elements of C of a warp or a warpgroup and of one of its threads, and the operands that they take.
fn parts(sheet: &mut Sheet, step: &Step, frame: &Frame) {
    let Example { group, thread, .. } = Example::of(step);
    let band = |sheet: &mut Sheet, shade: u32, places: &[Place], [in_a, in_b]: [bool; 2]| {
        if in_a {
            let a = rows(places).into_iter().flat_map(|row| (0..frame.depth).map(move |d| [row, d]));
            frame.all(sheet, &format!("a{shade}"), frame.a, a);
        }
        if in_b {
            let b = columns(places).into_iter().flat_map(|column| (0..frame.depth).map(move |d| [d, column]));
            frame.all(sheet, &format!("b{shade}"), frame.b, b);
        }
        frame.all(sheet, &format!("c{shade}"), frame.c, places.iter().copied());
    };
    band(sheet, 2, &group, [true, true]);
    // An MMA of a warpgroup reads its operands from shared memory; only TF32 takes one of them, B, from registers.
    band(
        sheet,
        3,
        &thread,
        match step.precision {
            Precision::Fp32 => [true, true],
            _ if has_warp_mmas(step) => [true, true],
            Precision::Tf32 => [false, true],
            _ => [false, false],
        },
    );
}

/// What a warp and one of its threads copy; or the TMA boxes.
fn copies(sheet: &mut Sheet, step: &Step, frame: &Frame) {
    for (operand, origin) in [(Operand::A, frame.a), (Operand::B, frame.b)] {
        if let Some(share) = Share::of(step, operand) {
            let warp =
                (0..32).filter(|thread| *thread != notes::COPIER).flat_map(|thread| share.elements(step, thread));
            frame.all(sheet, "copy2", origin, warp);
            frame.all(sheet, "copy3", origin, share.elements(step, notes::COPIER));
        }
    }
    let Some([a, b]) = notes::boxes(step) else { return };
    for (origin, [rows, columns], [height, width]) in
        [(frame.a, a, [step.tile.bm, frame.depth]), (frame.b, b, [frame.depth, step.tile.bn])]
    {
        for row in (0..height).step_by(rows as usize) {
            for column in (0..width).step_by(columns as usize) {
                let [x, y, w, h] = [column, row, columns, rows].map(|elements| f64::from(elements) * frame.scale);
                sheet.rect("dash", [origin[0] + x + 1.5, origin[1] + y + 1.5, w - 3.0, h - 3.0]);
            }
        }
    }
}

/// Frames, and lines between warps.
fn outlines(sheet: &mut Sheet, step: &Step, frame: &Frame) {
    let (tile, depth) = (step.tile, frame.depth);
    if tile.bk > 1 && !shares_k(step) {
        for [row, column, rows, columns] in notes::warps(step) {
            frame.rect(sheet, "thin", frame.c, [row, column, rows, columns]);
        }
    }
    if step.has_split_operands() {
        let half = f64::from(depth / 2) * frame.scale;
        let [height, width] = [tile.bm, tile.bn].map(|elements| f64::from(elements) * frame.scale);
        sheet.line("edge", [frame.a[0] + half, frame.a[1]], [frame.a[0] + half, frame.a[1] + height]);
        sheet.line("edge", [frame.b[0], frame.b[1] + half], [frame.b[0] + width, frame.b[1] + half]);
        for (name, middle) in [("hi", half / 2.0), ("lo", half * 1.5)] {
            sheet.text("", Anchor::Middle, [frame.a[0] + middle, frame.a[1] + 26.0], name);
            sheet.text("", Anchor::Middle, [frame.b[0] + 24.0, frame.b[1] + middle + 4.5], name);
        }
    }
    for (origin, [rows, columns]) in
        [(frame.a, [tile.bm, depth]), (frame.b, [depth, tile.bn]), (frame.c, [tile.bm, tile.bn])]
    {
        frame.rect(sheet, "edge", origin, [0, 0, rows, columns]);
    }
}

/// Names and sizes.
fn labels(sheet: &mut Sheet, step: &Step, frame: &Frame) {
    let tile = step.tile;
    let size = |elements: u32| f64::from(elements) * frame.scale;
    let ([ax, ay], [bx, by], [cx, cy]) = (frame.a, frame.b, frame.c);
    let drawn = size(frame.depth);
    sheet.across([bx, bx + size(tile.bn)], by - 8.0, &format!("BN = {}", tile.bn), true);
    sheet.down(ax - 8.0, [ay, ay + size(tile.bm)], &format!("BM = {}", tile.bm));
    let depth = match (tile.bk, step.has_split_operands()) {
        (1, _) => "k".to_owned(),
        (bk, false) => format!("BK = {bk}"),
        (bk, true) => format!("2 x BK, BK = {bk}"),
    };
    let bottom = ay + size(tile.bm);
    sheet.across([ax, ax + drawn], bottom + 8.0, &depth, false);
    sheet.down(bx - 8.0, [by, by + drawn], &depth);
    sheet.text("bold", Anchor::Middle, [ax + drawn / 2.0, ay - 8.0], "A");
    sheet.text("bold", Anchor::Start, [bx + size(tile.bn) + 4.0, by + (drawn / 2.0).min(20.0) + 4.0], "B");
    sheet.text("bold", Anchor::Middle, [cx + size(tile.bn) / 2.0, cy + size(tile.bm) + LINE], "C");
}
