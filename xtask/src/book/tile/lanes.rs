//! The second panel: which lane of a warp has which elements of C.

use std::collections::BTreeMap;

use gpu_kernels::Step;

use super::accesses::{columns, rows};
use super::notes::by;
use super::placement::{Place, computing, elements, shares_k};
use super::sheet::{Anchor, MARGIN, Sheet, WIDTH, heading};

const WARP: u32 = 32;

/// The size of a lane's cell.
const CELL: [f64; 2] = [21.0, 20.0];

/// The part of a warp's elements in which each lane is once, in cells of so many rows and columns.
struct Map {
    /// The lanes, by row and column of cells.
    cells: BTreeMap<Place, u32>,
    /// Rows and columns of a cell: adjacent elements of one lane.
    cell: [u32; 2],
    /// Rows and columns of cells.
    shape: [u32; 2],
}

impl Map {
    fn of(step: &Step) -> Self {
        let first = computing(step).start;
        let lanes: Vec<Vec<Place>> = (first..first + WARP).map(|thread| elements(step, thread)).collect();
        let run = |values: std::collections::BTreeSet<u32>| {
            let start = values.first().copied().unwrap_or_default();
            (start..).zip(&values).take_while(|(expected, value)| expected == *value).count() as u32
        };
        let cell = [run(rows(&lanes[0])), run(columns(&lanes[0]))];
        // Each lane's first cell.
        let cells: BTreeMap<Place, u32> = (0..)
            .zip(&lanes)
            .filter_map(|(lane, places)| places.iter().min().map(|[row, col]| ([row / cell[0], col / cell[1]], lane)))
            .collect();
        let shape = [0, 1].map(|axis| cells.keys().map(|place| place[axis] + 1).max().unwrap_or_default());
        Self { cells, cell, shape }
    }
}

/// Draws the panel under `top`, and gives its lower end.
pub fn panel(sheet: &mut Sheet, step: &Step, top: f64) -> f64 {
    if step.tile.bk == 1 || shares_k(step) {
        return top;
    }
    let Map { cells, cell, shape } = Map::of(step);
    let top = heading(sheet, top, "a warp: which lane has which elements of C");
    let [left, top] = [MARGIN, top];
    for (&[row, column], &lane) in &cells {
        let [x, y] = [left + f64::from(column) * CELL[0], top + f64::from(row) * CELL[1]];
        sheet.rect(if (row + column) % 2 == 0 { "c1" } else { "c2" }, [x, y, CELL[0], CELL[1]]);
        sheet.text("", Anchor::Middle, [x + CELL[0] / 2.0, y + 14.5], &lane.to_string());
    }
    let [height, width] = [f64::from(shape[0]) * CELL[1], f64::from(shape[1]) * CELL[0]];
    sheet.rect("edge", [left, top, width, height]);
    let text = words(step, cell, shape);
    let is_wide = width > WIDTH / 2.0;
    if is_wide {
        sheet.hanging([left, top + height + 20.0], 0.0, WIDTH - 2.0 * MARGIN, &text)
    } else {
        let end = sheet.hanging([left + width + 20.0, top + 14.0], 0.0, WIDTH - 2.0 * MARGIN - width - 20.0, &text);
        end.max(top + height + 14.0)
    }
}

/// What the map shows.
fn words(step: &Step, cell: [u32; 2], shape: [u32; 2]) -> String {
    let first = computing(step).start;
    let warp: Vec<_> = (first..first + WARP).flat_map(|thread| elements(step, thread)).collect();
    let all = [rows(&warp).len(), columns(&warp).len()].map(|count| count as u32);
    let is_apart = shape[0] * shape[1] > WARP;
    let shown = cell[0] * cell[1] * WARP;
    let cell = match cell {
        [1, 1] => "one element".into(),
        _ => format!("{} elements", by(cell)),
    };
    let gap = if is_apart {
        " Between the cells are the lanes' second columns, 4 further on, and another warp's."
    } else {
        ""
    };
    let times = match warp.len() as u32 / shown {
        1 => "the map is all of it".into(),
        times => format!("the map repeats {times} times, in both directions"),
    };
    format!("Each number is a lane, and each cell {cell}. The warp tile is {}: {times}.{gap}", by(all))
}
