//! Where the magnitudes of numbers lie, and the powers of two that bring them elsewhere.

/// The bits of infinity.
pub(crate) const INFINITE: u32 = f32::INFINITY.to_bits();

/// The exponent of a number's first bit.
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

/// The magnitudes of some numbers but zero: the bits of the largest and the smallest, how many they are, and the sum of their
/// exponents, as they are stored. The last two need not be exact.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub largest: u32,
    pub smallest: u32,
    pub count: f32,
    pub exponents: f32,
}

impl Range {
    pub const NONE: Self = Self { largest: 0, smallest: u32::MAX, count: 0.0, exponents: 0.0 };

    #[inline(always)]
    pub fn with(self, value: f32) -> Self {
        let bits = value.abs().to_bits();
        let smallest = if bits == 0 { u32::MAX } else { bits };
        self.and(Self { largest: bits, smallest, count: (bits > 0) as u32 as f32, exponents: (bits >> 23) as f32 })
    }

    #[inline(always)]
    pub fn and(self, other: Self) -> Self {
        Self {
            largest: self.largest.max(other.largest),
            smallest: self.smallest.min(other.smallest),
            count: self.count + other.count,
            exponents: self.exponents + other.exponents,
        }
    }

    /// How far the smallest is below the largest, as a power of two.
    #[inline(always)]
    pub fn span(&self) -> i32 {
        exponent(self.largest) - exponent(self.smallest)
    }

    /// How far they are below the largest on average.
    #[inline(always)]
    pub fn depth(&self) -> f32 {
        (self.largest >> 23) as f32 - self.exponents / self.count
    }
}
