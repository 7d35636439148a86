//! The drawing of a step's tile: what a block multiplies, which thread computes what, and which loads what. All from the step's
//! constants.

mod accesses;
mod banks;
mod block;
mod lanes;
pub mod notes;
mod placement;
mod schedule;
mod sheet;
mod stages;
pub mod timeline;

use anyhow::Result;
use gpu_kernels::Step;

use super::figures::{FIGURES, Figures};
use super::page::Page;
use super::pages::stem;
use super::sources::Sources;
use sheet::{MARGIN, Sheet};

/// The block `tile`: the figure, with a caption under it.
pub fn block(step: &Step, page: &Page, figures: &mut Figures) -> Result<String> {
    let name = stem(step);
    let link = page.link(&format!("{}/{name}.svg", FIGURES));
    figures.insert(name, drawing(step));
    Ok(format!("![{}]({link})\n\n*{}*\n", title(step), caption(step)))
}

/// The whole drawing.
fn drawing(step: &Step) -> String {
    let mut sheet = Sheet::new();
    let mut bottom = 0.0;
    for panel in [block::panel, lanes::panel, banks::panel, stages::panel, schedule::panel] {
        bottom = panel(&mut sheet, step, bottom);
    }
    sheet.finish(bottom + MARGIN / 2.0, &title(step), &caption(step))
}

fn title(step: &Step) -> String {
    format!("{}: the tile of a block, and which thread loads what", step.slug)
}

/// What the drawing shows, in sentences.
fn caption(step: &Step) -> String {
    let tile = step.tile;
    let operands = match tile.bk {
        1 => format!("{} rows of A and {} columns of B, without shared memory", tile.bm, tile.bn),
        bk => format!("k-tiles of A, {} x {bk}, and of B, {bk} x {}", tile.bm, tile.bn),
    };
    let notes = notes::of(step).into_iter().map(|note| note.text);
    let all = std::iter::once(format!(
        "A block computes a tile of {} x {} of C from {operands}, to scale.",
        tile.bm, tile.bn
    ));
    all.chain(notes).collect::<Vec<_>>().join(" ").replace('\u{a0}', " ")
}

#[cfg(test)]
mod tests {
    use gpu_kernels::STEPS;

    use super::sheet::WIDTH;
    use super::*;

    #[test]
    fn every_drawing_is_well_formed_and_has_its_own_numbers() {
        for step in STEPS {
            let drawing = drawing(step);
            let document =
                roxmltree::Document::parse(&drawing).unwrap_or_else(|error| panic!("{}: {error}", step.slug));
            let texts: Vec<_> = document.descendants().filter(|node| node.has_tag_name("text")).collect();
            let all = texts.iter().filter_map(|text| text.text()).collect::<Vec<_>>().join(" ");
            let tile = step.tile;
            for (name, size) in [("BM", tile.bm), ("BN", tile.bn), ("BK", tile.bk)] {
                let is_drawn = name != "BK" || size > 1;
                assert!(
                    !is_drawn || all.contains(&format!("{name} = {size}")),
                    "{}: {name} = {size}: {all}",
                    step.slug
                );
            }
            assert!(document.descendants().any(|node| node.has_tag_name("desc")), "{}", step.slug);
        }
    }

    /// Left, top, right and bottom of a text, about.
    fn place(text: roxmltree::Node) -> [f64; 4] {
        let number = |name: &str| text.attribute(name).and_then(|value| value.parse::<f64>().ok()).unwrap();
        let width = text.text().unwrap_or_default().chars().count() as f64 * 6.6;
        let left = match text.attribute("text-anchor") {
            Some("middle") => number("x") - width / 2.0,
            Some("end") => number("x") - width,
            _ => number("x"),
        };
        [left, number("y") - 10.0, left + width, number("y") + 3.0]
    }

    /// The drawing of the step, and that of its stages over time where it has stages.
    fn drawings(step: &'static Step, sources: &Sources) -> Vec<String> {
        let page = Page { path: "docs/src/a.md".into(), text: String::new(), step: Some(step) };
        let mut figures = Figures::new();
        if step.tile.bk > 1 && stages::count(step) > 1 {
            let text = timeline::block(step, sources, &page, &mut figures).unwrap();
            assert!(text.contains(", modelled](figures/") && text.contains("*Modelled: "), "{text}");
        }
        std::iter::once(drawing(step)).chain(figures.into_values()).collect()
    }

    #[test]
    fn texts_are_inside_and_not_over_each_other() {
        let sources = Sources::read(crate::workspace::root()).unwrap();
        for (step, drawing) in
            STEPS.iter().flat_map(|step| drawings(step, &sources).into_iter().map(move |drawing| (step, drawing)))
        {
            let document = roxmltree::Document::parse(&drawing).unwrap();
            let texts = document.descendants().filter(|node| node.has_tag_name("text"));
            let texts: Vec<_> = texts.map(|text| (place(text), text.text().unwrap_or_default())).collect();
            for (index, ([left, top, right, bottom], text)) in texts.iter().enumerate() {
                assert!(*left >= 0.0 && *right <= WIDTH, "{}: {text}", step.slug);
                for ([l, t, r, b], other) in &texts[..index] {
                    let is_clear = r <= left || l >= right || b <= top || t >= bottom;
                    assert!(is_clear, "{}: {text:?} is over {other:?}", step.slug);
                }
            }
        }
    }
}
