//! TFLOPS by size: a line for each step, with cuBLAS beside them.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, PreEscaped, html};
use results::Measurement;
use results::format::{or_dash, times};

use crate::canvas::{Anchor, Canvas, Drawing, Layout, Type};
use crate::data::{Data, Entry, View, run_mark, tip};
use crate::document::pixel;
use crate::grid::horizontal_grid;
use crate::picture::{LeftOut, Picture};
use crate::place::spread;
use crate::scale::{Scale, tflops as tick};
use crate::table::Table;

const NAME: &str = "sizes";

/// A step is shown at first if it is that many times as fast as the one that was shown before.
const LEAP: f64 = 1.25;

/// Of sizes that are nearer to each other than that, the line goes through the rounder one alone.
const NEAR: f64 = 1.02;

pub(crate) fn picture(data: &Data) -> Result<Picture, LeftOut> {
    let title = "TFLOPS by size".to_owned();
    let sizes: BTreeSet<u32> = data.views.iter().flat_map(View::sizes).collect();
    let (on_line, beside) = split(&sizes);
    if on_line.len() < 2 {
        let reason = "The results have fewer than two square sizes: `--size 1024,2048,4096` measures several.".into();
        return Err(LeftOut { name: NAME, title, reason });
    }
    let shown = shown(data, *on_line.last().unwrap_or(&0));
    let sheet = Sheet { data, sizes: &on_line, shown: &shown };
    let mut note = "m = n = k, both axes logarithmic. ".to_owned();
    if data.baselines().next().is_some() {
        note += "Dashed: cuBLAS. ";
    }
    if !beside.is_empty() {
        let list: Vec<_> = beside.iter().map(u32::to_string).collect();
        note += &format!("In the table only, since an adjacent size would hide it: {}. ", list.join(", "));
    }
    if data.has_modelled() {
        note += "Hollow marks on dotted lines are modelled. ";
    }
    Ok(Picture {
        name: NAME.to_owned(),
        title: format!("{title}{}", data.how().replace("hatched or dashed", "hollow")),
        source: data.source(),
        note,
        table: table(data, &sizes),
        controls: Some(controls(data, &shown)),
        drawings: Layout::ALL.map(|layout| sheet.draw(layout)),
        variants: Vec::new(),
    })
}

/// The sizes that lines go through, and those that are too near to a rounder one to be seen beside it.
fn split(sizes: &BTreeSet<u32>) -> (Vec<u32>, Vec<u32>) {
    let near = |a: u32, b: u32| f64::from(a.max(b)) < NEAR * f64::from(a.min(b));
    let is_beside =
        |size: &u32| sizes.iter().any(|other| near(*size, *other) && other.trailing_zeros() > size.trailing_zeros());
    let (beside, on_line) = sizes.iter().partition(|size| is_beside(size));
    (on_line, beside)
}

/// What is shown at first: the steps that are leaps, the fastest of each arithmetic, and cuBLAS.
fn shown(data: &Data, largest: u32) -> BTreeSet<String> {
    let size = data.size.unwrap_or(largest);
    let speed = |entry: &Entry| data.views.iter().find_map(|view| view.row(entry, size)).map_or(0.0, |row| row.gflops);
    let mut shown: BTreeSet<String> = data.baselines().map(Entry::id).collect();
    let mut last = 0.0;
    for entry in data.steps().filter(|entry| !entry.is_on_tensor_cores()) {
        if speed(entry) > LEAP * last {
            shown.insert(entry.id());
            last = speed(entry);
        }
    }
    let mut best: BTreeMap<&str, &Entry> = BTreeMap::new();
    for entry in data.steps() {
        let other = best.entry(entry.precision.as_str()).or_insert(entry);
        if speed(entry) > speed(other) {
            *other = entry;
        }
    }
    shown.extend(best.values().map(|entry| entry.id()));
    shown
}

/// Boxes to choose lines by: they work without a script.
fn controls(data: &Data, shown: &BTreeSet<String>) -> Markup {
    let rule = |entry: &Entry| {
        let (off, class) = (format!(".sizes:has(#sizes-{}:not(:checked))", entry.id()), format!("k-{}", entry.id()));
        format!(
            "{off} .{class} .m,{off} .{class} .lab{{display:none}}{off} .{class} .line{{stroke:var(--ghost);stroke-width:1px}}\
                 .sizes:has(#sizes-others:not(:checked)):has(#sizes-{}:not(:checked)) .{class}{{display:none}}",
            entry.id()
        )
    };
    let rules: String = data.entries.iter().map(rule).collect();
    html! {
        style { (PreEscaped(rules)) }
        fieldset.toggles {
            legend { "Lines" }
            @for entry in &data.entries {
                label {
                    input type="checkbox" id={ "sizes-" (entry.id()) } checked[shown.contains(&entry.id())];
                    (swatch(entry))
                    span { (entry.name()) }
                }
            }
            label { input type="checkbox" id="sizes-others" checked; span { "the others in grey" } }
            @for (value, text) in [("all", "all"), ("none", "none"), ("first", "as at first")] {
                button type="button" value=(value) { (text) }
            }
        }
    }
}

