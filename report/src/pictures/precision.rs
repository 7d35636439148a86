//! Error against speed, for each arithmetic; and errors on inputs of all kinds beside those of SGEMM.

use std::collections::BTreeMap;

use results::format::{error, or_dash, significant, trimmed};
use results::{Accuracy, Measurement, Run, Verdict};

use crate::canvas::{Anchor, Area, Canvas, Drawing, Layout, Type};
use crate::data::{Data, Entry, View, run_mark, tip};
use crate::grid::{horizontal_grid, vertical_grid};
use crate::legend::{self, GROUPS, Swatch, group};
use crate::picture::{LeftOut, Picture};
use crate::place::Placer;
use crate::scale::{Scale, tflops as tick};
use crate::table::Table;

const NAME: &str = "precision";

pub(crate) fn picture(data: &Data) -> Result<Picture, LeftOut> {
    let title = "Error by speed".to_owned();
    let clouds: Vec<_> = data.measured().filter_map(|(i, view)| Cloud::new(data, i, view)).collect();
    let ranges = ranges(data);
    if clouds.is_empty() && ranges.is_empty() {
        let reason = "No run has errors at a square size, or of `cargo xtask accuracy`.".into();
        return Err(LeftOut { name: NAME, title, reason });
    }
    let mut note = String::new();
    if !clouds.is_empty() {
        note += "The error is the normwise relative error ||C - C_ref|| / ||C_ref|| against f64. Lower is more accurate, further \
                 right is faster. Named: cuBLAS and the fastest step of each precision. Small points: the other steps that are not \
                 much slower. ";
    }
    if !ranges.is_empty() {
        note += if clouds.is_empty() { "The" } else { "Below: the" };
        note += " same error on each kind of inputs, divided by SGEMM's on the same inputs. A line spans the ratios of a step.";
    }
    let at = data.size.map(|size| format!(" at {size}")).unwrap_or_default();
    Ok(Picture {
        name: NAME.to_owned(),
        title: format!("{title}{at}{}", data.how().replace("hatched or dashed", "hollow")),
        source: data.source(),
        note,
        table: table(data, &ranges),
        controls: None,
        drawings: Layout::ALL.map(|layout| draw(&clouds, &ranges, layout)),
        variants: Vec::new(),
    })
}

/// The rows of one run at the size of single figures.
struct Cloud<'a> {
    view: usize,
    run: &'a Run,
    label: &'a str,
    /// With a name where it is shown.
    points: Vec<(&'a Entry, &'a Measurement, bool)>,
}

impl<'a> Cloud<'a> {
    fn new(data: &'a Data, i: usize, view: &'a View) -> Option<Self> {
        let rows = data.entries.iter().filter_map(|entry| Some((entry, data.row(view, entry)?)));
        let rows: Vec<_> = rows.filter(|(_, row)| row.rel_error.is_finite() && row.rel_error > 0.0).collect();
        let mut best: BTreeMap<&str, &Measurement> = BTreeMap::new();
        for (entry, row) in rows.iter().filter(|(entry, _)| !entry.is_baseline) {
            let other = best.entry(&entry.precision).or_insert(row);
            if row.gflops > other.gflops {
                *other = row;
            }
        }
        let is_named = |entry: &Entry, row: &Measurement| {
            entry.is_baseline || best.get(entry.precision.as_str()).is_some_and(|best| std::ptr::eq(*best, row))
        };
        let points: Vec<_> = rows.into_iter().map(|(entry, row)| (entry, row, is_named(entry, row))).collect();
        (!points.is_empty()).then_some(Self { view: i, run: &view.run, label: &view.label, points })
    }
}

/// The errors of one kernel on all kinds of inputs, beside those of SGEMM.
struct Range<'a> {
    kernel: String,
    all: Vec<&'a Accuracy>,
}

impl Range<'_> {
    fn ratios(&self) -> impl Iterator<Item = f64> {
        self.all.iter().map(|row| row.rel_error_ratio).filter(|ratio| ratio.is_finite() && *ratio > 0.0)
    }
}

fn ranges<'a>(data: &'a Data) -> Vec<Range<'a>> {
    let mut ranges: Vec<Range> = Vec::new();
    let has_several = data.views.iter().filter(|view| !view.run.accuracy.is_empty()).count() > 1;
    for (i, view) in data.views.iter().enumerate() {
        for row in view.run.accuracy.iter().filter(|row| row.verdict != Verdict::Same) {
            let mark = if has_several { format!(" ({})", run_mark(i)) } else { String::new() };
            let precision = if row.kernel == row.precision { String::new() } else { format!(" {}", row.precision) };
            let kernel = format!("{}{precision}{mark}", row.kernel);
            match ranges.iter_mut().find(|range| range.kernel == kernel) {
                Some(range) => range.all.push(row),
                None => ranges.push(Range { kernel, all: vec![row] }),
            }
        }
    }
    ranges.retain(|range| range.ratios().next().is_some());
    ranges
}

