//! How many warps an SM holds, and what limits them.

use results::Counters;
use results::format::{grouped, significant, trimmed};

use super::counted::{self, Counted, counted};
use crate::canvas::{Anchor, Canvas, Drawing, Layout, Type};
use crate::data::Data;
use crate::grid::vertical_grid;
use crate::legend::{self, Swatch};
use crate::picture::{LeftOut, Picture};
use crate::scale::Scale;
use crate::table::Table;

const NAME: &str = "occupancy";

pub(crate) fn picture(data: &Data) -> Result<Picture, LeftOut> {
    let title = "Occupancy: resident warps per SM".to_owned();
    let all = counted(data);
    if all.is_empty() {
        return Err(LeftOut { name: NAME, title, reason: counted::MISSING.into() });
    }
    let note = "Resident warps per SM, out of the maximum, and the resource that limits them. Registers are the emulator's estimate, \
                and so is the occupancy: hatched. The fastest steps have a low occupancy: they hide latency by \
                instruction-level parallelism.";
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

/// How many warps fit at the most.
fn most_warps(counters: &Counters) -> f64 {
    if counters.occupancy > 0.0 { (f64::from(counters.warps_per_sm) / counters.occupancy).round() } else { 0.0 }
}

fn draw(all: &[Counted], layout: Layout) -> Drawing {
    let mut canvas = Canvas::new(NAME, layout);
    let name = Type { size: layout.font(), class: "f-ink" };
    let small = Type { size: layout.font() - 1.0, class: "f-muted" };
    let most = all.iter().flat_map(|counted| &counted.steps).map(|step| most_warps(step.1)).fold(1.0, f64::max);
    let slugs = counted::slugs(all);
    let names = slugs.iter().map(|slug| name.width(slug)).fold(0.0, f64::max);
    let bars = layout.pick((names + 16.0, 500.0), (0.0, 196.0));
    let scale = Scale::linear(most, bars);

    let mut items: Vec<_> = all
        .iter()
        .enumerate()
        .map(|(i, counted)| (Swatch::Bar(i, true), format!("{}: estimated", counted.mark())))
        .collect();
    if all.len() == 1 {
        items = vec![(Swatch::Bar(0, true), "warps, estimated by the emulator".into())];
    }
    let mut y = legend::draw(&mut canvas, 0.0, &items) + 6.0;
    if layout.is_wide() {
        for (right, heading) in COLUMNS {
            canvas.text(right, y + 8.0, Anchor::End, small, heading);
        }
        canvas.text(LIMIT, y + 8.0, Anchor::Start, small, "limited by");
        y += 20.0;
    }
    let (top, row) = (y, layout.pick(24.0, 40.0) + layout.pick(16.0, 18.0) * (all.len() - 1) as f64);
    let bottom = top + row * slugs.len() as f64 + 4.0;
    let ticks: Vec<f64> = (0..=4).map(|i| most * f64::from(i) / 4.0).collect();
    vertical_grid(&mut canvas, &scale, [top, bottom], &ticks, trimmed);
    for (place, slug) in slugs.iter().enumerate() {
        let y = top + row * place as f64;
        let middle = if layout.is_wide() { y + row / 2.0 } else { y + 11.0 };
        let (x, anchor) = layout.pick((names + 6.0, Anchor::End), (0.0, Anchor::Start));
        canvas.text(x, middle, anchor, Type { class: layout.pick("f-ink", "f-ink b halo s-paper"), ..name }, slug);
        let rows = all.iter().enumerate().filter_map(|(i, counted)| Some((i, counted.of(slug)?)));
        for (i, counters) in rows {
            let y = y + layout.pick(12.0 + 16.0 * i as f64, 28.0 + 18.0 * i as f64);
            canvas.mark(&tip(slug, counters, &all[i]), |canvas| {
                let (x, height) = (scale.at(0.0), layout.pick(13.0, 12.0));
                canvas.bar([x, y - height / 2.0, scale.at(f64::from(counters.warps_per_sm)) - x, height], i, true);
            });
            values(&mut canvas, counters, most, [middle, y], small);
        }
    }
    canvas.finish(bottom + 22.0)
}

/// Right ends of the columns of numbers of the wide layout.
const COLUMNS: [(f64, &str); 4] = [(575.0, "warps"), (800.0, "registers"), (880.0, "shared KiB"), (958.0, "threads")];

/// Where what limits it begins.
const LIMIT: f64 = 610.0;

/// `above` is the height of the step's name.
fn values(canvas: &mut Canvas, counters: &Counters, most: f64, [above, y]: [f64; 2], small: Type) {
    let kib = kib(counters.shared_bytes);
    let strong = Type { class: "f-ink", size: canvas.layout.font() };
    if canvas.layout.is_wide() {
        let texts = [
            format!("{} of {most}", counters.warps_per_sm),
            counters.registers.to_string(),
            kib,
            counters.threads.to_string(),
        ];
        for ((right, _), text) in COLUMNS.iter().zip(texts) {
            canvas.text(*right, y, Anchor::End, strong, &text);
        }
        canvas.text(LIMIT, y, Anchor::Start, Type { class: "f-muted", ..strong }, &counters.occupancy_limit);
        return;
    }
    canvas.text(204.0, y, Anchor::Start, strong, &counters.warps_per_sm.to_string());
    canvas.text(228.0, y, Anchor::Start, small, &format!("limit: {}", counters.occupancy_limit));
    let what = format!("{} registers, {kib} KiB", counters.registers);
    canvas.text(358.0, above, Anchor::End, small, &what);
}

fn kib(bytes: u32) -> String {
    trimmed(f64::from(bytes) / 1024.0)
}

fn tip(slug: &str, counters: &Counters, counted: &Counted) -> Vec<String> {
    vec![
        format!("{slug} ({})", counted.mark()),
        format!(
            "{} of {} warps, {} %",
            counters.warps_per_sm,
            most_warps(counters),
            significant(100.0 * counters.occupancy)
        ),
        format!("limited by {}", counters.occupancy_limit),
        format!("{} blocks of {} threads", counters.blocks_per_sm, counters.threads),
        format!("{} registers of a thread, estimated", counters.registers),
        format!("{} bytes of shared memory of a block", grouped(counters.shared_bytes.into())),
    ]
}

fn table(all: &[Counted]) -> Table {
    let heads = [
        "Step",
        "Limited by",
        "Warps",
        "of",
        "Occupancy, %",
        "Blocks",
        "Threads of a block",
        "Registers, estimated",
        "Shared memory of a block, bytes",
    ];
    let mut table = Table::new(2, heads);
    for (name, counters) in counted::lines(all) {
        table.lines.push(vec![
            name,
            counters.occupancy_limit.clone(),
            counters.warps_per_sm.to_string(),
            format!("{}", most_warps(counters)),
            significant(100.0 * counters.occupancy),
            counters.blocks_per_sm.to_string(),
            counters.threads.to_string(),
            counters.registers.to_string(),
            grouped(counters.shared_bytes.into()),
        ]);
    }
    table
}
