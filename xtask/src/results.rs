//! The README's table of results: generated from a file of JSON lines that `host` wrote, never typed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use crate::workspace::{relative, root};

/// The square sizes that the table shows; ratios and errors are those of the last.
const SIZES: [u64; 2] = [4092, 4096];

/// What the names of files begin with that hold errors instead: `cargo xtask accuracy` writes them.
const ERRORS: &str = "accuracy-";

/// Kernels in CUDA C++ that the steps stand beside.
const PEERS: &str = "docs/results/peers.json";

const BEGIN: &str = "<!-- results:begin -->";
const END: &str = "<!-- results:end -->";

/// One line of a file of results: one kernel at one size. Only what the table shows is read.
#[derive(Debug, Clone, Deserialize)]
struct Row {
    kernel: String,
    precision: String,
    modelled: bool,
    verified: bool,
    m: u64,
    n: u64,
    k: u64,
    gflops: Option<f64>,
    rel_error: Option<f64>,
    percent_of_cublas: Option<f64>,
    percent_of_peak: Option<f64>,
    speedup_over_base: Option<f64>,
    device: String,
    driver: Option<String>,
    cuda: Option<String>,
    cublas: Option<String>,
    cublas_math: Option<String>,
    sm_clock_mhz: Option<u32>,
    l2: Option<String>,
    date: Option<String>,
}

impl Row {
    /// The step that it is, or a variant of: of a step with variants, the one that suits the size runs.
    fn step(&self) -> &str {
        self.kernel.split('/').next().unwrap_or_default()
    }

    fn is_square(&self, size: u64) -> bool {
        [self.m, self.n, self.k] == [size; 3]
    }
}

/// Someone else's kernels of the same ideas, measured in a run of their own.
#[derive(Debug, Deserialize)]
struct Peers {
    /// What they are.
    what: String,
    /// When and how they were measured.
    measured: String,
    /// By the slug of the step with the same idea, at the last of [`SIZES`].
    gflops: BTreeMap<String, f64>,
}

impl Peers {
    fn read() -> Result<Self> {
        let text = fs::read_to_string(root().join(PEERS)).with_context(|| format!("cannot read {PEERS}"))?;
        serde_json::from_str(&text).context(PEERS)
    }
}

/// Writes the table of `file`, by default the newest in docs/results, into the README.
pub fn write_readme(file: Option<&Path>) -> Result<()> {
    let file = match file {
        Some(file) => file.to_owned(),
        None => {
            newest()?.context("there are no results in docs/results: name a file that `cargo xtask bench` wrote")?
        }
    };
    let readme = replace_table(&read_readme()?, &table(&read_rows(&file)?, &Peers::read()?, &file)?)?;
    fs::write(readme_file(), readme)?;
    println!("wrote the table of {} into README.md", relative(&file));
    Ok(())
}

/// Fails if the README's table is not that of the newest file of results.
pub fn check_readme() -> Result<()> {
    let Some(file) = newest()? else {
        println!("docs/results holds no results yet");
        return Ok(());
    };
    let readme = read_readme()?;
    let expected = replace_table(&readme, &table(&read_rows(&file)?, &Peers::read()?, &file)?)?;
    let name = relative(&file);
    ensure!(readme == expected, "the table is not that of {name}: run `cargo xtask bench --write-readme`");
    println!("README.md shows {name}");
    Ok(())
}

fn readme_file() -> PathBuf {
    root().join("README.md")
}

fn read_readme() -> Result<String> {
    fs::read_to_string(readme_file()).context("cannot read README.md")
}

/// The file in docs/results with the latest date in its rows.
fn newest() -> Result<Option<PathBuf>> {
    let mut newest = None;
    let Ok(entries) = fs::read_dir(root().join("docs/results")) else { return Ok(None) };
    for entry in entries {
        let file = entry?.path();
        let holds_times = !file.file_name().is_some_and(|name| name.to_string_lossy().starts_with(ERRORS));
        if holds_times && file.extension().is_some_and(|extension| extension == "jsonl") {
            let date = read_rows(&file)?.into_iter().filter_map(|row| row.date).max();
            newest = newest.max(Some((date, file)));
        }
    }
    Ok(newest.map(|(_, file)| file))
}

fn read_rows(file: &Path) -> Result<Vec<Row>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", relative(file)))?;
    parse_rows(&text).with_context(|| relative(file))
}

