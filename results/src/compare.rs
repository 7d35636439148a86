//! Two runs, step by step: what is faster, what slower, and what is noise.

use crate::{Error, Measurement, Run};

/// Changes below this share count as noise, measured and modelled: what runs differ by that are alike in all that is known.
const FLOOR: [f64; 2] = [0.03, 0.02];

/// How many times the spread of times within a run (half the distance of the quartiles, of all times that a change is made
/// of) counts as noise.
const SPREADS: f64 = 3.0;

/// A kernel on one problem, in two runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The kernel of the new run.
    pub kernel: String,
    /// m, n and k.
    pub shape: [u32; 3],
    /// The new time as a multiple of the old one; where cuBLAS ran beside both, as a multiple of what cuBLAS's times in the
    /// same arithmetic let expect, so that clocks and cards that drift do not count.
    pub time_ratio: f64,
    /// Changes by less than this share are noise.
    pub noise: f64,
    /// What that comes to.
    pub verdict: Judgement,
}

/// What became of a kernel, or of a step: the worst of its sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// It is faster.
    Faster,
    /// What it differs by is noise.
    Same,
    /// It is slower.
    Slower,
    /// Its result is no longer right.
    Wrong,
}

impl Judgement {
    /// In words, for tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Same => "same",
            Self::Slower => "SLOWER",
            Self::Wrong => "WRONG",
        }
    }

    /// Whether it is a regression.
    #[must_use]
    pub fn is_regression(self) -> bool {
        self >= Self::Slower
    }
}

/// A step or baseline in two runs, at all sizes that both have.
#[derive(Debug, Clone, PartialEq)]
pub struct StepChange {
    /// The step's slug or the baseline's name.
    pub step: String,
    /// The arithmetic.
    pub precision: String,
    /// Whether it is cuBLAS's: its changes are the drift that those of steps are corrected by, and no regressions.
    pub is_baseline: bool,
    /// Size by size, in the order of the new run.
    pub changes: Vec<Change>,
}

impl StepChange {
    /// The change that is judged the worst; of those, the one with the largest time.
    #[must_use]
    pub fn worst(&self) -> Option<&Change> {
        self.changes.iter().max_by(|a, b| (a.verdict.cmp(&b.verdict)).then(a.time_ratio.total_cmp(&b.time_ratio)))
    }

    /// What became of it. Faster is a step that is so somewhere, and slower nowhere.
    #[must_use]
    pub fn verdict(&self) -> Judgement {
        let worst = self.worst().map_or(Judgement::Same, |change| change.verdict);
        let is_faster = self.changes.iter().any(|change| change.verdict == Judgement::Faster);
        if worst == Judgement::Same && is_faster { Judgement::Faster } else { worst }
    }

    /// The geometric mean of the time ratios.
    #[must_use]
    pub fn mean_time_ratio(&self) -> f64 {
        let logarithms: f64 = self.changes.iter().map(|change| change.time_ratio.ln()).sum();
        (logarithms / self.changes.len().max(1) as f64).exp()
    }

    /// Whether a step has become slower or wrong.
    #[must_use]
    pub fn is_regression(&self) -> bool {
        !self.is_baseline && self.verdict().is_regression()
    }
}

/// Fails where what runs on a device, modelled or measured, cannot be compared with an earlier run.
///
/// # Errors
/// As of [`compare`].
pub fn check_comparable(before: &Run, device: &str, modelled: bool) -> Result<(), Error> {
    check_kind(before, "this run", (device, modelled))
}

fn check_kind(before: &Run, name: &str, new: (&str, bool)) -> Result<(), Error> {
    let names = [before.name.clone(), name.to_owned()];
    let Some(old) = before.measurements.first().map(|row| (&*row.device, row.modelled)) else {
        return Err(Error::NothingInCommon { names });
    };
    let text =
        |(device, modelled)| if modelled { format!("modelled for {device}") } else { format!("measured on {device}") };
    if old == new { Ok(()) } else { Err(Error::NotComparable { names, what: [old, new].map(text) }) }
}

