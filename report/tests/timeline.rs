//! What the page and its pictures have of several GPUs.

use std::path::{Path, PathBuf};

use report::{Layout, Report, Theme, timeline};
use results::{Lane, Peers, Run, SCHEMA, TaskKind, TimedTask, Timeline};

/// The newest results of an H200.
fn measured() -> Run {
    Run::read(&Run::newest_in(&docs("")).unwrap().unwrap()).unwrap()
}

fn peers() -> Peers {
    Peers::read(&docs("peers.json")).unwrap()
}

fn docs(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results").join(file)
}

/// Two ranks, each with products and what they wait for.
fn record(modelled: bool) -> Timeline {
    let task = |kind: TaskKind, chunk: usize, start_us: f64, end_us: f64| TimedTask {
        kind,
        name: format!("{} {chunk}", kind.name()),
        start_us,
        end_us,
    };
    let rank = |rank: usize, late: f64| {
        let products =
            (0..3).map(|i| task(TaskKind::Product, i, 20.0 + late + 30.0 * i as f64, 48.0 + late + 30.0 * i as f64));
        let gathers = (0..3).map(|i| task(TaskKind::AllGather, i, 18.0 * i as f64, 18.0 * (i + 1) as f64));
        let lane = |queue: &str, tasks| Lane { rank, queue: queue.to_owned(), tasks };
        [lane("compute", products.collect()), lane("inbound", gathers.collect())]
    };
    Timeline {
        schema: SCHEMA,
        device: "NVIDIA H200".into(),
        modelled,
        class: "fp32-strict".into(),
        m: 300,
        n: 200,
        k: 100,
        gpus: 2,
        scheme: "2x1 panels, 1x3 chunks".into(),
        iterations: 7,
        lanes: [rank(0, 0.0), rank(1, 12.0)].concat(),
        date: "2026-05-04T03:02:01Z".into(),
        commit: "abc".into(),
    }
}

/// A run of one product over two GPUs and on one, without timelines.
fn together(modelled: bool) -> Run {
    let mut run = Run { name: "several.jsonl".into(), ..Run::default() };
    let row = measured().of("naive", "fp32", [4096; 3]).unwrap().clone();
    for (gpus, gflops, efficiency) in [(2, 90_000.0, 0.9), (1, 50_000.0, 1.0)] {
        let scheme = Some(format!("{gpus}x1 panels, 1x3 chunks"));
        let (gpus, efficiency) = (Some(gpus), Some(efficiency));
        run.distributed.push(results::Measurement { gpus, scheme, efficiency, gflops, modelled, ..row.clone() });
    }
    run
}

fn html(runs: &[Run]) -> String {
    Report::new(runs, &peers()).html()
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
    let record = record(false);
    for layout in Layout::ALL {
        let svg = timeline(&record).svg(layout, Theme::Light);
        let bars = bars(&svg);
        let times: Vec<_> = record.tasks().map(|task| [task.start_us, task.end_us]).collect();
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
fn modelled_times_are_hatched_and_say_so_once() {
    let svg = |modelled| timeline(&record(modelled)).svg(Layout::Wide, Theme::Auto);
    assert_eq!(timeline(&record(true)).title, "m = 300, n = 200, k = 100 in fp32-strict over 2 GPUs (modelled)");
    assert!(svg(true).contains("class=\"bar modelled") && svg(true).contains(">products</text>"));
    assert!(!svg(false).contains("modelled") && svg(false).contains("the last of 7 timed runs"));
    assert!(!svg(true).contains("ReduceScatter"), "the legend has what is there");
    let picture = timeline(&record(true));
    assert!(picture.png(Layout::Wide, Theme::Light).is_ok());
    assert_eq!(picture.table.lines.len(), 12);
    let empty = Timeline { lanes: Vec::new(), ..record(false) };
    assert!(timeline(&empty).svg(Layout::Wide, Theme::Auto).starts_with("<svg"));
}

#[test]
fn the_page_has_each_timeline_once_and_with_ids_of_its_own() {
    let mut run = together(true);
    run.timelines = vec![record(true), record(true)];
    let peers = peers();
    let runs = [run];
    let report = Report::new(&runs, &peers);
    assert_eq!(
        report.pictures().iter().map(|picture| picture.name.as_str()).collect::<Vec<_>>(),
        ["timeline", "timeline-2"]
    );
    let html = report.html();
    for id in ["several-gpus", "timeline", "timeline-2", "timeline-wide-hatch-0", "timeline-2-narrow-hatch-1"] {
        assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
    assert!(html.contains("href=\"#several-gpus\"") && html.contains("All times in this report are modelled"));
    assert!(html.contains("2 of timelines"));
}

#[test]
fn a_page_of_several_gpus_alone_has_all_that_such_a_run_says() {
    let html = html(&[together(false)]);
    for text in [
        "<title>SGEMM in Rust on NVIDIA H200",
        "Fastest over <b>2 GPUs</b>",
        "<b>90.0</b> TFLOPS",
        "67.3 % of the peak of all",
        "<b>90.0</b> % efficiency",
        "2x1 panels, 1x3 chunks",
        "2 of several GPUs",
        "id=\"environment\"",
    ] {
        assert!(html.contains(text), "{text}");
    }
    for text in ["id=\"left-out\"", "no measurements", "modelled"] {
        assert!(!html[html.find("<body").unwrap()..].contains(text), "{text}");
    }
}

#[test]
fn beside_measured_steps_a_modelled_timeline_changes_no_title_but_the_page_says_so() {
    let mut run = measured();
    run.timelines.push(record(true));
    let peers = peers();
    let runs = [run];
    let report = Report::new(&runs, &peers);
    assert!(!report.picture("ladder").unwrap().title.contains("modelled"));
    assert!(report.html().contains("Hatched bars, hollow points and dotted lines are modelled by the emulator"));
}

#[test]
fn wrong_products_over_several_gpus_are_in_no_table() {
    let mut run = together(false);
    run.distributed[0].verified = false;
    let html = html(&[run]);
    assert!(html.contains("id=\"failed\"") && html.contains("over 2 GPUs"), "{html}");
    assert!(!html.contains("2x1 panels") && html.contains("1x1 panels"));
}
