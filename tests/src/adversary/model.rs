//! fp16x3 and tf32x3 on one tile of 16 x 16, with alpha = 1 and beta = 0, and what they compute by three bf16: a model that is a thousand
//! times as fast as the emulator, whose MMA it uses. `tests/tests/it/adversary.rs` compares the bits of both.

use gpu_kernels::{
    BF16_TOP, CERTIFICATE_BITS, Computed, F16_TOP, InnerSums, Magnitudes, OF_HI_LO, largest_exponents,
    least_certified_sum,
};
use half::{bf16, f16};
use ptx_emu::tensor_core::{Format, k_step};

/// Rows of A, and columns of B.
pub const SIDE: usize = 16;

/// Elements of a k-step at most.
const K_STEP: usize = 16;

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

/// What decides which rows and columns are certified: the kernels' guard, or one that is not sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// The kernels'.
    Sound,
    /// The largest element stands for the smallest.
    LargestAlone,
    /// Zeros count as elements like the others.
    ZerosAsOthers,
    /// Subnormals count as if they had the exponent that they are stored with.
    SubnormalsAsStored,
    /// Three bf16 are taken to represent whatever is far below the largest element.
    AnySpan,
    /// Any sum of three bf16 is taken for certified.
    AnySum,
}

impl Guard {
    /// What it knows of a vector's magnitudes.
    fn sees(self, values: &[f32]) -> Magnitudes {
        let bits = || values.iter().map(|x| x.abs().to_bits()).filter(|bits| *bits > 0);
        let (largest, smallest) = (bits().max().unwrap_or(0), bits().min().unwrap_or(u32::MAX));
        let (count, exponents) = (bits().count() as f32, bits().map(|bits| (bits >> 23) as f32).sum());
        let all = Magnitudes { largest, smallest, count, exponents };
        let zeros = values.len() as f32 / count.max(1.0);
        match self {
            Self::Sound | Self::AnySum => all,
            Self::LargestAlone => Magnitudes { smallest: largest, ..all },
            Self::ZerosAsOthers => Magnitudes { count: count * zeros, exponents: all.exponents * zeros, ..all },
            Self::SubnormalsAsStored => Magnitudes { smallest: smallest.max(f32::MIN_POSITIVE.to_bits()), ..all },
            // Beyond the window of f16, within the span of bf16.
            Self::AnySpan => Magnitudes { smallest: smallest.max(largest.saturating_sub(100 << 23)), ..all },
        }
    }
}

/// A row of A or a column of B.
struct Vector<'a> {
    values: &'a [f32],
    /// The exponent of its scaling, and its certificates.
    word: i32,
    exponent: i32,
    /// hi, lo.
    parts: Vec<Vec<u32>>,
    /// Three bf16, by a scaling of their own.
    by_bf16: Vec<Vec<u32>>,
}

/// Which parts of A and B are multiplied, in their order.
const BF16_PRODUCTS: [[usize; 2]; 6] = [[0, 2], [2, 0], [1, 1], [0, 1], [1, 0], [0, 0]];

