//! fp16x3 and tf32x3 on one tile of 16 x 16, with alpha = 1 and beta = 0: a model that is a thousand times as fast as the emulator, whose
//! MMA it uses. `tests/tests/it/adversary.rs` compares the bits of both.

use half::f16;
use ptx_emu::tensor_core::{Format, k_step};

/// Rows of A, and columns of B.
pub const SIDE: usize = 16;

/// 16 x 16 accumulators.
type Acc = [[f32; SIDE]; SIDE];

/// The arithmetic of a split kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arithmetic {
    /// Scaled hi and lo of f16.
    Fp16x3,
    /// hi and lo of TF32.
    Tf32x3,
}

/// A row of A or a column of B, split, or in fp32 where it cannot be.
struct Vector<'a> {
    values: &'a [f32],
    /// The exponent of its scaling; none where it is not split.
    exponent: Option<i32>,
    /// hi, lo.
    parts: [Vec<u32>; 2],
}

impl Arithmetic {
    /// The slug of its step.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Fp16x3 => "fp16x3",
            Self::Tf32x3 => "tf32x3",
        }
    }

    /// The one of that slug.
    #[must_use]
    pub fn find(slug: &str) -> Option<Self> {
        [Self::Fp16x3, Self::Tf32x3].into_iter().find(|arithmetic| arithmetic.slug() == slug)
    }

    const fn format(self) -> Format {
        match self {
            Self::Fp16x3 => Format::F16,
            Self::Tf32x3 => Format::Tf32,
        }
    }

    /// The exponent of the scaling of these values.
    fn exponent(self, values: &[f32]) -> Option<i32> {
        let bits = || values.iter().map(|x| x.abs().to_bits()).filter(|bits| *bits > 0);
        let Some(largest) = bits().max() else { return Some(0) };
        let span = exponent(largest) - exponent(bits().min()?);
        let sum: f32 = bits().map(|bits| (bits >> 23) as f32).sum();
        let is_deeper = |depth: f32| sum < ((largest >> 23) as f32 - depth) * bits().count() as f32;
        let infinite = f32::INFINITY.to_bits();
        match self {
            Self::Fp16x3 => (largest < infinite && span <= 38 && !is_deeper(14.0)).then(|| 14 - exponent(largest)),
            Self::Tf32x3 => {
                let is_small = exponent(bits().min()?) < -102;
                (largest < infinite - (1 << 12) && !is_small && !is_deeper(24.0)).then_some(0)
            }
        }
    }

    /// hi and lo of a scaled value.
    fn split(self, x: f32) -> [u32; 2] {
        match self {
            Self::Fp16x3 => {
                let hi = f16::from_f32(x);
                [hi, f16::from_f32(x - hi.to_f32())].map(|part| part.to_bits().into())
            }
            Self::Tf32x3 => {
                let hi = tf32(x);
                [hi, tf32(x - hi)].map(f32::to_bits)
            }
        }
    }

    fn vector(self, values: &[f32]) -> Vector<'_> {
        let exponent = self.exponent(values);
        let [first, second] = powers(exponent.unwrap_or(0));
        let scaled = |x: &f32| if exponent.is_some() { x * first * second } else { 0.0 };
        let split: Vec<_> = values.iter().map(|x| self.split(scaled(x))).collect();
        Vector { values, exponent, parts: [0, 1].map(|part| split.iter().map(|split| split[part]).collect()) }
    }

    /// C of 16 rows and 16 columns of the same length.
    #[must_use]
    pub fn multiply(self, rows: &[Vec<f32>; SIDE], columns: &[Vec<f32>; SIDE]) -> Acc {
        let (a, b) =
            (rows.each_ref().map(|row| self.vector(row)), columns.each_ref().map(|column| self.vector(column)));
        let depth = 2 * self.format().depth(); // of a k-tile
        let k_tiles = rows[0].len().div_ceil(depth);
        let inner = inner_k_tiles(k_tiles);
        let mut totals = Acc::default();
        for first in (0..k_tiles).step_by(inner) {
            let mut partial = Acc::default();
            for k_tile in first..k_tiles.min(first + inner) {
                add(&mut partial, &self.k_tile(&a, &b, k_tile * depth));
            }
            add(&mut totals, &partial);
        }
        for (totals, a) in totals.iter_mut().zip(&a) {
            for (total, b) in totals.iter_mut().zip(&b) {
                *total = match (a.exponent, b.exponent) {
                    (Some(of_a), Some(of_b)) if self == Self::Fp16x3 => unscaled(*total, of_a, of_b),
                    (Some(_), Some(_)) => *total,
                    _ => in_fp32(a.values, b.values, depth, inner * depth),
                };
            }
        }
        totals
    }

    /// The MMAs of a k-tile: hi\*lo, lo\*hi, hi\*hi.
    fn k_tile(self, a: &[Vector; SIDE], b: &[Vector; SIDE], first: usize) -> Acc {
        let (mut acc, step) = (Acc::default(), self.format().depth());
        for [of_a, of_b] in [[0, 1], [1, 0], [0, 0]] {
            for first in [first, first + step] {
                let at = |vector: &Vector, part: usize, k: usize| {
                    if k < step { vector.parts[part].get(first + k).copied().unwrap_or(0) } else { 0 }
                };
                let rows = std::array::from_fn(|row| std::array::from_fn(|k| at(&a[row], of_a, k)));
                let columns = std::array::from_fn(|k| std::array::from_fn(|column| at(&b[column], of_b, k)));
                k_step(self.format(), &rows, &columns, &mut acc);
            }
        }
        acc
    }
}

/// The k-tiles of the inner level of the two-level summation.
fn inner_k_tiles(k_tiles: usize) -> usize {
    1 << ((usize::BITS - k_tiles.leading_zeros()) / 2)
}

fn add(sums: &mut Acc, values: &Acc) {
    sums.iter_mut().flatten().zip(values.iter().flatten()).for_each(|(sum, value)| *sum += value);
}

/// The exponent of the first bit of a magnitude.
fn exponent(magnitude: u32) -> i32 {
    let biased = (magnitude >> 23) as i32;
    if biased == 0 { -118 - magnitude.leading_zeros() as i32 } else { biased - 127 }
}

/// 2^exponent as two factors.
fn powers(exponent: i32) -> [f32; 2] {
    let half = exponent >> 1;
    [half, exponent - half].map(|exponent| f32::from_bits(((exponent.max(-126) + 127) << 23) as u32))
}

fn unscaled(total: f32, of_a: i32, of_b: i32) -> f32 {
    let ([first_a, second_a], [first_b, second_b]) = (powers(-of_a), powers(-of_b));
    total * (first_a * first_b) * (second_a * second_b)
}

/// The nearest TF32, of two the one further from zero.
fn tf32(x: f32) -> f32 {
    f32::from_bits((x.to_bits() + (1 << 12)) & !0x1fff)
}

/// In three-level summation of fused multiply-adds.
fn in_fp32(a: &[f32], b: &[f32], depth: usize, inner: usize) -> f32 {
    let mut total = 0.0;
    for (a, b) in a.chunks(inner).zip(b.chunks(inner)) {
        let mut sum = 0.0;
        for (a, b) in a.chunks(depth).zip(b.chunks(depth)) {
            sum += a.iter().zip(b).fold(0.0, |partial, (a, b)| a.mul_add(*b, partial));
        }
        total += sum;
    }
    total
}
