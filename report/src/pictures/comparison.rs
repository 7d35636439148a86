//! Runs beside the first one: how much faster each step is, with its 95 % interval.

use std::collections::BTreeSet;

use results::format::{percent, tflops, times, trimmed};
use results::{Measurement, speedup_interval};

use crate::canvas::{Anchor, Canvas, Drawing, Layout, Type};
use crate::data::{Data, Entry, run_mark};
use crate::grid::vertical_grid;
use crate::legend::{self, Swatch};
use crate::picture::{LeftOut, Picture};
use crate::scale::{Scale, round_up};
use crate::table::Table;

const NAME: &str = "comparison";

/// A step in the first run and in another.
struct Delta<'a> {
    entry: &'a Entry,
    view: usize,
    rows: [&'a Measurement; 2],
    /// By how many percent it is faster, and between which values that is in 95 % of resamples.
    percent: f64,
    interval: Option<[f64; 2]>,
}

impl Delta<'_> {
    /// How many times as fast it is.
    fn ratio(&self) -> f64 {
        1.0 + self.percent / 100.0
    }
}

pub(crate) fn picture(data: &Data) -> Result<Picture, LeftOut> {
    let title = "Comparison".to_owned();
    let deltas = deltas(data);
    let Some((size, (first, _))) = data.size.zip(data.measured().next()).filter(|_| !deltas.is_empty()) else {
        let reason = "The runs have no step in common at one size.".into();
        return Err(LeftOut { name: NAME, title, reason });
    };
    let without: Vec<_> = data
        .measured()
        .filter(|(_, view)| view.run.measurements.iter().all(|row| row.times_ms.is_none()))
        .map(|(i, _)| run_mark(i))
        .collect();
    let mut note = "By how many percent each kernel is faster. Right of 0: faster. The lines are 95 % intervals of the ratio of medians, by the percentile bootstrap over the times \
                    of single launches; they hold what varies within a run, not from day to day."
        .to_owned();
    if !without.is_empty() {
        note += &format!(" Without an interval: {} has no times of single launches.", without.join(", "));
    }
    Ok(Picture {
        name: NAME.to_owned(),
        title: format!("{title} with {} at {size}: {}", run_mark(first), summary(&deltas)),
        source: data.source(),
        note,
        table: table(&deltas, run_mark(first)),
        controls: None,
        drawings: Layout::ALL.map(|layout| draw(data, &deltas, layout)),
        variants: Vec::new(),
    })
}

fn deltas<'a>(data: &'a Data) -> Vec<Delta<'a>> {
    let mut runs = data.measured();
    let Some((_, first)) = runs.next() else { return Vec::new() };
    let others: Vec<_> = runs.collect();
    let mut all = Vec::new();
    for entry in &data.entries {
        let Some(old) = data.row(first, entry) else { continue };
        for (view, run) in &others {
            let Some(new) = data.row(run, entry) else { continue };
            let change = |ratio: f64| 100.0 * (ratio - 1.0);
            let times = old.times_ms.as_deref().zip(new.times_ms.as_deref());
            let interval = times.and_then(|(old, new)| speedup_interval(old, new)).map(|ends| ends.map(change));
            let percent = change(old.time_ms / new.time_ms);
            if percent.is_finite() {
                all.push(Delta { entry, view: *view, rows: [old, new], percent, interval });
            }
        }
    }
    all
}

/// What changed in all: for each of the other runs, the geometric mean of the ratios of its steps' speeds to those of the first.
fn summary(deltas: &[Delta]) -> String {
    let views: BTreeSet<_> = deltas.iter().map(|delta| delta.view).collect();
    let of = |view: &usize| {
        let of_run = |is_baseline: bool| {
            let own = deltas.iter().filter(move |delta| delta.view == *view && delta.entry.is_baseline == is_baseline);
            own.map(Delta::ratio).collect::<Vec<_>>()
        };
        // cuBLAS's own changes are those of the device.
        let [steps, baselines] = [false, true].map(of_run);
        let ratios = if steps.is_empty() { baselines } else { steps };
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let run = if views.len() > 1 { format!("{} ", run_mark(*view)) } else { String::new() };
        let plural = if ratios.len() == 1 { "" } else { "s" };
        format!("{run}{} x as fast (geometric mean over {} kernel{plural})", times(mean), ratios.len())
    };
    views.iter().map(of).collect::<Vec<_>>().join(", ")
}

fn signed(value: f64) -> String {
    format!("{}{}", if value < 0.0 { "-" } else { "+" }, percent(value.abs()))
}

