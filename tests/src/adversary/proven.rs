//! The c(k) that is proven for a row and a column whose nonzero elements lie in a window of binades.

use super::{Arithmetic, Window};

/// An upper bound of the c of any product with alpha = 1 and beta = 0; none where nothing is proven: f16 needs a window of at most 19.
///
/// The split loses 2 u of each operand, in f16 twice as much for each binade beyond 17, and 4 u for lo\*lo. Of a k-tile each product loses
/// half a u by alignment, each MMA of hi\*hi 2 u by truncation, and the small MMAs 0.1 u. Sums of k-tiles round r times.
#[must_use]
pub fn proven(arithmetic: Arithmetic, k: usize, window: Window) -> Option<f64> {
    let (per_mma, operand) = match (arithmetic, window) {
        (Arithmetic::Fp16x3, Some(window @ 0..=19)) => (16, f64::from(2 << window.saturating_sub(17))),
        (Arithmetic::Fp16x3, _) => return None,
        (Arithmetic::Tf32x3, _) => (8, 2.0),
    };
    let split = 2.0 * operand + 4.0;
    let products = k.min(2 * per_mma);
    let k_tile = products as f64 / 2.0 + 2.0 * products.div_ceil(per_mma) as f64 + 0.1;
    let k_tiles = k.div_ceil(2 * per_mma);
    let inner = 1 << ((usize::BITS - k_tiles.leading_zeros()) / 2);
    let roundings = inner + k_tiles.div_ceil(inner) - 2;
    Some((split + k_tile) * 1.002 + roundings as f64)
}
