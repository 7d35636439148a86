//! How well a table predicts what was measured, and what choosing by it costs.

use std::fmt;

use gpu_kernels::Step;
use results::{Distribution, ShapeTiming};
use sgemm::AccuracyClass;
use sgemm::select::Table;

use super::{case, fit, samples, samples_of};
use crate::Error;

/// The largest regrets that are shown.
const SHOWN: usize = 20;

/// How well a table predicts what was measured. Its text is for people.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// Kernels.
    pub kernels: usize,
    /// Times of kernels.
    pub times: usize,
    /// The root mean square of the logarithms of predicted over measured times.
    pub error: f64,
    /// For each shape and class, the time of the kernel that is predicted to be the fastest over that of the fastest.
    pub regrets: Regrets,
}

/// What predictions cost, the most first. Its text has a line for each class, and the largest.
#[derive(Debug, Clone, PartialEq)]
pub struct Regrets(Vec<Regret>);

/// What a prediction costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Regret {
    /// The shape.
    pub name: String,
    /// The accuracy class.
    pub class: AccuracyClass,
    /// The kernel that is predicted to be the fastest, of those that were timed.
    pub chosen: &'static str,
    /// The one that is.
    pub best: &'static str,
    /// The time of the first over that of the second.
    pub factor: f64,
}

impl Fit {
    /// Of a table on rows.
    #[must_use]
    pub fn of(table: &Table, rows: &[ShapeTiming]) -> Self {
        let samples = samples_of(rows);
        let sm_count = rows.first().map_or(1, |row| row.sm_count);
        let of_kernel = |(step, cost): &(&'static Step, _)| {
            let count = samples.iter().filter(|sample| sample.step == *step).count();
            (count, fit::error(&samples, step, cost, &table.memory, sm_count))
        };
        let each: Vec<_> = table.costs.iter().map(of_kernel).collect();
        let times = each.iter().map(|(count, _)| count).sum::<usize>();
        let squares = each.iter().map(|(count, error)| *count as f64 * error * error).sum::<f64>();
        let error = (squares / times.max(1) as f64).sqrt();
        Self { kernels: each.len(), times, error, regrets: Regrets::of(table, rows) }
    }
}

impl Regrets {
    /// Of a table on rows.
    #[must_use]
    pub fn of(table: &Table, rows: &[ShapeTiming]) -> Self {
        Self::sorted(rows.iter().flat_map(|row| of_row(table, row)).collect())
    }

    /// On shapes that predictions were not fitted to: rows are divided into as many folds, and each is predicted by what is fitted to the
    /// others.
    ///
    /// # Errors
    /// As of [`super::table`], where too few rows are left.
    pub fn unseen(rows: &[ShapeTiming], folds: usize) -> Result<Self, Error> {
        let mut all = Vec::new();
        for fold in 0..folds {
            let (unseen, seen): (Vec<_>, Vec<_>) = rows.iter().cloned().partition(|row| fold_of(row, folds) == fold);
            let table = super::table(&seen)?;
            all.extend(unseen.iter().flat_map(|row| of_row(&table, row)));
        }
        Ok(Self::sorted(all))
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Regret> {
        self.0.iter()
    }

    fn sorted(mut all: Vec<Regret>) -> Self {
        all.sort_by(|one, other| other.factor.total_cmp(&one.factor));
        Self(all)
    }
}

/// In the row's class, and in the strictest where it has kernels of that too.
fn of_row(table: &Table, row: &ShapeTiming) -> Vec<Regret> {
    let Some((_, class)) = case(row) else { return Vec::new() };
    let is_stricter = class != AccuracyClass::Fp32Strict && class.admits(gpu_kernels::Precision::Fp32);
    let strict = is_stricter.then_some(AccuracyClass::Fp32Strict);
    let of_class = |class: AccuracyClass| {
        let mut samples = samples(0, row);
        samples.retain(|sample| class.admits(sample.step.precision));
        let chosen = fit::chosen(&samples, &table.costs, &table.memory, row.sm_count)?;
        let best = samples.iter().min_by(|one, other| one.us.total_cmp(&other.us))?;
        let (chosen, best, factor) = (chosen.step.slug, best.step.slug, chosen.us / best.us);
        Some(Regret { name: row.name(), class, chosen, best, factor })
    };
    [Some(class), strict].into_iter().flatten().filter_map(of_class).collect()
}

/// Which fold a row is in: all of one shape are in the same.
fn fold_of(row: &ShapeTiming, folds: usize) -> usize {
    const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = [row.m, row.n, row.k].into_iter().fold(0_u64, |mixed, size| {
        let mixed = (mixed ^ u64::from(size)).wrapping_mul(MIX);
        mixed ^ (mixed >> 32)
    });
    (mixed % folds.max(1) as u64) as usize
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kernels, times, error, regrets } = self;
        writeln!(f, "{times} times of {kernels} kernels; predictions are off by {:.1} % (RMS)", 100.0 * error)?;
        write!(f, "{regrets}")
    }
}

impl fmt::Display for Regrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for class in AccuracyClass::ALL {
            let factors = self.iter().filter(|regret| regret.class == class).map(|regret| regret.factor);
            let Some(factors) = Distribution::new(factors) else { continue };
            let [mean, most, nearly_all] = [factors.geometric_mean(), factors.quantile(0.95), factors.quantile(0.99)];
            writeln!(
                f,
                "regret in {:11} of {:4} shapes: geometric mean {mean:.3}, 95th percentile {most:.2}, 99th {nearly_all:.2}",
                class.name(),
                factors.sorted().len(),
            )?;
        }
        let line = |Regret { name, class, chosen, best, factor }: &Regret| {
            format!("  {factor:.2}: {name} in {}: {chosen} instead of {best}", class.name())
        };
        write!(f, "{}", self.iter().take(SHOWN).map(line).collect::<Vec<_>>().join("\n"))
    }
}
