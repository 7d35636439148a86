//! How the ratio to cuBLAS is distributed over shapes, and where in their size it is good or bad.

use results::format::{significant, times, trimmed};
use results::{Kind, ShapeSet, ShapeTable, ShapeTiming};

use crate::canvas::{Anchor, Canvas, Drawing, Layout, Type};
use crate::data::{Data, run_mark};
use crate::grid::{horizontal_grid, vertical_grid};
use crate::legend::{self, Swatch};
use crate::picture::{LeftOut, Picture};
use crate::scale::Scale;
use crate::table::Table;
use crate::theme::SERIES;

/// The names of the two pictures.
const DISTRIBUTION: &str = "shapes";
const BY_SIZE: &str = "shapes-by-size";

/// How to read the first of them; the other one follows it.
const NOTE: &str = "The ratio is cuBLAS's time over ours: above 1 we are faster. Products in sequences as CUDA graphs, both sides in \
                    alternation, no operand in the L2 cache. ";

/// A set in one class, of one run.
struct Group<'a> {
    name: String,
    set: ShapeSet<'a>,
}

/// The sets of all runs, in their order.
fn groups<'a>(data: &'a Data) -> Vec<Group<'a>> {
    let of_view = |(i, view): (usize, &'a crate::data::View)| {
        let mark = if data.views.len() > 1 { format!("{}: ", run_mark(i)) } else { String::new() };
        let sets = ShapeSet::all(&view.run.shapes).into_iter();
        sets.map(move |set| Group { name: format!("{mark}{}", set.title()), set })
    };
    data.views.iter().enumerate().flat_map(of_view).collect()
}

/// Where the figures come from: each device once.
fn source(groups: &[Group]) -> String {
    let of = |row: &&ShapeTiming| format!("{}, measured {}", row.device, row.date.get(..10).unwrap_or(&row.date));
    let mut all: Vec<_> = groups.iter().filter_map(|group| group.set.rows.first().map(of)).collect();
    all.dedup();
    all.join("; ")
}

fn missing(name: &'static str, title: &str) -> LeftOut {
    let reason =
        "No shape was timed beside cuBLAS: `cargo xtask bench --shapes random:200:1` does it, on a GPU.".into();
    LeftOut { name, title: title.into(), reason }
}

/// A line for each set: the share of its shapes below a ratio.
pub(crate) fn distribution(data: &Data) -> Result<Picture, LeftOut> {
    let (title, groups) = ("Shapes beside cuBLAS".to_owned(), groups(data));
    if groups.is_empty() {
        return Err(missing(DISTRIBUTION, &title));
    }
    let remarks = groups.iter().map(|group| match &groups[..] {
        [_] => group.set.remarks().join(" "),
        _ => format!("{}: {}", group.name, group.set.remarks().join(" ")),
    });
    let note = format!(
        "{NOTE}A line passes the share of the shapes whose ratio is at most that. {}",
        remarks.collect::<Vec<_>>().join(" ")
    );
    Ok(Picture {
        name: DISTRIBUTION.to_owned(),
        title,
        source: source(&groups),
        note,
        table: table(&groups, |set| set.distribution_table()),
        controls: None,
        drawings: Layout::ALL.map(|layout| draw_distribution(&groups, layout)),
        variants: Vec::new(),
    })
}

/// A panel for each set: a point for each shape.
pub(crate) fn by_size(data: &Data) -> Result<Picture, LeftOut> {
    let (title, groups) = ("Shapes beside cuBLAS by size".to_owned(), groups(data));
    if groups.is_empty() {
        return Err(missing(BY_SIZE, &title));
    }
    Ok(Picture {
        name: BY_SIZE.to_owned(),
        title,
        source: source(&groups),
        note: format!("The table names the {} with the smallest ratios.", ShapeSet::WORST),
        table: table(&groups, |set| set.worst_table()),
        controls: None,
        drawings: Layout::ALL.map(|layout| draw_sizes(&groups, layout)),
        variants: Vec::new(),
    })
}

