//! The roofline: speed by arithmetic intensity (L2), below the device's bandwidths and peaks.

use std::collections::BTreeSet;

use results::Counters;
use results::format::{significant, tflops, trimmed};

use super::counted::{self, Counted, counted_at_most};
use crate::canvas::{Anchor, Area, Canvas, Drawing, Layout, Type};
use crate::data::{Data, View, run_mark};
use crate::grid::{horizontal_grid, vertical_grid};
use crate::legend::{self, GROUPS, Swatch, group};
use crate::picture::{LeftOut, Picture};
use crate::place::Placer;
use crate::scale::{Scale, tflops as tick};
use crate::table::Table;

const NAME: &str = "roofline";

/// The lines of the two bandwidths: what they are of, and how they look.
const SLOPES: [(&str, &str); 2] = [("L2 cache", "s-ink"), ("device memory", "s-muted dash")];

/// A step on one run.
struct Point<'a> {
    slug: String,
    counters: &'a Counters,
    /// Operations of the problem per byte between L2 and the SMs.
    intensity: f64,
    gflops: f64,
    is_modelled: bool,
}

/// The steps of one run, on one device.
struct Panel<'a> {
    view: usize,
    label: String,
    /// The size of the speeds.
    size: u32,
    points: Vec<Point<'a>>,
    /// GB/s of the L2 cache and of device memory.
    bandwidths: [f64; 2],
    /// Peaks, each with the arithmetics that have it.
    peaks: Vec<(f64, String)>,
}

pub(crate) fn picture(data: &Data) -> Result<Picture, LeftOut> {
    let title = "Roofline".to_owned();
    let all = counted_at_most(data);
    let panels: Vec<_> = all.iter().flat_map(|counted| panels(data, counted)).collect();
    if panels.is_empty() {
        return Err(LeftOut { name: NAME, title, reason: counted::MISSING.into() });
    }
    let sizes: BTreeSet<_> = panels.iter().map(|panel| panel.size).collect();
    let sizes = sizes.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let is_any =
        |is_modelled| panels.iter().flat_map(|panel| &panel.points).any(|point| point.is_modelled == is_modelled);
    let how = match (is_any(true), is_any(false)) {
        (true, false) => " (modelled)",
        (true, true) => " (hollow: modelled)",
        _ => "",
    };
    let mut note = format!(
        "Each point is a step at {sizes}. Its arithmetic intensity is the useful operations (2 m n k) per byte between L2 and the \
         SMs. The slopes are bandwidths, the flat lines are peaks at the highest SM clock. fp16x3 and tf32x3 spend three MMAs on \
         each product, so a third of the tensor cores' peak is theirs. The slope of device memory holds where nothing hits in L2."
    );
    let unmeasured = unmeasured(&panels);
    if !unmeasured.is_empty() && is_any(false) {
        note += &format!(
            " Modelled, since the variant that was counted was not timed at this size: {}.",
            unmeasured.join(", ")
        );
    }
    let others = elsewhere(&all);
    if !others.is_empty() {
        note += &format!(" Counted for another device, and left out: {}.", others.join(", "));
    }
    Ok(Picture {
        name: NAME.to_owned(),
        title: format!("{title}: TFLOPS at {sizes} by arithmetic intensity (L2){how}"),
        source: format!("{}. {}", data.source(), counted::source(&all)),
        note,
        table: table(&panels),
        controls: None,
        drawings: Layout::ALL.map(|layout| draw(&panels, layout)),
        variants: Vec::new(),
    })
}

/// The steps whose times are modelled though their run has measured ones.
fn unmeasured(panels: &[Panel]) -> Vec<String> {
    let measured = panels.iter().filter(|panel| panel.points.iter().any(|point| !point.is_modelled));
    let points = measured.flat_map(|panel| &panel.points).filter(|point| point.is_modelled);
    let mut slugs: Vec<String> = points.map(|point| point.slug.clone()).collect();
    slugs.dedup();
    slugs
}

/// The steps that were counted for another device than the first one of their run.
fn elsewhere(all: &[Counted]) -> Vec<String> {
    let of = |counted: &Counted| -> Vec<String> {
        let device = counted.steps.first().map(|step| &step.1.device);
        counted.steps.iter().filter(|step| Some(&step.1.device) != device).map(|step| step.0.clone()).collect()
    };
    let mut slugs: Vec<String> = all.iter().flat_map(of).collect();
    slugs.dedup();
    slugs
}

