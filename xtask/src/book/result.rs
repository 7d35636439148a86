//! The first line of a step's chapter: what it gained, and the counter that shows why.

use anyhow::{Context, Result};
use gpu_kernels::Step;
use results::format::{percent, tflops, times};
use results::{Counters, Measurement};

use super::causes::{self, Cause};
use super::sources::Sources;

/// A ratio that rounds to 1.00 is neither a gain nor a loss.
const NOTHING: f64 = 0.005;

/// The size at which the steps are compared, whatever they are for.
const LARGE: u32 = 4096;

/// The block `result`: a sentence, and how its figures came about.
pub fn block(step: &Step, sources: &Sources) -> Result<String> {
    let cause = causes::of(step.slug).with_context(|| format!("causes.rs has no cause for {}", step.slug))?;
    let counters = sources.counters(step.slug).with_context(|| format!("{} has no counters", sources.file))?;
    let base = step.base.and_then(|base| sources.counters(base));
    let rows = sources.squares(step.slug);
    let row = rows.iter().find(|row| row.m == cause.size && row.verified);
    let large = rows.iter().find(|row| row.m == LARGE && row.verified);
    let speed = match row {
        Some(row) => speed(step, row, large.filter(|large| large.m != row.m), sources),
        None => format!("Not measured: it needs {}", step.target.devices()),
    };
    let movement = movement(cause, base, counters);
    let measured = row.map_or_else(String::new, |row| {
        let date: String = row.date.chars().take(10).collect();
        let how = if row.modelled { "modelled for" } else { "measured on" };
        format!("Speed: {how} {}, {date}. ", row.device)
    });
    let size = counters.m;
    Ok(format!(
        "**{speed}**: {movement}{}.\n\n*{measured}Counter: of the emulator, at m = n = k = {size}.*\n",
        cause.so
    ))
}

/// The gain over the base, or where the two compute in different arithmetics, the speed.
fn speed(step: &Step, row: &Measurement, large: Option<&&Measurement>, sources: &Sources) -> String {
    let size = row.m;
    match (step.base, sources.run.speedup_over_base(row)) {
        (Some(base), Some(ratio)) => {
            let beside = large.and_then(|large| sources.run.speedup_over_base(large));
            let beside = beside.map_or_else(String::new, |ratio| format!(", {} x at {LARGE}", times(ratio)));
            format!("{} x the speed of `{base}` at {size}{beside}{}", times(ratio), judgement(ratio))
        }
        _ => {
            let of_cublas = row.percent_of_cublas.map(|share| format!(", {} % of cuBLAS", percent(share)));
            format!("{} TFLOPS in {} at {size}{}", tflops(row.gflops), row.precision, of_cublas.unwrap_or_default())
        }
    }
}

fn judgement(ratio: f64) -> &'static str {
    match ratio {
        ratio if ratio < 1.0 - NOTHING => ", so slower",
        ratio if ratio < 1.0 + NOTHING => ", so no gain",
        _ => "",
    }
}

/// How the counter moves from the base to the step.
fn movement(Cause { figure, subject, .. }: &Cause, base: Option<&Counters>, own: &Counters) -> String {
    let number = |counters| figure.number(counters).unwrap_or_default();
    let text = |counters| figure.text(counters).replace(' ', "\u{a0}");
    match base {
        None => format!("{subject} are {}", text(own)),
        Some(base) if text(base) == text(own) => format!("{subject} stay at {}", text(own)),
        Some(base) => {
            let verb = if number(own) < number(base) { "fall" } else { "rise" };
            format!("{subject} {verb} from {} to {}", text(base), text(own))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::root;

    fn block_of(slug: &str) -> String {
        block(gpu_kernels::find(slug).unwrap(), &Sources::read(root()).unwrap()).unwrap()
    }

    #[test]
    fn a_gain_has_its_ratio_and_both_values_of_the_counter() {
        let text = block_of("2d-tiling");
        let sources = Sources::read(root()).unwrap();
        let [base, own] = ["1d-tiling", "2d-tiling"].map(|slug| sources.counters(slug).unwrap().wavefronts_per_fma());
        let ends =
            format!("fall from {} to {},", results::format::significant(base), results::format::significant(own));
        assert!(
            text.starts_with("**") && text.contains(" x the speed of `1d-tiling` at 4096**: ") && text.contains(&ends),
            "{text}"
        );
    }

    #[test]
    fn what_is_slower_or_not_measured_says_so() {
        assert!(block_of("lane-sharing").contains(", so slower**: "));
        assert!(block_of("packed-fma").starts_with("**Not measured: it needs compute capability 10.0"));
        assert!(block_of("tf32").contains(" % of cuBLAS**: "), "another arithmetic than the base's");
        assert!(block_of("warp-tiling").contains(" stay at "));
    }
}
