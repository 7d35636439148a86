//! The ladder: a bar for each step, beside cuBLAS, the FMA peak, and the kernels of others.
//!
//! The tensor cores are ten times as fast, so that they have a panel and an axis of their own.

mod table;

use results::format::{self, or_dash, percent, tflops, trimmed};
use results::{Measurement, Run};

use crate::canvas::{Anchor, Canvas, Drawing, Layout, Type};
use crate::data::{Data, Entry, View, run_mark, tip};
use crate::grid::vertical_grid;
use crate::legend::{self, GROUPS, Swatch, group};
use crate::picture::{LeftOut, Picture};
use crate::scale::{Scale, round_up, tflops as tick};

const NAME: &str = "ladder";
const FORM_OF_PEERS: usize = 3;

/// A step's bar of one run.
struct Bar<'a> {
    row: &'a Measurement,
    run: &'a Run,
    view: usize,
    /// The kernel of others with the same idea.
    peer: Option<f64>,
    /// cuBLAS in the same arithmetic.
    cublas: Option<f64>,
    /// How many times as fast as the base in the same arithmetic, or beside other runs as the first one.
    ratio: Option<f64>,
    colour: usize,
}

struct Step<'a> {
    entry: &'a Entry,
    bars: Vec<Bar<'a>>,
}

struct Panel<'a> {
    title: String,
    steps: Vec<Step<'a>>,
    /// Lines through all bars: value, label, class.
    lines: Vec<(f64, String, &'static str)>,
    /// Whether each bar has a mark for cuBLAS instead.
    has_ticks: bool,
}

pub(crate) fn picture(data: &Data) -> Result<Picture, LeftOut> {
    let title = "The ladder".to_owned();
    let left_out = |reason: &str| LeftOut { name: NAME, title: title.clone(), reason: reason.into() };
    let size = data.size.ok_or_else(|| left_out("No square size was measured."))?;
    let panels = panels(data, size);
    if panels.is_empty() {
        return Err(left_out("No step has a verified result at a size that all runs have."));
    }
    let drawings = Layout::ALL.map(|layout| draw(data, &panels, layout));
    Ok(Picture {
        name: NAME,
        title: format!("{title}: TFLOPS at {size}{}", data.how()),
        source: data.source(),
        note: note(data, &panels),
        table: table::table(data, size),
        controls: None,
        drawings,
    })
}

fn note(data: &Data, panels: &[Panel]) -> String {
    let mut note = "Each step adds one idea to its base. ".to_owned();
    if data.is_single() {
        note += "A speed-up over the base is given where both compute in one precision. ";
    }
    if panels.len() > 1 {
        note += "Steps on the tensor cores have an axis of their own, below. ";
    }
    if data.steps().any(|entry| entry.precision.ends_with("x3")) && data.baselines().next().is_some() {
        note += "fp16x3 and tf32x3 take and give f32, so they are compared with cuBLAS SGEMM. ";
    }
    note
}

fn panels<'a>(data: &'a Data, size: u32) -> Vec<Panel<'a>> {
    let peak = data.measured().filter_map(|(i, view)| Some((i, view.fma_peak()?)));
    let mut peaks: Vec<(f64, String, &'static str)> = Vec::new();
    for (_, (peak, clock)) in peak {
        if peaks.iter().all(|(other, ..)| *other != peak) {
            peaks.push((peak, format!("FMA peak {} at {clock} MHz", tflops(peak)), "s-muted dash"));
        }
    }
    let mut lines: Vec<_> = data.measured().filter_map(|(i, view)| cublas_line(data, i, view, size)).collect();
    lines.extend(peaks);
    let steps = |is_on_tensor_cores: bool| -> Vec<Step> {
        let entries = data.steps().filter(|entry| entry.is_on_tensor_cores() == is_on_tensor_cores);
        entries.map(|entry| Step { entry, bars: bars(data, entry) }).filter(|step| !step.bars.is_empty()).collect()
    };
    let plain = Panel { title: "CUDA cores, fp32".into(), steps: steps(false), lines, has_ticks: false };
    let tensor = Panel { title: "Tensor cores".into(), steps: steps(true), lines: Vec::new(), has_ticks: true };
    let mut panels: Vec<_> = [plain, tensor].into_iter().filter(|panel| !panel.steps.is_empty()).collect();
    if let [plain, tensor] = &mut panels[..] {
        let times = tensor.most() / plain.most();
        tensor.title += &format!(": an axis {} times as long", trimmed(times));
    }
    panels
}

