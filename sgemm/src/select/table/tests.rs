use super::*;

const HEAD: &str = "
device = Test GPU
driver = 1.2
cublas = 13.1.0
date = 2026-11-21T15:00:00Z
commit = 0
how = by \"hand\", x = y
memory = 1.5 3000 4300
";

fn parse(lines: &str) -> Result<Table, Error> {
    Table::parse(&format!("{HEAD}{lines}"))
}

#[test]
fn the_built_in_tables_name_kernels_that_there_are() {
    let mut devices = std::collections::HashSet::new();
    for table in Table::built_in() {
        let table = table.unwrap();
        assert!(devices.insert(table.header.device.clone()), "{} has two tables", table.header.device);
        assert!(!table.costs.is_empty());
    }
}

/// A kernel without constants is never chosen there.
#[test]
fn the_built_in_tables_know_all_kernels_that_their_devices_run() {
    for (BuiltIn { capability, file, .. }, table) in BUILT_IN.into_iter().zip(Table::built_in()) {
        let (table, device) = (table.unwrap(), Device::new("", capability, 1));
        let is_known = |step: &&Step| table.costs.iter().any(|(known, _)| known.slug == step.slug);
        let unknown: Vec<_> =
            gpu_kernels::runnable().filter(|step| device.runs(step) && !is_known(step)).map(|step| step.slug).collect();
        assert_eq!(unknown, [""; 0], "{file} lacks kernels: `cargo xtask tune` on its device");
    }
}

#[test]
fn every_file_is_built_in_and_written_as_it_stands() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/select/tables");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".txt")).collect();
    names.sort();
    assert_eq!(names, BUILT_IN.map(|built_in| built_in.file), "BUILT_IN lists the files of {folder}");
    for BuiltIn { file, text, .. } in BUILT_IN {
        assert_eq!(Table::parse(text).unwrap().to_text(), text, "{file}");
    }
}

#[test]
fn a_device_without_a_table_has_that_of_one_like_it_or_a_guess() {
    let of = |name, capability| Table::of(&Device::new(name, capability, 132));
    assert_eq!(of("NVIDIA H200", (9, 0)).header.device, "NVIDIA H200");
    assert_eq!(of("NVIDIA H100 PCIe", (9, 0)).header.device, "NVIDIA H100 80GB HBM3");
    assert_eq!(of("NVIDIA A100-SXM4-40GB", (8, 0)).header.device, "NVIDIA A100 80GB");
    let guess = of("Future GPU", (99, 0));
    assert_eq!((guess.header.device.as_str(), guess.costs.len()), ("", gpu_kernels::runnable().count()));
}

#[test]
fn what_is_written_is_read() {
    let table = parse(
        "naive 2 1.5 0.5 0.25 0.125 1 0 5000 0.5 0 0 0 0 0 0 0 0 yes
         # A comment, and an empty line.

         2d-tiling 16 2.25 0.75 0.0625 1e-3 7 0.5 2500 0.25 0.5 -0.25 0 0.125 1 0 -2 0 no
         4096 4096 4096 fp32-strict naive
         64 32 16 fp32 2d-tiling",
    )
    .unwrap();
    assert_eq!((table.header.device.as_str(), table.header.how.as_str()), ("Test GPU", "by \"hand\", x = y"));
    assert_eq!(table.memory, Memory { launch: 1.5, pass_gbps: 3000.0, gbps: 4300.0 });
    let (step, cost) = table.costs[1];
    let expected = Cost {
        slots: 16,
        start: 2.25,
        round: 0.75,
        latency: 0.0625,
        k_tile: 0.001,
        tile: 7.0,
        partial: 0.5,
        gbps: 2500.0,
        uneven: 0.25,
        powers: [0.5, -0.25, 0.0, 0.125, 1.0, 0.0, -2.0, 0.0],
        is_candidate: false,
    };
    assert_eq!((step.slug, cost), ("2d-tiling", expected));
    let Entry { shape, class, step } = table.entries[1];
    assert_eq!((shape, class.name(), step.slug), ([64, 32, 16], "fp32", "2d-tiling"));
    let text = table.to_text();
    assert_eq!(Table::parse(&text).unwrap(), table, "{text}");
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
        ("na\u{ef}ve 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 0 yes", "there is no kernel 'na\u{ef}ve'"),
        ("naive 0 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 0 yes", "naive: 0 is no count"),
        ("naive 1 1 nan 1 1 1 1 1 1 0 0 0 0 0 0 0 0 yes", "naive: nan is no number"),
        ("naive 1 1 1 -1 1 1 1 1 1 0 0 0 0 0 0 0 0 yes", "naive: -1 is no number"),
        ("naive 1 1 1 1 1 1 1 0 1 0 0 0 0 0 0 0 0 yes", "naive: 0 is not positive"),
        ("naive 1 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 0 maybe", "naive: maybe is neither yes nor no"),
        ("naive 1 1 1 1 1 1 1 1 1 0 0 inf 0 0 0 0 0 yes", "naive: inf is no number"),
        ("1 1 1 fp64 naive", "there is no class 'fp64'"),
        ("1 1 1 fp32 fast", "there is no kernel 'fast'"),
        ("1 1 1 fp32", "4 words instead of 19"),
        ("colour = 1", "there is no key 'colour'"),
        ("device = 1", "device is there twice"),
        ("memory = 1 2 3", "memory is there twice"),
        ("0 1 1 fp32 naive", "0 is no size"),
        ("1 -1 1 fp32 naive", "-1 is no size"),
        ("]]", "1 words instead of 19"),
    ] {
        let message = parse(text).unwrap_err().to_string();
        assert!(message.starts_with("line 9: ") && message.contains(words), "{message}");
        assert!(!message.contains('\n'), "{message}");
    }
    assert_eq!(Table::parse("device = x\n").unwrap_err().to_string(), "line 1: the text ends, and driver is missing");
    let twice = parse("1 1 1 fp32 naive\n2 1 1 fp32 naive\n1 1 1 tf32 naive\n1 1 1 fp32 coalesced").unwrap_err();
    assert_eq!(twice.to_string(), "line 12: 1 x 1 x 1 in fp32 is there twice");
    let error = |memory: &str| Table::parse(&HEAD.replace("1.5 3000 4300", memory)).unwrap_err().to_string();
    assert_eq!(error("1 2"), "line 8: 2 words instead of 3");
    assert_eq!(error("1 0 2"), "line 8: 0 is not positive");
    let without = HEAD.replace("memory = 1.5 3000 4300", "");
    assert!(Table::parse(&without).unwrap_err().to_string().ends_with("the text ends, and memory is missing"));
}
