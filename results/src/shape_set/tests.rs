use super::*;
use crate::Run;

/// Twelve shapes of one set, and one of another class: made up, so that figures can be computed by hand.
fn run() -> Run {
    Run::parse("shapes", include_str!("../../tests/shapes.jsonl")).unwrap()
}

#[test]
fn shapes_are_grouped_by_class_and_what_is_wrong_is_left_out() {
    let run = run();
    let titles: Vec<_> = ShapeSet::all(&run.shapes).iter().map(ShapeSet::title).collect();
    assert_eq!(titles, ["random:11:1, fp32-strict: 10 shapes", "random:11:1, f16: 1 shape"]);
}

#[test]
fn the_distribution_is_that_computed_by_hand() {
    let run = run();
    let ShapeTable { columns, lines, .. } = ShapeSet::all(&run.shapes)[0].distribution_table();
    assert_eq!(columns.join("|"), "Shapes|number|geo. mean|least|5 %|25 %|50 %|75 %|95 %|>= 1.00");
    let lines: Vec<_> = lines.iter().map(|line| line.join("|")).collect();
    // Logarithms to base 2: -2, -1 (3 times), 0 (3), 1 (2), 2. Their mean is -0.1.
    assert_eq!(lines[0], "all|10|0.93|0.25|0.36|0.50|1.00|1.75|3.10|60 %");
    assert_eq!(lines[1], "m or n <= 8|2|0.50|0.25|0.29|0.44|0.62|0.81|0.96|50 %");
    assert_eq!(lines[2], "k >= 8 max(m, n)|2|1.00|0.50|0.57|0.88|1.25|1.62|1.92|50 %");
    assert!(lines[3].starts_with("m or n <= 128|2|1.00|") && lines[4].starts_with("k <= 32|1|1.00|"), "{lines:?}");
    assert!(lines[5].starts_with("others|3|1.26|"), "{lines:?}");
    assert_eq!(lines[6], "all, as plain calls|10|1.87|0.50|0.72|1.00|2.00|3.50|6.20|90 %");
}

#[test]
fn the_worst_are_named_in_order() {
    let run = run();
    let sets = ShapeSet::all(&run.shapes);
    let ShapeTable { columns, lines, .. } = sets[0].worst_table();
    assert!(lines.len() == 10 && lines.iter().all(|line| line.len() == columns.len()));
    let names: Vec<_> = lines.iter().take(4).map(|line| line[0].as_str()).collect();
    // Equal ones stay in the set's order.
    let expected = ["1x4096x4096", "64x64x100000", "64x4096x1024", "1024x1024x1024 TT, column-major, batch of 16"];
    assert_eq!(names, expected);
    assert_eq!(lines[1][1..].join("|"), "autotuned/256x128x16|2|10.0|5.00|0.50|3.0 (unsettled)|1.00|4.00");
    let many: Vec<_> = (0..3).flat_map(|_| run.shapes.clone()).collect();
    assert_eq!(ShapeSet::all(&many)[0].worst().len(), ShapeSet::WORST);
}

#[test]
fn remarks_have_the_rest() {
    let run = run();
    // The first shape counts five times: 13.75 of 14.
    let expected = [
        "Times in sum: 0.98 of cuBLAS's speed.",
        "Regret of 4 shapes: geometric mean 1.68, 99th percentile 3.94, largest 4.00 (64x64x100000: autotuned/256x128x16 instead of \
         2d-tiling).",
        "Ratios whose standard error stayed above its limit: 1.",
        "Shapes on which cuBLAS failed its check, and which count all the same: 1.",
    ];
    assert_eq!(ShapeSet::all(&run.shapes)[0].remarks(), expected);
    assert_eq!(ShapeSet::all(&run.shapes)[1].remarks(), ["Times in sum: 0.80 of cuBLAS's speed."]);
}