fn cublas_line(data: &Data, i: usize, view: &View, size: u32) -> Option<(f64, String, &'static str)> {
    let row = view.run.of("cublas", "fp32", [size; 3])?;
    let which = if data.is_single() { String::new() } else { format!(" {}", run_mark(i)) };
    let how = if row.modelled { " modelled" } else { "" };
    Some((row.gflops, format!("cuBLAS{which} {}{how}", tflops(row.gflops)), "s-ink"))
}

fn bars<'a>(data: &'a Data, entry: &Entry) -> Vec<Bar<'a>> {
    let first = data.measured().next().and_then(|(_, view)| data.row(view, entry)).map(|row| row.gflops);
    let bar = |(i, view): (usize, &'a View)| {
        let row = data.row(view, entry)?;
        let colour = match entry.precision.as_str() {
            _ if !data.is_single() => i,
            precision => group(precision),
        };
        Some(Bar {
            row,
            run: &view.run,
            view: i,
            peer: data.peers.beside(row),
            cublas: row.percent_of_cublas.filter(|share| *share > 0.0).map(|share| 100.0 * row.gflops / share),
            ratio: if data.is_single() {
                view.run.speedup_over_base(row)
            } else {
                first.map(|first| row.gflops / first)
            },
            colour,
        })
    };
    data.measured().filter_map(bar).collect()
}

impl Panel<'_> {
    /// The end of its axis.
    fn most(&self) -> f64 {
        let bars = self.steps.iter().flat_map(|step| &step.bars);
        let values = bars.flat_map(|bar| [Some(bar.row.gflops), bar.peer, bar.cublas]).flatten();
        round_up(values.chain(self.lines.iter().map(|line| line.0)).fold(0.0, f64::max))
    }
}

