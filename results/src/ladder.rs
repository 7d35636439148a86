//! The table of results: a line for each step and each baseline, at one or two sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::format::{error, or_dash, percent, tflops, times};
use crate::{Error, Measurement, Run};

/// The square sizes that the table shows where a run has them; else its two largest. Ratios and errors are those of the last.
pub const SIZES: [u32; 2] = [4092, 4096];

/// Someone else's kernels of the same ideas, measured in a run of their own.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Peers {
    /// What they are.
    pub what: String,
    /// The device that they ran on.
    pub device: String,
    /// When and how they were measured.
    pub measured: String,
    /// m = n = k.
    pub size: u32,
    /// By the slug of the step with the same idea.
    pub gflops: BTreeMap<String, f64>,
}

impl Peers {
    /// Reads the file that holds them.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Peers`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = fs::read_to_string(path).map_err(|reason| Error::Read { path: path.to_owned(), reason })?;
        serde_json::from_str(&text).map_err(|reason| Error::Peers { path: path.to_owned(), reason })
    }

    /// The speed of the kernel beside a step, where it was measured on that device and at that size.
    #[must_use]
    pub fn beside(&self, row: &Measurement) -> Option<f64> {
        let comparable = !row.modelled && row.device == self.device && row.size() == Some(self.size);
        self.gflops.get(row.step()).copied().filter(|_| comparable)
    }
}

/// The table as texts, for whoever shows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// The square sizes that are shown, the one of the ratios last.
    pub sizes: Vec<u32>,
    /// The columns' names: the first [`Self::TEXTS`] hold texts, the others numbers.
    pub columns: Vec<String>,
    /// The lines, in the order of the run.
    pub lines: Vec<Line>,
    /// Where, when and how the figures came about.
    pub caption: String,
    /// Where the figures beside the steps come from, where there are any.
    pub peers: Option<String>,
}

/// A step's line, or a baseline's.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The step's slug or the baseline's name.
    pub step: String,
    /// Whether it is cuBLAS's.
    pub is_baseline: bool,
    /// Whether its times are modelled.
    pub is_modelled: bool,
    /// A text for each column.
    pub cells: Vec<String>,
}

impl Ladder {
    /// Columns that hold texts.
    pub const TEXTS: usize = 2;

    /// The table of a run, kernels of others beside it.
    ///
    /// ```
    /// use std::path::Path;
    ///
    /// use results::{Ladder, Peers, Run};
    ///
    /// let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/results"));
    /// let newest = Run::newest_in(folder)?.expect("results are published");
    /// let ladder = Ladder::new(&Run::read(&newest)?, &Peers::read(&folder.join("peers.json"))?)?;
    /// assert_eq!((ladder.sizes.last(), ladder.lines[0].step.as_str()), (Some(&4096), "naive"));
    /// assert!(ladder.markdown("every row", None).starts_with("| Step | Precision | TFLOPS at "));
    /// # Ok::<(), results::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotVerified`] where a step would be shown whose result is wrong, [`Error::NoSuchSize`] where there is none.
    pub fn new(run: &Run, peers: &Peers) -> Result<Self, Error> {
        let sizes = sizes(run);
        let Some(&last) = sizes.last() else {
            return Err(Error::NoSuchSize { name: run.name.clone(), sizes: SIZES });
        };
        let is_shown = |row: &&Measurement| row.size().is_some_and(|size| sizes.contains(&size));
        let rows: Vec<_> = run.measurements.iter().filter(is_shown).collect();
        if let Some(Measurement { kernel, m, n, k, .. }) = rows.iter().find(|row| !row.verified && !row.is_baseline()) {
            return Err(Error::NotVerified { name: run.name.clone(), kernel: kernel.clone(), m: *m, n: *n, k: *k });
        }
        let has_peers = rows.iter().any(|row| peers.beside(row).is_some());
        let mut columns = vec!["Step".to_owned(), "Precision".to_owned()];
        columns.extend(sizes.iter().map(|size| format!("TFLOPS at {size}")));
        columns.extend(["of cuBLAS", "of peak"].map(str::to_owned));
        columns.extend(has_peers.then(|| "of CUDA C++".to_owned()));
        columns.extend(["over its base", "rel. error"].map(str::to_owned));

        let mut seen = BTreeSet::new();
        let mut lines = Vec::new();
        for row in &rows {
            if seen.insert((row.step(), &row.precision)) {
                let at = |size: u32| run.of(row.step(), &row.precision, [size; 3]);
                let speeds = sizes.iter().map(|size| cell(at(*size), |row| tflops(row.gflops)));
                lines.push(Line::new(run, row, speeds, at(last), has_peers.then_some(peers)));
            }
        }
        let peers = has_peers.then(|| format!("{}, measured {}", peers.what, peers.measured));
        Ok(Self { sizes, columns, lines, caption: caption(&rows, last), peers })
    }

