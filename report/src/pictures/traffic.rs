//! What memory does for a step: sectors per load, wavefronts lost to bank conflicts, and FMAs per load.

use results::format::{significant, trimmed};
use results::{Counters, Figure};

use super::counted::{self, Counted, counted};
use crate::canvas::{Anchor, Canvas, Drawing, Layout, Type};
use crate::data::Data;
use crate::grid::vertical_grid;
use crate::legend::{self, Swatch};
use crate::picture::{LeftOut, Picture};
use crate::scale::{Scale, round_up};
use crate::table::Table;

const NAME: &str = "traffic";

/// One of the figures of each step.
struct Measure {
    /// Whose it is: of a [`Figure`].
    key: &'static str,
    /// Its name in two lines.
    title: [&'static str; 2],
    /// Whether a step has such accesses.
    applies: fn(&Counters) -> bool,
    /// Why a step has none.
    none: &'static str,
}

impl Measure {
    /// `None` where a step has no such accesses.
    fn value(&self, counters: &Counters) -> Option<f64> {
        Figure::of(self.key).number(counters).filter(|_| (self.applies)(counters))
    }
}

const MEASURES: [Measure; 3] = [
    Measure {
        key: "sectors_per_load",
        title: ["Sectors", "per global load"],
        applies: |counters| counters.warp_loads() > 0,
        none: "bulk copies",
    },
    Measure {
        key: "conflict_share",
        title: ["Bank conflicts,", "% of wavefronts"],
        applies: |counters| counters.shared_loads + counters.shared_stores > 0,
        none: "none",
    },
    Measure {
        key: "fmas_per_load",
        title: ["FMAs", "per load"],
        applies: |counters| counters.tensor_core_fmas == 0,
        none: "tensor cores",
    },
];

pub(crate) fn picture(data: &Data) -> Result<Picture, LeftOut> {
    let title = "Memory traffic".to_owned();
    let all = counted(data);
    if all.is_empty() {
        return Err(LeftOut { name: NAME, title, reason: counted::MISSING.into() });
    }
    let note = "A sector has 32 bytes. A load of 4 bytes per lane touches at least 4 of them, a load of 16 bytes per lane at least 16. \
                Bank conflicts are the wavefronts of shared memory beyond what the bytes need. FMAs per load grow with the values \
                that a thread keeps in registers. Bulk (TMA) copies need no load of a warp, and an MMA reads shared memory without \
                loads.";
    Ok(Picture {
        name: NAME.to_owned(),
        title,
        source: counted::source(&all),
        note: note.into(),
        table: table(&all),
        controls: None,
        drawings: Layout::ALL.map(|layout| draw(&all, layout)),
        variants: Vec::new(),
    })
}

/// Where a column's axis and its values are.
struct Column<'a> {
    measure: &'a Measure,
    scale: Scale,
    left: f64,
    value: f64,
}

fn columns(all: &[Counted], layout: Layout, first: f64) -> Vec<Column<'static>> {
    let (gap, room) = layout.pick((28.0, 62.0), (10.0, 40.0));
    let width = (layout.width() - first - 2.0 * gap) / 3.0;
    let column = |(i, measure): (usize, &'static Measure)| {
        let left = first + (width + gap) * i as f64;
        let values = all.iter().flat_map(|counted| &counted.steps).filter_map(|step| measure.value(step.1));
        let scale = Scale::linear(round_up(values.fold(0.0, f64::max)), (left, left + width - room));
        Column { measure, scale, left, value: left + width }
    };
    MEASURES.iter().enumerate().map(column).collect()
}

fn draw(all: &[Counted], layout: Layout) -> Drawing {
    let mut canvas = Canvas::new(NAME, layout);
    let name = Type { size: layout.font(), class: layout.pick("f-ink", "f-ink b halo s-paper") };
    let heading = Type { size: layout.pick(13.0, 11.5), class: "b f-ink" };
    let small = Type { size: layout.font() - 1.0, class: "f-muted" };
    let slugs = counted::slugs(all);
    let names = slugs.iter().map(|slug| name.width(slug)).fold(0.0, f64::max);
    let columns = columns(all, layout, layout.pick(names + 16.0, 0.0));
    let items: Vec<_> = all.iter().enumerate().map(|(i, counted)| (Swatch::Bar(i, false), counted.mark())).collect();
    let mut y = legend::draw(&mut canvas, 0.0, if all.len() > 1 { &items } else { &[] }) + 2.0;
    for column in &columns {
        let [first, second] = column.measure.title;
        canvas.text(column.left, y + 8.0, Anchor::Start, heading, first);
        canvas.text(column.left, y + 24.0, Anchor::Start, heading, second);
    }
    y += 40.0;
    let (top, step) = (y, layout.pick(16.0, 16.0));
    let row = layout.pick(24.0, 38.0) + step * (all.len() - 1) as f64;
    let bottom = top + row * slugs.len() as f64 + 4.0;
    for column in &columns {
        let ticks = column.scale.ticks(layout.pick(4.0, 2.0));
        vertical_grid(&mut canvas, &column.scale, [top, bottom], &ticks, trimmed);
    }
    for (place, slug) in slugs.iter().enumerate() {
        let y = top + row * place as f64;
        let (x, middle, anchor) =
            layout.pick((names + 6.0, y + row / 2.0, Anchor::End), (0.0, y + 10.0, Anchor::Start));
        canvas.text(x, middle, anchor, name, slug);
        for (i, counted) in all.iter().enumerate() {
            let Some(counters) = counted.of(slug) else { continue };
            let y = y + layout.pick(12.0, 26.0) + step * i as f64;
            for column in &columns {
                cell(&mut canvas, column, slug, counters, (i, y), small);
            }
        }
    }
    canvas.finish(bottom + 22.0)
}

fn cell(canvas: &mut Canvas, column: &Column, slug: &str, counters: &Counters, (i, y): (usize, f64), small: Type) {
    let layout = canvas.layout;
    let measure = column.measure;
    let Some(value) = measure.value(counters) else {
        let text = layout.pick(measure.none, "-");
        return canvas.text(column.value, y, Anchor::End, Type { class: "f-muted halo s-paper", ..small }, text);
    };
    let lines = [slug.to_owned(), format!("{} {}: {}", measure.title[0], measure.title[1], significant(value))];
    canvas.mark(&lines, |canvas| {
        let (width, height) = (column.scale.at(value) - column.left, layout.pick(13.0, 11.0));
        canvas.bar([column.left, y - height / 2.0, width, height], i, false);
    });
    let text = if value.abs() < 0.05 { "0".to_owned() } else { trimmed(value) };
    canvas.text(column.value, y, Anchor::End, Type { size: layout.font(), class: "f-ink" }, &text);
}

/// The columns of the table.
const COLUMNS: [&Figure; 8] = Figure::all([
    "sectors_per_load",
    "copies",
    "bytes_per_copy",
    "wavefronts_per_shared_load",
    "conflict_share",
    "fmas_per_load",
    "global_bytes_per_fma",
    "flops_per_l2_byte",
]);

fn table(all: &[Counted]) -> Table {
    let heads = ["Step".to_owned()].into_iter().chain(COLUMNS.map(Figure::heading));
    let mut table = Table::new(1, heads);
    for (name, counters) in counted::lines(all) {
        let value = |figure: &Figure| match MEASURES.iter().find(|measure| measure.key == figure.key) {
            Some(measure) if !(measure.applies)(counters) => "-".to_owned(),
            _ => figure.text(counters),
        };
        table.lines.push([name].into_iter().chain(COLUMNS.map(value)).collect());
    }
    table
}