fn panels<'a>(data: &Data, counted: &Counted<'a>) -> Vec<Panel<'a>> {
    counted.views.iter().filter_map(|&i| panel(&data.views[i], i, counted)).collect()
}

/// Steps that were counted for another device than the first one have no place among its roofs.
fn panel<'a>(view: &View, i: usize, counted: &Counted<'a>) -> Option<Panel<'a>> {
    let first = counted.steps.first()?.1;
    let size = size(view, first)?;
    let here = || counted.steps.iter().filter(|step| step.1.device == first.device);
    let points: Vec<_> = here().filter_map(|(slug, counters)| point(view, slug, counters, size)).collect();
    let mut peaks: Vec<(f64, String)> = Vec::new();
    for (_, counters) in here().filter(|step| step.1.peak_gflops > 0.0) {
        match peaks.iter_mut().find(|peak| peak.0 == counters.peak_gflops) {
            Some((_, names)) if names.split(", ").any(|name| name == counters.precision) => {}
            Some((_, names)) => *names += &format!(", {}", counters.precision),
            None => peaks.push((counters.peak_gflops, counters.precision.clone())),
        }
    }
    let bandwidths = [first.l2_gb_per_s, first.dram_gb_per_s];
    let label = view.label.clone();
    (!points.is_empty()).then_some(Panel { view: i, label, size, points, bandwidths, peaks })
}

/// The size of the counters if the run has it, and else the nearest.
fn size(view: &View, counters: &Counters) -> Option<u32> {
    if [counters.m, counters.n] != [counters.k; 2] {
        return None;
    }
    let distance = |size: &u32| (f64::from(*size) / f64::from(counters.m)).ln().abs();
    Some(view.sizes().into_iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(counters.m))
}

fn point<'a>(view: &View, slug: &str, counters: &'a Counters, size: u32) -> Option<Point<'a>> {
    let operations = 2.0 * f64::from(counters.m) * f64::from(counters.n) * f64::from(counters.k);
    let row = view.run.measurements.iter().find(|row| row.kernel == counters.kernel && row.size() == Some(size));
    let modelled =
        || (size == counters.m && counters.modelled_ms > 0.0).then(|| operations / counters.modelled_ms / 1e6);
    let (gflops, is_modelled) = match row {
        Some(row) => (row.gflops, row.modelled),
        None => (modelled()?, true),
    };
    let intensity = operations / counters.l2_bytes as f64;
    let is_sound = intensity.is_finite() && intensity > 0.0 && gflops > 0.0;
    is_sound.then(|| Point { slug: slug.to_owned(), counters, intensity, gflops, is_modelled })
}

impl Point<'_> {
    fn series(&self) -> usize {
        group(&self.counters.precision)
    }

    fn tip(&self, panel: &Panel) -> Vec<String> {
        let bytes = panel.bandwidths[0] * self.intensity;
        vec![
            format!("{} ({})", self.slug, self.counters.precision),
            format!(
                "{} TFLOPS at {}{}",
                tflops(self.gflops),
                panel.size,
                if self.is_modelled { ", modelled" } else { "" }
            ),
            format!("{} FLOP/B (L2), counted at {}", trimmed(self.intensity), self.counters.m),
            format!("{} % of the L2 roof", trimmed(100.0 * self.gflops / bytes)),
            format!("{} % of peak", trimmed(100.0 * self.gflops / self.counters.peak_gflops)),
            format!("model: bound by {}", self.counters.bound),
        ]
    }
}

fn draw(panels: &[Panel], layout: Layout) -> Drawing {
    let mut canvas = Canvas::new(NAME, layout);
    let mut y = legend::draw(&mut canvas, 0.0, &legend(panels));
    for panel in panels {
        if panels.len() > 1 {
            let look = Type { size: layout.font() + 1.0, class: "b f-ink" };
            let title = look.fit(&format!("{}: {}", run_mark(panel.view), panel.label), layout.width());
            canvas.text(0.0, y + 12.0, Anchor::Start, look, &title);
            y += 26.0;
        }
        y = draw_panel(&mut canvas, panels, panel, y);
    }
    canvas.finish(y + 6.0)
}

