//! Which elements of C a split is certified for: those whose row of A and column of B have a certificate of it in common. The hi/lo splits
//! come first; then a split into three bf16, which is exact; the others are computed in fp32. Where a row or column has an infinity or NaN,
//! its elements are infinite or NaN, which signs decide. The proof is the book's chapter on error bounds.

/// Bits of certificates, below the exponent of the scaling in the word of a row or column.
pub const CERTIFICATE_BITS: u32 = 6;

/// All certificates.
pub const CERTIFIED: u32 = (1 << CERTIFICATE_BITS) - 1;

/// Those of a hi/lo split.
pub const OF_HI_LO: u32 = 0b1111;

/// That of a split into three bf16 which is exact.
pub const EXACT_BF16: u32 = 1 << 4;

/// That of a split into three bf16 of a row or column without an infinity or NaN. What it makes of the smallest elements may be 0.
pub const ANY_BF16: u32 = 1 << 5;

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

/// The exponents of the largest elements of a row of A and of a column of B, added up, from their words. Below 0 where one has zeros alone.
#[must_use]
#[inline(always)]
pub const fn largest_exponents(row: i32, column: i32) -> i32 {
    2 * F16_TOP - (row >> CERTIFICATE_BITS) - (column >> CERTIFICATE_BITS)
}

/// What they add up to where three bf16 are certified, whatever the sum: unscaling divides what underflows, at least by 4 where the split is
/// exact, and otherwise so far that nothing is left of it.
const ALWAYS_BF16: [i32; 2] = [2 * BF16_TOP - 2, 32];

/// Up to that no product of a row and a column overflows.
const FINITE_PRODUCTS: i32 = 126;

/// From that on, sums are rarely finite. Between the two, they often are, while a product may overflow.
const INFINITE_SUMS: i32 = 148;

/// By how much the exponent of a sum of three bf16 may be below that of the largest elements' product, where splits are not exact.
const BF16_DEPTH: i32 = 132;

/// The magnitude from which on a sum of three bf16 is certified, for a row and a column whose largest elements' exponents add up to so much:
/// what underflowed is less than 2^-29 of it, or, where products may overflow, it is infinite.
#[must_use]
#[inline(always)]
pub const fn least_certified_sum(exponents: i32) -> f32 {
    f32::from_bits(if exponents > FINITE_PRODUCTS {
        f32::INFINITY.to_bits()
    } else {
        power_of_two(exponents - BF16_DEPTH)
    })
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

    /// The certificates of a split into three scaled bf16.
    #[must_use]
    #[inline(always)]
    pub fn certificates_of_bf16(&self, k: u32) -> u32 {
        if self.largest == 0 {
            return CERTIFIED;
        }
        // Of a subnormal, its last bit's.
        let exponent = |bits: u32| if bits < NORMAL { -149 } else { (bits >> 23) as i32 - 127 };
        let [top, bottom] = [self.largest, self.smallest].map(exponent);
        if self.largest >= f32::INFINITY.to_bits() || !(SHORTEST_SPLIT_K..=LONGEST_COUNTED_K).contains(&k) {
            return 0;
        }
        if top - bottom <= Self::BF16_SPAN { EXACT_BF16 | ANY_BF16 } else { ANY_BF16 }
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
    /// The same if the sum is at least [`least_certified_sum`], else in fp32.
    ByBf16OrInFp32,
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
        if !is_finite_row(if row < column { row } else { column }) {
            Self::BySigns
        } else if common & OF_HI_LO != 0 {
            Self::ByHiLo
        } else {
            Self::of_finite(common, largest_exponents(row, column))
        }
    }

    /// Without a certificate of a hi/lo split, by the other certificates in common and by what the exponents of the largest elements add up to.
    #[must_use]
    #[inline(always)]
    pub const fn of_finite(certificates: u32, exponents: i32) -> Self {
        let [exact, any] = ALWAYS_BF16;
        if certificates & ANY_BF16 == 0 || (exponents > FINITE_PRODUCTS && exponents < INFINITE_SUMS) {
            Self::InFp32
        } else if exponents <= any || (certificates & EXACT_BF16 != 0 && exponents <= exact) {
            Self::ByBf16
        } else {
            Self::ByBf16OrInFp32
        }
    }
}

/// In which ways elements of a tile may be computed that the hi/lo split is not certified for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Open {
    /// Some may be by three bf16.
    pub by_bf16: bool,
    /// Their sums from that on are certified, whatever the element: 0 if all of them are.
    pub least_sum: f32,
    /// Some rows or columns are not finite.
    pub by_signs: bool,
    /// Some may be in fp32, whatever the sums.
    pub in_fp32: bool,
}

impl Open {
    /// In none.
    pub const NONE: Self = Self { by_bf16: false, least_sum: 0.0, by_signs: false, in_fp32: false };

    /// By the certificates that some row and some column have, by those that all have, and by the least and the largest of what the exponents
    /// of a row's and a column's largest elements add up to; all of finite rows and columns alone, of which there are some.
    #[must_use]
    #[inline(always)]
    pub const fn of_finite(some: u32, all: u32, [least, largest]: [i32; 2]) -> Self {
        let [exact, any] = ALWAYS_BF16;
        let is_open = all & OF_HI_LO == 0;
        let may_overflow = largest > FINITE_PRODUCTS && least < INFINITE_SUMS;
        let all_may = least > FINITE_PRODUCTS && largest < INFINITE_SUMS;
        let by_bf16 = is_open && some & ANY_BF16 != 0 && !all_may;
        let by_sums = by_bf16 && largest > any && (all & EXACT_BF16 == 0 || largest > exact);
        Self {
            by_bf16,
            least_sum: if by_sums { least_certified_sum(largest) } else { 0.0 },
            by_signs: false,
            in_fp32: is_open && (all & ANY_BF16 == 0 || may_overflow),
        }
    }
}

/// How many elements of C were not computed by a hi/lo split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Uncertified {
    /// Elements computed by a split into three bf16.
    pub by_bf16: u64,
    /// Elements computed by a split into three bf16, and again in fp32 if that sum was small ([`least_certified_sum`]).
    pub by_bf16_or_in_fp32: u64,
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
                    Computed::ByBf16OrInFp32 => all.by_bf16_or_in_fp32 += count,
                    Computed::BySigns => all.by_signs += count,
                    Computed::InFp32 => all.in_fp32 += count,
                }
            }
        }
        all
    }
}