fn span(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(|| "-".into(), |[least, most]| format!("{} to {}", signed(least), signed(most)))
}

fn draw(data: &Data, deltas: &[Delta], layout: Layout) -> Drawing {
    let mut canvas = Canvas::new(NAME, layout);
    let name = Type { size: layout.font(), class: "f-ink" };
    let small = Type { size: layout.font() - 1.0, class: "f-muted" };
    let several = deltas.iter().any(|delta| delta.view != deltas[0].view);
    let label = |delta: &Delta| {
        let run = if several { format!(" ({})", run_mark(delta.view)) } else { String::new() };
        name.fit(&format!("{}{run}", delta.entry.name()), layout.pick(300.0, 150.0))
    };
    let runs = data.measured().skip(1);
    let items: Vec<_> =
        runs.map(|(i, view)| (Swatch::Point(i, false), format!("{}: {}", run_mark(i), view.label))).collect();
    let top = legend::draw(&mut canvas, 0.0, &items) + 8.0;
    let names = deltas.iter().map(|delta| name.width(&label(delta))).fold(0.0, f64::max);
    let most = deltas.iter().flat_map(|delta| {
        let [least, most] = delta.interval.unwrap_or_default();
        [delta.percent, least, most].map(f64::abs)
    });
    let most = round_up(most.fold(1.0, f64::max));
    let values = small.width("+1000.0") + small.width("+1000.0 to +1000.0") + 16.0;
    let (left, right) = (names + 14.0, layout.width() - layout.pick(values, small.width("+1000.0") + 6.0));
    let middle = (left + right) / 2.0;
    let scale = Scale::linear(most, (middle, right));
    let row = layout.pick(22.0, 21.0);
    let bottom = top + row * deltas.len() as f64 + 4.0;
    let up = scale.ticks(layout.pick(4.0, 1.5));
    let ticks: Vec<f64> = up.iter().skip(1).rev().map(|tick| -tick).chain(up.iter().copied()).collect();
    vertical_grid(&mut canvas, &scale, [top, bottom], &ticks, |tick| {
        let sign = if tick > 0.0 { "+" } else { "" };
        format!("{sign}{} %", trimmed(tick))
    });
    canvas.line([middle, top], [middle, bottom], 1.5, "s-ink");
    for (i, delta) in deltas.iter().enumerate() {
        let y = top + row * (i as f64 + 0.5) + 2.0;
        canvas.text(names + 4.0, y, Anchor::End, name, &label(delta));
        let [old, new] = delta.rows.map(|row| tflops(row.gflops));
        let mut tip = vec![label(delta), format!("{} %", signed(delta.percent)), format!("{old} to {new} TFLOPS")];
        tip.extend(delta.interval.map(|ends| format!("95 %: {}", span(Some(ends)))));
        canvas.mark(&tip, |canvas| {
            if let Some(ends) = delta.interval {
                let [from, to] = ends.map(|end| scale.at(end));
                canvas.line([from, y], [to, y], 2.0, "s-ink");
                for x in [from, to] {
                    canvas.line([x, y - 4.0], [x, y + 4.0], 1.5, "s-ink");
                }
            }
            canvas.point([scale.at(delta.percent), y], 4.5, delta.view, delta.rows.iter().any(|row| row.modelled));
        });
        let ends = layout.pick(layout.width() - small.width("+1000.0 to +1000.0") - 8.0, layout.width());
        canvas.text(ends, y, Anchor::End, Type { class: "f-ink", ..small }, &signed(delta.percent));
        if layout.is_wide() {
            canvas.text(layout.width(), y, Anchor::End, small, &span(delta.interval));
        }
    }
    canvas.finish(bottom + 22.0)
}

fn table(deltas: &[Delta], first: String) -> Table {
    let heads = ["Step", "Precision", "Run"].map(str::to_owned).into_iter();
    let heads =
        heads.chain([format!("{first}: TFLOPS"), "TFLOPS".into(), "faster by, %".into(), "95 % interval".into()]);
    let mut table = Table::new(3, heads);
    for Delta { entry, view, rows, percent, interval } in deltas {
        let [old, new] = rows.map(|row| tflops(row.gflops));
        let name = if entry.is_baseline { "cuBLAS".into() } else { entry.slug.clone() };
        table.lines.push(vec![
            name,
            entry.precision.clone(),
            run_mark(*view),
            old,
            new,
            signed(*percent),
            span(*interval),
        ]);
    }
    table
}
