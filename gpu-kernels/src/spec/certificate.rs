//! Which elements of C a split is certified for: those whose row of A and column of B have a certificate of it in common. The hi/lo splits
//! come first; then a split into three bf16, which is exact; the others are computed in fp32. Where a row or column has an infinity or NaN,
//! its elements are infinite or NaN, which signs decide. The proof is the book's chapter on error bounds.

/// Bits of certificates, below the exponent of the scaling in the word of a row or column.
pub const CERTIFICATE_BITS: u32 = 8;

/// All certificates.
pub const CERTIFIED: u32 = (1 << CERTIFICATE_BITS) - 1;

/// Those of a hi/lo split.
pub const OF_HI_LO: u32 = 0b1111;

/// Those of a split into three bf16, for elements whose row and column are not too large together: of any span that bf16 has, and of spans
/// that are together so narrow that no product underflows.
pub const OF_BF16: [u32; 2] = [0b1_0000, 0b1110_0000];

/// The shortest k for which a split is certified: the error of the split itself is as large as that of so many roundings.
pub const SHORTEST_SPLIT_K: u32 = 32;

/// The longest k for which numbers of small elements are: beyond it, they are counted too roughly. The sums of three bf16 end there, too.
pub const LONGEST_COUNTED_K: u32 = 1 << 20;

/// The exponent of a row's largest element where it is scaled for f16, which ends at 2^16.
pub const F16_TOP: i32 = 14;

/// The exponent of scaling for f16 of a row that has an infinity or NaN: no other is as small.
const NOT_FINITE: i32 = F16_TOP - 128;

/// Whether that is the word of a row or column without an infinity or NaN, where rows are scaled.
#[must_use]
#[inline(always)]
pub const fn is_finite_row(word: i32) -> bool {
    word >> CERTIFICATE_BITS > NOT_FINITE
}

/// The exponent of a row's largest element where it is scaled for three bf16: [`LONGEST_COUNTED_K`] products of such are below 2^127.
pub const BF16_TOP: i32 = 52;

/// The exponents of scaling for f16 of a row of A and of a column of B, for which three bf16 are certified, add up to that at least, by
/// [`OF_BF16`]. Of any span, the sum of their largest elements' exponents is then so far below that of scaled ones that unscaling divides what
/// underflows by 4. Of narrow spans, each product is below 2^127.
pub const LEAST_EXPONENTS: [i32; 2] = [2 * F16_TOP - (2 * BF16_TOP - 2), 2 * F16_TOP - 125];

/// Whether elements with these certificates in common, and exponents of scaling that add up to so much, are certified for three bf16.
#[must_use]
#[inline(always)]
pub const fn by_bf16(certificates: u32, exponents: i32) -> bool {
    let [any, narrow] = OF_BF16;
    (certificates & any != 0 && exponents >= LEAST_EXPONENTS[0])
        || (certificates & narrow != 0 && exponents >= LEAST_EXPONENTS[1])
}

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

    /// Exponents from the largest scaled element's down to 2^-110, the least of which three bf16 make all 24 bits: they end at 2^-133.
    const BF16_SPAN: i32 = BF16_TOP + 110;

    /// Exponents that rows of A and columns of B span, which are narrow together: products of their smallest elements are 2^-100 where both are
    /// scaled.
    const NARROW: [[i32; 2]; 3] = [[102, 102], [Self::BF16_SPAN, 42], [42, Self::BF16_SPAN]];

    /// The certificates of a split into three scaled bf16, which is exact, of a row of A or, if `of_b`, of a column of B.
    #[must_use]
    #[inline(always)]
    pub fn certificates_of_bf16(&self, k: u32, of_b: bool) -> u32 {
        if self.largest == 0 {
            return CERTIFIED;
        }
        // Of a subnormal, its last bit's.
        let exponent = |bits: u32| if bits < NORMAL { -149 } else { (bits >> 23) as i32 - 127 };
        let [top, bottom] = [self.largest, self.smallest].map(exponent);
        let (span, is_finite) = (top - bottom, self.largest < f32::INFINITY.to_bits());
        if !is_finite || span > Self::BF16_SPAN || !(SHORTEST_SPLIT_K..=LONGEST_COUNTED_K).contains(&k) {
            return 0;
        }
        let [mut certificates, narrow] = OF_BF16;
        for (i, spans) in Self::NARROW.iter().enumerate() {
            if span <= spans[usize::from(of_b)] {
                certificates |= 1 << (narrow.trailing_zeros() + i as u32);
            }
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

/// How an element of C is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Computed {
    /// By the hi/lo split of its kernel.
    ByHiLo,
    /// By a split into three bf16, on the tensor cores as well.
    ByBf16,
    /// By the signs, infinities and NaN of its row and column, as bf16.
    BySigns,
    /// In fp32, on the CUDA cores.
    InFp32,
}

impl Computed {
    /// By the words of its row and of its column.
    #[must_use]
    #[inline(always)]
    pub const fn of(row: i32, column: i32) -> Self {
        let common = (row & column) as u32;
        let exponents = (row >> CERTIFICATE_BITS) + (column >> CERTIFICATE_BITS);
        if !is_finite_row(if row < column { row } else { column }) {
            Self::BySigns
        } else if common & OF_HI_LO != 0 {
            Self::ByHiLo
        } else if by_bf16(common, exponents) {
            Self::ByBf16
        } else {
            Self::InFp32
        }
    }
}

/// How many elements of C were not computed by a hi/lo split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Uncertified {
    /// Elements computed by a split into three bf16.
    pub by_bf16: u64,
    /// Elements that are infinite or NaN, since their row or column has an infinity or NaN.
    pub by_signs: u64,
    /// Elements computed in fp32.
    pub in_fp32: u64,
}

impl Uncertified {
    /// By the words of the rows of A and of the columns of B, which are sorted here: most are the same.
    #[must_use]
    pub fn of(rows: &mut [i32], columns: &mut [i32]) -> Self {
        rows.sort_unstable();
        columns.sort_unstable();
        let mut all = Self::default();
        for rows in rows.chunk_by(i32::eq) {
            for columns in columns.chunk_by(i32::eq) {
                let count = rows.len() as u64 * columns.len() as u64;
                match Computed::of(rows[0], columns[0]) {
                    Computed::ByHiLo => {}
                    Computed::ByBf16 => all.by_bf16 += count,
                    Computed::BySigns => all.by_signs += count,
                    Computed::InFp32 => all.in_fp32 += count,
                }
            }
        }
        all
    }
}
