use super::*;

const HEAD: &str = r#"
device = "Test GPU"
driver = "1.2"
cublas = "13.1.0"
date = "2026-11-21T15:00:00Z"
commit = "0"
how = "by \"hand\""
"#;

fn parse(shapes: &str) -> Result<Table, Error> {
    Table::parse(&format!("{HEAD}shapes = [{shapes}]"), "test.toml")
}

/// Squares of these sizes, and what the test is about.
fn shapes(shapes: &[[u32; 3]]) -> Table {
    let lines =
        shapes.iter().map(|[m, n, k]| format!("{{ m = {m}, n = {n}, k = {k}, kernel = \"naive\", ms = 1.0 }},"));
    parse(&lines.collect::<String>()).unwrap()
}

#[test]
fn the_built_in_tables_name_kernels_that_there_are() {
    let mut devices = std::collections::HashSet::new();
    for table in Table::built_in() {
        let table = table.unwrap();
        assert!(devices.insert(table.header.device.clone()), "{} has two tables", table.header.device);
        assert!(!table.entries.is_empty());
    }
}

#[test]
fn what_is_written_is_read() {
    let table = parse(
        r#"{ m = 4096, n = 4096, k = 64, kernel = "naive", ms = 1.25, second = "2d-tiling", second_ms = 1.5,
             autotuned = "vectorized", autotuned_ms = 1.75, cublas_ms = 2.0 },
           { m = 4096, n = 4096, k = 4096, kernel = "naive", ms = 1.5 },
           { m = 4096, n = 4096, k = 4096, precision = "fp32", kernel = "2d-tiling", ms = 1.25 },
           { m = 64, n = 64, k = 64, kernel = "2d-tiling", ms = 0.5, cublas_ms = 1.5 }"#
            .replace('\n', " ")
            .as_str(),
    )
    .unwrap();
    let sizes: Vec<_> = table.entries.iter().map(|entry| entry.shape).collect();
    assert_eq!(sizes, [[64; 3], [4096; 3], [4096; 3], [4096, 4096, 64]], "squares come first");
    let promises: Vec<_> = table.entries.iter().map(|entry| entry.promise.name()).collect();
    assert_eq!(promises, ["fp32-strict", "fp32-strict", "fp32", "fp32-strict"]);
    let text = table.to_text();
    assert_eq!(Table::parse(&text, "test.toml").unwrap(), table, "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("  { m = ")).count(), 4, "{text}");
}

#[test]
fn bad_tables_are_one_line() {
    let line = |more: &str| format!("{{ m = 1, n = 1, k = 1, {more} }}");
    for (text, words) in [
        (line(r#"kernel = "naïve", ms = 1.0"#), "1x1x1: there is no kernel 'naïve'"),
        (line(r#"kernel = "naive", ms = 0.0"#), "1x1x1: 0 is no time"),
        (line(r#"kernel = "naive", ms = nan"#), "1x1x1: NaN is no time"),
        (line(r#"kernel = "naive", ms = 1.0, second = "naive""#), "a kernel without its time"),
        (line(r#"precision = "fp64", kernel = "naive", ms = 1.0"#), "1x1x1: there is no precision 'fp64'"),
        (line(r#"kernel = "naive""#), "missing field `ms`"),
        (line(r#"kernel = "naive", ms = 1.0, colour = 1"#), "unknown field `colour`"),
        ("{ m = 0, n = 1, k = 1, kernel = \"naive\", ms = 1.0 }".into(), "0x1x1: a size is 0"),
        ("{ m = -1 }".into(), "line 8: "),
        ("]]".into(), "line 8: "),
    ] {
        let error = parse(&text).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with("test.toml is not a table that `--tune` wrote: "), "{message}");
        assert!(message.contains(words) && !message.contains('\n'), "{message}");
        assert_eq!(error.exit_code(), 1);
    }
    assert!(Table::from_file(Path::new("/no/such/table.toml")).unwrap_err().to_string().contains("No such file"));
}

#[test]
fn the_nearest_shape_is_found() {
    let table = shapes(&[[128; 3], [1024; 3], [4096; 3], [4095, 4097, 4099], [64, 8192, 8192]]);
    let nearest = |m, n, k| {
        let problem = Problem::new(m, n, k).unwrap();
        table.nearest(&problem, |_| Some(())).map(|(entry, ())| entry.shape)
    };
    assert_eq!(nearest(4096, 4096, 4096), Some([4096; 3]));
    assert_eq!(nearest(3000, 3000, 3000), Some([4096; 3]));
    assert_eq!(nearest(1100, 900, 2000), Some([1024; 3]));
    assert_eq!(nearest(32, 8192, 4096), Some([64, 8192, 8192]));
    assert_eq!(nearest(4001, 4003, 4005), Some([4095, 4097, 4099]), "rows of neither are aligned");
    assert_eq!(nearest(2001, 2001, 2001), Some([4095, 4097, 4099]));
    assert_eq!(nearest(1023, 1023, 1023), Some([1024; 3]), "too far from those that are aligned alike");
    assert_eq!(nearest(1023, 1024, 1024), Some([1024; 3]), "m aligns nothing");
    assert_eq!(nearest(100_000, 100_000, 100_000), Some([4096; 3]), "larger makes no difference");
    assert_eq!(nearest(4, 4, 4), None, "nothing like it was measured");
    assert_eq!(nearest(0, 0, 0), None);
    // Gaps between the rows align or misalign them, too.
    let gaps = Problem::new(4096, 4096, 4096).unwrap().with_leading_dimensions(4097, 4097, 4096).unwrap();
    assert_eq!(table.nearest(&gaps, |_| Some(())).unwrap().0.shape, [4095, 4097, 4099]);
    let none = table.nearest(&Problem::new(64, 64, 64).unwrap(), |entry| entry.autotuned);
    assert!(none.is_none(), "nothing is wanted of these entries");
}
