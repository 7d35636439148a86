//! The MMA of a tensor core: sums of products plus an accumulator, as `wgmma` computes them on Hopper.
//!
//! One k-step of an instruction, 16 elements of 16 bits or 8 of 32, is one fused sum of exact products and the
//! accumulator. The exponent of a product is the sum of its factors', without carry; that of a subnormal is its
//! format's least, and the accumulator's is at least -126, but that of 0. All summands are aligned to the largest exponent and truncated to 25 fractional bits. Their sum is exact, and is truncated to an f32. Subnormals are kept on input and
//! output, the last 13 bits of a tf32 are ignored, and infinities and NaN follow IEEE 754, with NaN as 0x7fffffff.
//!
//! Of 8-bit floats, of which a k-step has 32, only 13 fractional bits are kept, of the summands and of the f32.
//!
//! P. Xie, Y. Wang, F. Yang and M. Yang, "MMA-Sim: bit-accurate reference model of tensor cores and matrix cores",
//! arXiv 2511.10909, 2025: its truncated fused dot-product-add with 25 bits. It reproduces the results of an H200 in
//! `tests/conformance` exactly; 24 or 26 bits do not.

use crate::lanes::vectorized;

/// Rows of a warp, and columns computed at once.
pub(crate) const ROWS: usize = 16;
pub(crate) const WIDTH: usize = 16;

/// Elements of a row or column at most, but for types of 8 bits.
pub(crate) const MAX_DEPTH: usize = 16;

/// Fractional bits that are kept, and those of types of 8 bits.
const FRACTION: i16 = 25;
const FRACTION_OF_8_BITS: i16 = 13;

/// Fractional bits of a product, and of an f32.
pub(super) const OF_PRODUCT: i16 = 20;
const OF_F32: i16 = 23;

/// The exponent of an accumulator of 0. Recorded results agree with -132 and -133, not with -130 or -134.
const OF_NO_ACCUMULATOR: i16 = -133;

/// The exponent that encodes 0, infinities and NaN: far from all others and their sums.
const ZERO: i16 = -4096;
pub(super) const INFINITE: i16 = 12_000;
pub(super) const NAN: i16 = 12_001;

/// The element type of A and B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// f16, in the lower half of a word.
    F16,
    /// bfloat16, in the lower half of a word.
    Bf16,
    /// TF32: the last 13 bits are ignored.
    Tf32,
    /// E4M3, in the lowest byte of a word: no infinities.
    E4m3,
    /// E5M2, in the lowest byte of a word.
    E5m2,
}

impl Format {
    /// Elements of a row in one k-step.
    #[must_use]
    pub const fn depth(self) -> usize {
        32 / self.bytes()
    }

    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::Tf32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::E4m3 | Self::E5m2 => 1,
        }
    }

    /// Fractional bits that a fused sum keeps of its summands.
    pub(super) const fn fraction(self) -> i16 {
        if self.bytes() == 1 { FRACTION_OF_8_BITS } else { FRACTION }
    }

    /// The signed significand with 10 fractional bits, and the exponent.
    #[inline(always)]
    pub(super) const fn unpack(self, bits: u32) -> (i16, i16) {
        let (sign, exponent, fraction, last, bias) = match self {
            Self::F16 => (bits >> 15 & 1, bits >> 10 & 0x1f, bits & 0x3ff, 0x1f, 15),
            Self::Bf16 => (bits >> 15 & 1, bits >> 7 & 0xff, (bits & 0x7f) << 3, 0xff, 127),
            Self::Tf32 => (bits >> 31, bits >> 23 & 0xff, bits >> 13 & 0x3ff, 0xff, 127),
            // With the largest exponent it has numbers, too.
            Self::E4m3 => {
                (bits >> 7 & 1, bits >> 3 & 0xf, (bits & 7) << 7, if bits & 0x7f == 0x7f { 0xf } else { 0xff }, 7)
            }
            Self::E5m2 => (bits >> 7 & 1, bits >> 2 & 0x1f, (bits & 3) << 8, 0x1f, 15),
        };
        let magnitude = (if exponent == 0 { fraction } else { fraction | 0x400 }) as i16;
        let normal = ((if exponent == 0 { 1 } else { exponent }) as i16).wrapping_sub(bias);
        let special = if fraction == 0 { INFINITE } else { NAN };
        let power = if magnitude == 0 { ZERO } else { normal };
        (if sign == 0 { magnitude } else { magnitude.wrapping_neg() }, if exponent == last { special } else { power })
    }
}