fn swatch(entry: &Entry) -> Markup {
    let mut canvas = Canvas::new("swatch", Layout::Wide);
    canvas.line([0.0, 7.0], [22.0, 7.0], 2.0, &line_class(entry, false));
    if !entry.is_baseline {
        canvas.point([11.0, 7.0], 4.0, entry.series(), false);
    }
    html! { svg.swatch viewBox="0 0 22 14" aria-hidden="true" { (canvas.finish(0.0).body) } }
}

fn line_class(entry: &Entry, is_modelled: bool) -> String {
    if entry.is_baseline {
        return format!("s-ink {}", baseline_dash(&entry.precision));
    }
    let dots = if is_modelled { " dots" } else { "" };
    format!("s-c{}{dots}", entry.series() % crate::theme::SERIES)
}

/// Dashes differ by arithmetic.
fn baseline_dash(precision: &str) -> &'static str {
    match precision {
        "fp32" => "dash2",
        "tf32" => "dash3",
        _ => "dash4",
    }
}

/// What all panels have in common.
struct Sheet<'a> {
    data: &'a Data<'a>,
    sizes: &'a [u32],
    shown: &'a BTreeSet<String>,
}

/// The place of one panel, and its axes.
struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Scale,
    y: Scale,
}

impl Sheet<'_> {
    fn draw(&self, layout: Layout) -> Drawing {
        let mut canvas = Canvas::new(NAME, layout);
        let views: Vec<_> = self.data.measured().collect();
        let columns = if views.len() > 1 { layout.pick(2, 1) } else { 1 };
        let width = (layout.width() - 24.0 * (columns - 1) as f64) / columns as f64;
        let height = layout.pick(if columns == 1 { 600.0 } else { 520.0 }, 560.0);
        let titles = if views.len() > 1 { 26.0 } else { 0.0 };
        for (place, &(i, view)) in views.iter().enumerate() {
            let (left, top) = ((width + 24.0) * (place % columns) as f64, (height + 20.0) * (place / columns) as f64);
            if views.len() > 1 {
                let look = Type { size: layout.font() + 1.0, class: "b f-ink" };
                let title = look.fit(&format!("{}: {}", run_mark(i), view.label), width);
                canvas.text(left, top + 8.0, Anchor::Start, look, &title);
            }
            self.panel(&mut canvas, view, [left, left + width, top + titles, top + height]);
        }
        let rows = views.len().div_ceil(columns) as f64;
        canvas.finish((height + 20.0) * rows - 20.0)
    }

    fn frame(&self, layout: Layout, [left, right, top, bottom]: [f64; 4]) -> Frame {
        let label = Type { size: layout.font() - 1.0, class: "" };
        let names = self.data.entries.iter().map(|entry| label.width(&entry.name()));
        let (left, right) = (left + label.width("0.005") + 8.0, right - names.fold(0.0, f64::max) - 30.0);
        let (top, bottom) = (top + 26.0, bottom - 40.0);
        let speeds = self.data.views.iter().flat_map(|view| view.run.measurements.iter());
        let speeds = speeds.filter(|row| row.size().is_some()).map(|row| row.gflops);
        let sizes = self.sizes.iter().map(|size| f64::from(*size));
        Frame {
            left,
            right,
            top,
            bottom,
            x: Scale::log(sizes, 1.04, (left, right)),
            y: Scale::log(speeds, 1.25, (bottom, top)),
        }
    }

    fn panel(&self, canvas: &mut Canvas, view: &View, place: [f64; 4]) {
        let layout = canvas.layout;
        let frame = self.frame(layout, place);
        let small = Type { size: layout.font() - 1.0, class: "f-muted" };
        canvas.text(place[0], frame.top - 18.0, Anchor::Start, small, "TFLOPS");
        horizontal_grid(canvas, &frame.y, [frame.left, frame.right], &frame.y.ticks(8.0), tick);
        let mut free = f64::MIN;
        for size in self.sizes {
            let (x, text) = (frame.x.at(f64::from(*size)), size.to_string());
            canvas.line([x, frame.top], [x, frame.bottom], 1.0, "s-faint");
            if x - small.width(&text) / 2.0 > free {
                canvas.text(x, frame.bottom + 14.0, Anchor::Middle, small, &text);
                free = x + small.width(&text) / 2.0 + 4.0;
            }
        }
        canvas.text((frame.left + frame.right) / 2.0, frame.bottom + 32.0, Anchor::Middle, small, "m = n = k");
        // Those in the background first, then cuBLAS.
        let mut order: Vec<&Entry> = self.data.entries.iter().collect();
        order.sort_by_key(|entry| (self.shown.contains(&entry.id()), !entry.is_baseline));
        let labels = self.labels(view, &frame, layout);
        for entry in order {
            let class = if self.shown.contains(&entry.id()) { "" } else { " off" };
            canvas.group(&format!("series k-{}{class}", entry.id()), |canvas| self.series(canvas, view, entry, &frame));
        }
        let room = format!("{} {} {}", pixel(layout.font() + 2.0), pixel(frame.top), pixel(frame.bottom));
        canvas.add(&html! { g class="labels" data-room=(room) { (labels) } });
    }

    /// The rows of a line, from small to large.
    fn rows<'v>(&self, view: &'v View, entry: &Entry) -> Vec<(f64, &'v Measurement)> {
        self.sizes.iter().filter_map(|size| Some((f64::from(*size), view.row(entry, *size)?))).collect()
    }

    fn series(&self, canvas: &mut Canvas, view: &View, entry: &Entry, frame: &Frame) {
        let rows = self.rows(view, entry);
        let place = |(size, row): &(f64, &Measurement)| [frame.x.at(*size), frame.y.at(row.gflops)];
        let points: Vec<_> = rows.iter().map(place).collect();
        let is_modelled = rows.iter().any(|(_, row)| row.modelled);
        canvas.path(&points, 1.8, &format!("line {}", line_class(entry, is_modelled)));
        let radius = canvas.layout.pick(3.6, 3.2);
        for row in &rows {
            canvas.mark(&tip(&view.run, row.1), |canvas| match (entry.is_baseline, row.1.modelled) {
                (false, is_modelled) => canvas.point(place(row), radius, entry.series(), is_modelled),
                (true, true) => canvas.shape(place(row), radius - 0.6, 0, "m f-paper s-ink", 1.0),
                (true, false) => canvas.shape(place(row), radius - 0.6, 0, "m f-ink s-paper", 1.0),
            });
        }
    }

    /// Names at the right, each at the height of its line's end or as near as there is room.
    fn labels(&self, view: &View, frame: &Frame, layout: Layout) -> Markup {
        let end = |entry: &Entry| {
            self.rows(view, entry).last().map(|(size, row)| [frame.x.at(*size), frame.y.at(row.gflops)])
        };
        let ends: Vec<_> = self.data.entries.iter().filter_map(|entry| Some((entry, end(entry)?))).collect();
        let (shown, others): (Vec<_>, Vec<_>) =
            ends.into_iter().partition(|(entry, _)| self.shown.contains(&entry.id()));
        let wanted: Vec<f64> = shown.iter().map(|(_, [_, y])| *y).collect();
        let places = spread(&wanted, layout.font() + 2.0, frame.top, frame.bottom);
        let mut canvas = Canvas::new("labels", layout);
        for ((entry, end), y) in shown.iter().zip(places) {
            label(&mut canvas, entry, *end, [frame.right, y], "lab");
        }
        for (entry, end) in others {
            label(&mut canvas, entry, end, [frame.right, end[1]], "lab extra");
        }
        canvas.finish(0.0).body
    }
}

