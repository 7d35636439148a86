//! Pictures and the page, out of the committed results and out of what may go wrong with others.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use report::{Layout, Links, Picture, Report, Theme};
use results::Run;
use resvg::usvg::{self, roxmltree};

use self::common::{docs, measured, modelled, peers, picture};

fn accuracy() -> Run {
    Run::read(&docs("accuracy-2026-11-21-h200-2048.jsonl")).unwrap()
}

/// Shapes beside cuBLAS, made up.
fn shapes() -> Run {
    Run::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../results/tests/shapes.jsonl")).unwrap()
}

/// The first lines of what the points of a picture say.
fn points(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let titles = document.descendants().filter(|node| node.attribute("class") == Some("mark"));
    let title = |mark: roxmltree::Node| mark.children().find_map(|node| node.text().map(str::to_owned));
    titles.filter_map(title).filter_map(|text| text.lines().next().map(str::to_owned)).collect()
}

/// Bars of a picture: the first line of what they say, width, and class.
fn bars(svg: &str) -> Vec<(String, f64, String)> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let marks = document.descendants().filter(|node| node.attribute("class") == Some("mark"));
    let bar = |mark: roxmltree::Node| {
        let title = mark.children().find(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "title")))?;
        let class = |node: &roxmltree::Node| node.attribute("class").unwrap_or_default().to_owned();
        let bar = mark.children().find(|node| class(node).split(' ').any(|class| class == "bar"))?;
        let name = title.text()?.lines().next()?.to_owned();
        Some((name, bar.attribute("width")?.parse().unwrap(), class(&bar)))
    };
    marks.filter_map(bar).collect()
}

/// Every picture of a report, in each width.
fn all(report: &Report) -> Vec<(String, String)> {
    let each = |picture: &Picture| {
        Layout::ALL.map(|layout| {
            let name = format!("{} {}", picture.name, layout.name());
            (name, picture.svg(layout, Theme::Light))
        })
    };
    report.pictures().iter().flat_map(each).collect()
}

fn parse(svg: &str) -> usvg::Tree {
    static FONTS: LazyLock<Arc<usvg::fontdb::Database>> = LazyLock::new(|| {
        let mut fonts = usvg::fontdb::Database::new();
        [notosans::REGULAR_TTF, notosans::BOLD_TTF].iter().for_each(|font| fonts.load_font_data(font.to_vec()));
        fonts.set_sans_serif_family("Noto Sans");
        Arc::new(fonts)
    });
    usvg::Tree::from_str(svg, &usvg::Options { fontdb: FONTS.clone(), ..usvg::Options::default() }).unwrap()
}

