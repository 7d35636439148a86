//! The ladder: a bar for each step, beside cuBLAS, the FMA peak, and the kernels of others.
//!
//! The tensor cores are ten times as fast, so that they have a panel and an axis of their own.

mod axis;
mod draw;
mod table;

use results::format::tflops;
use results::{Measurement, Run};

use self::axis::Axis;
use crate::canvas::Layout;
use crate::data::{Data, Entry, View, run_mark};
use crate::legend::group;
use crate::picture::{LeftOut, Picture};
use crate::scale::round_up;

const NAME: &str = "ladder";
const FORM_OF_PEERS: usize = 3;

/// A step's bar of one run.
struct Bar<'a> {
    row: &'a Measurement,
    run: &'a Run,
    view: usize,
    /// The kernel of others with the same idea.
    peer: Option<f64>,
    /// cuBLAS in the same arithmetic.
    cublas: Option<f64>,
    /// How many times as fast as the base in the same arithmetic, or beside other runs as the first one.
    ratio: Option<f64>,
    /// The base in the same arithmetic.
    base: Option<f64>,
    colour: usize,
}

struct Step<'a> {
    entry: &'a Entry,
    bars: Vec<Bar<'a>>,
}

/// A line through all bars of a panel, in GFLOPS.
#[derive(Clone)]
struct Line {
    gflops: f64,
    label: String,
    class: &'static str,
    /// The device's peak, and its cuBLAS.
    peak: Option<f64>,
    cublas: Option<f64>,
}

struct Panel<'a> {
    title: String,
    steps: Vec<Step<'a>>,
    /// Lines through all bars.
    lines: Vec<Line>,
    /// Whether each bar has a mark for cuBLAS instead.
    has_ticks: bool,
}

pub(crate) fn picture(data: &Data) -> Result<Picture, LeftOut> {
    let title = "The ladder".to_owned();
    let left_out = |reason: &str| LeftOut { name: NAME, title: title.clone(), reason: reason.into() };
    let size = data.size.ok_or_else(|| left_out("No square size was measured."))?;
    let panels = panels(data, size);
    if panels.is_empty() {
        return Err(left_out("No step has a verified result at a size that all runs have."));
    }
    let axes = Axis::of(&panels);
    let mut drawings = axes.iter().map(|axis| Layout::ALL.map(|layout| draw::draw(data, &panels, *axis, layout)));
    let absolute = drawings.next().ok_or_else(|| left_out("No speed is known."))?;
    let variants = axes.iter().skip(1).map(|axis| axis.id()).zip(drawings).collect();
    Ok(Picture {
        name: NAME.to_owned(),
        title: format!("{title}: TFLOPS at {size}{}", data.how()),
        source: data.source(),
        note: note(data, &panels),
        table: table::table(data, size),
        controls: (axes.len() > 1).then(|| Axis::controls(&axes)),
        drawings: absolute,
        variants,
    })
}

fn note(data: &Data, panels: &[Panel]) -> String {
    let mut note = "Each step adds one idea to its base. ".to_owned();
    if data.is_single() {
        note += "The pale part of a bar is what its base reaches in the same precision, the full one is the gain. ";
    }
    if panels.len() > 1 {
        note += "Steps on the tensor cores have an axis of their own, below. ";
    }
    if data.steps().any(|entry| entry.precision.ends_with("x3")) && data.baselines().next().is_some() {
        note += "fp16x3 and tf32x3 take and give f32, so they are compared with cuBLAS SGEMM. ";
    }
    note
}

fn panels<'a>(data: &'a Data, size: u32) -> Vec<Panel<'a>> {
    let mut peaks: Vec<Line> = Vec::new();
    for (_, view) in data.measured() {
        let Some((peak, clock)) = view.fma_peak() else { continue };
        if peaks.iter().all(|other| other.gflops != peak) {
            let cublas = view.run.of("cublas", "fp32", [size; 3]).map(|row| row.gflops);
            let label = format!("FMA peak {} at {clock} MHz", tflops(peak));
            peaks.push(Line { gflops: peak, label, class: "s-muted dash", peak: Some(peak), cublas });
        }
    }
    let mut lines: Vec<_> = data.measured().filter_map(|(i, view)| cublas_line(data, i, view, size)).collect();
    lines.extend(peaks);
    let steps = |is_on_tensor_cores: bool| -> Vec<Step> {
        let entries = data.steps().filter(|entry| entry.is_on_tensor_cores() == is_on_tensor_cores);
        entries.map(|entry| Step { entry, bars: bars(data, entry) }).filter(|step| !step.bars.is_empty()).collect()
    };
    let plain = Panel { title: "CUDA cores, fp32".into(), steps: steps(false), lines, has_ticks: false };
    let tensor = Panel { title: "Tensor cores".into(), steps: steps(true), lines: Vec::new(), has_ticks: true };
    [plain, tensor].into_iter().filter(|panel| !panel.steps.is_empty()).collect()
}

fn cublas_line(data: &Data, i: usize, view: &View, size: u32) -> Option<Line> {
    let row = view.run.of("cublas", "fp32", [size; 3])?;
    let which = if data.is_single() { String::new() } else { format!(" {}", run_mark(i)) };
    let label = format!("cuBLAS{which} {}", tflops(row.gflops));
    let peak = view.fma_peak().map(|peak| peak.0);
    Some(Line { gflops: row.gflops, label, class: "s-ink", peak, cublas: Some(row.gflops) })
}

fn bars<'a>(data: &'a Data, entry: &Entry) -> Vec<Bar<'a>> {
    let first = data.measured().next().and_then(|(_, view)| data.row(view, entry)).map(|row| row.gflops);
    let bar = |(i, view): (usize, &'a View)| {
        let row = data.row(view, entry)?;
        let colour = match entry.precision.as_str() {
            _ if !data.is_single() => i,
            precision => group(precision),
        };
        let speedup = view.run.speedup_over_base(row);
        Some(Bar {
            row,
            run: &view.run,
            view: i,
            peer: data.peers.beside(row),
            cublas: row.percent_of_cublas.filter(|share| *share > 0.0).map(|share| 100.0 * row.gflops / share),
            ratio: if data.is_single() { speedup } else { first.map(|first| row.gflops / first) },
            base: speedup.map(|speedup| row.gflops / speedup),
            colour,
        })
    };
    data.measured().filter_map(bar).collect()
}

impl Panel<'_> {
    /// The end of an axis.
    fn most(&self, axis: Axis) -> f64 {
        let bars = self.steps.iter().flat_map(|step| &step.bars);
        let values = bars.flat_map(|bar| {
            let speeds = [Some(bar.row.gflops), bar.peer, bar.cublas, bar.base];
            speeds.map(|gflops| axis.at(bar, gflops?))
        });
        let lines = self.lines.iter().map(|line| axis.at_line(line));
        round_up(values.chain(lines).flatten().fold(0.0, f64::max))
    }
}