/// A row of A.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<const DEPTH: usize = MAX_DEPTH> {
    significands: [i16; DEPTH],
    exponents: [i16; DEPTH],
    is_special: bool,
}

/// Columns of B, by k.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Columns<const DEPTH: usize = MAX_DEPTH> {
    significands: [[i16; WIDTH]; DEPTH],
    exponents: [[i16; WIDTH]; DEPTH],
    is_special: bool,
}

/// The accumulators of a warp: rows by columns.
pub(crate) type Accumulators = [[f32; WIDTH]; ROWS];

impl<const DEPTH: usize> Row<DEPTH> {
    /// From elements, negated if `negate`.
    pub(crate) fn new(format: Format, elements: &[u32; DEPTH], negate: bool) -> Self {
        let mut row = Self { significands: [0; DEPTH], exponents: [0; DEPTH], is_special: false };
        for (k, &bits) in elements[..format.depth().min(DEPTH)].iter().enumerate() {
            let (significand, exponent) = format.unpack(bits);
            row.significands[k] = if negate { -significand } else { significand };
            row.exponents[k] = exponent;
            row.is_special |= exponent >= INFINITE;
        }
        row
    }
}

impl<const DEPTH: usize> Columns<DEPTH> {
    pub(crate) fn new(simd: pulp::Arch, format: Format, elements: &[[u32; WIDTH]; DEPTH]) -> Self {
        match format {
            Format::F16 => Self::of(simd, elements, |bits| Format::F16.unpack(bits)),
            Format::Bf16 => Self::of(simd, elements, |bits| Format::Bf16.unpack(bits)),
            Format::Tf32 => Self::of(simd, elements, |bits| Format::Tf32.unpack(bits)),
            Format::E4m3 => Self::of(simd, elements, |bits| Format::E4m3.unpack(bits)),
            Format::E5m2 => Self::of(simd, elements, |bits| Format::E5m2.unpack(bits)),
        }
    }

    #[inline(always)]
    fn of(simd: pulp::Arch, elements: &[[u32; WIDTH]; DEPTH], unpack: impl Fn(u32) -> (i16, i16)) -> Self {
        let mut columns = Self { significands: [[0; WIDTH]; DEPTH], exponents: [[0; WIDTH]; DEPTH], is_special: false };
        vectorized(
            simd,
            #[inline(always)]
            || {
                let mut most = i16::MIN;
                for (k, elements) in elements.iter().enumerate() {
                    for (column, bits) in elements.iter().enumerate() {
                        let (significand, exponent) = unpack(*bits);
                        columns.significands[k][column] = significand;
                        columns.exponents[k][column] = exponent;
                        most = most.max(exponent);
                    }
                }
                columns.is_special = most >= INFINITE;
            },
        );
        columns
    }
}

/// One k-step of `wgmma` on 16 rows of A, 16 columns of B and their accumulators: the arithmetic that a kernel in the emulator gets,
/// for models of kernels that are to be fast. The elements of `a` are by row and k, those of `b` by k and column; of a format with
/// fewer elements in a k-step than there are, the others are not read; 8-bit formats have 32.
///
/// ```
/// use ptx_emu::tensor_core::{Format, k_step};
///
/// let one = 0x3c00; // of f16
/// let (mut a, mut acc) = ([[0; 16]; 16], [[0.5; 16]; 16]);
/// a[2][0] = one;
/// k_step(Format::F16, &a, &[[one; 16]; 16], &mut acc);
/// assert_eq!((acc[2], acc[3]), ([1.5; 16], [0.5; 16]));
/// ```
pub fn k_step<const DEPTH: usize>(
    format: Format,
    a: &[[u32; DEPTH]; ROWS],
    b: &[[u32; WIDTH]; DEPTH],
    acc: &mut [[f32; WIDTH]; ROWS],
) {
    let simd = pulp::Arch::new();
    let rows: [Row<DEPTH>; ROWS] = std::array::from_fn(|row| Row::new(format, &a[row], false));
    multiply(simd, format, &rows, &Columns::new(simd, format, b), acc);
}

