//! What the event model predicts for square products over four H200: a record of each timeline, as JSON lines.

use host::backend::emulator::{EmulatedRanks, MODELS};
use host::measure::bench::Timing;
use host::measure::together::{Job, Wanted, of_class, predicted};
use host::{AccuracyClass, Error, Problem, output};
use results::Timeline;

/// Devices, all of one host.
const GPUS: usize = 4;

/// n of n x n x n.
const SIZE: u32 = 16_384;

fn main() -> Result<(), Error> {
    print!("{}", output::json_lines(&timelines()?));
    Ok(())
}

/// One for each class. Nothing is multiplied.
///
/// # Errors
/// Where there is no plan.
pub fn timelines() -> Result<Vec<Timeline>, Error> {
    let timeline = |class: AccuracyClass| {
        let mut ranks = EmulatedRanks::new(&MODELS[0], GPUS, 1);
        let problem = Problem::new(SIZE, SIZE, SIZE)?;
        let scheme = Wanted::default().scheme(&of_class(&problem, class), &mut ranks)?;
        let timing = Timing { warmup: 0, iterations: None };
        predicted(&mut ranks, &Job { problem, class, scheme, timing })
    };
    [AccuracyClass::Fp32Strict, AccuracyClass::Fp32].into_iter().map(timeline).collect()
}
