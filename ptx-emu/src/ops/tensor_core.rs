//! What a tensor core makes of a row and a column: the sum of their products and of what was there before, as `wgmma`
//! adds on Hopper.
//!
//! One instruction's step along k, 16 elements of 16 bits or 8 of 32, is one sum. Its summands are the products, exact, and
//! the accumulator. The exponent of a product is the sum of its factors', whether or not it carries into a further bit; that
//! of a subnormal number is its format's least, and the accumulator's is at least -126. All summands are aligned to the
//! largest of these exponents, and keep 25 bits behind the point; what is beyond is cut off, toward 0. What they sum up to is
//! exact, and is cut off again, toward 0, where an f32 ends. Subnormal numbers are kept on both sides, of a tf32 the last 13
//! bits are ignored, and infinities and NaN are IEEE 754's, where each NaN is 0x7fffffff.
//!
//! P. Xie, Y. Wang, F. Yang and M. Yang, "MMA-Sim: bit-accurate reference model of tensor cores and matrix cores", arXiv
//! 2511.10909, 2025: its truncated fused dot-product-add with 25 bits, which matched `wgmma` on Hopper bit for bit. What an H200
//! gave is in `tests/conformance`, and is the same; with a bit more or less, none of it is.

use crate::lanes::vectorized;

/// Rows that a warp computes, and columns that are computed side by side.
pub(crate) const ROWS: usize = 16;
pub(crate) const WIDTH: usize = 16;

/// The most elements of a row or a column.
pub(crate) const MAX_DEPTH: usize = 16;

/// Bits that are kept behind the point.
const FRACTION: i16 = 25;

/// What stands for the exponent of 0, of infinities and of NaN: far from all others, and from their sums.
const ZERO: i16 = -4096;
const INFINITE: i16 = 12_000;
const NAN: i16 = 12_001;

/// The type of the elements that are multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    F16,
    Bf16,
    Tf32,
}

impl Format {
    /// Elements of a row in one step.
    pub(crate) const fn depth(self) -> usize {
        32 / self.bytes()
    }

    pub(crate) const fn bytes(self) -> usize {
        if matches!(self, Self::Tf32) { 4 } else { 2 }
    }

    /// The significand with its sign, of 10 bits behind the point, and the exponent.
    #[inline(always)]
    const fn take_apart(self, bits: u32) -> (i16, i16) {
        let (sign, exponent, fraction, last, bias) = match self {
            Self::F16 => (bits >> 15 & 1, bits >> 10 & 0x1f, bits & 0x3ff, 0x1f, 15),
            Self::Bf16 => (bits >> 15 & 1, bits >> 7 & 0xff, (bits & 0x7f) << 3, 0xff, 127),
            Self::Tf32 => (bits >> 31, bits >> 23 & 0xff, bits >> 13 & 0x3ff, 0xff, 127),
        };
        let magnitude = (if exponent == 0 { fraction } else { fraction | 0x400 }) as i16;
        let normal = ((if exponent == 0 { 1 } else { exponent }) as i16).wrapping_sub(bias);
        let special = if fraction == 0 { INFINITE } else { NAN };
        let power = if magnitude == 0 { ZERO } else { normal };
        (if sign == 0 { magnitude } else { magnitude.wrapping_neg() }, if exponent == last { special } else { power })
    }
}

/// A row of the first matrix.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Row {
    significands: [i16; MAX_DEPTH],
    exponents: [i16; MAX_DEPTH],
    is_special: bool,
}

/// Columns of the second matrix, by k.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Columns {
    significands: [[i16; WIDTH]; MAX_DEPTH],
    exponents: [[i16; WIDTH]; MAX_DEPTH],
    is_special: bool,
}

/// The accumulators of a warp's rows in so many columns.
pub(crate) type Sums = [[f32; WIDTH]; ROWS];

impl Row {
    /// Of elements that are multiplied by -1 if it is said.
    pub(crate) fn new(format: Format, elements: &[u32; MAX_DEPTH], negate: bool) -> Self {
        let mut row = Self::default();
        for (k, &bits) in elements[..format.depth()].iter().enumerate() {
            let (significand, exponent) = format.take_apart(bits);
            row.significands[k] = if negate { -significand } else { significand };
            row.exponents[k] = exponent;
            row.is_special |= exponent >= INFINITE;
        }
        row
    }
}

impl Columns {
    pub(crate) fn new(simd: pulp::Arch, format: Format, elements: &[[u32; WIDTH]; MAX_DEPTH]) -> Self {
        match format {
            Format::F16 => Self::of(simd, elements, |bits| Format::F16.take_apart(bits)),
            Format::Bf16 => Self::of(simd, elements, |bits| Format::Bf16.take_apart(bits)),
            Format::Tf32 => Self::of(simd, elements, |bits| Format::Tf32.take_apart(bits)),
        }
    }

