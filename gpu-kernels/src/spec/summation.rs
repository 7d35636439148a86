//! Two-level summation in the split kernels: sums of the inner level are added up in the outer one.

/// How many summands a sum of the inner level has. Adding one in shared memory takes longer than the MMAs of a k-tile: so these sums
/// are as long as the guarantee of the class fp32 allows, and not as long as both levels together are the shortest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InnerSums {
    /// Summands of the shortest.
    least: u32,
    /// So many square roots of the number of all summands come on top.
    roots: u32,
}

impl InnerSums {
    /// Of k-tiles that are split into f16.
    pub const OF_F16: Self = Self { least: 8, roots: 2 };
    /// Of those that are split into TF32, half as long.
    pub const OF_TF32: Self = Self { least: 8, roots: 1 };
    /// Of k-steps that no hi/lo split is certified for.
    pub const OF_OTHERS: Self = Self { least: 16, roots: 1 };

    /// The summands of a sum, where there are so many in all.
    #[must_use]
    #[inline(always)]
    pub const fn summands(self, all: u32) -> u32 {
        self.least + self.roots * root(all)
    }
}

/// About the square root.
#[inline(always)]
const fn root(number: u32) -> u32 {
    let bits = u32::BITS - number.leading_zeros();
    let root = 1 << (bits / 2);
    if bits.is_multiple_of(2) { root - root / 4 } else { root }
}
