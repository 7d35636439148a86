//! When the ranks of a distributed product compute and communicate.

use results::format::{significant, trimmed};

use crate::canvas::{Anchor, Canvas, Drawing, Layout, Type};
use crate::grid::vertical_grid;
use crate::legend::{self, Swatch};
use crate::picture::Picture;
use crate::scale::Scale;
use crate::table::Table;

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskKind {
    /// It multiplies.
    Product,
    /// It prepares an operand for products.
    Prepass,
    /// It gathers parts of all ranks.
    AllGather,
    /// It adds up partial sums of ranks.
    ReduceScatter,
    /// It copies within a rank's memory.
    Copy,
}

impl TaskKind {
    /// Every one, in the order of colours.
    pub const ALL: [Self; 5] = [Self::Product, Self::AllGather, Self::Prepass, Self::ReduceScatter, Self::Copy];

    /// In legends.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Product => "products",
            Self::Prepass => "pre-passes",
            Self::AllGather => "AllGather",
            Self::ReduceScatter => "ReduceScatter",
            Self::Copy => "copies",
        }
    }

    fn colour(self) -> usize {
        Self::ALL.iter().position(|kind| *kind == self).unwrap_or_default()
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedTask {
    /// What it does.
    pub kind: TaskKind,
    /// The same at length, such as `AllGather of chunk 3 of B`.
    pub name: String,
    /// When it begins and ends, in microseconds.
    pub times_us: [f64; 2],
}

/// Tasks that run one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Lane {
    /// Who runs them, and where: `rank 0, compute`.
    pub name: String,
    /// Whether it is the first of its rank.
    pub is_first: bool,
    /// The tasks.
    pub tasks: Vec<TimedTask>,
}

/// Height of a lane, in pixels.
const LANE: f64 = 22.0;

/// A picture of the lanes, one above the other. Times that are modelled are hatched.
///
/// ```
/// use report::{Lane, Layout, TaskKind, Theme, TimedTask, timeline};
///
/// let task = TimedTask { kind: TaskKind::Product, name: "product of chunk 0 of C".into(), times_us: [10.0, 250.0] };
/// let lane = Lane { name: "rank 0, compute".into(), is_first: true, tasks: vec![task] };
/// let picture = timeline("A product over one GPU", "modelled for an H200", true, &[lane]);
/// let svg = picture.svg(Layout::Wide, Theme::Auto);
/// assert!(svg.contains("rank 0, compute") && svg.contains("product of chunk 0 of C"));
/// ```
#[must_use]
pub fn timeline(title: &str, source: &str, is_modelled: bool, lanes: &[Lane]) -> Picture {
    Picture {
        name: "timeline",
        title: title.to_owned(),
        source: source.to_owned(),
        note: "What each rank does over time, in one line for each of its queues.".to_owned(),
        table: table(lanes),
        controls: None,
        drawings: Layout::ALL.map(|layout| draw(lanes, is_modelled, layout)),
        variants: Vec::new(),
    }
}

fn draw(lanes: &[Lane], is_modelled: bool, layout: Layout) -> Drawing {
    let mut canvas = Canvas::new("timeline", layout);
    let look = Type { size: layout.font() - 1.0, class: "f-ink" };
    let tasks = || lanes.iter().flat_map(|lane| &lane.tasks);
    let legend = TaskKind::ALL.into_iter().filter(|kind| tasks().any(|task| task.kind == *kind));
    let suffix = if is_modelled { ", modelled" } else { "" };
    let items: Vec<_> =
        legend.map(|kind| (Swatch::Bar(kind.colour(), is_modelled), format!("{}{suffix}", kind.name()))).collect();
    let top = legend::draw(&mut canvas, 0.0, &items) + 8.0;
    let names = lanes.iter().map(|lane| look.width(&lane.name)).fold(0.0, f64::max);
    let end_us = tasks().fold(0.0, |end: f64, task| end.max(task.times_us[1]));
    let scale = Scale::linear(end_us, (names + 12.0, layout.width() - 8.0));
    let gaps = |lane: usize| lanes[..=lane].iter().skip(1).filter(|lane| lane.is_first).count() as f64;
    let height = |lane: usize| top + LANE * lane as f64 + LANE / 2.0 * gaps(lane);
    let bottom = lanes.len().checked_sub(1).map_or(top, |last| height(last) + LANE);
    let (unit, name) = if end_us >= 10_000.0 { (1e3, "ms") } else { (1.0, "µs") };
    let ticks = scale.ticks(layout.pick(8.0, 4.0));
    vertical_grid(&mut canvas, &scale, [top, bottom], &ticks, |us| format!("{} {name}", trimmed(us / unit)));
    for (index, lane) in lanes.iter().enumerate() {
        let y = height(index);
        canvas.text(names + 4.0, y + LANE / 2.0, Anchor::End, look, &lane.name);
        for task in &lane.tasks {
            let [start, end] = task.times_us.map(|time| scale.at(time));
            canvas.mark(&tip(task), |canvas| {
                canvas.bar([start, y + 2.0, (end - start).max(0.5), LANE - 4.0], task.kind.colour(), is_modelled);
            });
        }
    }
    canvas.finish(bottom + 22.0)
}

fn tip(task: &TimedTask) -> Vec<String> {
    let [start, end] = task.times_us;
    vec![
        task.name.clone(),
        format!("{} µs, from {} to {}", significant(end - start), significant(start), significant(end)),
    ]
}

fn table(lanes: &[Lane]) -> Table {
    let mut table = Table::new(2, ["Queue", "Task", "From, µs", "To, µs"]);
    for (lane, task) in lanes.iter().flat_map(|lane| lane.tasks.iter().map(move |task| (lane, task))) {
        let [start, end] = task.times_us.map(significant);
        table.lines.push(vec![lane.name.clone(), task.name.clone(), start, end]);
    }
    table
}
