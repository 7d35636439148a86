//! The panels, their bars and the columns of values beside them.

use results::format::{self, or_dash, percent, tflops, trimmed};

use super::axis::Axis;
use super::{Bar, FORM_OF_PEERS, Line, NAME, Panel, Step};
use crate::canvas::{Anchor, Canvas, Drawing, Layout, Type};
use crate::data::{Data, run_mark, tip};
use crate::grid::vertical_grid;
use crate::legend::{self, GROUPS, Swatch};
use crate::scale::{Scale, tflops as tick};

/// A column of values: its heading, and the text of a bar.
type Column = (&'static str, fn(&Bar) -> String);

fn speed(bar: &Bar) -> String {
    tflops(bar.row.gflops)
}

fn share(bar: &Bar) -> String {
    or_dash(bar.row.percent_of_cublas, |share| format!("{} %", percent(share)))
}

fn peak_share(bar: &Bar) -> String {
    or_dash(bar.row.of_peak(), |share| format!("{} %", percent(share)))
}

fn times(bar: &Bar) -> String {
    or_dash(bar.ratio, |ratio| format!("{} x", format::times(ratio)))
}

/// Where the parts of a line are, in pixels from the left.
struct Columns {
    name: f64,
    bars: (f64, f64),
    /// The right ends of the columns of values, with their headings.
    values: Vec<(f64, Column)>,
    bar_height: f64,
    bar_distance: f64,
    step_distance: f64,
}

impl Columns {
    fn new(data: &Data, panels: &[Panel], axis: Axis, layout: Layout) -> Self {
        let look = Type { size: layout.font(), class: "" };
        let names = panels.iter().flat_map(|panel| &panel.steps).map(|step| look.width(&step.entry.name()));
        let name = names.fold(0.0, f64::max) + layout.pick(4.0, 0.0);
        let ratio = if data.is_single() { "over base" } else { "of the first" };
        let has_cublas = panels
            .iter()
            .flat_map(|panel| &panel.steps)
            .flat_map(|step| &step.bars)
            .any(|bar| bar.row.percent_of_cublas.is_some());
        let of_axis: Column = match axis {
            Axis::Peak => ("of peak", peak_share),
            Axis::Absolute | Axis::Cublas => ("of cuBLAS", share),
        };
        let values: Vec<(f64, Column)> = match (layout.is_wide(), axis) {
            (false, Axis::Absolute) => vec![(359.0, ("TFLOPS", speed))],
            (false, _) => vec![(359.0, of_axis)],
            (true, Axis::Absolute) if !has_cublas => vec![(860.0, ("TFLOPS", speed)), (958.0, (ratio, times))],
            (true, _) => vec![(770.0, ("TFLOPS", speed)), (860.0, of_axis), (958.0, (ratio, times))],
        };
        let bars = layout
            .pick(if values.len() > 2 { (name + 12.0, 690.0) } else { (name + 12.0, 780.0) }, (name + 8.0, 298.0));
        let bar_distance = if data.is_single() { 0.0 } else { layout.font() + 3.0 };
        Self {
            name,
            bars,
            values,
            bar_height: if data.is_single() { layout.pick(15.0, 13.0) } else { 10.0 },
            bar_distance,
            step_distance: if data.is_single() { layout.pick(24.0, 22.0) } else { layout.font() + 12.0 },
        }
    }
}

pub(super) fn draw(data: &Data, panels: &[Panel], axis: Axis, layout: Layout) -> Drawing {
    let mut canvas = Canvas::new(&format!("{NAME}-{}", axis.id()), layout);
    let columns = Columns::new(data, panels, axis, layout);
    let mut y = legend::draw(&mut canvas, 0.0, &legend(data, panels));
    for panel in panels {
        // Where there are two panels, they are of different scales.
        let title = match (panels.len(), axis) {
            (2, Axis::Absolute) => format!("{} (axis to {} TFLOPS)", panel.title, tflops(panel.most(axis))),
            _ => panel.title.clone(),
        };
        y = draw_panel(&mut canvas, panel, &title, &columns, axis, y + 14.0);
    }
    canvas.finish(y + 8.0)
}

fn legend(data: &Data, panels: &[Panel]) -> Vec<(Swatch, String)> {
    let bars = || panels.iter().flat_map(|panel| &panel.steps).flat_map(|step| &step.bars);
    let mut items = Vec::new();
    if data.is_single() {
        for (colour, what) in GROUPS {
            let how = if data.has_measured() { ", modelled" } else { "" };
            for (is_modelled, how) in [(false, ""), (true, how)] {
                if bars().any(|bar| bar.colour == colour && bar.row.modelled == is_modelled) {
                    items.push((Swatch::Bar(colour, is_modelled), format!("{what}{how}")));
                }
            }
        }
    } else {
        for (i, view) in data.measured() {
            let is_modelled = bars().any(|bar| bar.view == i && bar.row.modelled);
            items.push((Swatch::Bar(i, is_modelled), format!("{}: {}{}", run_mark(i), view.label, data.role(view))));
        }
    }
    if data.is_single() && bars().any(|bar| bar.base.is_some()) {
        items.push((Swatch::Gain, "the gain over the base".into()));
    }
    if bars().any(|bar| bar.peer.is_some()) {
        items.push((Swatch::Shape(FORM_OF_PEERS, "f-ink s-paper"), "the same idea in CUDA C++".into()));
    }
    if panels
        .iter()
        .any(|panel| panel.has_ticks && panel.steps.iter().flat_map(|step| &step.bars).any(|bar| bar.cublas.is_some()))
    {
        items.push((Swatch::Upright("s-ink"), "cuBLAS in the step's precision".into()));
    }
    items
}

fn draw_panel(canvas: &mut Canvas, panel: &Panel, title: &str, columns: &Columns, axis: Axis, top: f64) -> f64 {
    let layout = canvas.layout;
    let small = Type { size: layout.font() - 1.0, class: "f-muted" };
    canvas.text(0.0, top + 8.0, Anchor::Start, Type { size: layout.font() + 1.0, class: "b f-ink" }, title);
    let scale = Scale::linear(panel.most(axis), columns.bars);
    let line_height = small.size + 5.0;
    let lines: Vec<(f64, &Line)> =
        panel.lines.iter().filter_map(|line| Some((scale.at(axis.at_line(line)?), line))).collect();
    let rows = label_rows(&lines, small);
    let count = rows.iter().copied().max().map_or(1, |row| row + 1);
    let plot = top + 24.0 + line_height * count as f64;
    for &(right, (heading, _)) in &columns.values {
        canvas.text(right, plot - line_height / 2.0 - 2.0, Anchor::End, small, heading);
    }
    let height = |step: &Step| columns.step_distance + columns.bar_distance * (step.bars.len().max(1) - 1) as f64;
    let bottom = plot + panel.steps.iter().map(height).sum::<f64>() + 4.0;
    let ticks = scale.ticks(layout.pick(7.0, 3.0));
    let percent = |value: f64| format!("{} %", trimmed(value));
    vertical_grid(canvas, &scale, [plot, bottom], &ticks, if axis == Axis::Absolute { tick } else { percent });

    let mut y = plot + 2.0;
    for step in &panel.steps {
        draw_step(canvas, step, columns, (&scale, axis), panel.has_ticks, y);
        y += height(step);
    }
    for ((x, Line { label, class, .. }), row) in lines.into_iter().zip(&rows) {
        let middle = plot - line_height * (*row as f64 + 0.5) - 2.0;
        canvas.line([x, middle - small.size / 2.0], [x, bottom], 1.5, class);
        let look = Type { class: "f-ink", ..small };
        canvas.text((x - 5.0).max(look.width(label)), middle, Anchor::End, look, label);
    }
    bottom + small.size * 1.7
}

/// The row, counted from the lowest, of each line's label: it ends at its line, and lines of labels above pass on its right.
fn label_rows(lines: &[(f64, &Line)], look: Type) -> Vec<usize> {
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by(|a, b| lines[*a].0.total_cmp(&lines[*b].0));
    let mut rows = vec![0; lines.len()];
    let mut ends: Vec<f64> = Vec::new();
    for i in order {
        let (right, line) = lines[i];
        let left = right - 11.0 - look.width(&line.label);
        // A label must lie above those that it would overlap, and below none that is further left.
        let row = ends.iter().rposition(|end| *end > left).map_or(0, |row| row + 1);
        ends.resize(ends.len().max(row + 1), f64::MIN);
        ends[row] = right;
        rows[i] = row;
    }
    rows
}

fn draw_step(
    canvas: &mut Canvas,
    step: &Step,
    columns: &Columns,
    (scale, axis): (&Scale, Axis),
    has_ticks: bool,
    top: f64,
) {
    let layout = canvas.layout;
    let name = Type { size: layout.font(), class: "f-ink" };
    let first = top + columns.step_distance / 2.0;
    let middle = first + columns.bar_distance * (step.bars.len() - 1) as f64 / 2.0;
    canvas.text(columns.name, middle, Anchor::End, name, &step.entry.name());
    for (i, bar) in step.bars.iter().enumerate() {
        let y = first + columns.bar_distance * i as f64;
        let mut lines = tip(bar.run, bar.row);
        if columns.bar_distance > 0.0 {
            lines.insert(1, format!("run {}", run_mark(bar.view)));
        }
        lines.extend(bar.peer.map(|peer| format!("the same idea in CUDA C++: {} TFLOPS", tflops(peer))));
        canvas.mark(&lines, |canvas| {
            let (x, half) = (scale.at(0.0), columns.bar_height / 2.0);
            let at = |gflops: f64| axis.at(bar, gflops).map(|value| scale.at(value));
            let Some(end) = at(bar.row.gflops) else { return };
            canvas.bar([x, y - half, end - x, columns.bar_height], bar.colour, bar.row.modelled);
            if let Some(base) = bar.base.filter(|_| columns.bar_distance == 0.0).and_then(at) {
                canvas.rect([x, y - half, base.min(end) - x, columns.bar_height], "f-paper pale", 0.0);
                canvas.line([base, y - half], [base, y + half], 1.0, "s-muted");
            }
            if let Some(x) = bar.cublas.filter(|_| has_ticks).and_then(at) {
                canvas.line([x, y - half - 3.0], [x, y + half + 3.0], 2.0, "s-ink");
            }
            if let Some(x) = bar.peer.and_then(at) {
                canvas.shape([x, y], 4.5, FORM_OF_PEERS, "f-ink s-paper", 1.5);
            }
        });
        for (right, (heading, text)) in &columns.values {
            let class = if *heading == "TFLOPS" { "f-ink" } else { "f-muted" };
            canvas.text(*right, y, Anchor::End, Type { class, ..name }, &text(bar));
        }
    }
}