    #[inline(always)]
    fn of(simd: pulp::Arch, elements: &[[u32; WIDTH]; MAX_DEPTH], take_apart: impl Fn(u32) -> (i16, i16)) -> Self {
        let mut columns = Self::default();
        vectorized(
            simd,
            #[inline(always)]
            || {
                let mut most = i16::MIN;
                for (k, elements) in elements.iter().enumerate() {
                    for (column, bits) in elements.iter().enumerate() {
                        let (significand, exponent) = take_apart(*bits);
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

/// Adds to each sum the products of its row and its column.
pub(crate) fn multiply(simd: pulp::Arch, format: Format, rows: &[Row; ROWS], columns: &Columns, sums: &mut Sums) {
    let depth = format.depth().min(MAX_DEPTH);
    vectorized(
        simd,
        #[inline(always)]
        || {
            for (row, sums) in rows.iter().zip(sums.iter_mut()) {
                let before = *sums;
                let (is_finite, is_normal) = add_products(depth, row, columns, sums);
                if !is_normal {
                    add_small_products(depth, row, columns, &before, sums);
                }
                if !is_finite || row.is_special || columns.is_special {
                    for column in 0..WIDTH {
                        sums[column] = special(depth, row, columns, column, before[column]).unwrap_or(sums[column]);
                    }
                }
            }
        },
    );
}

/// By column: the exponent that all is aligned to, and the sum in units of the last bit that is kept.
#[inline(always)]
#[allow(clippy::needless_range_loop)] // of iterators the compiler makes worse vectors
fn aligned(depth: usize, row: &Row, columns: &Columns, sums: &[f32; WIDTH]) -> ([i16; WIDTH], [[i32; WIDTH]; 2]) {
    let exponent = |sum: f32| ((sum.to_bits() >> 23 & 0xff) as i16).max(1).wrapping_sub(127);
    let mut top = sums.map(exponent);
    for k in 0..depth {
        for column in 0..WIDTH {
            top[column] = top[column].max(row.exponents[k].wrapping_add(columns.exponents[k][column]));
        }
    }
    // Half of the products in each: all of them, and the accumulator, may be too much for 32 bits.
    let mut halves = [[0i32; WIDTH]; 2];
    for column in 0..WIDTH {
        let bits = sums[column].to_bits();
        let significand = bits & 0x007f_ffff | u32::from(bits >> 23 & 0xff != 0) << 23;
        let behind = (top[column].wrapping_sub(exponent(sums[column])) as u16).min(31);
        let summand = (significand << (FRACTION - 23) >> behind) as i32;
        halves[0][column] = if bits >> 31 == 0 { summand } else { summand.wrapping_neg() };
    }
    for k in 0..depth {
        // The product has 20 bits behind the point, and is shifted before it is made: neither factor has room for all of it.
        let significand = row.significands[k] << (FRACTION - 21);
        let sums = &mut halves[k % 2];
        for column in 0..WIDTH {
            let product = i32::from(significand).wrapping_mul(i32::from(columns.significands[k][column] << 1));
            let exponent = row.exponents[k].wrapping_add(columns.exponents[k][column]);
            let behind = (top[column].wrapping_sub(exponent) as u16).min(31);
            let summand = (product.unsigned_abs() >> behind) as i32;
            sums[column] = sums[column].wrapping_add(if product < 0 { summand.wrapping_neg() } else { summand });
        }
    }
    (top, halves)
}

/// Adds where nothing is special: whether all sums had been finite, and whether none that results is below the normal
/// numbers, of which it would keep too many bits.
#[inline(always)]
fn add_products(depth: usize, row: &Row, columns: &Columns, sums: &mut [f32; WIDTH]) -> (bool, bool) {
    let (top, halves) = aligned(depth, row, columns, sums);
    let (mut is_finite, mut is_normal) = (true, true);
    for column in 0..WIDTH {
        is_finite &= sums[column].is_finite();
        let sum = f64::from(halves[0][column]) + f64::from(halves[1][column]);
        let exact = sum * power_of_two(top[column].wrapping_sub(FRACTION));
        // The last bits of an f64 that an f32 does not have.
        let cut = f64::from_bits(exact.to_bits() & !((1 << 29) - 1));
        sums[column] = cut as f32;
        is_normal &= exact == 0.0 || exact.abs() >= f64::from(f32::MIN_POSITIVE);
    }
    (is_finite, is_normal)
}

/// As [`add_products`], where some results are subnormal.
#[inline(never)]
fn add_small_products(depth: usize, row: &Row, columns: &Columns, before: &[f32; WIDTH], sums: &mut [f32; WIDTH]) {
    let (top, halves) = aligned(depth, row, columns, before);
    for column in 0..WIDTH {
        let sum = f64::from(halves[0][column]) + f64::from(halves[1][column]);
        let exact = sum * power_of_two(top[column].wrapping_sub(FRACTION));
        if exact.abs() < f64::from(f32::MIN_POSITIVE) {
            sums[column] = ((exact * power_of_two(149)).trunc() * power_of_two(-149)) as f32;
        }
    }
}

/// Of an exponent that an f64 has.
#[inline(always)]
fn power_of_two(exponent: i16) -> f64 {
    f64::from_bits((i64::from(exponent).wrapping_add(1023) << 52) as u64)
}

/// The result, if it is an infinity or NaN for what its summands are.
#[inline(never)]
fn special(depth: usize, row: &Row, columns: &Columns, column: usize, before: f32) -> Option<f32> {
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
