//! What is said of the shapes of a set: the same tables on the terminal and in the report.

use crate::format::{significant, times};
use crate::{Distribution, Kind, ShapeTiming};

/// The quantiles that tables show.
const QUANTILES: [(f64, &str); 5] = [(0.05, "5 %"), (0.25, "25 %"), (0.5, "50 %"), (0.75, "75 %"), (0.95, "95 %")];

/// A table about a set of shapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeTable {
    /// How many of the columns, from the left, hold texts; the others hold numbers.
    pub texts: usize,
    /// The columns' names.
    pub columns: Vec<String>,
    /// A text for each column.
    pub lines: Vec<Vec<String>>,
}

/// The verified shapes of one set in one accuracy class, of which there is at least one.
#[derive(Debug, Clone, PartialEq)]
pub struct ShapeSet<'a> {
    /// The set's name.
    pub set: &'a str,
    /// The accuracy class's.
    pub class: &'a str,
    /// The shapes, in their order.
    pub rows: Vec<&'a ShapeTiming>,
}

impl<'a> ShapeSet<'a> {
    /// How many of the worst shapes tables name.
    pub const WORST: usize = 20;

    /// The sets that these are of, in their order. What is not verified belongs to none.
    #[must_use]
    pub fn all(rows: &'a [ShapeTiming]) -> Vec<Self> {
        let mut sets: Vec<Self> = Vec::new();
        for row in rows.iter().filter(|row| row.verified) {
            match sets.iter_mut().find(|set| (set.set, set.class) == (&row.set, &row.class)) {
                Some(set) => set.rows.push(row),
                None => sets.push(Self { set: &row.set, class: &row.class, rows: vec![row] }),
            }
        }
        sets
    }

    /// Set and class, and how many shapes.
    #[must_use]
    pub fn title(&self) -> String {
        let plural = if self.rows.len() == 1 { "" } else { "s" };
        format!("{}, {}: {} shape{plural}", self.set, self.class, self.rows.len())
    }

    /// How the ratios to cuBLAS are distributed.
    #[must_use]
    pub fn ratios(&self) -> Option<Distribution> {
        Distribution::new(self.rows.iter().map(|row| row.ratio))
    }

    /// The times of cuBLAS over those of the chosen kernels, in sum over all shapes as often as the set has them.
    #[must_use]
    pub fn ratio_of_sums(&self) -> f64 {
        let sum =
            |time: fn(&ShapeTiming) -> f64| -> f64 { self.rows.iter().map(|row| time(row) * row.count as f64).sum() };
        sum(|row| row.cublas_ms) / sum(|row| row.time_ms)
    }

    /// How the regrets are distributed, of those shapes that were searched.
    #[must_use]
    pub fn regrets(&self) -> Option<Distribution> {
        Distribution::new(self.rows.iter().filter_map(|row| row.regret))
    }

    /// The shapes with the smallest ratios, the smallest first.
    #[must_use]
    pub fn worst(&self) -> Vec<&'a ShapeTiming> {
        let mut rows = self.rows.clone();
        rows.sort_by(|one, other| one.ratio.total_cmp(&other.ratio));
        rows.truncate(Self::WORST);
        rows
    }

    /// The distribution of the ratio: of all, of each kind, and of plain calls.
    #[must_use]
    pub fn distribution_table(&self) -> ShapeTable {
        let columns = ["Shapes", "number", "geo. mean", "least"].into_iter().chain(QUANTILES.map(|(_, name)| name));
        let columns = columns.chain([">= 1.00"]).map(str::to_owned).collect();
        let line = |name: &str, ratios: Option<Distribution>| {
            let ratios = ratios?;
            let texts = [name.to_owned(), ratios.sorted().len().to_string(), times(ratios.geometric_mean())];
            let quantiles = QUANTILES.map(|(share, _)| times(ratios.quantile(share)));
            let share = format!("{:.0} %", 100.0 * ratios.share_from(1.0));
            Some(texts.into_iter().chain([times(ratios.sorted()[0])]).chain(quantiles).chain([share]).collect())
        };
        let of_kind =
            |kind: Kind| Distribution::new(self.rows.iter().filter(|row| row.kind() == kind).map(|row| row.ratio));
        let kinds = Kind::ALL.into_iter().map(|kind| line(kind.name(), of_kind(kind)));
        let calls = Distribution::new(self.rows.iter().map(|row| row.calls_ratio));
        let lines = [line("all", self.ratios())].into_iter().chain(kinds).chain([line("all, as plain calls", calls)]);
        ShapeTable { texts: 1, columns, lines: lines.flatten().collect() }
    }

    /// The worst shapes, by name.
    #[must_use]
    pub fn worst_table(&self) -> ShapeTable {
        let columns = ["Shape", "kernel", "launches", "us", "cuBLAS, us", "ratio", "+-, %", "calls", "regret"];
        let microseconds = |ms: f64| significant(1e3 * ms);
        let line = |row: &ShapeTiming| {
            let mark = if row.settled { "" } else { " (unsettled)" };
            vec![
                row.name(),
                row.kernel.clone(),
                row.launches.to_string(),
                microseconds(row.time_ms),
                microseconds(row.cublas_ms),
                times(row.ratio),
                format!("{:.1}{mark}", 100.0 * row.ratio_error),
                times(row.calls_ratio),
                crate::format::or_dash(row.regret, times),
            ]
        };
        let lines = self.worst().into_iter().map(line).collect();
        ShapeTable { texts: 2, columns: columns.map(str::to_owned).to_vec(), lines }
    }

    /// What the tables do not say, in sentences.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![format!("Times in sum: {} of cuBLAS's speed.", times(self.ratio_of_sums()))];
        if let Some(regrets) = self.regrets() {
            let largest = self
                .rows
                .iter()
                .filter(|row| row.regret.is_some())
                .max_by(|one, other| one.regret.unwrap_or(0.0).total_cmp(&other.regret.unwrap_or(0.0)));
            let at = largest.map_or_else(String::new, |row| {
                let best = row.best_kernel.as_deref().unwrap_or("-");
                format!(" ({}: {} instead of {best})", row.name(), row.kernel)
            });
            remarks.push(format!(
                "Regret of {} shapes: geometric mean {}, 99th percentile {}, largest {}{at}.",
                regrets.sorted().len(),
                times(regrets.geometric_mean()),
                times(regrets.quantile(0.99)),
                times(regrets.quantile(1.0)),
            ));
        }
        let count = |is: fn(&ShapeTiming) -> bool| self.rows.iter().filter(|row| is(row)).count();
        let unsettled = count(|row| !row.settled);
        if unsettled > 0 {
            remarks.push(format!("Ratios whose standard error stayed above its limit: {unsettled}."));
        }
        let wrong = count(|row| !row.cublas_verified);
        if wrong > 0 {
            remarks.push(format!("Shapes on which cuBLAS failed its check, and which count all the same: {wrong}."));
        }
        remarks
    }
}

#[cfg(test)]
mod tests;