/// A column of values: its heading, and the text of a bar.
type Column = (&'static str, fn(&Bar) -> String);

fn speed(bar: &Bar) -> String {
    tflops(bar.row.gflops)
}

fn share(bar: &Bar) -> String {
    or_dash(bar.row.percent_of_cublas, |share| format!("{} %", percent(share)))
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
    fn new(data: &Data, panels: &[Panel], layout: Layout) -> Self {
        let look = Type { size: layout.font(), class: "" };
        let names = panels.iter().flat_map(|panel| &panel.steps).map(|step| look.width(&step.entry.name()));
        let name = names.fold(0.0, f64::max) + layout.pick(4.0, 0.0);
        let ratio = if data.is_single() { "over base" } else { "of the first" };
        let has_cublas = panels
            .iter()
            .flat_map(|panel| &panel.steps)
            .flat_map(|step| &step.bars)
            .any(|bar| bar.row.percent_of_cublas.is_some());
        let values: Vec<(f64, Column)> = match (layout.is_wide(), has_cublas) {
            (false, _) => vec![(359.0, ("TFLOPS", speed))],
            (true, true) => {
                vec![(770.0, ("TFLOPS", speed)), (860.0, ("of cuBLAS", share)), (958.0, (ratio, times))]
            }
            (true, false) => vec![(860.0, ("TFLOPS", speed)), (958.0, (ratio, times))],
        };
        let bars =
            layout.pick(if has_cublas { (name + 12.0, 690.0) } else { (name + 12.0, 780.0) }, (name + 8.0, 298.0));
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

fn draw(data: &Data, panels: &[Panel], layout: Layout) -> Drawing {
    let mut canvas = Canvas::new(NAME, layout);
    let columns = Columns::new(data, panels, layout);
    let mut y = legend::draw(&mut canvas, 0.0, &legend(data, panels));
    for panel in panels {
        y = draw_panel(&mut canvas, panel, &columns, !data.is_single(), y + 14.0);
    }
    canvas.finish(y + 8.0)
}

fn legend(data: &Data, panels: &[Panel]) -> Vec<(Swatch, String)> {
    let bars = || panels.iter().flat_map(|panel| &panel.steps).flat_map(|step| &step.bars);
    let mut items = Vec::new();
    if data.is_single() {
        for (colour, what) in GROUPS {
            for (is_modelled, how) in [(false, ""), (true, ", modelled")] {
                if bars().any(|bar| bar.colour == colour && bar.row.modelled == is_modelled) {
                    items.push((Swatch::Bar(colour, is_modelled), format!("{what}{how}")));
                }
            }
        }
    } else {
        for (i, view) in data.measured() {
            let is_modelled = bars().any(|bar| bar.view == i && bar.row.modelled);
            let how = if is_modelled { ", modelled" } else { "" };
            items.push((Swatch::Bar(i, is_modelled), format!("{}: {}{how}", run_mark(i), view.label)));
        }
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

fn draw_panel(canvas: &mut Canvas, panel: &Panel, columns: &Columns, has_runs: bool, top: f64) -> f64 {
    let layout = canvas.layout;
    let small = Type { size: layout.font() - 1.0, class: "f-muted" };
    canvas.text(0.0, top + 8.0, Anchor::Start, Type { size: layout.font() + 1.0, class: "b f-ink" }, &panel.title);
    let scale = Scale::linear(panel.most(), columns.bars);
    let line_height = small.size + 5.0;
    let rows = label_rows(panel, &scale, small);
    let count = rows.iter().copied().max().map_or(1, |row| row + 1);
    let plot = top + 24.0 + line_height * count as f64;
    for &(right, (heading, _)) in &columns.values {
        canvas.text(right, plot - line_height / 2.0 - 2.0, Anchor::End, small, heading);
    }
    let height = |step: &Step| columns.step_distance + columns.bar_distance * (step.bars.len().max(1) - 1) as f64;
    let bottom = plot + panel.steps.iter().map(height).sum::<f64>() + 4.0;
    let ticks = scale.ticks(layout.pick(7.0, 3.0));
    vertical_grid(canvas, &scale, [plot, bottom], &ticks, tick);

    let mut y = plot + 2.0;
    for step in &panel.steps {
        draw_step(canvas, step, columns, &scale, panel.has_ticks, has_runs, y);
        y += height(step);
    }
    for ((value, label, class), row) in panel.lines.iter().zip(&rows) {
        let (x, middle) = (scale.at(*value), plot - line_height * (*row as f64 + 0.5) - 2.0);
        canvas.line([x, middle - small.size / 2.0], [x, bottom], 1.5, class);
        let look = Type { class: "f-ink", ..small };
        canvas.text((x - 5.0).max(look.width(label)), middle, Anchor::End, look, label);
    }
    bottom + small.size * 1.7
}

/// The row, counted from the lowest, of each line's label: it ends at its line, and lines of labels above pass on its right.
fn label_rows(panel: &Panel, scale: &Scale, look: Type) -> Vec<usize> {
    let mut order: Vec<usize> = (0..panel.lines.len()).collect();
    order.sort_by(|a, b| panel.lines[*a].0.total_cmp(&panel.lines[*b].0));
    let mut rows = vec![0; panel.lines.len()];
    let mut ends: Vec<f64> = Vec::new();
    for i in order {
        let (value, label, _) = &panel.lines[i];
        let right = scale.at(*value);
        let left = right - 11.0 - look.width(label);
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
    scale: &Scale,
    has_ticks: bool,
    has_runs: bool,
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
        if has_runs {
            lines.insert(1, format!("run {}", run_mark(bar.view)));
        }
        lines.extend(bar.peer.map(|peer| format!("the same idea in CUDA C++: {} TFLOPS", tflops(peer))));
        canvas.mark(&lines, |canvas| {
            let (x, half) = (scale.at(0.0), columns.bar_height / 2.0);
            canvas.bar([x, y - half, scale.at(bar.row.gflops) - x, columns.bar_height], bar.colour, bar.row.modelled);
            if let Some(cublas) = bar.cublas.filter(|_| has_ticks) {
                let x = scale.at(cublas);
                canvas.line([x, y - half - 3.0], [x, y + half + 3.0], 2.0, "s-ink");
            }
            if let Some(peer) = bar.peer {
                canvas.shape([scale.at(peer), y], 4.5, FORM_OF_PEERS, "f-ink s-paper", 1.5);
            }
        });
        for (right, (heading, text)) in &columns.values {
            let class = if *heading == "TFLOPS" { "f-ink" } else { "f-muted" };
            canvas.text(*right, y, Anchor::End, Type { class, ..name }, &text(bar));
        }
    }
}
