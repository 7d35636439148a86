//! How ratios are distributed.

/// Positive numbers, in order.
///
/// ```
/// use results::Distribution;
///
/// let ratios = Distribution::new([2.0, 0.5, 1.0, f64::NAN]).expect("three of them are numbers");
/// assert_eq!((ratios.geometric_mean(), ratios.quantile(0.25)), (1.0, 0.75));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    sorted: Vec<f64>,
}

impl Distribution {
    /// Of those values that are finite and positive; `None` without any.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite() && *value > 0.0).collect();
        sorted.sort_by(f64::total_cmp);
        (!sorted.is_empty()).then_some(Self { sorted })
    }

    /// From the smallest to the largest; at least one.
    #[must_use]
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The exponential of the mean logarithm.
    #[must_use]
    pub fn geometric_mean(&self) -> f64 {
        (self.sorted.iter().map(|value| value.ln()).sum::<f64>() / self.sorted.len() as f64).exp()
    }

    /// The value that a `share` of all, 0 to 1, does not exceed: between two values, in proportion.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        quantile(&self.sorted, share)
    }

    /// The share of all, 0 to 1, that is at least `value`.
    #[must_use]
    pub fn share_from(&self, value: f64) -> f64 {
        let below = self.sorted.partition_point(|other| *other < value);
        (self.sorted.len() - below) as f64 / self.sorted.len() as f64
    }
}

/// The value that a `share` of sorted values, 0 to 1, does not exceed: between two values, in proportion.
///
/// # Panics
/// Without any value.
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let rank = share.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let [below, above] = [rank.floor(), rank.ceil()].map(|rank| sorted[rank as usize]);
    below + (above - below) * rank.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_computed_by_hand() {
        // 2^-2, 2^-1, 2^0, 2^1, 2^7: the logarithms' mean is 1.
        let ratios = Distribution::new([128.0, 0.5, 2.0, 0.25, 1.0]).unwrap();
        assert!((ratios.geometric_mean() - 2.0).abs() < 1e-12);
        assert_eq!(ratios.sorted(), [0.25, 0.5, 1.0, 2.0, 128.0]);
        for (share, value) in [(0.0, 0.25), (0.05, 0.3), (0.25, 0.5), (0.5, 1.0), (0.9, 77.6), (1.0, 128.0)] {
            assert!((ratios.quantile(share) - value).abs() < 1e-12, "{share}");
        }
        assert_eq!([0.2, 1.0, 1.1, 200.0].map(|value| ratios.share_from(value)), [1.0, 0.6, 0.4, 0.0]);
    }

    #[test]
    fn one_value_is_all_and_none_is_none() {
        let one = Distribution::new([3.0]).unwrap();
        assert_eq!((one.quantile(0.05), one.quantile(0.95)), (3.0, 3.0));
        assert_eq!(Distribution::new([f64::NAN, f64::INFINITY, 0.0, -1.0]), None);
    }
}