fn legend(panels: &[Panel]) -> Vec<(Swatch, String)> {
    let mut items = Vec::new();
    // Where all are modelled, the title says so.
    let has_measured = panels.iter().flat_map(|panel| &panel.points).any(|point| !point.is_modelled);
    let how = if has_measured { ", modelled" } else { "" };
    for (series, what) in GROUPS {
        for (is_modelled, how) in [(false, ""), (true, how)] {
            let is_it = |point: &&Point| point.series() == series && point.is_modelled == is_modelled;
            if panels.iter().flat_map(|panel| &panel.points).any(|point| is_it(&point)) {
                items.push((Swatch::Point(series, is_modelled), format!("{what}{how}")));
            }
        }
    }
    // Runs on different devices have different lines.
    let mut seen: Vec<[f64; 2]> = Vec::new();
    for panel in panels {
        if !seen.contains(&panel.bandwidths) {
            seen.push(panel.bandwidths);
            let which = if seen.len() > 1 { format!("{}: ", run_mark(panel.view)) } else { String::new() };
            items.extend(SLOPES.iter().zip(panel.bandwidths).map(|((name, class), bandwidth)| {
                (Swatch::Slope(class), format!("{which}{name}, {} GB/s", significant(bandwidth)))
            }));
        }
    }
    items
}

fn draw_panel(canvas: &mut Canvas, all: &[Panel], panel: &Panel, top: f64) -> f64 {
    let layout = canvas.layout;
    let small = Type { size: layout.font() - 1.0, class: "f-muted" };
    let (left, right) = (small.width("1 000") + 8.0, layout.width() - 4.0);
    let (top, bottom) = (top + 28.0, top + layout.pick(560.0, 470.0));
    let points = || all.iter().flat_map(|panel| &panel.points);
    let peaks = all.iter().flat_map(|panel| &panel.peaks).map(|peak| peak.0);
    let x = Scale::log(points().map(|point| point.intensity), layout.pick(1.7, 1.5), (left, right));
    let y = Scale::log(points().map(|point| point.gflops).chain(peaks), 1.5, (bottom, top));
    canvas.text(0.0, top - 18.0, Anchor::Start, small, "TFLOPS");
    horizontal_grid(canvas, &y, [left, right], &y.ticks(layout.pick(10.0, 8.0)), tick);
    vertical_grid(canvas, &x, [top, bottom], &x.ticks(8.0), trimmed);
    let what = "arithmetic intensity: FLOP per byte between L2 and the SMs";
    canvas.text(
        (left + right) / 2.0,
        bottom + 34.0,
        Anchor::Middle,
        small,
        layout.pick(what, "arithmetic intensity (L2), FLOP/B"),
    );

    let mut placer = Placer::new(Area { left, top, right, bottom });
    for point in &panel.points {
        placer.block(Area::around(x.at(point.intensity), y.at(point.gflops), 6.0));
    }
    roofs(canvas, panel, &mut placer, &x, &y);
    let left_out = names(canvas, panel, &mut placer, &x, &y);
    unnamed(canvas, &left_out, bottom + 46.0)
}

/// The lines, each with its name.
fn roofs(canvas: &mut Canvas, panel: &Panel, placer: &mut Placer, x: &Scale, y: &Scale) {
    let look = Type { size: canvas.layout.font() - 1.0, class: "f-ink halo s-paper" };
    let (least, most) = x.domain();
    let top = panel.peaks.iter().map(|peak| peak.0).fold(0.0, f64::max);
    let ends = panel.bandwidths.map(|bandwidth| {
        // From the left edge, or where it comes in from below, to the highest roof or the right edge.
        let (from, to) = (least.max(y.domain().0 / bandwidth), most.min(top / bandwidth));
        (bandwidth > 0.0 && from < to).then(|| [from, to].map(|value| [x.at(value), y.at(value * bandwidth)]))
    });
    for ([from, to], (_, class)) in ends.iter().zip(SLOPES).filter_map(|(ends, slope)| Some(((*ends)?, slope))) {
        canvas.line(from, to, 1.6, class);
        let along =
            |part: f64| Area::around(from[0] + part * (to[0] - from[0]), from[1] + part * (to[1] - from[1]), 3.0);
        (0..=100).for_each(|i| placer.block(along(f64::from(i) / 100.0)));
    }
    for (peak, _) in &panel.peaks {
        let [left, right] = [(peak / panel.bandwidths[0]).clamp(least, most), most].map(|value| x.at(value));
        canvas.line([left, y.at(*peak)], [right, y.at(*peak)], 1.6, "s-ink");
        placer.block(Area { left, top: y.at(*peak) - 1.5, right, bottom: y.at(*peak) + 1.5 });
    }
    for (peak, name) in &panel.peaks {
        let text = format!("{name} peak {}", tflops(*peak));
        let (right, y) = (x.at(most) - 4.0, y.at(*peak) - 10.0);
        // As far to the right as there is room.
        let places = (0..40).map(|i| right - 8.0 * f64::from(i));
        let x = places.into_iter().find(|x| placer.is_free(&look.area(*x, y, Anchor::End, &text))).unwrap_or(right);
        placer.block(look.area(x, y, Anchor::End, &text));
        canvas.text(x, y, Anchor::End, look, &text);
    }
}

