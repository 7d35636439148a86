//! The constants of one kernel: least squares of the logarithms of predicted over measured times, by the method of Levenberg and
//! Marquardt.

use gpu_kernels::{Schedule, Step};
use sgemm::select::{Cost, Memory};

use super::constants::{CONSTANTS, exponentials, logarithms};
use super::{Ranked, Timed};

/// How far constants are drawn to a guess where nothing else decides.
const PRIOR: f64 = 0.03;

/// A residual beyond this counts less than its square: launches now and then, and what the model does not know.
const OUTLIER: f64 = 0.15;

/// A kernel that is predicted to take so much longer than the fastest one takes is not chosen, as a logarithm; and how sharp that is.
const NOT_CHOSEN: f64 = 0.25;
const SHARPNESS: f64 = 0.1;

const ITERATIONS: u32 = 40;

/// Threads of an SM.
const SM_THREADS: u32 = 2048;

/// How much a residual counts, at most 1, of a kernel that takes so many times as long as the fastest one: what is far behind is not
/// chosen, unless it is predicted to be hardly slower than the fastest is.
pub(super) fn weight(residual: f64, behind: f64) -> f64 {
    let far = behind.powi(-2);
    if residual > 0.0 {
        return far;
    }
    let predicted_behind = residual + behind.ln();
    far + (1.0 - far) / (1.0 + ((predicted_behind - NOT_CHOSEN) / SHARPNESS).exp())
}

/// A residual whose square grows like its size beyond [`OUTLIER`].
fn damped(residual: f64) -> f64 {
    let square = (1.0 + (residual / OUTLIER).powi(2)).sqrt() - 1.0;
    residual.signum() * OUTLIER * (2.0 * square).sqrt()
}

/// By how much half the square of [`damped`] grows with the residual.
pub(super) fn slope(residual: f64) -> f64 {
    residual / (1.0 + (residual / OUTLIER).powi(2)).sqrt()
}

/// The best constants of a kernel over the numbers of blocks that an SM may hold: the step says how many where the plan must know it.
pub(super) fn fit(step: &Step, samples: &[Ranked], memory: &Memory, device: Timed) -> Cost {
    let slots = match step.schedule {
        Schedule::PlannedSplitK { blocks_per_sm, .. } => blocks_per_sm..=blocks_per_sm,
        _ => 1..=Cost::most_slots(step, SM_THREADS),
    };
    let (guess, least) = (Cost::guess(step), device.least_k_tile(step));
    let fits = slots.map(|slots| {
        // In a closure, rustc 1.95 fails on `Cost { slots, ..guess }`: it does not know the length of its powers.
        let mut guess = guess;
        guess.slots = slots;
        levenberg_marquardt(&guess, least, samples, memory, device.sm_count)
    });
    fits.min_by(|(one, _), (other, _)| one.total_cmp(other)).map_or(guess, |(_, cost)| cost)
}

/// The constants near `guess` with the least error, and that error.
fn levenberg_marquardt(guess: &Cost, least: f64, samples: &[Ranked], memory: &Memory, sm_count: u32) -> (f64, Cost) {
    let guessed = logarithms(guess);
    let residuals = |at: &[f64; CONSTANTS]| -> Vec<f64> {
        let cost = exponentials(at, guess, least);
        let of_sample = |Ranked { sample, behind }: &Ranked| {
            let residual = (cost.time(&sample.work, memory, sm_count) / sample.us).ln();
            weight(residual, *behind) * damped(residual)
        };
        let drawn = at.iter().zip(guessed).map(|(at, guessed)| PRIOR * (at - guessed));
        samples.iter().map(of_sample).chain(drawn).collect()
    };
    let squared = |residuals: &[f64]| residuals.iter().map(|residual| residual * residual).sum::<f64>();
    let (mut at, mut damping) = (guessed, 1e-2);
    let mut now = residuals(&at);
    for _ in 0..ITERATIONS {
        const STEP: f64 = 1e-4;
        let columns: [Vec<f64>; CONSTANTS] = std::array::from_fn(|constant| {
            let mut moved = at;
            moved[constant] += STEP;
            residuals(&moved).iter().zip(&now).map(|(moved, now)| (moved - now) / STEP).collect()
        });
        let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
        let mut matrix: [[f64; CONSTANTS]; CONSTANTS] =
            std::array::from_fn(|i| std::array::from_fn(|j| dot(&columns[i], &columns[j])));
        for (i, row) in matrix.iter_mut().enumerate() {
            row[i] += damping * (row[i] + 1e-9);
        }
        let gradient = std::array::from_fn(|i| -dot(&columns[i], &now));
        let moved: [f64; CONSTANTS] = {
            let step = solve(matrix, gradient);
            std::array::from_fn(|i| at[i] + step[i].clamp(-1.0, 1.0))
        };
        let then = residuals(&moved);
        if squared(&then) < squared(&now) {
            let gained = 1.0 - squared(&then) / squared(&now);
            (at, now, damping) = (moved, then, damping / 3.0);
            if gained < 1e-5 {
                break;
            }
        } else {
            damping *= 4.0;
        }
    }
    (squared(&now), exponentials(&at, guess, least))
}

/// Solves a symmetric positive definite system by elimination.
fn solve(mut matrix: [[f64; CONSTANTS]; CONSTANTS], mut right: [f64; CONSTANTS]) -> [f64; CONSTANTS] {
    for pivot in 0..CONSTANTS {
        for row in pivot + 1..CONSTANTS {
            let factor = matrix[row][pivot] / matrix[pivot][pivot];
            let above = matrix[pivot];
            matrix[row].iter_mut().zip(above).for_each(|(value, above)| *value -= factor * above);
            right[row] -= factor * right[pivot];
        }
    }
    for row in (0..CONSTANTS).rev() {
        let known = (row + 1..CONSTANTS).map(|column| matrix[row][column] * right[column]).sum::<f64>();
        right[row] = (right[row] - known) / matrix[row][row];
    }
    right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_solved() {
        // Symmetric, and its diagonal outweighs the rest.
        let matrix = std::array::from_fn(|i| {
            std::array::from_fn(|j: usize| if i == j { 4.0 + i as f64 } else { 1.0 / (1 + i.abs_diff(j)) as f64 })
        });
        let x: [f64; CONSTANTS] = std::array::from_fn(|i| i as f64 - 2.5);
        let right = std::array::from_fn(|i: usize| (0..CONSTANTS).map(|j| matrix[i][j] * x[j]).sum());
        let found = solve(matrix, right);
        assert!(found.iter().zip(x).all(|(found, x)| (found - x).abs() < 1e-12), "{found:?}");
    }

    #[test]
    fn slope_is_that_of_half_the_square() {
        let half = |residual: f64| damped(residual).powi(2) / 2.0;
        for residual in [-0.7, -0.1, 0.02, 0.3] {
            let numeric = (half(residual + 1e-5) - half(residual - 1e-5)) / 2e-5;
            assert!((slope(residual) - numeric).abs() < 1e-6, "{residual}: {} instead of {numeric}", slope(residual));
        }
    }

    #[test]
    fn a_kernel_far_behind_counts_only_where_it_might_be_chosen() {
        assert!((weight(0.0, 1.0) - 1.0).abs() < 1e-12);
        // Twice the fastest one's time: predicted as such, slower, and as fast as the fastest.
        assert!(weight(0.0, 2.0) < 0.3 && weight(0.5, 2.0) < 0.3 && weight(-2.0_f64.ln(), 2.0) > 0.9);
    }
}