fn texts(group: &usvg::Group) -> Vec<(String, usvg::Rect)> {
    let mut found = Vec::new();
    for node in group.children() {
        match node {
            usvg::Node::Group(group) => found.extend(texts(group)),
            usvg::Node::Text(text) => {
                let words = text.chunks().iter().map(usvg::TextChunk::text).collect();
                found.push((words, text.flattened().abs_bounding_box()));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn no_text_lies_on_another_or_outside() {
    let mut long = measured();
    long.name = "a/very/long/path/of-a-file-whose-name-is-much-longer-than-a-phone-is-wide.jsonl".into();
    let mut other = shapes();
    other.name = long.name.clone();
    other.shapes.iter_mut().for_each(|row| (row.ratio, row.k) = (row.ratio * 1e-3, row.k * 16));
    let timelines = Run::read(&docs("scale/timeline-2026-11-26-h200.jsonl")).unwrap();
    let cases: [&[Run]; 7] = [
        &[measured()],
        &[modelled()],
        &[long, modelled(), accuracy()],
        &[accuracy()],
        &[shapes()],
        &[shapes(), measured(), other],
        &[timelines],
    ];
    let peers = peers();
    for (name, svg) in cases.iter().flat_map(|runs| all(&Report::new(runs, &peers))) {
        let tree = parse(&svg);
        let texts = texts(tree.root());
        assert!(texts.len() > 5, "{name}");
        for (i, (text, area)) in texts.iter().enumerate() {
            let is_inside = area.left() >= 0.0 && area.right() <= tree.size().width();
            assert!(is_inside && area.bottom() <= tree.size().height(), "{name}: {text:?} lies outside");
            for (other, place) in &texts[..i] {
                let is_apart = area.right() <= place.left() + 0.5
                    || place.right() <= area.left() + 0.5
                    || area.bottom() <= place.top() + 1.0
                    || place.bottom() <= area.top() + 1.0;
                assert!(is_apart, "{name}: {text:?} lies on {other:?}");
            }
        }
    }
}

#[test]
fn bars_are_as_long_as_their_figures() {
    let run = measured();
    for layout in Layout::ALL {
        let bars = bars(&picture(std::slice::from_ref(&run), "ladder").svg(layout, Theme::Auto));
        let pixels_for_one = |slug: &str, precision: &str| {
            let gflops = run.of(slug, precision, [4096; 3]).unwrap().gflops;
            bars.iter().find(|bar| bar.0 == format!("{slug} ({precision})")).unwrap().1 / gflops
        };
        let (long, other) = (pixels_for_one("ilp", "fp32"), pixels_for_one("1d-tiling", "fp32"));
        assert!((long / other - 1.0).abs() < 1e-3, "{long} {other}");
        let tensor = ["hgemm/f16", "fp16x3/fp16x3"].map(|name| {
            let (slug, precision) = name.split_once('/').unwrap();
            pixels_for_one(slug, precision)
        });
        assert!((tensor[0] / tensor[1] - 1.0).abs() < 1e-3, "{tensor:?}");
    }
}

#[test]
fn what_is_modelled_says_so_and_what_is_measured_does_not() {
    for (run, is_modelled) in [(measured(), false), (modelled(), true)] {
        let runs = [run];
        let ladder = picture(&runs, "ladder");
        assert_eq!(ladder.title.contains("modelled"), is_modelled);
        let bars = bars(&ladder.svg(Layout::Wide, Theme::Auto));
        assert!(bars.len() > 20);
        assert!(bars.iter().all(|bar| bar.2.contains("modelled") == is_modelled), "{bars:?}");
        assert_eq!(picture(&runs, "sizes").svg(Layout::Wide, Theme::Auto).contains(" dots"), is_modelled);
        assert_eq!(Report::new(&runs, &peers()).html().contains("were not measured"), is_modelled);
    }
}

#[test]
fn what_is_not_verified_is_not_drawn() {
    let mut run = measured();
    for row in run.measurements.iter_mut().filter(|row| row.kernel == "ilp") {
        row.verified = false;
    }
    let runs = [run];
    let peers = peers();
    let report = Report::new(&runs, &peers);
    for name in ["ladder", "sizes", "precision"] {
        let picture = report.picture(name).unwrap();
        let svg = picture.svg(Layout::Wide, Theme::Auto);
        assert!(!svg.contains(">ilp") && svg.contains(">prefetch"), "{name}");
        assert!(picture.table.lines.iter().all(|line| line[0] != "ilp"), "{name}");
    }
    let html = report.html();
    let failed = &html[html.find("id=\"failed\"").unwrap()..];
    assert!(failed[..1000].contains("<b>ilp</b> (fp32) at 4096 x 4096 x 4096"));
    assert!(!Report::new(&[measured()], &peers).html().contains("id=\"failed\""));
}

#[test]
fn a_baseline_that_failed_its_check_is_shown_and_marked() {
    let mut run = measured();
    for row in run.measurements.iter_mut().filter(|row| row.kernel == "cublas-f16") {
        row.verified = false;
    }
    let runs = [run];
    let peers = peers();
    let report = Report::new(&runs, &peers);
    let html = report.html();
    let failed = &html[html.find("id=\"failed-baselines\"").unwrap()..];
    assert!(failed[..1000].contains("<b>cublas-f16</b> (f16) at 4096 x 4096 x 4096"));
    assert!(!html.contains("id=\"failed\""));
    let ladder = &report.picture("ladder").unwrap().table;
    assert!(ladder.lines.iter().any(|line| line.last().is_some_and(|cell| cell.ends_with("(failed its check)"))));
}

#[test]
fn cublas_is_explained_where_it_is_there() {
    let note = |run: Run| picture(&[run], "sizes").note;
    assert!(note(measured()).contains("Dashed: cuBLAS.") && !note(modelled()).contains("cuBLAS"));
}

#[test]
fn runs_stand_side_by_side() {
    let one = bars(&picture(&[measured()], "ladder").svg(Layout::Narrow, Theme::Auto)).len();
    let mut second = measured();
    for row in second.measurements.iter_mut().filter(|row| row.kernel != "ilp") {
        (row.gflops, row.time_ms) = (row.gflops / 2.0, row.time_ms * 2.0);
        row.percent_of_cublas = None;
    }
    let runs = [measured(), second];
    let ladder = picture(&runs, "ladder");
    assert_eq!(bars(&ladder.svg(Layout::Narrow, Theme::Auto)).len(), 2 * one);
    let columns = ["Step", "Precision", "A: TFLOPS at 4096", "B: TFLOPS at 4096", "B over A", "B, all sizes"];
    assert_eq!(ladder.table.columns, columns);
    let line = |slug: &str| ladder.table.lines.iter().find(|line| line[0] == slug).unwrap()[4..].to_owned();
    assert_eq!([line("prefetch"), line("ilp")], [["0.50 x", "SLOWER"], ["1.00 x", "same"]]);
    // What was counted is the same, and so is shown once.
    assert_eq!(picture(&runs, "traffic").table, picture(&[measured()], "traffic").table);
}

#[test]
fn shapes_are_drawn_and_named() {
    let runs = [shapes()];
    let peers = peers();
    let report = Report::new(&runs, &peers);
    let names: Vec<_> = report.pictures().iter().map(|picture| picture.name.as_str()).collect();
    assert_eq!((names, report.left_out().len()), (vec!["shapes", "shapes-by-size"], 0), "steps are not asked for");
    let svg = report.picture("shapes-by-size").unwrap().svg(Layout::Wide, Theme::Auto);
    let points = points(&svg);
    assert_eq!(points.len(), 11, "what is not verified is not drawn");
    assert!(points.contains(&"1024x1024x1024 TT, column-major, batch of 16 (fp32-strict)".to_owned()), "{points:?}");
    let distribution = report.picture("shapes").unwrap();
    assert_eq!(distribution.table.columns[..4], ["Set", "Shapes", "number", "geo. mean"]);
    assert_eq!(distribution.table.lines[0][..4], ["random:11:1, fp32-strict: 10 shapes", "all", "10", "0.93"]);
    assert_eq!(report.picture("shapes-by-size").unwrap().table.lines[0][1], "1x4096x4096");
    let html = report.html();
    for text in ["SGEMM in Rust on Test GPU", "Regret of 4 shapes", "12 of shapes", "id=\"shapes-by-size\""] {
        assert!(html.contains(text), "{text}");
    }
    assert!(!Report::new(&[measured()], &peers).html().contains("Shapes beside cuBLAS"));
}

#[test]
fn shapes_lie_where_their_ratios_are() {
    let mut run = shapes();
    run.shapes.retain(|row| row.class == "fp32-strict" && row.verified);
    let svg = picture(&[run], "shapes-by-size").svg(Layout::Wide, Theme::Auto);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let height = |name: &str| -> f64 {
        let marks = document.descendants().filter(|node| node.attribute("class") == Some("mark"));
        let mark = marks
            .into_iter()
            .find(|mark| mark.descendants().any(|node| node.text().is_some_and(|text| text.starts_with(name))));
        let shape =
            mark.unwrap().children().find(|node| !node.has_tag_name(("http://www.w3.org/2000/svg", "title"))).unwrap();
        let y = shape.attribute("cy").map(str::to_owned).unwrap_or_else(|| {
            // The middle of the corners of a square.
            let corners = shape.attribute("d").unwrap().trim_start_matches('M').trim_end_matches('Z').split('L');
            let ys: Vec<f64> = corners.map(|corner| corner.split(' ').nth(1).unwrap().parse().unwrap()).collect();
            (ys.iter().sum::<f64>() / ys.len() as f64).to_string()
        });
        y.parse().unwrap()
    };
    // 0.25, 1: both circles; factors of 4 are as far apart as these anywhere. 0.5 and 2 are squares.
    let (quarter, one) = (height("1x4096x4096"), height("4096x8x512"));
    let (half, two) = (height("64x64x100000"), height("200x300x2400"));
    assert!(quarter > one && ((quarter - one) - (half - two)).abs() < 0.1, "{quarter} {one} {half} {two}");
}

#[test]
fn what_is_missing_is_explained() {
    let peers = peers();
    let without = |change: fn(&mut Run)| {
        let mut run = measured();
        change(&mut run);
        let runs = [run];
        let report = Report::new(&runs, &peers);
        let html = report.html();
        assert!(report.left_out().iter().all(|left_out| html.contains(&left_out.title) && !left_out.reason.is_empty()));
        report.left_out().iter().map(|left_out| left_out.name).collect::<Vec<_>>()
    };
    assert_eq!(without(|_| ()), [""; 0]);
    assert_eq!(without(|run| run.counters.clear()), ["roofline", "occupancy", "traffic"]);
    assert_eq!(without(|run| run.measurements.retain(|row| row.m == 4096)), ["sizes"]);
    assert_eq!(without(|run| run.measurements.retain(|row| !row.is_baseline())), [""; 0]);
    assert_eq!(without(|run| run.measurements.iter_mut().for_each(|row| row.m += 1)), ["ladder", "sizes", "precision"]);
    assert_eq!(without(|run| run.measurements.clear()), ["ladder", "sizes", "precision"]);
    assert_eq!(without(|run| run.measurements.iter_mut().for_each(|row| row.gflops = f64::NAN)).len(), 3);
    assert_eq!(without(|run| run.counters.iter_mut().for_each(|one| one.l2_bytes = 0)), ["roofline"]);
    assert_eq!(without(|run| *run = Run::default()).len(), 6);
}

#[test]
fn the_page_needs_nothing_else_and_escapes_what_it_shows() {
    let mut run = measured();
    run.name = "<script>alert(1)</script>&\"x\"".into();
    run.measurements[0].device = "<b>&".into();
    let html = Report::new(&[run], &peers()).html();
    assert!(!html.contains("<script>alert") && !html.contains("<b>&"));
    for outside in ["src=\"http", "href=\"http", "url(http", "@import", "<link rel=\"stylesheet"] {
        assert!(!html.contains(outside), "{outside}");
    }
    let ids: Vec<_> = html.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
}

#[test]
fn a_folder_gets_the_page_and_every_picture() {
    let folder = tempfile::tempdir().unwrap();
    let files = report::write(folder.path(), &[modelled()], &peers(), Links::default()).unwrap();
    assert_eq!(files.len(), 1 + 2 * 6);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let start: &[u8] = match file.extension().unwrap().to_str() {
            Some("png") => b"\x89PNG",
            Some("svg") => b"<svg",
            _ => b"<!DOCTYPE html>",
        };
        assert!(bytes.starts_with(start), "{}", file.display());
    }
    assert!(report::write(folder.path(), &[], &peers(), Links::default()).is_err());
    assert!(report::write(Path::new("/nowhere/at/all"), &[modelled()], &peers(), Links::default()).is_err());
}
