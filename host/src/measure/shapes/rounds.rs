//! Two sides timed in alternation, until the ratio of their times is known well enough.

use crate::Error;

/// The standard error of the ratio that is good enough, as a share of it.
pub const ERROR: f64 = 0.02;

/// Rounds between two looks at it, and the most in all.
const CHUNK: u32 = 5;
const MOST: u32 = 40;

/// The same where a round takes longer than so many milliseconds.
const LONG_CHUNK: u32 = 3;
const LONG_MOST: u32 = 9;
const LONG_MS: f64 = 20.0;

/// The times of two sides, by round.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rounds(Vec<[f64; 2]>);

impl Rounds {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.0.len() as u32
    }

    /// The geometric mean of each side.
    #[must_use]
    pub fn means(&self) -> [f64; 2] {
        let count = self.0.len() as f64;
        [0, 1].map(|side| (self.0.iter().map(|times| times[side].ln()).sum::<f64>() / count).exp())
    }

    /// The second side's time over the first one's: the ratio of the means, and as well the mean of the ratios.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        let [first, second] = self.means();
        second / first
    }

    /// The standard error of the ratio, as a share of it: that of the mean of its logarithms.
    #[must_use]
    pub fn error(&self) -> f64 {
        let (count, mean) = (self.0.len() as f64, self.ratio().ln());
        let squares: f64 = self.0.iter().map(|[first, second]| ((second / first).ln() - mean).powi(2)).sum();
        (squares / (count - 1.0) / count).sqrt()
    }

    /// Whether the error is small enough.
    #[must_use]
    pub fn are_settled(&self) -> bool {
        self.error() < ERROR
    }
}

/// Times rounds until [`Rounds::are_settled`], or there are too many of them. `time` times so many rounds; one round takes about
/// `round_ms`.
///
/// # Errors
/// Those of `time`.
pub fn alternate(round_ms: f64, mut time: impl FnMut(u32) -> Result<Vec<[f64; 2]>, Error>) -> Result<Rounds, Error> {
    let (chunk, most) = if round_ms > LONG_MS { (LONG_CHUNK, LONG_MOST) } else { (CHUNK, MOST) };
    let mut rounds = Rounds::default();
    loop {
        rounds.0.extend(time(chunk)?);
        if rounds.are_settled() || rounds.count() >= most {
            return Ok(rounds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_computed_by_hand() {
        let rounds = Rounds(vec![[1.0, 2.0], [2.0, 2.0], [4.0, 16.0]]);
        let [first, second] = rounds.means();
        assert!((first - 2.0).abs() < 1e-12 && (second - 4.0).abs() < 1e-12, "{first} {second}");
        assert!((rounds.ratio() - 2.0).abs() < 1e-12);
        // Logarithms ln 2, 0 and 2 ln 2: a variance of ln 2 squared, over three.
        assert!((rounds.error() - 2.0_f64.ln() / 3.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(Rounds(vec![[1.0, 3.0]; 4]).error(), 0.0);
        assert!(!Rounds(vec![[1.0, 3.0]]).are_settled(), "one round says nothing of the error");
    }

    #[test]
    fn rounds_go_on_until_the_ratio_is_known() {
        let counted = |round_ms: f64, noise: f64| {
            let mut sign = 1.0;
            let time = |count: u32| {
                let mut round = || {
                    sign = -sign;
                    [1.0, 1.0 + sign * noise]
                };
                Ok((0..count).map(|_| round()).collect())
            };
            let rounds = alternate(round_ms, time).unwrap();
            (rounds.count(), rounds.are_settled())
        };
        assert_eq!(counted(1.0, 0.01), (5, true));
        // 8 % of scatter: the error is below 2 % from 17 rounds on.
        assert_eq!(counted(1.0, 0.08), (20, true));
        assert_eq!(counted(1.0, 0.5), (40, false));
        assert_eq!(counted(100.0, 0.01), (3, true));
        assert_eq!(counted(100.0, 0.5), (9, false));
        assert!(matches!(alternate(1.0, |_| Err(Error::Interrupted)), Err(Error::Interrupted)));
    }
}