/// The tables of all groups as one: where there are several, each line begins with its group.
fn table(groups: &[Group], of: fn(&ShapeSet) -> ShapeTable) -> Table {
    let mut table = Table::default();
    for group in groups {
        let ShapeTable { texts, columns, lines } = of(&group.set);
        let own = |first: &str| (groups.len() > 1).then(|| first.to_owned()).into_iter();
        table.texts = texts + usize::from(groups.len() > 1);
        table.columns = own("Set").chain(columns).collect();
        table.lines.extend(lines.into_iter().map(|line| own(&group.name).chain(line).collect()));
    }
    table
}

/// An axis of ratios, with room, and with 1 on it.
fn ratios(groups: &[Group], range: (f64, f64)) -> Scale {
    let all = groups.iter().flat_map(|group| &group.set.rows).map(|row| row.ratio);
    Scale::log(all.chain([0.5, 2.0]), 1.08, range)
}

fn draw_distribution(groups: &[Group], layout: Layout) -> Drawing {
    let mut canvas = Canvas::new(DISTRIBUTION, layout);
    let small = Type { size: layout.font() - 1.0, class: "f-muted" };
    let colour = |i: usize| COLOURS[i % SERIES];
    let lines = groups.iter().enumerate().map(|(i, group)| (Swatch::Slope(colour(i)), group.name.clone()));
    let marks = FORMS.iter().zip(MARKS).map(|(form, what)| (Swatch::Shape(*form, "f-muted s-paper"), what.to_owned()));
    let top = legend::draw(&mut canvas, 0.0, &lines.chain(marks).collect::<Vec<_>>()) + 24.0;
    canvas.text(0.0, top - 16.0, Anchor::Start, small, "shapes, %");
    let (left, right, bottom) = (small.width("100") + 8.0, layout.width() - 12.0, top + layout.pick(360.0, 260.0));
    let (x, y) = (ratios(groups, (left, right)), Scale::linear(100.0, (bottom, top)));
    horizontal_grid(&mut canvas, &y, [left, right], &[0.0, 25.0, 50.0, 75.0, 100.0], trimmed);
    vertical_grid(&mut canvas, &x, [top, bottom], &x.ticks(layout.pick(10.0, 5.0)), trimmed);
    canvas.line([x.at(1.0), top], [x.at(1.0), bottom], 1.5, "s-ink");
    for (i, group) in groups.iter().enumerate() {
        let Some(ratios) = group.set.ratios() else { continue };
        // Through the ratios, as quantiles are between them.
        let last = ratios.sorted().len() - 1;
        let share = |place: usize| if last == 0 { 100.0 } else { 100.0 * place as f64 / last as f64 };
        let points = ratios.sorted().iter().enumerate().map(|(place, ratio)| [x.at(*ratio), y.at(share(place))]);
        let start = [x.at(ratios.sorted()[0]), y.at(0.0)];
        canvas.path(&std::iter::once(start).chain(points).collect::<Vec<_>>(), 2.0, colour(i));
        let mean = ratios.geometric_mean();
        let marks = [
            ("5 % of the shapes are at most at", ratios.quantile(0.05), 5.0),
            ("the median is", ratios.quantile(0.5), 50.0),
            ("the geometric mean is", mean, share_at(ratios.sorted(), mean)),
        ];
        for (form, (what, ratio, share)) in marks.into_iter().enumerate() {
            let tip = [group.name.clone(), format!("{what} {}", times(ratio))];
            let class = format!("{} s-paper", FILLS[i % SERIES]);
            canvas.mark(&tip, |canvas| canvas.shape([x.at(ratio), y.at(share)], 5.0, FORMS[form], &class, 1.0));
        }
    }
    canvas.text((left + right) / 2.0, bottom + 34.0, Anchor::Middle, small, "ratio to cuBLAS");
    canvas.finish(bottom + 46.0)
}

/// The classes of lines of the series.
const COLOURS: [&str; SERIES] = ["s-c0", "s-c1", "s-c2", "s-c3", "s-c4", "s-c5"];
const FILLS: [&str; SERIES] = ["f-c0", "f-c1", "f-c2", "f-c3", "f-c4", "f-c5"];