/// Compares two runs, for each step and arithmetic that both have, at the sizes that both have.
///
/// ```
/// use std::path::Path;
///
/// use results::{Judgement, Run, compare};
///
/// let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/results"));
/// let before = Run::read(&Run::newest_in(folder)?.expect("results are published"))?;
/// let mut after = before.clone();
/// for row in after.measurements.iter_mut().filter(|row| row.step() == "naive") {
///     row.time_ms *= 1.5;
///     row.percent_of_cublas = row.percent_of_cublas.map(|percent| percent / 1.5);
/// }
/// let steps = compare(&before, &after)?;
/// let of = |step| steps.iter().find(|change| change.step == step).map(|change| change.verdict());
/// assert_eq!((of("naive"), of("vectorized")), (Some(Judgement::Slower), Some(Judgement::Same)));
/// # Ok::<(), results::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotComparable`] where they ran on different devices, or one is modelled and the other measured;
/// [`Error::NothingInCommon`].
pub fn compare(before: &Run, after: &Run) -> Result<Vec<StepChange>, Error> {
    let Some(new) = after.measurements.first() else {
        return Err(Error::NothingInCommon { names: [before, after].map(|run| run.name.clone()) });
    };
    check_kind(before, &after.name, (&new.device, new.modelled))?;
    let mut steps: Vec<StepChange> = Vec::new();
    for row in &after.measurements {
        let Some(old) = counterpart(before, row) else { continue };
        let change = change([before, after], [old, row]);
        let is_it = |step: &&mut StepChange| step.step == row.step() && step.precision == row.precision;
        match steps.iter_mut().find(is_it) {
            Some(step) => step.changes.push(change),
            None => steps.push(StepChange {
                step: row.step().to_owned(),
                precision: row.precision.clone(),
                is_baseline: row.is_baseline(),
                changes: vec![change],
            }),
        }
    }
    if steps.is_empty() {
        return Err(Error::NothingInCommon { names: [before, after].map(|run| run.name.clone()) });
    }
    Ok(steps)
}

/// The row of `run` with the same task: of the same kernel, or else of another variant of its step.
fn counterpart<'a>(run: &'a Run, row: &Measurement) -> Option<&'a Measurement> {
    let task =
        |row: &Measurement| (row.shape(), row.precision.clone(), row.alpha.to_bits(), row.beta.to_bits(), row.graphs);
    let alike = || run.measurements.iter().filter(|other| other.verified && task(other) == task(row));
    alike().find(|other| other.kernel == row.kernel).or_else(|| alike().find(|other| other.step() == row.step()))
}

fn change(runs: [&Run; 2], rows: [&Measurement; 2]) -> Change {
    let [old, new] = rows;
    // What cuBLAS took beside each of them.
    let cublas = rows.map(|row| row.percent_of_cublas.map(|percent| row.time_ms * percent / 100.0));
    let drift = match cublas {
        [Some(old), Some(new)] if !rows[0].is_baseline() => new / old,
        _ => 1.0,
    };
    let beside = |run: &Run, row: &Measurement| {
        let is_it = |other: &&Measurement| other.is_baseline() && other.shape() == row.shape();
        let of_speed = |other: &&Measurement| {
            row.percent_of_cublas
                .is_some_and(|percent| (row.time_ms * percent / 100.0 / other.time_ms - 1.0).abs() < 1e-6)
        };
        run.measurements.iter().filter(is_it).find(of_speed).map_or(0.0, spread)
    };
    let spreads = [spread(old), spread(new), beside(runs[0], old), beside(runs[1], new)];
    let spread = spreads.iter().map(|spread| spread * spread).sum::<f64>().sqrt();
    let noise = FLOOR[usize::from(new.modelled)] + SPREADS * spread;
    let time_ratio = new.time_ms / old.time_ms / drift;
    let verdict = match time_ratio {
        _ if !new.verified => Judgement::Wrong,
        ratio if ratio > 1.0 + noise => Judgement::Slower,
        ratio if ratio < 1.0 / (1.0 + noise) => Judgement::Faster,
        _ => Judgement::Same,
    };
    Change { kernel: new.kernel.clone(), shape: new.shape(), time_ratio, noise, verdict }
}