fn draw(clouds: &[Cloud], ranges: &[Range], layout: Layout) -> Drawing {
    let mut canvas = Canvas::new(NAME, layout);
    let mut y = 0.0;
    if !clouds.is_empty() {
        y = legend::draw(&mut canvas, 0.0, &legend(clouds));
    }
    for cloud in clouds {
        if clouds.len() > 1 {
            let look = Type { size: layout.font() + 1.0, class: "b f-ink" };
            let title = look.fit(&format!("{}: {}", run_mark(cloud.view), cloud.label), layout.width());
            canvas.text(0.0, y + 12.0, Anchor::Start, look, &title);
            y += 24.0;
        }
        y = draw_cloud(&mut canvas, clouds, cloud, y);
    }
    if !ranges.is_empty() {
        y = draw_ranges(&mut canvas, ranges, y + 12.0);
    }
    canvas.finish(y)
}

fn legend(clouds: &[Cloud]) -> Vec<(Swatch, String)> {
    let any = |is_it: &dyn Fn(&Entry, &Measurement) -> bool| {
        clouds.iter().flat_map(|cloud| &cloud.points).any(|(entry, row, _)| is_it(entry, row))
    };
    let mut items = Vec::new();
    // Where all are modelled, the title says so.
    let how = if any(&|_, row| !row.modelled) { ", modelled" } else { "" };
    for (series, what) in GROUPS {
        for (is_modelled, how) in [(false, ""), (true, how)] {
            let is_it = |entry: &Entry, row: &Measurement| {
                !entry.is_baseline && group(&entry.precision) == series && row.modelled == is_modelled
            };
            if any(&is_it) {
                items.push((Swatch::Point(series, is_modelled), format!("{what}{how}")));
            }
        }
    }
    if any(&|entry, _| entry.is_baseline) {
        items.push((Swatch::Shape(3, "f-ink s-paper"), "cuBLAS".into()));
    }
    items
}

fn draw_cloud(canvas: &mut Canvas, all: &[Cloud], cloud: &Cloud, top: f64) -> f64 {
    let layout = canvas.layout;
    let small = Type { size: layout.font() - 1.0, class: "f-muted" };
    let (left, right) = (small.width("1.0e-7") + 8.0, layout.width() - 4.0);
    let (top, bottom) = (top + 28.0, top + layout.pick(440.0, 400.0));
    let points = || all.iter().flat_map(|cloud| &cloud.points);
    // Slow steps would leave no room for the others.
    let most = points().map(|(_, row, _)| row.gflops).fold(0.0, f64::max);
    let named = points().filter(|point| point.2).map(|(_, row, _)| row.gflops).fold(most, f64::min);
    let x = Scale::log([named, most], layout.pick(1.6, 1.7), (left, right));
    let y = Scale::log(points().map(|(_, row, _)| row.rel_error), 2.0, (bottom, top));
    canvas.text(0.0, top - 18.0, Anchor::Start, small, "relative error, lower is better");
    horizontal_grid(canvas, &y, [left, right], &y.ticks(8.0), trimmed);
    vertical_grid(canvas, &x, [top, bottom], &x.ticks(layout.pick(8.0, 6.0)), tick);
    canvas.text((left + right) / 2.0, bottom + 34.0, Anchor::Middle, small, "TFLOPS, further right is better");

    let seen = cloud.points.iter().filter(|(_, row, _)| x.at(row.gflops) >= left);
    let seen: Vec<_> = seen.map(|point| (point, [x.at(point.1.gflops), y.at(point.1.rel_error)])).collect();
    let mut placer = Placer::new(Area { left, top, right, bottom });
    for ((.., is_named), [x, y]) in &seen {
        placer.block(Area::around(*x, *y, if *is_named { 6.5 } else { 3.5 }));
    }
    let look = Type { size: layout.font(), class: "f-ink halo s-paper" };
    // Those without a name first, then cuBLAS, which is often beside a step.
    let mut order = seen.clone();
    order.sort_by_key(|((entry, _, is_named), _)| (*is_named, !entry.is_baseline));
    for ((entry, row, is_named), place) in order {
        let radius = if *is_named { 5.5 } else { 2.8 };
        canvas.mark(&precision_tip(cloud.run, row), |canvas| {
            if entry.is_baseline {
                canvas.shape(place, radius, 3, if row.modelled { "f-paper s-ink" } else { "f-ink s-paper" }, 1.2);
            } else {
                canvas.point(place, radius, group(&entry.precision), row.modelled);
            }
        });
    }
    for ((entry, ..), place) in seen.iter().filter(|(point, _)| point.2) {
        let name = entry.name();
        let name = if name.contains(&entry.precision) { name } else { format!("{name} {}", entry.precision) };
        if let Some((x, y, anchor)) = placer.put(*place, look, &name) {
            if (x - place[0]).hypot(y - place[1]) > 26.0 {
                canvas.line(*place, [x, y], 0.8, "s-muted");
            }
            canvas.text(x, y, anchor, look, &name);
        }
    }
    bottom + 46.0
}