/// The forms of the marks on a line, and what these are.
const FORMS: [usize; 3] = [2, 0, 3];
const MARKS: [&str; 3] = ["5th percentile", "median", "geometric mean"];

/// The height of a line through sorted ratios where it passes one of them, in percent.
fn share_at(sorted: &[f64], ratio: f64) -> f64 {
    let above = sorted.partition_point(|other| *other < ratio).clamp(1, sorted.len().max(2) - 1);
    let [from, to] = [above - 1, above].map(|place| sorted.get(place).copied().unwrap_or(ratio));
    let part = if to > from { (ratio - from) / (to - from) } else { 0.0 };
    100.0 * ((above - 1) as f64 + part) / (sorted.len().max(2) - 1) as f64
}

fn draw_sizes(groups: &[Group], layout: Layout) -> Drawing {
    let mut canvas = Canvas::new(BY_SIZE, layout);
    let kinds = Kind::ALL.iter().enumerate();
    let items = kinds.map(|(form, kind)| (Swatch::Shape(form, "f-muted s-paper"), kind.name().to_owned()));
    let mut top = legend::draw(&mut canvas, 0.0, &items.collect::<Vec<_>>());
    for place in 0..groups.len() {
        top = panel(&mut canvas, groups, place, top + 8.0);
    }
    canvas.finish(top)
}

/// The points of the set at a place, in the colour of its line in the other picture, from height `top` on. Returns where it ends.
fn panel(canvas: &mut Canvas, groups: &[Group], place: usize, top: f64) -> f64 {
    let (layout, group) = (canvas.layout, &groups[place]);
    let small = Type { size: layout.font() - 1.0, class: "f-muted" };
    let title = Type { size: layout.font(), class: "b f-ink" };
    canvas.line([0.0, top + 8.0], [18.0, top + 8.0], 3.0, COLOURS[place % SERIES]);
    canvas.text(24.0, top + 8.0, Anchor::Start, title, &title.fit(&group.name, layout.width() - 24.0));
    canvas.text(0.0, top + 28.0, Anchor::Start, small, "ratio to cuBLAS");
    let (top, left, right) = (top + 44.0, small.width("0.005") + 8.0, layout.width() - 12.0);
    let bottom = top + layout.pick(340.0, 260.0);
    let volumes = groups.iter().flat_map(|group| &group.set.rows).map(|row| row.volume());
    let (x, y) = (Scale::log(volumes, 1.6, (left, right)), ratios(groups, (bottom, top)));
    horizontal_grid(canvas, &y, [left, right], &y.ticks(8.0), trimmed);
    vertical_grid(canvas, &x, [top, bottom], &x.ticks(6.0), |value| format!("{value:.0e}"));
    canvas.line([left, y.at(1.0)], [right, y.at(1.0)], 1.5, "s-ink");
    let class = format!("m {} s-paper", FILLS[place % SERIES]);
    for row in &group.set.rows {
        let kind = Kind::ALL.iter().position(|kind| *kind == row.kind()).unwrap_or_default();
        canvas.mark(&tip(row), |canvas| canvas.shape([x.at(row.volume()), y.at(row.ratio)], 3.4, kind, &class, 1.0));
    }
    canvas.text((left + right) / 2.0, bottom + 34.0, Anchor::Middle, small, "m n k");
    bottom + 46.0
}

/// What a shape has to tell.
fn tip(row: &ShapeTiming) -> Vec<String> {
    let microseconds = |ms: f64| significant(1e3 * ms);
    let mut lines = vec![
        format!("{} ({})", row.name(), row.class),
        format!(
            "{} of cuBLAS's speed: {} us, {} us",
            times(row.ratio),
            microseconds(row.time_ms),
            microseconds(row.cublas_ms)
        ),
        row.kernel.clone(),
    ];
    lines.extend(row.regret.map(|regret| format!("regret {}", times(regret))));
    lines.extend((!row.settled).then(|| format!("unsettled: {:.1} % standard error", 100.0 * row.ratio_error)));
    lines
}