    /// The table in Markdown, names as code, with the caption under it. `file` is where every row can be found, `peers` what
    /// [`Self::peers`] is and where: both in Markdown, such as links of the document.
    #[must_use]
    pub fn markdown(&self, file: &str, peers: Option<&str>) -> String {
        let rule = (0..self.columns.len()).map(|column| if column < Self::TEXTS { "---" } else { "---:" });
        let mut text = format!("| {} |\n|{}|\n", self.columns.join(" | "), rule.collect::<Vec<_>>().join("|"));
        for line in &self.lines {
            let name = &line.cells[0];
            let name =
                if line.is_baseline { name.clone() } else { name.replacen(&line.step, &format!("`{}`", line.step), 1) };
            text += &format!("| {name} | {} |\n", line.cells[1..].join(" | "));
        }
        let beside = peers.map(|peers| format!(" CUDA C++ is {peers}.")).unwrap_or_default();
        format!("{text}\n{}{beside} Every row: {file}.\n", self.caption)
    }
}

impl Line {
    /// `last` is the row whose ratios and error are shown.
    fn new(
        run: &Run,
        any: &Measurement,
        speeds: impl Iterator<Item = String>,
        last: Option<&Measurement>,
        peers: Option<&Peers>,
    ) -> Self {
        let name = match any.step() {
            // The precision has a column of its own.
            name if any.is_baseline() && name.ends_with("-f32") => "cuBLAS, C of f32",
            _ if any.is_baseline() => "cuBLAS",
            name => name,
        };
        let label = if any.modelled { " (modelled)" } else { "" };
        let share = |value: Option<f64>| or_dash(value, |value| format!("{} %", percent(value)));
        let mut cells = vec![format!("{name}{label}"), any.precision.clone()];
        cells.extend(speeds);
        cells.push(share(last.and_then(|row| row.percent_of_cublas)));
        cells.push(share(last.and_then(Measurement::of_peak)));
        if let Some(peers) = peers {
            cells.push(share(last.and_then(|row| Some(100.0 * row.gflops / peers.beside(row)?))));
        }
        cells.push(or_dash(last.and_then(|row| run.speedup_over_base(row)), |value| format!("{} x", times(value))));
        // A step whose result is wrong is not shown at all.
        let mark = |row: &Measurement| if row.verified { "" } else { " (failed its check)" };
        cells.push(cell(last, |row| format!("{}{}", error(row.rel_error), mark(row))));
        Self { step: any.step().to_owned(), is_baseline: any.is_baseline(), is_modelled: any.modelled, cells }
    }
}

/// [`SIZES`], as many as the run has; where it has none, its two largest squares. A size at which most kernels are missing, as
/// after an interruption, does not count.
fn sizes(run: &Run) -> Vec<u32> {
    let mut kernels: BTreeMap<u32, usize> = BTreeMap::new();
    for size in run.measurements.iter().filter_map(Measurement::size) {
        *kernels.entry(size).or_default() += 1;
    }
    let most = kernels.values().copied().max().unwrap_or(0);
    kernels.retain(|_, count| 2 * *count >= most);
    let wanted: Vec<_> = SIZES.into_iter().filter(|size| kernels.contains_key(size)).collect();
    if wanted.is_empty() { kernels.keys().copied().skip(kernels.len().saturating_sub(2)).collect() } else { wanted }
}

fn cell<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "-".into(), text)
}