fn parse_rows(text: &str) -> Result<Vec<Row>> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(i, line)| serde_json::from_str(line).with_context(|| format!("line {}", i + 1))).collect()
}

/// `readme` with `table` between its two markers.
fn replace_table(readme: &str, table: &str) -> Result<String> {
    let markers = readme.find(BEGIN).zip(readme.find(END)).filter(|(begin, end)| begin < end);
    let (begin, end) = markers.with_context(|| format!("README.md has no `{BEGIN}` with an `{END}` after it"))?;
    Ok(format!("{}{BEGIN}\n{table}{}", &readme[..begin], &readme[end..]))
}

/// The table in Markdown, with a caption that says where, when and how `rows`, those of `file`, came about.
fn table(rows: &[Row], peers: &Peers, file: &Path) -> Result<String> {
    let rows: Vec<_> = rows.iter().filter(|row| SIZES.iter().any(|size| row.is_square(*size))).collect();
    ensure!(!rows.is_empty(), "{} has no rows at {SIZES:?}", relative(file));
    if let Some(row) = rows.iter().find(|row| !row.verified) {
        bail!("{}: {} at {} is not verified, so it is not shown", relative(file), row.kernel, row.m);
    }
    let [first, last] = SIZES;
    let mut text = format!(
        "| Step | Precision | GFLOPS at {first} | GFLOPS at {last} | of cuBLAS | of FMA peak \
         | of CUDA C++ | over the step before | rel. error |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n"
    );
    let mut shown = BTreeSet::new();
    for row in &rows {
        if shown.insert((row.step(), &row.precision)) {
            let at = |size| {
                let same = |other: &&&Row| other.step() == row.step() && other.precision == row.precision;
                rows.iter().filter(same).find(|other| other.is_square(size)).copied()
            };
            text += &line(row, at(first), at(last), peers);
        }
    }
    Ok(format!("{text}\n{}\n", caption(&rows, peers, file)))
}

/// The table's line of one kernel, from its rows at both sizes.
fn line(any: &Row, first: Option<&Row>, last: Option<&Row>, peers: &Peers) -> String {
    let label = if any.modelled { " (modelled)" } else { "" };
    let name = match any.step() {
        // The precision has a column of its own.
        name if name.starts_with("cublas") && name.ends_with("-f32") => "cuBLAS, C of f32".into(),
        name if name.starts_with("cublas") => "cuBLAS".into(),
        name => format!("`{name}`"),
    };
    let gflops = |row: Option<&Row>| cell(row.and_then(|row| row.gflops), |value| format!("{value:.0}"));
    let percent = |value| cell(value, |value| format!("{value:.1} %"));
    let cells = [
        format!("{name}{label}"),
        any.precision.clone(),
        gflops(first),
        gflops(last),
        percent(last.and_then(|row| row.percent_of_cublas)),
        percent(last.and_then(|row| row.percent_of_peak)),
        percent(last.and_then(|row| Some(100.0 * row.gflops? / peers.gflops.get(row.step())?))),
        cell(last.and_then(|row| row.speedup_over_base), |value| format!("{value:.2} x")),
        cell(last.and_then(|row| row.rel_error), |value| format!("{value:.1e}")),
    ];
    format!("| {} |\n", cells.join(" | "))
}

fn cell(value: Option<f64>, text: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".into(), text)
}

