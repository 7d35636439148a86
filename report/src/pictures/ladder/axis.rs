//! What the bars' length stands for: the reader chooses.

use maud::{Markup, html};

use super::{Bar, Line, Panel};

/// What bars are measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    /// TFLOPS.
    Absolute,
    /// Percent of the device's peak in the step's arithmetic.
    Peak,
    /// Percent of cuBLAS in the step's arithmetic.
    Cublas,
}

impl Axis {
    const ALL: [Self; 3] = [Self::Absolute, Self::Peak, Self::Cublas];

    /// In ids and classes.
    pub(super) const fn id(self) -> &'static str {
        match self {
            Self::Absolute => "absolute",
            Self::Peak => "peak",
            Self::Cublas => "cublas",
        }
    }

    const fn label(self) -> &'static str {
        match self {
            Self::Absolute => "TFLOPS",
            Self::Peak => "% of peak",
            Self::Cublas => "% of cuBLAS",
        }
    }

    /// Those that there are figures for; the first is shown at first.
    pub(super) fn of(panels: &[Panel]) -> Vec<Self> {
        let bars = || panels.iter().flat_map(|panel| &panel.steps).flat_map(|step| &step.bars);
        Self::ALL.into_iter().filter(|axis| bars().any(|bar| axis.at(bar, bar.row.gflops).is_some())).collect()
    }

    /// A speed beside a bar, in GFLOPS, on this axis.
    pub(super) fn at(self, bar: &Bar, gflops: f64) -> Option<f64> {
        let own = match self {
            Self::Absolute => return Some(gflops),
            Self::Peak => bar.row.of_peak()?,
            Self::Cublas => bar.row.percent_of_cublas?,
        };
        Some(own * gflops / bar.row.gflops)
    }

    /// Where a line is on this axis.
    pub(super) fn at_line(self, line: &Line) -> Option<f64> {
        let whole = match self {
            Self::Absolute => return Some(line.gflops),
            Self::Peak => line.peak?,
            Self::Cublas => line.cublas?,
        };
        Some(100.0 * line.gflops / whole)
    }

    /// Buttons to choose by: they work without a script.
    pub(super) fn controls(all: &[Self]) -> Markup {
        html! {
            fieldset.toggles {
                legend { "Axis" }
                @for axis in all {
                    label {
                        input type="radio" name="axis" id={ "axis-" (axis.id()) } checked[*axis == Self::Absolute];
                        span { (axis.label()) }
                    }
                }
            }
        }
    }
}