/// Half the distance of the quartiles of the times, as a share of their median; 0 where they are not known.
fn spread(row: &Measurement) -> f64 {
    row.time_ms_q1.zip(row.time_ms_q3).map_or(0.0, |(q1, q3)| (q3 - q1) / 2.0 / row.time_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One step and cuBLAS at 4096, with quartiles 1 % away.
    fn run(step_ms: f64, cublas_ms: f64) -> Run {
        let line = |kernel: &str, time_ms: f64| {
            format!(
                r#"{{"record": "measurement", "schema": 1, "kernel": "{kernel}", "precision": "fp32", "backend": "cuda", "device": "H200", "compute_capability": "9.0", "driver": "", "cuda": "", "l2": "flushed", "graphs": false, "modelled": false, "m": 4096, "n": 4096, "k": 4096, "alpha": 1, "beta": 0, "seed": 1, "warmup": 2, "iterations": 10, "time_ms": {time_ms}, "time_ms_min": 1, "time_ms_max": 1, "time_ms_q1": {}, "time_ms_q3": {}, "gflops": 1, "percent_of_cublas": {}, "rel_error": 1e-7, "max_scaled_error": 0.1, "rows_checked": 7, "verified": true, "date": "2026-05-04T03:02:01Z", "commit": "unknown"}}"#,
                time_ms * 0.99,
                time_ms * 1.01,
                100.0 * cublas_ms / time_ms
            )
        };
        Run::parse("run", &[line("naive", step_ms), line("cublas", cublas_ms)].join("\n")).unwrap()
    }

    fn verdict(before: &Run, after: &Run) -> Judgement {
        compare(before, after).unwrap()[0].verdict()
    }

    #[test]
    fn what_is_beyond_the_noise_is_judged() {
        let before = run(10.0, 8.0);
        // 3 % and three times the spread of four times with 1 % each.
        let noise = compare(&before, &before).unwrap()[0].changes[0].noise;
        assert!((noise - 0.09).abs() < 1e-9, "{noise}");
        for (step_ms, expected) in
            [(10.0, Judgement::Same), (10.8, Judgement::Same), (11.0, Judgement::Slower), (9.0, Judgement::Faster)]
        {
            assert_eq!(verdict(&before, &run(step_ms, 8.0)), expected, "{step_ms}");
        }
    }

    #[test]
    fn what_cublas_drifts_by_does_not_count() {
        let before = run(10.0, 8.0);
        assert_eq!(verdict(&before, &run(13.0, 10.4)), Judgement::Same);
        assert_eq!(verdict(&before, &run(10.0, 6.0)), Judgement::Slower);
        let changes = compare(&before, &run(13.0, 10.4)).unwrap();
        assert!(changes[1].is_baseline && changes[1].verdict() == Judgement::Slower && !changes[1].is_regression());
    }

    #[test]
    fn a_wrong_result_is_a_regression() {
        let mut after = run(10.0, 8.0);
        after.measurements[0].verified = false;
        assert!(compare(&run(10.0, 8.0), &after).unwrap()[0].is_regression());
    }

    #[test]
    fn only_runs_of_one_kind_are_compared() {
        let before = run(10.0, 8.0);
        let change = |change: fn(&mut Measurement)| {
            let mut after = before.clone();
            after.measurements.iter_mut().for_each(change);
            compare(&before, &after)
        };
        assert!(matches!(change(|row| row.modelled = true), Err(Error::NotComparable { .. })));
        assert!(matches!(change(|row| row.device = "B200".into()), Err(Error::NotComparable { .. })));
        assert!(matches!(change(|row| row.m = 1), Err(Error::NothingInCommon { .. })));
        assert!(matches!(change(|row| row.beta = 1.0), Err(Error::NothingInCommon { .. })));
    }

    #[test]
    fn variants_of_a_step_are_its_own() {
        let mut after = run(10.0, 8.0);
        after.measurements[0].kernel = "naive/other".into();
        assert_eq!(verdict(&run(10.0, 8.0), &after), Judgement::Same);
    }
}
