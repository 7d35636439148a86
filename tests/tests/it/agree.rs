//! The README, the book and the report show the same figures, and these are the ones in the file of results; the README's code is that
//! of an example.

use std::path::Path;

use report::Report;
use results::format::significant;
use results::{Measurement, Peers, Run, SIZES};

/// The table of the ladder in one document: its lines, from the first step on, as texts.
type Table = Vec<Vec<String>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn newest() -> Run {
    let file = Run::newest_in(&root().join("docs/results")).unwrap().expect("there are results");
    Run::read(&file).unwrap()
}

/// The lines of the first table in Markdown that has TFLOPS in its header.
fn of_markdown(text: &str) -> Table {
    let is_cell_row = |line: &&str| line.starts_with('|');
    let lines = text.lines().skip_while(|line| !(is_cell_row(line) && line.contains("| TFLOPS at ")));
    let rows = lines.take_while(is_cell_row).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect()).collect()
}

/// The lines of the first table in HTML that has TFLOPS in its header.
fn of_html(text: &str) -> Table {
    let has_speeds = |table: &&str| table.contains(">TFLOPS at ");
    let table = text.split("<table").skip(1).find(has_speeds).expect("there is a table of the ladder");
    let table = &table[..table.find("</table>").unwrap()];
    let rows = table.split("<tr").skip(2); // what is before the first, and the header
    rows.map(|row| row.split("<td").flat_map(|part| part.split("<th")).skip(1).map(text_of).collect()).collect()
}

/// The text of a cell, which begins in its tag.
fn text_of(cell: &str) -> String {
    let (mut text, mut in_tag) = (String::new(), true);
    for character in cell.chars() {
        match character {
            '<' => in_tag = true,
            '>' => in_tag = false,
            _ if !in_tag => text.push(character),
            _ => {}
        }
    }
    text.trim().to_owned()
}

#[test]
fn readme_book_and_report_show_the_same_figures() {
    let readme = of_markdown(&read("README.md"));
    let book = of_markdown(&read("docs/src/introduction.md"));
    let (runs, peers) = ([newest()], Peers::read(&root().join("docs/results/peers.json")).unwrap());
    let page = of_html(&Report::new(&runs, &peers).html());
    assert!(readme.len() > 20, "{readme:?}");
    assert_eq!(readme, book);
    assert_eq!(readme, page);
}

/// The chapters' own tables, too, which other code writes.
#[test]
fn chapters_show_the_figures_of_the_readme() {
    let readme = of_markdown(&read("README.md"));
    let mut compared = 0;
    for entry in std::fs::read_dir(root().join("docs/src/steps")).unwrap() {
        let chapter = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let slug = gpu_kernels::STEPS.iter().find(|step| chapter.contains(&format!("| Step | `{}` |", step.slug)));
        let slug = slug.expect("a chapter names its step").slug;
        let numbers = chapter.split("<!-- generated: numbers -->").nth(1).expect("it has its numbers");
        let largest = numbers.lines().find(|line| line.starts_with("| 4096 "));
        let lines: Vec<_> = readme.iter().filter(|line| line[0] == slug).collect();
        let (Some(largest), [line]) = (largest, &lines[..]) else { continue };
        let cells: Vec<_> = largest.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(cells[1..], [&line[3], &line[4], &line[7], &line[8]], "{slug}");
        compared += 1;
    }
    assert!(compared > 20, "{compared} chapters were compared");
}

/// What PyTorch reached on the kernels, in the file of records, the chapter and the README.
#[test]
fn the_drop_ins_figures_are_those_of_the_file() {
    let records = read("docs/results/drop-in/2026-11-24-h200.jsonl");
    let records: Vec<serde_json::Value> = records.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |way: &str, size: u32, figure: &str| {
        let is_it = |row: &&serde_json::Value| {
            row["way"] == way && row["what"] == "torch.mm" && row["shape"] == serde_json::json!([size, size, size])
        };
        records.iter().find(is_it).expect("it was measured")[figure].as_f64().unwrap()
    };
    let chapter = read("docs/src/without-changing-your-program.md");
    for size in [1024, 4096, 8192] {
        let shown = ["cublas", "fp32-strict", "fp32"].map(|way| significant(of(way, size, "ms")));
        let row = format!("| torch.mm {size} x {size} x {size}, ms | {} |", shown.join(" | "));
        assert!(chapter.contains(&row), "{row}");
    }
    let [fp32, cublas] = ["fp32", "cublas"].map(|way| of(way, 8192, "tflops"));
    let sentence = format!("`torch.mm` at 8192 has {fp32:.0} TFLOPS in `fp32` where cuBLAS has {cublas:.0}.");
    let readme = read("README.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(readme.contains(&sentence), "{sentence}");
}

#[test]
fn the_readmes_code_is_that_of_the_example() {
    let (readme, example) = (read("README.md"), read("sgemm/examples/plain.rs"));
    let (_, code) = readme.split_once("```rust\n").expect("the README shows the library");
    let (code, _) = code.split_once("```").unwrap();
    let is_shown = |line: &str| example.lines().any(|of_example| of_example.trim() == line);
    assert!(code.lines().count() > 3 && code.lines().all(is_shown), "{code}");
}

#[test]
fn the_figures_are_those_of_the_file() {
    let run = newest();
    let lines = of_markdown(&read("README.md"));
    let measured = |step: &str, precision: &str, size: u32| {
        let is_it = |row: &&Measurement| {
            let is_named = row.kernel == step || row.kernel.starts_with(&format!("{step}/"));
            let name = if step == "cuBLAS" { row.kernel.starts_with("cublas") } else { is_named };
            name && row.precision == precision && [row.m, row.n, row.k] == [size; 3]
        };
        run.measurements.iter().find(is_it).expect("every line was measured")
    };
    for line in &lines {
        let [step, precision, first, last, of_cublas, ..] = &line[..] else { panic!("{line:?}") };
        for (size, tflops) in SIZES.into_iter().zip([first, last]) {
            let row = measured(step, precision, size);
            assert_eq!(&results::format::tflops(row.gflops), tflops, "{step} at {size}");
            assert!((row.gflops - 2.0 * f64::from(size).powi(3) / row.time_ms / 1e6).abs() < 1e-6 * row.gflops);
        }
        let percent = measured(step, precision, SIZES[1]).percent_of_cublas.unwrap();
        assert_eq!(&format!("{percent:.1} %"), of_cublas, "{step}");
    }
    // Every step that was measured has its line.
    let is_shown = |row: &Measurement| row.is_baseline() || lines.iter().any(|line| line[0] == row.step());
    assert!(run.measurements.iter().all(is_shown));
}
