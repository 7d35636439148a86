//! What the pictures show of the runs: verified rows, in the order of the registry.

use std::collections::BTreeSet;

use gpu_kernels::STEPS;
use results::format::{percent, significant, tflops, times};
use results::{Ladder, Measurement, Peers, Run};

/// The size that single figures are of, where all runs have it.
const MAIN: u32 = results::SIZES[results::SIZES.len() - 1];

/// One or several runs, ready to be drawn.
#[derive(Debug)]
pub(crate) struct Data<'a> {
    pub(crate) views: Vec<View>,
    pub(crate) peers: &'a Peers,
    /// Steps in the order of the registry, then others, then baselines; of all runs.
    pub(crate) entries: Vec<Entry>,
    /// The size of single figures, if there is any square.
    pub(crate) size: Option<u32>,
}

/// A run without the steps' rows whose results are wrong.
#[derive(Debug)]
pub(crate) struct View {
    /// A short name, different from those of the others.
    pub(crate) label: String,
    pub(crate) run: Run,
    /// Rows that are not shown.
    pub(crate) failed: Vec<Measurement>,
    /// Those of several GPUs.
    pub(crate) failed_together: Vec<Measurement>,
}

/// A step or a baseline in one arithmetic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) slug: String,
    pub(crate) precision: String,
    /// Its place in the registry, from 1.
    pub(crate) number: Option<usize>,
    pub(crate) is_baseline: bool,
}

impl Entry {
    fn new(row: &Measurement) -> Self {
        Self {
            slug: row.step().to_owned(),
            precision: row.precision.clone(),
            number: number(row.step()),
            is_baseline: row.is_baseline(),
        }
    }

    /// As pictures name it.
    pub(crate) fn name(&self) -> String {
        let step = STEPS.iter().find(|step| step.slug == self.slug);
        match step {
            _ if self.is_baseline => baseline_name(&self.slug, &self.precision),
            Some(step) if step.precision.name() != self.precision => format!("{} {}", self.slug, self.precision),
            _ => self.slug.clone(),
        }
    }

    /// Whether it computes on the tensor cores.
    pub(crate) fn is_on_tensor_cores(&self) -> bool {
        self.precision != "fp32"
    }

    /// A colour and a form that no other step has.
    pub(crate) fn series(&self) -> usize {
        self.number.unwrap_or_default()
    }

    /// For ids and classes.
    pub(crate) fn id(&self) -> String {
        let text = format!("{}-{}", self.slug, self.precision);
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
    }
}

/// cuBLAS, and what it computes in.
fn baseline_name(slug: &str, precision: &str) -> String {
    let output = if slug.ends_with("-f32") { ", C of f32" } else { "" };
    format!("cuBLAS {precision}{output}")
}

/// A step's place in the registry, from 1.
pub(crate) fn number(slug: &str) -> Option<usize> {
    STEPS.iter().position(|step| step.slug == slug).map(|place| place + 1)
}

impl<'a> Data<'a> {
    pub(crate) fn new(runs: &[Run], peers: &'a Peers) -> Self {
        let labels = labels(runs);
        let views: Vec<_> = runs.iter().zip(labels).map(|(run, label)| View::new(run, label)).collect();
        let mut entries: Vec<Entry> = Vec::new();
        for row in views.iter().flat_map(|view| &view.run.measurements) {
            let entry = Entry::new(row);
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        entries.sort_by_key(|entry| (entry.is_baseline, entry.number.unwrap_or(usize::MAX)));
        let size = common_size(&views);
        Self { views, peers, entries, size }
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !entry.is_baseline)
    }

