//! The constants of a kernel as a vector of logarithms.

use sgemm::select::Cost;

/// How many there are.
pub(super) const CONSTANTS: usize = 8;

/// What a constant is at least: the logarithm of 0 is none.
const LEAST: f64 = 1e-4;

pub(super) fn logarithms(cost: &Cost) -> [f64; CONSTANTS] {
    constants(cost).map(|constant| constant.max(LEAST).ln())
}

/// The inverse, with the rest of another's. A k-tile takes no less than so many microseconds.
pub(super) fn exponentials(at: &[f64; CONSTANTS], cost: &Cost, least_k_tile: f64) -> Cost {
    let cost = with(at.map(f64::exp), cost);
    Cost { k_tile: cost.k_tile.max(least_k_tile), ..cost }
}

/// Four digits of each, and of powers three after the point.
pub(super) fn rounded(cost: Cost) -> Cost {
    // No negative zero.
    let powers = cost.powers.map(|power| (power * 1e3).round() / 1e3 + 0.0);
    Cost { powers, ..with(constants(&cost).map(digits), &cost) }
}

pub(super) fn digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

fn constants(cost: &Cost) -> [f64; CONSTANTS] {
    let Cost { start, round, latency, k_tile, tile, partial, gbps, uneven, .. } = *cost;
    [start, round, latency, k_tile, tile, partial, gbps, uneven]
}

fn with([start, round, latency, k_tile, tile, partial, gbps, uneven]: [f64; CONSTANTS], cost: &Cost) -> Cost {
    Cost { start, round, latency, k_tile, tile, partial, gbps, uneven, ..*cost }
}