/// Accumulates the product of each row and column. The format is that of A or of B: both have as many bits.
pub(crate) fn multiply<const DEPTH: usize>(
    simd: pulp::Arch,
    format: Format,
    rows: &[Row<DEPTH>],
    columns: &Columns<DEPTH>,
    acc: &mut [[f32; WIDTH]],
) {
    match format.fraction() {
        FRACTION_OF_8_BITS => multiply_to::<DEPTH, FRACTION_OF_8_BITS>(simd, format, rows, columns, acc),
        _ => multiply_to::<DEPTH, FRACTION>(simd, format, rows, columns, acc),
    }
}

fn multiply_to<const DEPTH: usize, const KEPT: i16>(
    simd: pulp::Arch,
    format: Format,
    rows: &[Row<DEPTH>],
    columns: &Columns<DEPTH>,
    acc: &mut [[f32; WIDTH]],
) {
    let depth = format.depth().min(DEPTH);
    vectorized(
        simd,
        #[inline(always)]
        || {
            for (row, acc) in rows.iter().zip(acc.iter_mut()) {
                let before = *acc;
                let (is_finite, is_normal) = add_products::<DEPTH, KEPT>(depth, row, columns, acc);
                if !is_normal {
                    add_small_products::<DEPTH, KEPT>(depth, row, columns, &before, acc);
                }
                if !is_finite || row.is_special || columns.is_special {
                    for column in 0..WIDTH {
                        acc[column] = special(depth, row, columns, column, before[column]).unwrap_or(acc[column]);
                    }
                }
            }
        },
    );
}

/// The fractional bits that a result keeps.
const fn of_result(kept: i16) -> i16 {
    if kept < OF_F32 { kept } else { OF_F32 }
}

/// By column: the exponent of the alignment, and the sum in units of the last kept bit.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // of iterators the compiler makes worse vectors
fn aligned<const DEPTH: usize, const KEPT: i16>(
    depth: usize,
    row: &Row<DEPTH>,
    columns: &Columns<DEPTH>,
    acc: &[f32; WIDTH],
) -> ([i16; WIDTH], [[i32; WIDTH]; 2]) {
    let exponent = |sum: f32| {
        let bits = sum.to_bits();
        if bits << 1 == 0 { OF_NO_ACCUMULATOR } else { ((bits >> 23 & 0xff) as i16).max(1).wrapping_sub(127) }
    };
    let mut top = acc.map(exponent);
    for k in 0..depth {
        for column in 0..WIDTH {
            top[column] = top[column].max(row.exponents[k].wrapping_add(columns.exponents[k][column]));
        }
    }
    // Half of the products each: all of them plus the accumulator may overflow 32 bits.
    let mut halves = [[0i32; WIDTH]; 2];
    for column in 0..WIDTH {
        let bits = acc[column].to_bits();
        let significand = bits & 0x007f_ffff | u32::from(bits >> 23 & 0xff != 0) << 23;
        let behind = (top[column].wrapping_sub(exponent(acc[column])) as u16).min(31);
        let summand = (significand << (KEPT - OF_F32).max(0) >> (OF_F32 - KEPT).max(0) >> behind) as i32;
        halves[0][column] = if bits >> 31 == 0 { summand } else { summand.wrapping_neg() };
    }
    for k in 0..depth {
        // The shift is split, for neither factor has room for all of it. What a factor of 8 bits is truncated by is 0.
        let significand = row.significands[k] << (KEPT - OF_PRODUCT - 1).max(0);
        let acc = &mut halves[k % 2];
        for column in 0..WIDTH {
            let other = columns.significands[k][column];
            let other = if KEPT < OF_PRODUCT { other >> (OF_PRODUCT - KEPT) } else { other << 1 };
            let product = i32::from(significand).wrapping_mul(i32::from(other));
            let exponent = row.exponents[k].wrapping_add(columns.exponents[k][column]);
            let behind = (top[column].wrapping_sub(exponent) as u16).min(31);
            let summand = (product.unsigned_abs() >> behind) as i32;
            acc[column] = acc[column].wrapping_add(if product < 0 { summand.wrapping_neg() } else { summand });
        }
    }
    (top, halves)
}