    pub(crate) fn baselines(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.is_baseline)
    }

    /// The row of an entry at the size of single figures.
    pub(crate) fn row<'b>(&self, view: &'b View, entry: &Entry) -> Option<&'b Measurement> {
        view.row(entry, self.size?)
    }

    /// Whether no more than one run has measurements.
    pub(crate) fn is_single(&self) -> bool {
        self.measured().count() < 2
    }

    /// The runs that have measurements, with their places among all.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (usize, &View)> {
        self.views.iter().enumerate().filter(|(_, view)| !view.run.measurements.is_empty())
    }

    /// Whether any figure of the steps comes out of a model.
    pub(crate) fn has_modelled(&self) -> bool {
        self.views.iter().any(|view| view.run.measurements.iter().any(|row| row.modelled))
    }

    /// Whether any figure of the steps was measured.
    pub(crate) fn has_measured(&self) -> bool {
        self.views.iter().any(|view| view.run.measurements.iter().any(|row| !row.modelled))
    }

    /// Where the figures come from: device, how, and when, of each run.
    pub(crate) fn source(&self) -> String {
        let of = |view: &View| {
            let row = view.run.measurements.first()?;
            let how = if row.modelled { "modelled by the emulator" } else { "measured" };
            let date = row.date.get(..10).unwrap_or(&row.date);
            Some(format!("{}, {how} {date}", row.device))
        };
        let mut all: Vec<_> = self.views.iter().filter_map(of).collect();
        all.dedup();
        all.join("; ")
    }

    /// Whether a run was measured, to stand beside one that is modelled.
    pub(crate) fn is_reference(&self, view: &View) -> bool {
        self.has_modelled() && view.run.measurements.iter().any(|row| !row.modelled)
    }

    /// What to put behind a run's name in legends.
    pub(crate) fn role(&self, view: &View) -> &'static str {
        match (self.is_reference(view), self.has_modelled() && self.has_measured()) {
            (true, _) => ", measured reference",
            (false, true) => ", modelled",
            _ => "",
        }
    }

    /// What to put behind a title: whether figures are modelled, all or some.
    pub(crate) fn how(&self) -> &'static str {
        match (self.has_modelled(), self.has_measured()) {
            (true, true) => " (hatched or dashed: modelled)",
            (true, false) => " (modelled)",
            _ => "",
        }
    }
}

impl View {
    fn new(run: &Run, label: String) -> Self {
        let split = |rows: &[Measurement]| -> (Vec<_>, Vec<_>) {
            rows.iter().cloned().partition(|row| is_shown(row) && row.gflops.is_finite())
        };
        let ((measurements, failed), (distributed, failed_together)) =
            (split(&run.measurements), split(&run.distributed));
        Self { label, run: Run { measurements, distributed, ..run.clone() }, failed, failed_together }
    }

    pub(crate) fn row(&self, entry: &Entry, size: u32) -> Option<&Measurement> {
        self.run.of(&entry.slug, &entry.precision, [size; 3])
    }

    /// The square sizes.
    pub(crate) fn sizes(&self) -> BTreeSet<u32> {
        self.run.measurements.iter().filter_map(Measurement::size).collect()
    }

    /// The table of its steps; `None` where it has no squares.
    pub(crate) fn ladder(&self, peers: &Peers) -> Option<Ladder> {
        Ladder::new(&self.run, peers).ok()
    }

    /// The device's peak in fp32, in GFLOPS, and the SM clock that it is for, in MHz.
    pub(crate) fn fma_peak(&self) -> Option<(f64, u32)> {
        let rows = self.run.measurements.iter().filter(|row| row.precision == "fp32");
        rows.filter_map(|row| row.peak_gflops().zip(row.max_sm_clock_mhz)).next()
    }

    /// A speed in a table: marked where it is modelled and others of the run are measured, since title and columns say the rest.
    pub(crate) fn speed(&self, row: &Measurement) -> String {
        let is_mixed = self.run.measurements.iter().any(|other| other.modelled != row.modelled);
        format!("{}{}", tflops(row.gflops), if row.modelled && is_mixed { " (modelled)" } else { "" })
    }

    /// Whether it has records of steps.
    pub(crate) fn has_steps(&self) -> bool {
        let Run { measurements, counters, accuracy, .. } = &self.run;
        !(measurements.is_empty() && self.failed.is_empty() && counters.is_empty() && accuracy.is_empty())
    }