/// Products in a sum of the first level, of what is computed by three bf16 or in fp32.
pub const DEPTH: usize = 16;

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

    /// How k-tiles are added.
    pub(super) const fn inner_sums(self) -> InnerSums {
        match self {
            Self::Fp16x3 => InnerSums::OF_F16,
            Self::Tf32x3 => InnerSums::OF_TF32,
        }
    }

    /// What lo is stored times.
    const fn lo_scale(self) -> f32 {
        match self {
            Self::Fp16x3 => 2048.0,
            Self::Tf32x3 => 1.0,
        }
    }

    /// hi and lo of a scaled value.
    fn split(self, x: f32) -> [u32; 2] {
        match self {
            Self::Fp16x3 => {
                let hi = f16::from_f32(x);
                [hi, f16::from_f32((x - hi.to_f32()) * self.lo_scale())].map(|part| part.to_bits().into())
            }
            Self::Tf32x3 => {
                let hi = tf32(x);
                [hi, tf32(x - hi)].map(f32::to_bits)
            }
        }
    }

    fn vector(self, guard: Guard, values: &[f32], of_b: bool) -> Vector<'_> {
        let (of, k) = (guard.sees(values), values.len() as u32);
        let (certificates, exponent) = match self {
            Self::Fp16x3 => {
                let exponent = F16_TOP - exponent(of.largest);
                (of.certificates_of_f16(k, of_b) | of.certificates_of_bf16(k), exponent)
            }
            Self::Tf32x3 => (of.certificates_of_tf32(k), 0),
        };
        let is_split = certificates & OF_HI_LO != 0;
        let hi_lo = |x: f32| self.split(if is_split { x } else { 0.0 }).to_vec();
        let parts = parts_of(values, exponent, 2, hi_lo);
        let by_bf16 = parts_of(values, exponent + BF16_TOP - F16_TOP, 3, three_bf16);
        let word = exponent << CERTIFICATE_BITS | certificates as i32;
        Vector { values, word, exponent, parts, by_bf16 }
    }

    /// C of 16 rows and 16 columns of the same length.
    #[must_use]
    pub fn multiply(self, rows: &[Vec<f32>; SIDE], columns: &[Vec<f32>; SIDE]) -> Acc {
        self.multiply_guarded(Guard::Sound, rows, columns)
    }

    /// The same with another guard.
    #[must_use]
    pub fn multiply_guarded(self, guard: Guard, rows: &[Vec<f32>; SIDE], columns: &[Vec<f32>; SIDE]) -> Acc {
        let a = rows.each_ref().map(|row| self.vector(guard, row, false));
        let b = columns.each_ref().map(|column| self.vector(guard, column, true));
        let depth = 2 * self.format().depth(); // of a k-tile
        let k_tiles = rows[0].len().div_ceil(depth);
        let inner = summands(self.inner_sums(), k_tiles);
        let mut totals = Acc::default();
        for first in (0..k_tiles).step_by(inner) {
            let (mut partial, mut cross) = (Acc::default(), Acc::default());
            for k_tile in first..k_tiles.min(first + inner) {
                let mut acc = Acc::default();
                for first in [k_tile * depth, k_tile * depth + depth / 2] {
                    self.k_step(&a, &b, first, [0, 1], &mut cross);
                    self.k_step(&a, &b, first, [1, 0], &mut cross);
                    self.k_step(&a, &b, first, [0, 0], &mut acc);
                }
                add(&mut partial, &acc);
            }
            let cross = cross.map(|row| row.map(|sum| sum / self.lo_scale()));
            add(&mut partial, &cross);
            add(&mut totals, &partial);
        }
        for (totals, a) in totals.iter_mut().zip(&a) {
            for (total, b) in totals.iter_mut().zip(&b) {
                match Computed::of(a.word, b.word) {
                    Computed::ByHiLo if self == Self::Fp16x3 => *total = unscaled(*total, a.exponent, b.exponent),
                    Computed::ByHiLo | Computed::ByBf16 | Computed::ByBf16OrInFp32 => {}
                    Computed::InFp32 | Computed::BySigns => *total = in_fp32(a.values, b.values),
                }
            }
        }
        if self == Self::Fp16x3 {
            let by_bf16 = multiply_by_bf16(&a, &b);
            for (i, a) in a.iter().enumerate() {
                for (j, b) in b.iter().enumerate() {
                    let more = BF16_TOP - F16_TOP;
                    let total = unscaled(by_bf16[i][j], a.exponent + more, b.exponent + more);
                    let least = least_certified_sum(largest_exponents(a.word, b.word));
                    match Computed::of(a.word, b.word) {
                        Computed::ByBf16OrInFp32 if total.abs() < least && guard != Guard::AnySum => {
                            totals[i][j] = in_fp32(a.values, b.values);
                        }
                        Computed::ByBf16 | Computed::ByBf16OrInFp32 => totals[i][j] = total,
                        _ => {}
                    }
                }
            }
        }
        totals
    }

    /// An MMA of these parts.
    fn k_step(self, a: &[Vector; SIDE], b: &[Vector; SIDE], first: usize, [of_a, of_b]: [usize; 2], acc: &mut Acc) {
        mma(self.format(), [a.each_ref().map(|a| &*a.parts[of_a]), b.each_ref().map(|b| &*b.parts[of_b])], first, acc);
    }
}

