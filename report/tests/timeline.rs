//! The picture of a distributed product over time.

use report::{Lane, Layout, TaskKind, Theme, TimedTask, timeline};

/// Two ranks, each with products and what they wait for.
fn lanes() -> Vec<Lane> {
    let task = |kind: TaskKind, chunk: usize, start: f64, end: f64| TimedTask {
        kind,
        name: format!("{} {chunk}", kind.name()),
        times_us: [start, end],
    };
    let rank = |rank: usize, late: f64| {
        let products =
            (0..3).map(|i| task(TaskKind::Product, i, 20.0 + late + 30.0 * i as f64, 48.0 + late + 30.0 * i as f64));
        let gathers = (0..3).map(|i| task(TaskKind::AllGather, i, 18.0 * i as f64, 18.0 * (i + 1) as f64));
        let name = |queue| format!("rank {rank}, {queue}");
        [
            Lane { name: name("compute"), is_first: true, tasks: products.collect() },
            Lane { name: name("inbound"), is_first: false, tasks: gathers.collect() },
        ]
    };
    [rank(0, 0.0), rank(1, 12.0)].concat()
}

/// The bars' left ends and widths, in the order in which they are drawn; those of the legend are left out.
fn bars(svg: &str) -> Vec<[f64; 2]> {
    let document = resvg::usvg::roxmltree::Document::parse(svg).unwrap();
    let marks = document.descendants().filter(|node| node.attribute("class") == Some("mark"));
    let bars = marks.filter_map(|mark| mark.children().find(|node| node.has_tag_name("rect")));
    bars.map(|bar| ["x", "width"].map(|name| bar.attribute(name).unwrap().parse().unwrap())).collect()
}

#[test]
fn bars_are_where_times_are() {
    let lanes = lanes();
    for layout in Layout::ALL {
        let svg = timeline("title", "source", false, &lanes).svg(layout, Theme::Light);
        let bars = bars(&svg);
        let times: Vec<_> = lanes.iter().flat_map(|lane| &lane.tasks).map(|task| task.times_us).collect();
        assert_eq!(bars.len(), times.len());
        // One scale for all of them, and all within the picture.
        let [left, width] = bars[3];
        let [from, to] = times[3];
        let scale = width / (to - from);
        let origin = left - scale * from;
        for ([x, width], [start, end]) in bars.iter().zip(&times) {
            assert!((x - (origin + scale * start)).abs() < 0.1 && (width - scale * (end - start)).abs() < 0.1);
            assert!(*x >= 0.0 && x + width <= layout.width());
        }
    }
}

#[test]
fn modelled_times_are_hatched_and_say_so() {
    let svg = |is_modelled| timeline("title", "source", is_modelled, &lanes()).svg(Layout::Wide, Theme::Auto);
    assert!(svg(true).contains("products, modelled") && svg(true).contains("class=\"bar modelled"));
    assert!(!svg(false).contains("modelled"));
    assert!(!svg(true).contains("ReduceScatter"), "the legend has what is there");
    let picture = timeline("title", "source", true, &lanes());
    assert!(picture.png(Layout::Wide, Theme::Light).is_ok());
    assert_eq!(picture.table.lines.len(), 12);
    assert!(timeline("title", "source", false, &[]).svg(Layout::Wide, Theme::Auto).starts_with("<svg"));
}
