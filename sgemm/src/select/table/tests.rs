use super::*;

const HEAD: &str = "
device = Test GPU
driver = 1.2
cublas = 13.1.0
date = 2026-11-21T15:00:00Z
commit = 0
how = by \"hand\", x = y
";

fn parse(lines: &str) -> Result<Table, Error> {
    Table::parse(&format!("{HEAD}{lines}"))
}

/// A table of these shapes.
fn shapes(shapes: &[[u32; 3]]) -> Table {
    let lines = shapes.iter().map(|[m, n, k]| format!("{m} {n} {k} fp32-strict naive 1.0 - - - - -\n"));
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
fn every_file_is_built_in_and_written_as_it_stands() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/select/tables");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".txt")).collect();
    names.sort();
    assert_eq!(names, BUILT_IN.map(|(name, _)| name), "BUILT_IN lists the files of {folder}");
    for (name, text) in BUILT_IN {
        assert_eq!(Table::parse(text).unwrap().to_text(), text, "{name}");
    }
}

#[test]
fn what_is_written_is_read() {
    let table = parse(
        "4096 4096 64 fp32-strict naive 1.25 2d-tiling 1.5 vectorized 1.75 2.0
         # A comment, and an empty line.

         4096 4096 4096 fp32-strict naive 1.5 - - - - -
         4096 4096 4096 fp32 2d-tiling 1.25 - - - - -
         64 64 64 fp32-strict 2d-tiling 0.5 - - - - 1.5",
    )
    .unwrap();
    assert_eq!((table.header.device.as_str(), table.header.how.as_str()), ("Test GPU", "by \"hand\", x = y"));
    let sizes: Vec<_> = table.entries.iter().map(|entry| entry.shape).collect();
    assert_eq!(sizes, [[64; 3], [4096; 3], [4096; 3], [4096, 4096, 64]], "squares come first");
    let classes: Vec<_> = table.entries.iter().map(|entry| entry.class.name()).collect();
    assert_eq!(classes, ["fp32-strict", "fp32-strict", "fp32", "fp32-strict"]);
    let last = table.entries[3];
    let timed = |timed: Option<Timed>| timed.map(|Timed { step, ms }| (step.slug, ms));
    assert_eq!(timed(last.second), Some(("2d-tiling", 1.5)));
    assert_eq!((timed(last.autotuned), last.cublas_ms), (Some(("vectorized", 1.75)), Some(2.0)));
    let text = table.to_text();
    assert_eq!(Table::parse(&text).unwrap(), table, "{text}");
    let header = ['#', '='];
    assert_eq!(text.lines().filter(|line| !line.contains(header)).count(), 4, "{text}");
    // A value of several lines is written as one.
    let mut odd = table.clone();
    odd.header.how = "two\nlines".into();
    odd.header.cublas = String::new();
    let read = Table::parse(&odd.to_text()).unwrap();
    assert_eq!((read.header.how.as_str(), read.header.cublas.as_str()), ("two lines", ""));
}

#[test]
fn bad_tables_are_one_line() {
    for (text, words) in [
        ("1 1 1 fp32 na\u{ef}ve 1.0 - - - - -", "line 8: 1x1x1: there is no kernel 'na\u{ef}ve'"),
        ("1 1 1 fp32 naive 0.0 - - - - -", "1x1x1: 0.0 is no time"),
        ("1 1 1 fp32 naive nan - - - - -", "1x1x1: nan is no time"),
        ("1 1 1 fp32 naive 1.0 - - - - inf", "1x1x1: inf is no time"),
        ("1 1 1 fp32 naive 1.0 naive - - - -", "a kernel without its time"),
        ("1 1 1 fp32 naive 1.0 - - - 1.0 -", "a time without its kernel"),
        ("1 1 1 fp64 naive 1.0 - - - - -", "1x1x1: there is no class 'fp64'"),
        ("1 1 1 fp32 naive", "line 8: 5 words instead of 11: m n k class kernel ms"),
        ("1 1 1 fp32 naive 1.0 - - - - - -", "12 words instead of 11"),
        ("colour = 1", "line 8: there is no key 'colour'"),
        ("device = 1", "line 8: device is there twice"),
        ("0 1 1 fp32 naive 1.0 - - - - -", "0x1x1: 0 is no size"),
        ("1 -1 1 fp32 naive 1.0 - - - - -", "1x-1x1: -1 is no size"),
        ("]]", "line 8: 1 words instead of 11"),
    ] {
        let message = parse(text).unwrap_err().to_string();
        assert!(message.starts_with("line 8: ") && message.contains(words), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    assert_eq!(Table::parse("device = x\n").unwrap_err().to_string(), "line 1: the text ends, and driver is missing");
}

#[test]
fn the_nearest_shape_is_found() {
    let table = shapes(&[[128; 3], [1024; 3], [4096; 3], [4095, 4097, 4099], [64, 8192, 8192]]);
    let nearest = |m, n, k| {
        let product = Product::new(m, n, k).unwrap();
        table.nearest(&product, |_| Some(())).map(|(entry, ())| entry.shape)
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
    let gaps = Product::new(4096, 4096, 4096).unwrap().with_leading_dimensions(4097, 4097, 4096).unwrap();
    assert_eq!(table.nearest(&gaps, |_| Some(())).unwrap().0.shape, [4095, 4097, 4099]);
    let none = table.nearest(&Product::new(64, 64, 64).unwrap(), |entry| entry.autotuned);
    assert!(none.is_none(), "nothing is wanted of these entries");
}
