//! How far a ratio of two medians may be off.

/// Resamples: enough that the ends of the interval are steady in their second digit.
const RESAMPLES: usize = 1000;

/// The 95 % interval of how many times as fast the new launches are: the ratio of the medians, old time over new, by the
/// percentile bootstrap. Each launch counts as an independent sample. The same times give the same interval.
///
/// ```
/// let [least, most] = results::speedup_interval(&[10.0, 10.1, 10.2, 9.9], &[5.0, 5.1, 4.9, 5.05]).expect("there are times");
/// assert!(least > 1.9 && most < 2.1 && least < most);
/// assert_eq!(results::speedup_interval(&[], &[1.0]), None);
/// ```
#[must_use]
pub fn speedup_interval(old_ms: &[f32], new_ms: &[f32]) -> Option<[f64; 2]> {
    if old_ms.is_empty() || new_ms.is_empty() {
        return None;
    }
    let mut state = 1;
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| resampled_median(old_ms, &mut state) / resampled_median(new_ms, &mut state))
        .filter(|ratio| ratio.is_finite())
        .collect();
    ratios.sort_by(f64::total_cmp);
    (!ratios.is_empty()).then(|| [0.025, 0.975].map(|share| crate::quantile(&ratios, share)))
}

/// The median of as many samples, drawn with replacement.
fn resampled_median(samples: &[f32], state: &mut u64) -> f64 {
    let mut drawn: Vec<f64> =
        samples.iter().map(|_| f64::from(samples[(random(state) % samples.len() as u64) as usize])).collect();
    drawn.sort_by(f64::total_cmp);
    crate::quantile(&drawn, 0.5)
}

/// `SplitMix64`.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` samples that are equally spaced within 1 of `middle`.
    fn uniform(middle: f32, count: usize) -> Vec<f32> {
        (0..count).map(|i| middle - 1.0 + 2.0 * (i as f32 + 0.5) / count as f32).collect()
    }

    #[test]
    fn it_is_as_wide_as_theory_says() {
        // The median of n samples with density f there has the standard error 1 / (2 f sqrt(n)): 0.1 here, of 10.
        let [least, most] = speedup_interval(&uniform(10.0, 100), &[10.0; 100]).unwrap();
        assert!(least < 1.0 && most > 1.0);
        let expected = 2.0 * 1.96 * 0.01;
        assert!((0.75..1.25).contains(&((most - least) / expected)), "{least} {most}");
    }

    #[test]
    fn it_narrows_with_more_samples_and_closes_without_scatter() {
        let width = |count| {
            let [least, most] = speedup_interval(&uniform(10.0, count), &uniform(5.0, count)).unwrap();
            most - least
        };
        assert!((1.5..2.5).contains(&(width(50) / width(200))));
        assert_eq!(speedup_interval(&[2.0; 9], &[1.0; 9]), Some([2.0, 2.0]));
    }
}
