//! What the page has beside its pictures, and the ladder's bars: gains, axes, headline, comparison, links.

mod common;

use std::collections::BTreeSet;

use report::{Layout, Links, Report, Theme};
use results::Run;
use resvg::usvg::roxmltree;

use self::common::{measured, modelled, peers, picture};

/// The rectangles of a bar: its whole length, and the pale part that the base reaches.
#[test]
fn the_gain_over_the_base_is_drawn_in_the_bar() {
    let run = measured();
    let svg = picture(std::slice::from_ref(&run), "ladder").svg(Layout::Wide, Theme::Auto);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let of = |name: &str| -> Vec<f64> {
        let is_it = |node: &roxmltree::Node| {
            node.attribute("class") == Some("mark")
                && node.descendants().any(|node| node.text().is_some_and(|text| text.starts_with(&format!("{name} ("))))
        };
        let mark = document.descendants().find(is_it).unwrap();
        let rects = mark.children().filter(|node| node.tag_name().name() == "rect");
        rects.map(|rect| rect.attribute("width").unwrap().parse().unwrap()).collect()
    };
    let row = run.of("coalesced", "fp32", [4096; 3]).unwrap();
    let [whole, base] = of("coalesced")[..] else { panic!("a bar and its base") };
    assert!((whole / base / run.speedup_over_base(row).unwrap() - 1.0).abs() < 0.02, "{whole} {base}");
    assert_eq!(of("naive").len(), 1, "the first step has no base");
}

#[test]
fn the_page_offers_the_axes_that_there_are_figures_for() {
    let peers = peers();
    let html = |run: Run| Report::new(&[run], &peers).html();
    let (measured, modelled) = (html(measured()), html(modelled()));
    for axis in ["absolute", "peak", "cublas"] {
        let id = format!("id=\"axis-{axis}\"");
        assert_eq!((measured.contains(&id), modelled.contains(&id)), (true, axis != "cublas"), "{axis}");
    }
    assert!(measured.contains("<input type=\"radio\" name=\"axis\" id=\"axis-absolute\" checked>"));
}

#[test]
fn the_headline_names_the_fastest_steps() {
    let run = measured();
    let rows = || run.measurements.iter().filter(|row| !row.is_baseline() && row.size() == Some(4096));
    let fastest = rows().max_by(|a, b| a.gflops.total_cmp(&b.gflops)).unwrap();
    let html = Report::new(std::slice::from_ref(&run), &peers()).html();
    let start = html.find("class=\"headline\"").unwrap();
    let headline = &html[start..start + 2000];
    for text in [fastest.step(), "Fastest in IEEE fp32", "% of peak", "x cuBLAS", "against f64"] {
        assert!(headline.contains(text), "{text}: {headline}");
    }
}

#[test]
fn two_runs_have_deltas_and_intervals_where_there_are_samples() {
    let with = |factor: f64| {
        let mut run = measured();
        for row in run.measurements.iter_mut().filter(|row| row.size() == Some(4096)) {
            row.time_ms *= factor;
            row.times_ms = Some((0..99).map(|i| (row.time_ms * (0.99 + 0.0002 * f64::from(i))) as f32).collect());
        }
        run
    };
    let line = |runs: &[Run]| {
        let table = picture(runs, "comparison").table;
        table.lines.into_iter().find(|line| line[0] == "ilp").unwrap()
    };
    let compared = line(&[with(1.0), with(0.5)]);
    let ends: Vec<f64> =
        compared[6].split(" to ").map(|end| end.trim_start_matches('+').replace(' ', "").parse().unwrap()).collect();
    assert!(compared[5] == "+100.0" && ends[0] < 100.0 && ends[1] > 100.0 && ends[1] - ends[0] < 5.0, "{compared:?}");
    let title = picture(&[with(1.0), with(0.5)], "comparison").title;
    assert!(title.starts_with("Comparison with A at 4096: 2.00 x as fast (geometric mean over "), "{title}");
    let runs = [measured(), measured()];
    assert_eq!(line(&runs)[5..], ["+0.0", "-"]);
    assert!(picture(&runs, "comparison").note.contains("Without an interval: A, B"));
}

#[test]
fn a_measured_run_beside_a_modelled_one_is_a_reference() {
    let html = Report::new(&[modelled(), measured()], &peers()).html();
    assert!(html.contains("measured reference") && html.contains("cuBLAS as measured in the reference"));
    assert!(!Report::new(&[measured(), measured()], &peers()).html().contains("reference"));
}

#[test]
fn the_page_leads_to_chapters_sources_and_data() {
    let step = report::StepLinks {
        slug: "naive".into(),
        chapter: "../docs/01.md".into(),
        source: "../01.rs#L9".into(),
        line: "01.rs:9".into(),
    };
    let links = Links { steps: vec![step], data: vec!["../data.jsonl".into()], commit: "abc".into() };
    let html = Report::new(&[measured()], &peers()).with_links(links).html();
    for address in ["../docs/01.md", "../01.rs#L9", "../data.jsonl"] {
        assert!(html.contains(&format!("href=\"{address}\"")), "{address}");
    }
    assert!(!Report::new(&[measured()], &peers()).html().contains("id=\"sources\""));
}

#[test]
fn what_pictures_have_in_common_is_said_once() {
    let html = Report::new(&[modelled()], &peers()).html();
    let body = &html[html.find("<body").unwrap()..];
    // Of each picture's table, no row repeats what its title says.
    assert!(!body.contains("(modelled)</td>") && !body.contains("modelled at "), "a row repeats it");
    let source = picture(&[modelled()], "ladder").source;
    assert_eq!(body.matches(&format!("<p class=\"note\">{source}.</p>")).count(), 1);
    // Of a run that has both, rows say which.
    let mut mixed = measured();
    mixed.measurements.iter_mut().filter(|row| row.step() == "naive").for_each(|row| row.modelled = true);
    let table = picture(&[mixed], "sizes").table;
    let line = |name: &str| table.lines.iter().find(|line| line[0] == name).unwrap().concat();
    assert!(line("naive").contains("(modelled)") && !line("coalesced").contains("(modelled)"));
}

/// Of shapes, a set's points have the colour of its line, and of no other.
#[test]
fn a_set_of_shapes_has_one_colour_in_both_pictures() {
    let run = Run::read(&common::docs("../../results/tests/shapes.jsonl")).unwrap();
    let svg = |name| picture(std::slice::from_ref(&run), name).svg(Layout::Wide, Theme::Light);
    // Of each mark, the class of its set and its colour.
    let colours = |svg: &str| -> BTreeSet<(&str, String)> {
        let document = roxmltree::Document::parse(svg).unwrap();
        let of = |mark: roxmltree::Node| {
            let title = mark.children().find_map(|node| node.text())?;
            let class = ["fp32-strict", "f16"].into_iter().find(|class| title.contains(class))?;
            let shape = mark.children().find_map(|node| node.attribute("class"))?;
            Some((class, shape.split(' ').find(|class| class.starts_with("f-c"))?.to_owned()))
        };
        document.descendants().filter(|node| node.attribute("class") == Some("mark")).filter_map(of).collect()
    };
    let of_lines = colours(&svg("shapes"));
    assert_eq!((of_lines.len(), &of_lines), (2, &colours(&svg("shapes-by-size"))));
}

/// The names of points stand in the roofline, and none in its legend twice.
#[test]
fn the_roofline_names_its_points() {
    let svg = picture(&[measured()], "roofline").svg(Layout::Wide, Theme::Auto);
    for name in ["naive", "prefetch", "hgemm"] {
        assert!(svg.contains(&format!(">{name}</text>")), "{name}");
    }
}