/// The fast path: valid if all inputs are finite and no result is subnormal, which would keep too many bits. Returns
/// whether it was.
#[inline(always)]
fn add_products<const DEPTH: usize, const KEPT: i16>(
    depth: usize,
    row: &Row<DEPTH>,
    columns: &Columns<DEPTH>,
    acc: &mut [f32; WIDTH],
) -> (bool, bool) {
    let (top, halves) = aligned::<DEPTH, KEPT>(depth, row, columns, acc);
    let (mut is_finite, mut is_normal) = (true, true);
    for column in 0..WIDTH {
        is_finite &= acc[column].is_finite();
        let sum = f64::from(halves[0][column]) + f64::from(halves[1][column]);
        let exact = sum * power_of_two(top[column].wrapping_sub(KEPT));
        // The bits of an f64 beyond those.
        let cut = f64::from_bits(exact.to_bits() & !((1 << (52 - of_result(KEPT))) - 1));
        acc[column] = cut as f32;
        is_normal &= exact == 0.0 || exact.abs() >= f64::from(f32::MIN_POSITIVE);
    }
    (is_finite, is_normal)
}

/// As [`add_products`], where some results are subnormal.
#[inline(never)]
fn add_small_products<const DEPTH: usize, const KEPT: i16>(
    depth: usize,
    row: &Row<DEPTH>,
    columns: &Columns<DEPTH>,
    before: &[f32; WIDTH],
    acc: &mut [f32; WIDTH],
) {
    let (top, halves) = aligned::<DEPTH, KEPT>(depth, row, columns, before);
    let least = 126 + of_result(KEPT);
    for column in 0..WIDTH {
        let sum = f64::from(halves[0][column]) + f64::from(halves[1][column]);
        let exact = sum * power_of_two(top[column].wrapping_sub(KEPT));
        if exact.abs() < f64::from(f32::MIN_POSITIVE) {
            acc[column] = ((exact * power_of_two(least)).trunc() * power_of_two(-least)) as f32 + 0.0; // no -0
        }
    }
}

/// 2^exponent, in the range of an f64.
#[inline(always)]
fn power_of_two(exponent: i16) -> f64 {
    f64::from_bits((i64::from(exponent).wrapping_add(1023) << 52) as u64)
}

/// The result if it is an infinity or NaN because of its summands.
#[inline(never)]
fn special<const DEPTH: usize>(
    depth: usize,
    row: &Row<DEPTH>,
    columns: &Columns<DEPTH>,
    column: usize,
    before: f32,
) -> Option<f32> {
    let nan = Some(f32::from_bits(0x7fff_ffff));
    if before.is_nan() {
        return nan;
    }
    let mut infinite = before.is_infinite().then_some(before);
    for k in 0..depth {
        let (a, b) = (row.significands[k], columns.significands[k][column]);
        let exponents = [row.exponents[k], columns.exponents[k][column]];
        if exponents.contains(&NAN) {
            return nan;
        }
        if exponents.contains(&INFINITE) {
            let product = if (a < 0) == (b < 0) { f32::INFINITY } else { f32::NEG_INFINITY };
            if a == 0 || b == 0 || infinite.is_some_and(|sum| sum != product) {
                return nan;
            }
            infinite = Some(product);
        }
    }
    infinite
}
