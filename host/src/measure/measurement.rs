//! How a kernel is timed, and what is known of it then.

use crate::backend::Conditions;
use crate::verify::Coverage;
use crate::{Kernel, Verification};

/// GPU time that an automatic number of launches aims at, in milliseconds.
const AUTO_TIME_MS: f32 = 500.0;

/// The least and the most launches that are chosen automatically.
const AUTO_ITERATIONS: (u32, u32) = (10, 200);

/// The least where those take longer than so many milliseconds.
const SLOW_ITERATIONS: (u32, f32) = (5, 2000.0);

/// How to time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timing {
    /// Untimed launches before the timed ones.
    pub warmup: u32,
    /// Timed launches; `None` chooses 10 to 200, for about half a second, or 5 to 10 where a launch takes over 200 ms.
    pub iterations: Option<u32>,
}

impl Timing {
    /// All launches of a kernel that takes so long: the verified one, those that warm it up, those that are timed.
    #[must_use]
    pub fn launches(&self, launch_ms: f64) -> u32 {
        let timed = self.iterations.unwrap_or_else(|| 1 + automatic_iterations(launch_ms as f32));
        timed.saturating_add(self.warmup).saturating_add(1)
    }
}

/// Times of one kernel, in milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    sorted: Vec<f64>,
}

impl Samples {
    /// Samples of at least one launch.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn new(times_ms: &[f32]) -> Self {
        assert!(!times_ms.is_empty(), "no launch was timed");
        // Of an empty problem, -0 is no time.
        let mut sorted: Vec<f64> = times_ms.iter().map(|&time| f64::from(time) + 0.0).collect();
        sorted.sort_by(f64::total_cmp);
        Self { sorted }
    }

    /// All samples, the fastest first.
    #[must_use]
    pub fn times_ms(&self) -> Vec<f32> {
        self.sorted.iter().map(|&time| time as f32).collect()
    }

    /// The middle sample, or the mean of the two in the middle.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The time that a `share` of the samples, 0 to 1, does not exceed: between two samples, in proportion.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        results::quantile(&self.sorted, share)
    }

    /// The fastest sample.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.sorted[0]
    }

    /// The slowest sample.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.sorted[self.sorted.len() - 1]
    }

    /// How many launches were timed.
    #[must_use]
    pub fn iterations(&self) -> usize {
        self.sorted.len()
    }
}

/// What one kernel did on one problem.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// The kernel.
    pub kernel: Kernel,
    /// How much of the result it computed.
    pub coverage: Coverage,
    /// Whether that is right.
    pub verification: Verification,
    /// How long it took.
    pub samples: Samples,
    /// Clocks and power right after the timed launches.
    pub conditions: Option<Conditions>,
    /// Bytes of device memory that the kernel takes beside the operands; `None` of cuBLAS, which does not say.
    pub workspace_bytes: Option<u64>,
}

/// How many launches are timed of a kernel that takes so long.
pub(super) fn automatic_iterations(launch_ms: f32) -> u32 {
    let ((least, most), (least_of_slow, slow_ms)) = (AUTO_ITERATIONS, SLOW_ITERATIONS);
    let least = ((slow_ms / launch_ms) as u32).clamp(least_of_slow, least);
    ((AUTO_TIME_MS / launch_ms) as u32).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        let samples = Samples::new(&[3.0, 1.0, 2.0]);
        assert_eq!((samples.min(), samples.median(), samples.max()), (1.0, 2.0, 3.0));
        assert_eq!(Samples::new(&[4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert_eq!(Samples::new(&[7.0]).median(), 7.0);
    }

    #[test]
    fn quantiles_lie_between_samples() {
        let samples = Samples::new(&[5.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!([0.0, 0.25, 0.5, 0.6, 1.0].map(|share| samples.quantile(share)), [1.0, 2.0, 3.0, 3.4, 5.0]);
    }

    #[test]
    fn automatic_iterations_have_bounds() {
        assert_eq!(automatic_iterations(5.0), 100);
        assert_eq!(automatic_iterations(150.0), 10);
        assert_eq!(automatic_iterations(250.0), 8);
        assert_eq!(automatic_iterations(2000.0), 5);
        assert_eq!(automatic_iterations(0.001), 200);
        assert_eq!(automatic_iterations(0.0), 200);
    }
}
