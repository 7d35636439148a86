//! How long what is left will take, guessed from what was done.

use crate::measure::bench::Timing;

/// A piece of work: a kernel on a problem, say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// What it belongs to: the number of the problem.
    pub part: usize,
    /// What kind of work it is: pieces of one name differ in their size alone.
    pub name: &'static str,
    /// Its size.
    pub flops: f64,
}

/// Work that is done.
#[derive(Debug)]
struct Done {
    name: &'static str,
    flops: f64,
    seconds: f64,
    /// What a launch takes, in milliseconds, where that was measured.
    launch_ms: Option<f64>,
}

/// What is left, and what is known of work like that.
#[derive(Debug)]
pub struct Forecast {
    left: Vec<Work>,
    done: Vec<Done>,
    total: usize,
    timing: Timing,
    /// Seconds after which a kernel is no longer run, if there is such a bound.
    budget: Option<f64>,
}

impl Forecast {
    /// Of all that is to be done.
    pub fn new(work: Vec<Work>, timing: Timing, budget: Option<f64>) -> Self {
        Self { total: work.len(), left: work, done: Vec::new(), timing, budget }
    }

    /// The first piece of work of that name is done, and took so long; a launch of it took so many milliseconds.
    pub fn finish(&mut self, name: &str, seconds: f64, launch_ms: Option<f64>) {
        if let Some(found) = self.left.iter().position(|work| work.name == name) {
            let Work { name, flops, .. } = self.left.remove(found);
            self.done.push(Done { name, flops, seconds, launch_ms });
        }
    }

    /// Nothing more will come of a part, or of those before it.
    pub fn leave_part(&mut self, part: usize) {
        let before = self.left.len();
        self.left.retain(|work| work.part > part);
        self.total -= before - self.left.len();
    }

    /// How many pieces are done, and how many there are in all.
    pub fn counts(&self) -> (usize, usize) {
        (self.total - self.left.len(), self.total)
    }

    /// Seconds that all that is left will take; `None` as long as nothing is done.
    pub fn seconds_left(&self) -> Option<f64> {
        self.left.iter().map(|work| self.expected(work)).sum()
    }

    /// Seconds that a piece of work will take: as work of the same name did, or else as all did on the average.
    fn expected(&self, work: &Work) -> Option<f64> {
        let distance = |done: &&Done| (done.flops / work.flops).ln().abs();
        let alike = self.done.iter().filter(|done| done.name == work.name);
        let nearest = alike.min_by(|one, other| distance(one).total_cmp(&distance(other)));
        if let Some(nearest) = nearest {
            return Some(self.scaled(nearest, work.flops));
        }
        let all = self.done.iter().map(|done| self.scaled(done, work.flops));
        (!self.done.is_empty()).then(|| all.sum::<f64>() / self.done.len() as f64)
    }

    /// Seconds that such work will take at another size.
    fn scaled(&self, done: &Done, flops: f64) -> f64 {
        let growth = if done.flops > 0.0 { flops / done.flops } else { 1.0 };
        match done.launch_ms {
            Some(launch_ms) => {
                let launches = |launch_ms: f64| f64::from(self.timing.launches(launch_ms)) * launch_ms / 1e3;
                // Copies and comparisons of the matrices grow as these do.
                let beside = (done.seconds - launches(launch_ms)).max(0.0) * growth.powf(2.0 / 3.0);
                beside + launches(launch_ms * growth)
            }
            None => (done.seconds * growth).min(self.budget.map_or(f64::INFINITY, |most| most.max(done.seconds))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing { warmup: 2, iterations: None };

    fn forecast(budget: Option<f64>) -> Forecast {
        let of_part = |part: usize, flops: f64| ["slow", "fast"].map(|name| Work { part, name, flops });
        Forecast::new([of_part(0, 1e9), of_part(1, 8e9), of_part(2, 64e9)].concat(), TIMING, budget)
    }

    #[test]
    fn nothing_is_known_at_first_and_nothing_is_left_at_last() {
        let mut forecast = forecast(None);
        assert_eq!((forecast.counts(), forecast.seconds_left()), ((0, 6), None));
        for name in ["slow", "fast", "slow", "fast", "slow", "fast"] {
            forecast.finish(name, 1.0, None);
        }
        assert_eq!((forecast.counts(), forecast.seconds_left()), ((6, 6), Some(0.0)));
    }

    #[test]
    fn slow_kernels_take_most_of_the_time_at_large_sizes() {
        let mut forecast = forecast(None);
        // 40 ms a launch, 320 ms, 2.56 s: 10 to 16 launches are few. The fast one has half a second at all sizes.
        forecast.finish("slow", 0.7, Some(40.0));
        forecast.finish("fast", 0.05, Some(0.1));
        let left = forecast.seconds_left().unwrap();
        let slow = |launch_s: f64, iterations: f64| launch_s * (iterations + 4.0);
        let expected = slow(0.32, 6.0) + slow(2.56, 5.0);
        assert!((expected..expected + 3.0).contains(&left), "{left} s, and {expected} s for the slow one");
    }

    #[test]
    fn a_budget_bounds_what_grows() {
        let mut forecast = forecast(Some(3.0));
        forecast.finish("slow", 2.0, None);
        forecast.finish("fast", 4.0, None);
        // One comes to its budget, the other was already beyond it.
        assert_eq!(forecast.seconds_left(), Some(2.0 * (3.0 + 4.0)));
    }

    #[test]
    fn what_is_not_known_takes_as_long_as_the_others() {
        let mut forecast = forecast(Some(3.0));
        forecast.finish("slow", 3.0, None);
        assert_eq!(forecast.seconds_left(), Some(5.0 * 3.0));
    }

    #[test]
    fn parts_that_fail_are_not_counted() {
        let mut forecast = forecast(None);
        forecast.finish("slow", 1.0, None);
        forecast.leave_part(0);
        assert_eq!(forecast.counts(), (1, 5));
        forecast.leave_part(1);
        assert_eq!(forecast.counts(), (1, 3));
    }
}
