//! When the ranks of a distributed product compute and communicate.

use results::format::{significant, trimmed};
use results::{Lane, TaskKind, TimedTask, Timeline};

use crate::canvas::{Anchor, Canvas, Drawing, Layout, Type};
use crate::data::Data;
use crate::grid::vertical_grid;
use crate::legend::{self, Swatch};
use crate::picture::Picture;
use crate::scale::Scale;
use crate::table::Table;

/// Height of a lane, in pixels.
const LANE: f64 = 22.0;

/// The name of the first one; the others have a number behind it.
const NAME: &str = "timeline";

/// Whether a picture shows what GPUs did over time.
pub(crate) fn is_timeline(picture: &Picture) -> bool {
    picture.name.starts_with(NAME)
}

/// A picture of the lanes, one above the other. Times that are modelled are hatched.
///
/// ```
/// use report::{Layout, Theme, timeline};
/// use results::Run;
///
/// let run = Run::parse("example", r#"{"record": "timeline", "schema": 2, "device": "NVIDIA H200", "modelled": true, "class": "fp32-strict", "m": 64, "n": 64, "k": 64, "gpus": 2, "scheme": "2x1 panels, 1x1 chunks", "iterations": 1, "lanes": [{"rank": 0, "queue": "compute", "tasks": [{"kind": "product", "name": "product of chunk 0 of C", "start_us": 10.0, "end_us": 250.0}]}], "date": "2026-05-04T03:02:01Z", "commit": "unknown"}"#)?;
/// let svg = timeline(&run.timelines[0]).svg(Layout::Wide, Theme::Auto);
/// assert!(svg.contains("rank 0, compute") && svg.contains("product of chunk 0 of C"));
/// # Ok::<(), results::Error>(())
/// ```
#[must_use]
pub fn timeline(record: &Timeline) -> Picture {
    picture(record, NAME.to_owned())
}

/// Those of all runs, in their order.
pub(crate) fn all(data: &Data) -> Vec<Picture> {
    let records = data.views.iter().flat_map(|view| &view.run.timelines);
    let name = |i: usize| if i == 0 { NAME.to_owned() } else { format!("{NAME}-{}", i + 1) };
    records.enumerate().map(|(i, record)| picture(record, name(i))).collect()
}

fn picture(record: &Timeline, name: String) -> Picture {
    let Timeline { device, modelled, class, m, n, k, gpus, scheme, iterations, .. } = record;
    let (how, origin) = if *modelled {
        (" (modelled)", format!("For {device} with NVLink"))
    } else {
        ("", format!("{device}; the last of {iterations} timed runs, from its beginning on each rank"))
    };
    Picture {
        title: format!("m = {m}, n = {n}, k = {k} in {class} over {gpus} GPUs{how}"),
        source: format!("{origin}; {scheme}"),
        note: "What each rank does over time, in one line for each of its queues.".to_owned(),
        table: table(record),
        controls: None,
        drawings: Layout::ALL.map(|layout| draw(record, &name, layout)),
        variants: Vec::new(),
        name,
    }
}

fn draw(record: &Timeline, name: &str, layout: Layout) -> Drawing {
    let Timeline { lanes, modelled, .. } = record;
    let mut canvas = Canvas::new(name, layout);
    let look = Type { size: layout.font() - 1.0, class: "f-ink" };
    let kinds = TaskKind::ALL.into_iter().filter(|kind| record.tasks().any(|task| task.kind == *kind));
    let items: Vec<_> = kinds.map(|kind| (Swatch::Bar(colour(kind), *modelled), kind.plural().to_owned())).collect();
    let top = legend::draw(&mut canvas, 0.0, &items) + 8.0;
    let label = |lane: &Lane| look.fit(&lane_name(lane), layout.pick(300.0, 150.0));
    let names = lanes.iter().map(|lane| look.width(&label(lane))).fold(0.0, f64::max);
    let end_us = record.end_us();
    let scale = Scale::linear(end_us, (names + 12.0, layout.width() - 8.0));
    let gaps = |lane: usize| lanes[..=lane].windows(2).filter(|pair| pair[0].rank != pair[1].rank).count() as f64;
    let height = |lane: usize| top + LANE * lane as f64 + LANE / 2.0 * gaps(lane);
    let bottom = lanes.len().checked_sub(1).map_or(top, |last| height(last) + LANE);
    let (unit, name) = if end_us >= 10_000.0 { (1e3, "ms") } else { (1.0, "µs") };
    let ticks = scale.ticks(layout.pick(8.0, 4.0));
    vertical_grid(&mut canvas, &scale, [top, bottom], &ticks, |us| format!("{} {name}", trimmed(us / unit)));
    for (index, lane) in lanes.iter().enumerate() {
        let y = height(index);
        canvas.text(names + 4.0, y + LANE / 2.0, Anchor::End, look, &label(lane));
        for task in &lane.tasks {
            let [start, end] = [task.start_us, task.end_us].map(|time| scale.at(time));
            canvas.mark(&tip(task), |canvas| {
                canvas.bar([start, y + 2.0, (end - start).max(0.5), LANE - 4.0], colour(task.kind), *modelled);
            });
        }
    }
    canvas.finish(bottom + 22.0)
}

/// Who runs it, and where.
fn lane_name(lane: &Lane) -> String {
    format!("rank {}, {}", lane.rank, lane.queue)
}

fn colour(kind: TaskKind) -> usize {
    TaskKind::ALL.iter().position(|other| *other == kind).unwrap_or_default()
}

fn tip(task: &TimedTask) -> Vec<String> {
    let [start, end] = [task.start_us, task.end_us];
    vec![
        task.name.clone(),
        format!("{} µs, from {} to {}", significant(end - start), significant(start), significant(end)),
    ]
}

fn table(record: &Timeline) -> Table {
    let mut table = Table::new(2, ["Queue", "Task", "From, µs", "To, µs"]);
    for (lane, task) in record.lanes.iter().flat_map(|lane| lane.tasks.iter().map(move |task| (lane, task))) {
        let [start, end] = [task.start_us, task.end_us].map(significant);
        table.lines.push(vec![lane_name(lane), task.name.clone(), start, end]);
    }
    table
}