fn precision_tip(run: &Run, row: &Measurement) -> Vec<String> {
    let mut lines = tip(run, row);
    lines.insert(2, format!("relative error {}", error(row.rel_error)));
    lines
}

fn draw_ranges(canvas: &mut Canvas, ranges: &[Range], top: f64) -> f64 {
    let layout = canvas.layout;
    let name = Type { size: layout.font(), class: "f-ink" };
    let small = Type { size: layout.font() - 1.0, class: "f-muted" };
    let title = layout.pick("Error on each kind of inputs, divided by SGEMM's", "Error divided by SGEMM's");
    canvas.text(0.0, top + 8.0, Anchor::Start, Type { size: layout.font() + 1.0, class: "b f-ink" }, title);
    let names = ranges.iter().map(|range| name.width(&range.kernel)).fold(0.0, f64::max);
    let scale = Scale::log(
        ranges.iter().flat_map(Range::ratios).chain([1.0]),
        1.4,
        (names + 12.0, layout.width() - layout.pick(120.0, 4.0)),
    );
    let row = layout.pick(24.0, 22.0);
    let plot = top + layout.pick(26.0, 26.0);
    let bottom = plot + row * ranges.len() as f64 + 4.0;
    vertical_grid(canvas, &scale, [plot, bottom], &scale.ticks(layout.pick(8.0, 5.0)), |value| {
        format!("{} x", trimmed(value))
    });
    canvas.line([scale.at(1.0), plot - 4.0], [scale.at(1.0), bottom], 1.5, "s-ink");
    for (i, range) in ranges.iter().enumerate() {
        let y = plot + row * (i as f64 + 0.5);
        canvas.text(names + 2.0, y, Anchor::End, name, &range.kernel);
        let least = range.ratios().fold(f64::INFINITY, f64::min);
        let most = range.ratios().fold(0.0, f64::max);
        let series = group(&range.all[0].precision);
        canvas.line([scale.at(least), y], [scale.at(most), y], 5.0, &format!("s-c{series} soft"));
        for row in range.all.iter().filter(|row| row.rel_error_ratio.is_finite() && row.rel_error_ratio > 0.0) {
            canvas.mark(&accuracy_tip(row), |canvas| {
                canvas.point([scale.at(row.rel_error_ratio), y], 3.2, series, false)
            });
        }
        if layout.is_wide() {
            let text = if trimmed(least) == trimmed(most) {
                format!("{} x", trimmed(most))
            } else {
                format!("{} to {} x", trimmed(least), trimmed(most))
            };
            canvas.text(layout.width() - 2.0, y, Anchor::End, small, &text);
        }
    }
    bottom + 22.0
}

fn accuracy_tip(row: &Accuracy) -> Vec<String> {
    vec![
        format!("{} ({}) on {}", row.kernel, row.precision, row.inputs),
        format!("{} x {} x {}", row.m, row.n, row.k),
        format!(
            "relative error {}, {} x that of {}",
            error(row.rel_error),
            trimmed(row.rel_error_ratio),
            row.compared_with
        ),
        format!("largest componentwise error {}, {} x", error(row.max_error), trimmed(row.max_error_ratio)),
    ]
}

fn table(data: &Data, ranges: &[Range]) -> Table {
    let at = data.size.map(|size| size.to_string()).unwrap_or_default();
    let mut heads = vec!["Step".to_owned(), "Precision".to_owned()];
    for (i, view) in data.measured() {
        let mark = if data.is_single() { String::new() } else { format!("{}: ", run_mark(i)) };
        heads.push(format!("{mark}rel. error at {at}"));
        heads.push(format!("{mark}TFLOPS at {at}{}", if data.is_single() { "" } else { data.role(view) }));
    }
    if !ranges.is_empty() {
        heads.extend(["least", "largest"].map(|which| format!("{which} error over SGEMM's")));
    }
    let columns = heads.len();
    let mut table = Table::new(2, heads);
    for entry in &data.entries {
        let mut line =
            vec![if entry.is_baseline { "cuBLAS".into() } else { entry.slug.clone() }, entry.precision.clone()];
        for (_, view) in data.measured() {
            let row = data.row(view, entry);
            line.push(or_dash(row.map(|row| row.rel_error), error));
            line.push(row.map_or_else(|| "-".into(), |row| view.speed(row)));
        }
        line.resize(columns, "-".into());
        table.lines.push(line);
    }
    for range in ranges {
        let mut line = vec![range.kernel.clone(), range.all[0].precision.clone()];
        line.resize(columns - 2, "-".into());
        line.push(significant(range.ratios().fold(f64::INFINITY, f64::min)));
        line.push(significant(range.ratios().fold(0.0, f64::max)));
        table.lines.push(line);
    }
    table
}
