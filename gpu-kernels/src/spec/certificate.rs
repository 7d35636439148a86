//! Which elements of C the hi/lo splits are certified for: those whose row of A and column of B have a certificate in common. The others
//! are computed in fp32. The proof is the book's chapter on error bounds.

/// Bits of certificates, below the exponent of the scaling in the word of a row or column.
pub const CERTIFICATE_BITS: u32 = 8;

/// All certificates.
pub const CERTIFIED: u32 = (1 << CERTIFICATE_BITS) - 1;

/// The shortest k for which a split is certified: the error of the split itself is as large as that of so many roundings.
pub const SHORTEST_SPLIT_K: u32 = 32;

/// The longest k for which numbers of small elements are: beyond it, they are counted too roughly.
pub const LONGEST_COUNTED_K: u32 = 1 << 20;

/// Magnitudes of the elements but zeros of a row of A or a column of B.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Magnitudes {
    /// The bits of the largest.
    pub largest: u32,
    /// The bits of the smallest.
    pub smallest: u32,
    /// How many there are.
    pub count: f32,
    /// The sum of their exponents, as they are stored.
    pub exponents: f32,
}

/// The bits of the smallest number that is not subnormal.
const NORMAL: u32 = f32::MIN_POSITIVE.to_bits();

/// The bits of 2^48: sums of 2^31 products of smaller numbers are below 2^127, so that none of their partial sums overflows.
const LARGE: u32 = power_of_two(48);

/// The bits of a power of two.
const fn power_of_two(exponent: i32) -> u32 {
    ((exponent + 127) as u32) << 23
}

impl Magnitudes {
    /// The exponents that a split into f16 represents with 2^-23 of an element's error, from the largest element's down, when lo is stored
    /// times its own scale.
    const WINDOW: u32 = 28;

    /// Elements are all within a window of exponents.
    const IN_WINDOW: u32 = 1;
    /// Nearly all elements of the row or column are there, and on average not far below the largest; at least of some of the other's it
    /// is so. Where both are, their products are. In the order of \[rows of A, columns of B\].
    const MOST: [u32; 2] = [0b1010, 0b1100];
    const SOME: [u32; 2] = [0b0100, 0b0010];

    /// The certificates of a split into scaled f16, of a row of A or, if `of_b`, of a column of B. Zeros are small without limit; a
    /// subnormal's exponent is not the stored one. Where a sum may overflow, SGEMM decides what comes of it.
    #[must_use]
    #[inline(always)]
    pub fn certificates_of_f16(&self, k: u32, of_b: bool) -> u32 {
        if self.largest == 0 {
            return CERTIFIED;
        }
        if self.largest >= LARGE || self.smallest < NORMAL || k < SHORTEST_SPLIT_K {
            return 0;
        }
        let (top, side) = ((self.largest >> 23) as f32, usize::from(of_b));
        let (all, depth) = (k as f32, top * self.count - self.exponents);
        let mut certificates = 0;
        if (self.largest >> 23) - (self.smallest >> 23) < Self::WINDOW {
            certificates |= Self::IN_WINDOW;
        }
        if k <= LONGEST_COUNTED_K && self.count >= 0.9375 * all && depth <= 5.0 * all {
            certificates |= Self::MOST[side];
        }
        if k <= LONGEST_COUNTED_K && self.count >= 0.375 * all && depth <= 2.5 * all {
            certificates |= Self::SOME[side];
        }
        certificates
    }

    /// The same of a split into TF32, which has the exponents of f32: products must not be near its smallest.
    #[must_use]
    #[inline(always)]
    pub fn certificates_of_tf32(&self, k: u32) -> u32 {
        if self.largest == 0 {
            CERTIFIED
        } else if self.largest >= LARGE || self.smallest < power_of_two(-51) || k < SHORTEST_SPLIT_K {
            0
        } else {
            CERTIFIED
        }
    }
}

/// How many elements of C have no certificate, and are computed in fp32: by the words of its rows and of its columns.
#[must_use]
pub fn uncertified(rows: &[i32], columns: &[i32]) -> u64 {
    let count = |words: &[i32]| {
        let mut counts = [0_u64; 1 << CERTIFICATE_BITS];
        words.iter().for_each(|word| counts[(*word as u32 & CERTIFIED) as usize] += 1);
        counts
    };
    let (rows, columns) = (count(rows), count(columns));
    let pairs = rows.iter().enumerate().flat_map(|row| columns.iter().enumerate().map(move |column| (row, column)));
    pairs.filter(|((row, _), (column, _))| row & column == 0).map(|((_, rows), (_, columns))| rows * columns).sum()
}