/// Where, when and how `rows` came about.
fn caption(rows: &[&Measurement], last: u32) -> String {
    let parts = [
        distinct(rows, |row| Some(row.device.clone())),
        labelled("driver", distinct(rows, |row| Some(row.driver.clone()))),
        labelled("CUDA", distinct(rows, |row| Some(row.cuda.clone()))),
        labelled("cuBLAS", distinct(rows, |row| row.cublas.clone())),
        // Each of them has a comma.
        labelled("cuBLAS math", distinct(rows, |row| row.cublas_math.as_ref().map(|math| format!("({math})")))),
        clocks(rows),
        labelled("L2", distinct(rows, |row| (!row.modelled).then(|| row.l2.clone()))),
        distinct(rows, |row| Some(row.date.chars().take(10).collect())),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let how = match rows.iter().filter(|row| row.modelled).count() {
        0 => "Measured",
        count if count == rows.len() => "Modelled by the emulator, not measured",
        _ => "Measured, but for the rows labelled modelled",
    };
    format!(
        "{how}: {}. Percentages, speed-up and error are those at {last}. {} The base is the step that one changes; a speed-up is \
         given where both compute in one precision.",
        parts.join("; "),
        peaks(rows)
    )
}

/// What "of peak" is a share of, for the arithmetics that `rows` have.
fn peaks(rows: &[&Measurement]) -> String {
    let has = |names: &[&str]| rows.iter().any(|row| names.contains(&&*row.precision) && row.peak_gflops().is_some());
    let parts = [
        has(&["fp32"]).then_some("the FMA units for fp32"),
        has(&["f16", "bf16", "tf32"]).then_some("the dense tensor cores for f16, bf16 and tf32"),
        has(&["fp16x3", "tf32x3"])
            .then_some("a third of that for fp16x3 and tf32x3, which spend three MMAs on each product"),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        return String::new();
    }
    let clocks: BTreeSet<_> = rows.iter().filter_map(|row| row.max_sm_clock_mhz).collect();
    let clocks: Vec<_> = clocks.iter().map(u32::to_string).collect();
    format!("The peak is that of the row's precision at {} MHz: {}.", clocks.join(", "), parts.join(", "))
}

fn labelled(label: &str, value: String) -> String {
    if value.is_empty() { value } else { format!("{label} {value}") }
}

/// The different values of `field` in `rows`, one after another.
fn distinct(rows: &[&Measurement], field: impl Fn(&Measurement) -> Option<String>) -> String {
    let values: BTreeSet<_> = rows.iter().filter_map(|row| field(row)).filter(|value| !value.is_empty()).collect();
    values.into_iter().collect::<Vec<_>>().join(", ")
}

/// The SM clock, or the range of clocks that were read.
fn clocks(rows: &[&Measurement]) -> String {
    let clocks = || rows.iter().filter_map(|row| row.sm_clock_mhz);
    match clocks().min().zip(clocks().max()) {
        Some((low, high)) if low == high => format!("SM clock {low} MHz"),
        Some((low, high)) => format!("SM clock {low} to {high} MHz"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kernel: &str, size: u32, gflops: f64) -> String {
        let text = format!(
            r#"{{"record": "measurement", "schema": 1, "kernel": "{kernel}", "precision": "fp32", "backend": "cuda",
                "device": "H200", "compute_capability": "9.0", "driver": "", "cuda": "", "l2": "flushed", "graphs": false,
                "modelled": false, "m": {size}, "n": {size}, "k": {size}, "alpha": 1, "beta": 0, "seed": 1, "warmup": 2,
                "iterations": 10, "time_ms": 1, "time_ms_min": 1, "time_ms_max": 1, "gflops": {gflops},
                "percent_of_cublas": 50.04, "rel_error": 1.5e-7, "max_scaled_error": 0.1, "rows_checked": 7,
                "verified": true, "sm_clock_mhz": {size}, "date": "2026-05-04T03:02:01Z", "commit": "unknown"}}"#
        );
        text.replace('\n', " ") + "\n"
    }

    fn run(lines: &[String]) -> Run {
        Run::parse("x.jsonl", &lines.concat()).unwrap()
    }

    fn ladder() -> Run {
        run(&[
            line("naive", 1024, 1.0),
            line("naive", 4092, 480.2),
            line("naive", 4096, 499.0),
            line("cublas", 4096, 998.0),
        ])
    }

    fn peers() -> Peers {
        let text =
            r#"{"what": "theirs", "device": "H200", "measured": "once", "size": 4096, "gflops": {"naive": 499.0}}"#;
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn the_table_has_a_line_for_each_kernel_and_a_caption() {
        let text =
            Ladder::new(&ladder(), &peers()).unwrap().markdown("[x.jsonl](x.jsonl)", Some("[theirs](peers.json)"));
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "|---|---|---:|---:|---:|---:|---:|---:|---:|");
        assert_eq!(lines[2], "| `naive` | fp32 | 0.480 | 0.499 | 50.0 % | - | 100.0 % | - | 1.5e-7 |");
        assert_eq!(lines[3], "| cuBLAS | fp32 | - | 0.998 | 50.0 % | - | - | - | 1.5e-7 |");
        assert!(
            lines[5].starts_with("Measured: H200; SM clock 4092 to 4096 MHz; L2 flushed; 2026-05-04. "),
            "{}",
            lines[5]
        );
        assert!(lines[5].ends_with("CUDA C++ is [theirs](peers.json). Every row: [x.jsonl](x.jsonl)."));
        let named = |kernel| Ladder::new(&run(&[line(kernel, 4096, 1.0)]), &peers()).unwrap().lines[0].cells[0].clone();
        assert_eq!(["cublas-tf32", "cublas-f16-f32"].map(named), ["cuBLAS", "cuBLAS, C of f32"]);
    }

    #[test]
    fn shares_are_of_the_rows_own_arithmetic() {
        let mut run = run(&[line("naive", 4096, 33_454.0), line("tensor", 4096, 107_053.0), line("other", 4096, 1.0)]);
        for (row, precision) in run.measurements.iter_mut().zip(["fp32", "f16", "f16"]) {
            (row.precision, row.sm_count, row.max_sm_clock_mhz) = (precision.into(), Some(132), Some(1980));
            // What records of schema 1 say.
            (row.percent_of_peak, row.speedup_over_base) = (Some(300.0), Some(3.2));
        }
        run.measurements[1].base = Some("naive".into());
        run.measurements[2].base = Some("tensor".into());
        let ladder = Ladder::new(&run, &Peers::default()).unwrap();
        let cells: Vec<_> = ladder.lines.iter().map(|line| [&*line.cells[4], &line.cells[5]]).collect();
        assert_eq!(cells, [["50.0 %", "-"], ["10.0 %", "-"], ["0.0 %", "3.20 x"]]);
        assert!(
            ladder.caption.contains("at 1980 MHz: the FMA units for fp32, the dense tensor cores for"),
            "{}",
            ladder.caption
        );
        assert!(!ladder.caption.contains("fp16x3"));
    }

    #[test]
    fn a_baseline_that_failed_its_check_is_marked() {
        let mut run = ladder();
        run.measurements[3].verified = false;
        let ladder = Ladder::new(&run, &peers()).unwrap();
        assert_eq!(ladder.lines[1].cells.last().map(String::as_str), Some("1.5e-7 (failed its check)"));
    }

    #[test]
    fn kernels_of_others_stand_beside_what_was_measured_alike() {
        let peers = peers();
        let columns = |run: &Run| Ladder::new(run, &peers).unwrap().columns.len();
        let mut elsewhere = ladder();
        elsewhere.measurements.iter_mut().for_each(|row| row.device = "B200".into());
        assert_eq!((columns(&ladder()), columns(&elsewhere)), (9, 8));
    }

    #[test]
    fn variants_of_a_step_share_its_line() {
        let run = run(&[line("naive/a", 4092, 480.2), line("naive/b", 4096, 499.0)]);
        let ladder = Ladder::new(&run, &peers()).unwrap();
        assert_eq!(
            (ladder.lines.len(), &ladder.lines[0].cells[..4]),
            (1, &["naive", "fp32", "0.480", "0.499"].map(str::to_owned)[..])
        );
    }

    #[test]
    fn other_sizes_are_shown_where_the_usual_ones_are_not() {
        let run = run(&[line("naive", 512, 1.0), line("naive", 1024, 2.0), line("naive", 2048, 3.0)]);
        assert_eq!(Ladder::new(&run, &peers()).unwrap().sizes, [1024, 2048]);
        // Of 4096, only a third of the kernels have been measured.
        let early = [line("naive", 1024, 1.0), line("coalesced", 1024, 2.0), line("cublas", 1024, 3.0)];
        let early = self::run(&[early.concat(), line("cublas", 4096, 4.0)]);
        assert_eq!(Ladder::new(&early, &peers()).unwrap().sizes, [1024]);
        let no_squares = Run { measurements: vec![], ..run };
        assert!(matches!(Ladder::new(&no_squares, &peers()), Err(Error::NoSuchSize { .. })));
    }

    #[test]
    fn modelled_rows_are_labelled_and_unverified_ones_refused() {
        let mut run = ladder();
        run.measurements[1].modelled = true;
        let text = Ladder::new(&run, &peers()).unwrap().markdown("x", None);
        assert!(text.contains("| `naive` (modelled) |") && text.contains("but for the rows labelled modelled"));
        run.measurements[1].verified = false;
        let error = Ladder::new(&run, &peers()).unwrap_err().to_string();
        assert!(error.contains("naive at 4092x4092x4092 is not verified"), "{error}");
    }
}
