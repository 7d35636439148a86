//! Where the magnitudes of numbers lie, and the powers of two that bring them elsewhere.

use crate::Magnitudes;
use crate::hardware::{VEC, WARP};
use cuda_std::warp;

/// The exponent of a number's first bit; of zero, that below the smallest.
#[inline(always)]
pub(crate) fn exponent(magnitude: u32) -> i32 {
    let biased = (magnitude >> 23) as i32;
    if biased == 0 { -118 - magnitude.leading_zeros() as i32 } else { biased - 127 }
}

/// 2^exponent as two factors: it may be beyond f32 where the result is not. What would vanish anyway gets the smallest.
#[inline(always)]
pub(crate) fn powers(exponent: i32) -> [f32; 2] {
    let half = exponent >> 1;
    [half, exponent - half].map(|exponent| f32::from_bits(((exponent.max(-126) + 127) << 23) as u32))
}

/// Magnitudes of some numbers, in parts and together.
impl Magnitudes {
    pub(crate) const NONE: Self = Self { largest: 0, smallest: u32::MAX, count: 0.0, exponents: 0.0 };

    /// Of a few.
    #[inline(always)]
    pub(crate) fn of<const N: usize>(values: [f32; N]) -> Self {
        // One less than the bits: zero becomes the largest, which nothing else is.
        let (mut largest, mut smallest, mut zeros, mut exponents) = (0, u32::MAX, 0, 0);
        for value in values {
            let bits = value.abs().to_bits();
            let less = bits.wrapping_sub(1);
            largest = largest.max(bits);
            smallest = smallest.min(less);
            zeros += less >> 31;
            exponents += bits >> 23;
        }
        let count = (N as u32 - zeros) as f32;
        Self { largest, smallest: smallest.saturating_add(1), count, exponents: exponents as f32 }
    }

    #[inline(always)]
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            largest: self.largest.max(other.largest),
            smallest: self.smallest.min(other.smallest),
            count: self.count + other.count,
            exponents: self.exponents + other.exponents,
        }
    }

    #[inline(always)]
    pub(crate) fn words(self) -> [f32; VEC as usize] {
        [f32::from_bits(self.largest), f32::from_bits(self.smallest), self.count, self.exponents]
    }

    #[inline(always)]
    pub(crate) fn from_words([largest, smallest, count, exponents]: [f32; VEC as usize]) -> Self {
        Self { largest: largest.to_bits(), smallest: smallest.to_bits(), count, exponents }
    }

    /// Of lanes whose numbers differ in the bits from `distance` down to `nearest`.
    ///
    /// # Safety
    /// Every lane of the warp takes part.
    #[inline(always)]
    pub(crate) unsafe fn over_lanes(mut self, mut distance: u32, nearest: u32) -> Self {
        while distance >= nearest {
            // SAFETY: every lane takes part, upheld by the caller.
            let other = |bits: u32| unsafe { warp::warp_shuffle_xor(u32::MAX, bits, distance, WARP).0 };
            let other = |word: f32| f32::from_bits(other(word.to_bits()));
            self = self.and(Self::from_words(self.words().map(other)));
            distance /= 2;
        }
        self
    }
}