    /// Whether it has records of several GPUs.
    pub(crate) fn has_together(&self) -> bool {
        !(self.run.distributed.is_empty() && self.failed_together.is_empty() && self.run.timelines.is_empty())
    }

    /// Whether times of each kind of record that has them are modelled, of one, of several GPUs, and of timelines.
    pub(crate) fn are_modelled(&self) -> impl Iterator<Item = bool> {
        let rows = self.run.measurements.iter().chain(&self.run.distributed).map(|row| row.modelled);
        rows.chain(self.run.timelines.iter().map(|timeline| timeline.modelled))
            .chain(self.run.shapes.iter().map(|_| false))
    }

    /// Baselines that are beyond their error bound: they are shown, and marked.
    pub(crate) fn failed_baselines(&self) -> impl Iterator<Item = &Measurement> {
        self.run.measurements.iter().filter(|row| !row.verified)
    }
}

/// Steps are shown where their results are right; baselines in any case.
fn is_shown(row: &Measurement) -> bool {
    row.verified || row.is_baseline()
}

/// What all runs have of the usual size, or their largest; where they have none in common, the first one's largest.
fn common_size(views: &[View]) -> Option<u32> {
    let mut all = views.iter().map(View::sizes).filter(|sizes| !sizes.is_empty());
    let first = all.next()?;
    let common = all.fold(first.clone(), |common, sizes| &common & &sizes);
    let sizes = if common.is_empty() { first } else { common };
    sizes.get(&MAIN).or_else(|| sizes.last()).copied()
}

/// The files' names without folders and endings; with a number where two are alike.
fn labels(runs: &[Run]) -> Vec<String> {
    let stem = |run: &Run| {
        let file = run.name.rsplit(['/', '\\']).next().unwrap_or_default();
        let parent = run.name.rsplit(['/', '\\']).nth(1).unwrap_or_default();
        match file.strip_suffix(".jsonl").unwrap_or(file) {
            "rows" if !parent.is_empty() => parent.to_owned(),
            stem => stem.to_owned(),
        }
    };
    let stems: Vec<_> = runs.iter().map(stem).collect();
    let is_twice = |stem: &String| stems.iter().filter(|other| *other == stem).count() > 1;
    let label = |(i, stem): (usize, &String)| if is_twice(stem) { format!("{stem} #{}", i + 1) } else { stem.clone() };
    stems.iter().enumerate().map(label).collect()
}

/// How the parts of a picture name a run: A, B, C.
pub(crate) fn run_mark(view: usize) -> String {
    let letter = u8::try_from(view % 26).map_or('?', |i| char::from(b'A' + i));
    letter.to_string()
}

/// What a measurement has to tell.
pub(crate) fn tip(run: &Run, row: &Measurement) -> Vec<String> {
    let [m, n, k] = row.shape();
    let shape = row.size().map_or_else(|| format!("{m} x {n} x {k}"), |size| size.to_string());
    let mut lines = vec![format!("{} ({})", row.kernel, row.precision)];
    lines.push(format!("{} TFLOPS at {shape}", tflops(row.gflops)));
    let shares = [(row.percent_of_cublas, "of cuBLAS"), (row.of_peak(), "of peak")];
    let shares: Vec<_> =
        shares.iter().filter_map(|(share, what)| Some(format!("{} % {what}", percent((*share)?)))).collect();
    lines.extend((!shares.is_empty()).then(|| shares.join(", ")));
    if let (Some(speedup), Some(base)) = (run.speedup_over_base(row), &row.base) {
        lines.push(format!("{} x as fast as {base}", times(speedup)));
    }
    lines.push(if row.modelled {
        "modelled, not measured".into()
    } else {
        format!("{} ms, median of {} launches", significant(row.time_ms), row.iterations)
    });
    lines.extend((!row.verified).then(|| "failed its check".to_owned()));
    lines
}