/// The parts of values that are scaled by a power of two: as vectors of first ones, second ones and so on.
fn parts_of(values: &[f32], exponent: i32, count: usize, split: impl Fn(f32) -> Vec<u32>) -> Vec<Vec<u32>> {
    let [first, second] = powers(exponent);
    let split: Vec<_> = values.iter().map(|x| split(x * first * second)).collect();
    (0..count).map(|part| split.iter().map(|split| split[part]).collect()).collect()
}

/// A value as the sum of three bf16.
fn three_bf16(x: f32) -> Vec<u32> {
    let mut rest = x;
    let parts = (0..3).map(|_| {
        let part = bf16::from_f32(rest);
        rest -= part.to_f32();
        part.to_bits().into()
    });
    parts.collect()
}

/// Scaled sums of six products of bf16 parts, in three-level summation.
fn multiply_by_bf16(a: &[Vector; SIDE], b: &[Vector; SIDE]) -> Acc {
    let steps = a[0].values.len().div_ceil(DEPTH);
    let inner = summands(InnerSums::OF_OTHERS, steps);
    let mut totals = Acc::default();
    for first in (0..steps).step_by(inner) {
        let mut sums = Acc::default();
        for step in first..steps.min(first + inner) {
            let mut acc = Acc::default();
            for [of_a, of_b] in BF16_PRODUCTS {
                let parts = [a.each_ref().map(|a| &*a.by_bf16[of_a]), b.each_ref().map(|b| &*b.by_bf16[of_b])];
                mma(Format::Bf16, parts, step * DEPTH, &mut acc);
            }
            add(&mut sums, &acc);
        }
        add(&mut totals, &sums);
    }
    totals
}

/// An MMA of parts of rows and columns, from that k on.
fn mma(format: Format, [rows, columns]: [[&[u32]; SIDE]; 2], first: usize, acc: &mut Acc) {
    let at = |vector: &[u32], k: usize| {
        if k < format.depth() { vector.get(first + k).copied().unwrap_or(0) } else { 0 }
    };
    let rows: [[_; K_STEP]; SIDE] = std::array::from_fn(|row| std::array::from_fn(|k| at(rows[row], k)));
    let columns = std::array::from_fn(|k| std::array::from_fn(|column| at(columns[column], k)));
    k_step(format, &rows, &columns, acc);
}

/// The summands of a sum of the inner level.
pub(super) fn summands(sums: InnerSums, all: usize) -> usize {
    sums.summands(all.try_into().expect("a number of k-tiles")) as usize
}

fn add(sums: &mut Acc, values: &Acc) {
    sums.iter_mut().flatten().zip(values.iter().flatten()).for_each(|(sum, value)| *sum += value);
}

/// The exponent of the first bit of a magnitude; of zero, that below the smallest.
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
fn in_fp32(a: &[f32], b: &[f32]) -> f32 {
    let inner = DEPTH * summands(InnerSums::OF_OTHERS, a.len().div_ceil(DEPTH));
    let mut total = 0.0;
    for (a, b) in a.chunks(inner).zip(b.chunks(inner)) {
        let mut sum = 0.0;
        for (a, b) in a.chunks(DEPTH).zip(b.chunks(DEPTH)) {
            sum += a.iter().zip(b).fold(0.0, |partial, (a, b)| a.mul_add(*b, partial));
        }
        total += sum;
    }
    total
}