/// Where, when and how `rows` came about.
fn caption(rows: &[&Row], peers: &Peers, file: &Path) -> String {
    let name = relative(file);
    let parts = [
        Some(distinct(rows, |row| Some(row.device.clone()))),
        labelled("driver", distinct(rows, |row| row.driver.clone())),
        labelled("CUDA", distinct(rows, |row| row.cuda.clone())),
        labelled("cuBLAS", distinct(rows, |row| row.cublas.clone())),
        labelled("cuBLAS math mode", distinct(rows, |row| row.cublas_math.clone())),
        clocks(rows),
        labelled("L2", distinct(rows, |row| row.l2.clone())),
        Some(distinct(rows, |row| row.date.as_ref().map(|date| date.chars().take(10).collect()))),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    let how = match rows.iter().filter(|row| row.modelled).count() {
        0 => "Measured",
        count if count == rows.len() => "Modelled by the emulator, not measured",
        _ => "Measured, but for the rows labelled modelled",
    };
    let ratios = format!("Percentages, speed-up and error are those at {}.", SIZES[1]);
    let peers = format!("CUDA C++ is [{}]({PEERS}), measured {}.", peers.what, peers.measured);
    format!("{how}: {}. {ratios} {peers} Every row: [{name}]({name}).", parts.join("; "))
}

fn labelled(label: &str, value: String) -> Option<String> {
    (!value.is_empty()).then(|| format!("{label} {value}"))
}

/// The different values of `field` in `rows`, one after another.
fn distinct(rows: &[&Row], field: impl Fn(&Row) -> Option<String>) -> String {
    let values: BTreeSet<_> = rows.iter().filter_map(|row| field(row)).collect();
    values.into_iter().collect::<Vec<_>>().join(", ")
}

/// The SM clock, or the range of clocks that were read.
fn clocks(rows: &[&Row]) -> Option<String> {
    let clocks = || rows.iter().filter_map(|row| row.sm_clock_mhz);
    let (low, high) = clocks().min().zip(clocks().max())?;
    Some(if low == high { format!("SM clock {low} MHz") } else { format!("SM clock {low} to {high} MHz") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(kernel: &str, size: u64, gflops: f64) -> Row {
        let text = format!(
            r#"{{"kernel": "{kernel}", "precision": "fp32", "modelled": false, "verified": true, "device": "H200",
                "m": {size}, "n": {size}, "k": {size}, "gflops": {gflops}, "rel_error": 1.5e-7,
                "percent_of_cublas": 50.04, "sm_clock_mhz": {size}, "date": "2026-05-04T03:02:01Z"}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn ladder() -> Vec<Row> {
        vec![row("naive", 1024, 1.0), row("naive", 4092, 480.2), row("naive", 4096, 499.0), row("cublas", 4096, 998.0)]
    }

    fn peers() -> Peers {
        let text = r#"{"what": "theirs", "measured": "once", "gflops": {"naive": 499.0}}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_table_has_a_line_for_each_kernel_and_a_caption() {
        let text = table(&ladder(), &peers(), Path::new("docs/results/h200.jsonl")).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[2], "| `naive` | fp32 | 480 | 499 | 50.0 % | - | 100.0 % | - | 1.5e-7 |");
        assert_eq!(lines[3], "| cuBLAS | fp32 | - | 998 | 50.0 % | - | - | - | 1.5e-7 |");
        let named = |kernel| table(&[row(kernel, 4096, 1.0)], &peers(), Path::new("x")).unwrap();
        assert!(named("cublas-tf32").contains("| cuBLAS | fp32"));
        assert!(named("cublas-f16-f32").contains("| cuBLAS, C of f32 | fp32"));
        assert!(lines[5].starts_with("Measured: H200; SM clock 4092 to 4096 MHz; 2026-05-04. "), "{}", lines[5]);
    }

    #[test]
    fn variants_of_a_step_share_its_line() {
        let rows = [row("naive/a", 4092, 480.2), row("naive/b", 4096, 499.0)];
        let text = table(&rows, &peers(), Path::new("x.jsonl")).unwrap();
        assert_eq!(text.lines().nth(2), Some("| `naive` | fp32 | 480 | 499 | 50.0 % | - | 100.0 % | - | 1.5e-7 |"));
    }

    #[test]
    fn modelled_rows_are_labelled_and_unverified_ones_refused() {
        let mut rows = ladder();
        rows[1].modelled = true;
        let text = table(&rows, &peers(), Path::new("x.jsonl")).unwrap();
        assert!(text.contains("`naive` (modelled)") && text.contains("but for the rows labelled modelled"));
        rows[1].verified = false;
        assert!(
            table(&rows, &peers(), Path::new("x.jsonl"))
                .unwrap_err()
                .to_string()
                .contains("naive at 4092 is not verified")
        );
    }

    #[test]
    fn the_table_goes_between_the_markers() {
        let readme = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = replace_table(&readme, "new\n").unwrap();
        assert_eq!(new, format!("before\n{BEGIN}\nnew\n{END}\nafter\n"));
        assert_eq!(replace_table(&new, "new\n").unwrap(), new);
        assert!(replace_table("no markers", "new\n").is_err());
    }

    #[test]
    fn a_broken_line_is_named() {
        assert!(format!("{:#}", parse_rows("\n{\"kernel\": 1}\n").unwrap_err()).starts_with("line 2"));
    }
}