/// The points with their names, which lines connect where these are not beside them. Returns those that have no room for theirs.
fn names<'a>(canvas: &mut Canvas, panel: &'a Panel, placer: &mut Placer, x: &Scale, y: &Scale) -> Vec<&'a str> {
    let look = Type { size: canvas.layout.font() - 1.5, class: "f-ink halo s-paper" };
    let (mut placed, mut left_out) = (Vec::new(), Vec::new());
    // The fastest first: they are what readers look for.
    let mut points: Vec<_> = panel.points.iter().collect();
    points.sort_by(|a, b| b.gflops.total_cmp(&a.gflops));
    for point in points {
        let place = [x.at(point.intensity), y.at(point.gflops)];
        let Some(label) = placer.put(place, look, &point.slug) else {
            left_out.push(point.slug.as_str());
            continue;
        };
        let (left, middle, _) = label;
        if (left - place[0]).hypot(middle - place[1]) > 15.0 {
            canvas.line(place, [left, middle], 0.8, "s-muted");
        }
        placed.push((label, &point.slug));
    }
    for point in &panel.points {
        let place = [x.at(point.intensity), y.at(point.gflops)];
        let radius = canvas.layout.pick(4.5, 4.0);
        canvas.mark(&point.tip(panel), |canvas| canvas.point(place, radius, point.series(), point.is_modelled));
    }
    for ((x, y, anchor), text) in placed {
        canvas.text(x, y, anchor, look, text);
    }
    left_out
}

/// Names without room beside their points, from height `top` on. Returns where they end.
fn unnamed(canvas: &mut Canvas, names: &[&str], top: f64) -> f64 {
    if names.is_empty() {
        return top;
    }
    let look = Type { size: canvas.layout.font() - 1.0, class: "f-muted" };
    let text = format!("Also there, without room for a name: {}.", names.join(", "));
    let mut y = top;
    for line in look.wrap(&text, canvas.layout.width(), 0.0) {
        y += look.size + 5.0;
        canvas.text(0.0, y - look.size / 2.0, Anchor::Start, look, &line);
    }
    y + 4.0
}

fn table(panels: &[Panel]) -> Table {
    let is_any =
        |is_modelled| panels.iter().flat_map(|panel| &panel.points).any(|point| point.is_modelled == is_modelled);
    let is_mixed = is_any(true) && is_any(false);
    let texts: Vec<_> = ["Step", "Precision"].into_iter().chain(is_mixed.then_some("Times")).collect();
    let numbers = ["Size", "TFLOPS", "FLOP/B (L2)", "of the L2 roof, %", "of peak, %"];
    let mut table = Table::new(texts.len(), texts.into_iter().chain(numbers));
    for panel in panels {
        for point in &panel.points {
            let slug = if panels.len() > 1 {
                format!("{} ({})", point.slug, run_mark(panel.view))
            } else {
                point.slug.clone()
            };
            let how = if point.is_modelled { "modelled" } else { "measured" };
            let mut line = vec![slug, point.counters.precision.clone()];
            line.extend(is_mixed.then(|| how.to_owned()));
            line.extend([
                panel.size.to_string(),
                tflops(point.gflops),
                significant(point.intensity),
                significant(100.0 * point.gflops / (panel.bandwidths[0] * point.intensity)),
                significant(100.0 * point.gflops / point.counters.peak_gflops),
            ]);
            table.lines.push(line);
        }
    }
    table
}
