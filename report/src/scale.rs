//! From values to pixels.

use results::format::trimmed;

/// An axis: values from `domain.0` to `domain.1` lie between `range.0` and `range.1`, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    is_log: bool,
    domain: (f64, f64),
    range: (f64, f64),
}

impl Scale {
    /// From 0 to a round number that is `most` or more.
    pub(crate) fn linear(most: f64, range: (f64, f64)) -> Self {
        let most = if most.is_finite() && most > 0.0 { most } else { 1.0 };
        Self { is_log: false, domain: (0.0, most), range }
    }

    /// Around all finite positive `values`, with some room at both ends. Without any it is from 1 to 10.
    pub(crate) fn log(values: impl IntoIterator<Item = f64>, room: f64, range: (f64, f64)) -> Self {
        let all = values.into_iter().filter(|value| value.is_finite() && *value > 0.0);
        let (least, most) = all.fold((f64::MAX, 0.0), |(least, most): (f64, f64), v| (least.min(v), most.max(v)));
        let domain = if most == 0.0 { (1.0, 10.0) } else { (least / room, most * room) };
        Self { is_log: true, domain, range }
    }

    /// Where a value lies.
    pub(crate) fn at(&self, value: f64) -> f64 {
        let map = |v: f64| if self.is_log { v.max(f64::MIN_POSITIVE).ln() } else { v };
        let (from, to) = (map(self.domain.0), map(self.domain.1));
        self.range.0 + (map(value) - from) / (to - from) * (self.range.1 - self.range.0)
    }

    /// The least value and the largest.
    pub(crate) fn domain(&self) -> (f64, f64) {
        self.domain
    }

    /// Round values for lines across, about `count` of them.
    pub(crate) fn ticks(&self, count: f64) -> Vec<f64> {
        let (from, to) = self.domain;
        if !self.is_log {
            let raw = (to - from) / count;
            let unit = 10f64.powf(raw.log10().floor());
            let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * unit).into_iter().find(|step| *step >= raw);
            let step = step.unwrap_or(raw);
            return (0..=(to / step + 1e-9) as u32).map(|i| f64::from(i) * step).collect();
        }
        let decades = (to / from).log10();
        let within: &[f64] = if decades < 1.2 {
            &[1.0, 2.0, 3.0, 5.0]
        } else if decades < count / 2.0 {
            &[1.0, 2.0, 5.0]
        } else if decades < count * 1.2 {
            &[1.0]
        } else {
            return self.decades(((decades / count).ceil() as i32).max(2));
        };
        let first = from.log10().floor() as i32;
        (first..=to.log10().ceil() as i32)
            .flat_map(|power| within.iter().map(move |factor| factor * 10f64.powi(power)))
            .filter(|value| (from..=to).contains(value))
            .collect()
    }

    fn decades(&self, step: i32) -> Vec<f64> {
        let (first, last) = (self.domain.0.log10().ceil() as i32, self.domain.1.log10().floor() as i32);
        (first..=last).filter(|power| power % step == 0).map(|power| 10f64.powi(power)).collect()
    }
}

/// The text of a tick of speeds: they are in GFLOPS, and people read TFLOPS.
pub(crate) fn tflops(gflops: f64) -> String {
    trimmed(gflops / 1000.0)
}

/// A round number that is `value` or a little more, for the end of an axis.
pub(crate) fn round_up(value: f64) -> f64 {
    if value.is_nan() || value <= 0.0 {
        return 1.0;
    }
    let unit = 10f64.powf(value.log10().floor());
    [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
        .map(|factor| factor * unit)
        .into_iter()
        .find(|round| *round >= value)
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_in_proportion() {
        let linear = Scale::linear(200.0, (10.0, 110.0));
        assert_eq!((linear.at(0.0), linear.at(50.0), linear.at(200.0)), (10.0, 35.0, 110.0));
        let log = Scale::log([1.0, 100.0], 1.0, (0.0, 100.0));
        assert!((log.at(10.0) - 50.0).abs() < 1e-9);
        assert_eq!(log.ticks(2.0), [1.0, 10.0, 100.0]);
        assert_eq!(linear.ticks(4.0), [0.0, 50.0, 100.0, 150.0, 200.0]);
    }

    #[test]
    fn nothing_to_show_is_no_panic() {
        assert!(Scale::log([f64::NAN, 0.0], 2.0, (0.0, 1.0)).at(5.0).is_finite());
        assert!(Scale::linear(f64::NAN, (0.0, 1.0)).at(0.0).is_finite());
    }
}
