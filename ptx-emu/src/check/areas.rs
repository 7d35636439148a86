//! Words of memory by the clocks' keys: an area, and the word in it.

use super::Observed;
use crate::lanes::{Mask, lanes_of};

/// As `SharedChecks::area`, for global memory.
pub(super) const GLOBAL: u64 = 0;

/// The clocks' key of a word.
pub(super) fn word_name(address: u64, area: u64) -> u64 {
    (address / 4) | area
}

/// The words of a strong access with their lanes; consecutive lanes with the same word are merged.
pub(super) fn words<'a>(access: &'a Observed<'_>, area: u64) -> impl Iterator<Item = (u64, Mask)> + 'a {
    let mut rest = access.mask;
    std::iter::from_fn(move || {
        let word = |lane: usize| word_name(access.addresses[lane], area);
        let first = (rest != 0).then(|| word(rest.trailing_zeros() as usize))?;
        let same = lanes_of(rest).take_while(|&lane| word(lane) == first).fold(0, |mask, lane| mask | 1 << lane);
        rest &= !same;
        Some((first, same))
    })
}