fn label(canvas: &mut Canvas, entry: &Entry, [x, y]: [f64; 2], [right, place]: [f64; 2], class: &str) {
    let mut inner = Canvas::new("label", canvas.layout);
    let name = Type { size: canvas.layout.font() - 1.0, class: "f-ink" };
    let colour = if entry.is_baseline {
        "lead s-muted".to_owned()
    } else {
        format!("lead s-c{}", entry.series() % crate::theme::SERIES)
    };
    let from = (x + 5.0).min(right);
    inner.path(&[[from, y], [right + 4.0, y], [right + 20.0, place]], 1.0, &colour);
    inner.text(right + 24.0, place, Anchor::Start, name, &entry.name());
    let off = if class == "lab" { "" } else { " off" };
    let class = format!("k-{}{off}", entry.id());
    let lab = if off.is_empty() { "lab" } else { "lab extra" };
    canvas.add(&html! { g class=(class) { g class=(lab) data-y=(pixel(y)) { (inner.finish(0.0).body) } } });
}

fn table(data: &Data, sizes: &BTreeSet<u32>) -> Table {
    let mut columns = vec!["Step".to_owned(), "Precision".to_owned()];
    for size in sizes {
        if data.is_single() {
            columns.push(format!("{size}"));
            continue;
        }
        columns.extend(data.measured().map(|(i, view)| format!("{size}: {}{}", run_mark(i), data.role(view))));
        columns.extend(data.measured().skip(1).map(|(i, _)| format!("{} over the first", run_mark(i))));
    }
    let mut table = Table::new(2, columns);
    for entry in &data.entries {
        let name = if entry.is_baseline { "cuBLAS".to_owned() } else { entry.slug.clone() };
        let mut line = vec![name, entry.precision.clone()];
        for size in sizes {
            let rows: Vec<_> = data.measured().map(|(_, view)| view.row(entry, *size)).collect();
            let speeds = data.measured().zip(&rows).map(|((_, view), row)| row.map(|row| view.speed(row)));
            line.extend(speeds.map(|speed| speed.unwrap_or_else(|| "-".into())));
            line.extend(rows.iter().skip(1).map(|row| {
                let ratio = row.zip(rows[0]).map(|(row, first)| row.gflops / first.gflops);
                or_dash(ratio, |ratio| format!("{} x", times(ratio)))
            }));
        }
        table.lines.push(line);
    }
    table
}
