//! Kinds of inputs, each drawn from a seed.

use std::f64::consts::TAU;

use host::measure::accuracy::Inputs;
use host::{Error, Problem};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::Case;

/// A kind of A, B and C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One of the ten that `host accuracy` measures.
    Measured(Inputs),
    /// A is the identity, repeated along m or k; B is normal.
    Identity,
    /// A has one 1 in each row, at a random column; B is normal.
    Permutation,
    /// Normal; of A, 1 element in 100 is not zero.
    Sparse,
    /// Normal; column p of A times 2^(-20p/k), row p of B divided by it.
    GradedColumns,
    /// Integers from -31 to 31: all sums are exact.
    Integers,
    /// Normal times 2^-130 and 1: A is subnormal.
    Subnormal,
    /// Normal, times powers of two whose exponents are uniform: from -100 to 60 in A, and to 20 in B.
    Wide,
    /// Normal, times powers of two whose exponents are uniform: from -50 to 98 in A, and from -100 to 0 in B. The largest of some rows and
    /// columns are together as large as three bf16 are certified for without their sums, those of others larger.
    Lopsided,
    /// The same from -20 to 100 in A, and from 0 to 22 in B: products of some rows and columns may overflow.
    Large,
    /// The same from -126 to 60 in A and to 40 in B, which is more than three bf16 represent. In odd rows and columns, half of them are below
    /// 2^-100 in A or 0 in B, so that these elements are small beside the largest.
    Spread,
    /// The same over all exponents in both: most sums overflow. Odd columns are pairs of opposite elements, and so are twice the same in odd
    /// rows: products overflow where the sum is 0.
    Widest,
    /// Normal times 2^-74 each: products are about the smallest f32.
    Underflowing,
    /// Normal; one element each of A and B is infinite, one of A is NaN.
    NotFinite,
    /// Normal, zeros and subnormal numbers; one or two elements of every third row and column are infinite or NaN.
    Exceptional,
    /// Normal times 2^63 each: sums are near the end of f32, some beyond it.
    Overflowing,
    /// Normal with alpha = -0.7, beta = 1.3 and C of the products' size.
    Scalars,
    /// Demmel's test 2: normal, with some rows and columns whose nonzero elements never meet. What they make must be 0.
    Demmel2,
    /// Demmel's test 4: elements in \[1, 2), those of A times D and those of B divided by it, where D is rotated from row to row of A and
    /// from column to column of B. The factors D are powers of two whose exponents fall evenly from this to its negative.
    Demmel4(u8),
    /// Demmel's test 6: elements in \[1, 2), columns of A times D and rows of B divided by it, D in random order and repeated every 16;
    /// the last row and the last column are those of the largest factor. Exponents are as of [`Self::Demmel4`].
    Demmel6(u8),
}

/// The exponent up to which D goes where tests 4 and 6 take nearly all that f32 has: sums of 2^10 such products are finite.
const WIDEST: u8 = 52;

/// Different factors of Demmel's test 6.
const PERIOD: usize = 16;

impl Kind {
    /// The kinds beside those of [`Inputs`].
    pub const PROBES: [Self; 24] = [
        Self::Identity,
        Self::Permutation,
        Self::Sparse,
        Self::GradedColumns,
        Self::Integers,
        Self::Subnormal,
        Self::Wide,
        Self::Lopsided,
        Self::Large,
        Self::Spread,
        Self::Widest,
        Self::Underflowing,
        Self::NotFinite,
        Self::Exceptional,
        Self::Overflowing,
        Self::Scalars,
        Self::Demmel2,
        Self::Demmel4(4),
        Self::Demmel4(9),
        Self::Demmel4(WIDEST),
        Self::Demmel6(4),
        Self::Demmel6(9),
        Self::Demmel6(18),
        Self::Demmel6(WIDEST),
    ];

    /// Every kind.
    pub fn all() -> impl Iterator<Item = Self> {
        Inputs::ALL.into_iter().map(Self::Measured).chain(Self::PROBES)
    }

    /// The name in tables.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Measured(inputs) => inputs.name().to_owned(),
            Self::Demmel4(most) => format!("demmel-4-{most}"),
            Self::Demmel6(most) => format!("demmel-6-{most}"),
            Self::Identity => "identity".into(),
            Self::Permutation => "permutation".into(),
            Self::Sparse => "sparse".into(),
            Self::GradedColumns => "graded-columns".into(),
            Self::Integers => "integers".into(),
            Self::Subnormal => "subnormal".into(),
            Self::Wide => "wide".into(),
            Self::Lopsided => "lopsided".into(),
            Self::Large => "large".into(),
            Self::Spread => "spread".into(),
            Self::Widest => "widest".into(),
            Self::Underflowing => "underflowing".into(),
            Self::NotFinite => "not-finite".into(),
            Self::Exceptional => "exceptional".into(),
            Self::Overflowing => "overflowing".into(),
            Self::Scalars => "scalars".into(),
            Self::Demmel2 => "demmel-2".into(),
        }
    }

    /// Inputs of these sizes.
    ///
    /// # Errors
    /// Those of [`Inputs::operands`].
    pub fn case(self, [m, n, k]: [usize; 3], seed: u64) -> Result<Case, Error> {
        let mut rng = SmallRng::seed_from_u64(seed);
        let rng = &mut rng;
        if let Self::Measured(inputs) = self {
            return measured(inputs, [m, n, k], seed);
        }
        let (mut a, mut b) = match self {
            Self::Demmel4(_) | Self::Demmel6(_) => {
                (draw(m * k, || rng.random_range(1.0..2.0)), draw(k * n, || rng.random_range(1.0..2.0)))
            }
            Self::Integers => (
                draw(m * k, || f64::from(rng.random_range(-31..=31))),
                draw(k * n, || f64::from(rng.random_range(-31..=31))),
            ),
            _ => (draw(m * k, || normal(rng)), draw(k * n, || normal(rng))),
        };
        match self {
            Self::Identity => a = (0..m * k).map(|at| f32::from(at / k % k == at % k)).collect(),
            Self::Permutation => {
                a.fill(0.0);
                a.chunks_mut(k).for_each(|row| row[rng.random_range(0..k)] = 1.0);
            }
            Self::Sparse => a.iter_mut().filter(|_| rng.random_range(0..100) > 0).for_each(|x| *x = 0.0),
            Self::GradedColumns => grade(&mut a, &mut b, k, |p| -((20 * p / k) as i32)),
            Self::Subnormal => a.iter_mut().for_each(|x| *x *= 2f32.powi(-130)),
            Self::Wide => {
                a.iter_mut().for_each(|x| *x *= power(rng.random_range(-100..=60)));
                b.iter_mut().for_each(|x| *x *= power(rng.random_range(-100..=20)));
            }
            Self::Lopsided => {
                a.iter_mut().for_each(|x| *x *= power(rng.random_range(-50..=98)));
                b.iter_mut().for_each(|x| *x *= power(rng.random_range(-100..=0)));
            }
            Self::Large => {
                a.iter_mut().for_each(|x| *x *= power(rng.random_range(-20..=100)));
                b.iter_mut().for_each(|x| *x *= power(rng.random_range(0..=22)));
            }
            Self::Spread => {
                for (at, x) in a.iter_mut().enumerate() {
                    let is_small = at / k % 2 == 1 && at % k >= k / 2;
                    *x *= power(rng.random_range(-126..=if is_small { -100 } else { 60 }));
                }
                for (at, x) in b.iter_mut().enumerate() {
                    let is_zero = at % n % 2 == 1 && at / n < k / 2;
                    *x *= if is_zero { 0.0 } else { power(rng.random_range(-126..=40)) };
                }
            }
            Self::Widest => {
                a.iter_mut().chain(&mut b).for_each(|x| *x = x.clamp(-1.9, 1.9) * power(rng.random_range(-126..=126)));
                for p in (1..k).step_by(2) {
                    (1..m).step_by(2).for_each(|i| a[i * k + p] = a[i * k + p - 1]);
                    (1..n).step_by(2).for_each(|j| b[p * n + j] = -b[(p - 1) * n + j]);
                }
            }
            Self::Underflowing => a.iter_mut().chain(&mut b).for_each(|x| *x *= 2f32.powi(-74)),
            Self::Overflowing => a.iter_mut().chain(&mut b).for_each(|x| *x *= 2f32.powi(63)),
            Self::NotFinite => {
                a[rng.random_range(0..m) * k] = f32::INFINITY;
                a[rng.random_range(0..m * k)] = f32::NAN;
                b[rng.random_range(0..k * n)] = f32::NEG_INFINITY;
            }
            Self::Exceptional => {
                a.iter_mut().chain(&mut b).for_each(|x| *x *= [1.0, 1.0, 0.0, power(-130)][rng.random_range(0..4)]);
                let exception =
                    |rng: &mut SmallRng| [f32::INFINITY, f32::NEG_INFINITY, f32::NAN][rng.random_range(0..5) / 2];
                for i in (0..m).step_by(3) {
                    (0..=i % 2).for_each(|_| a[i * k + rng.random_range(0..k)] = exception(rng));
                }
                for j in (0..n).step_by(3) {
                    (0..=j % 2).for_each(|_| b[rng.random_range(0..k) * n + j] = exception(rng));
                }
            }
            Self::Demmel2 => separate(rng, [m, n, k], &mut a, &mut b),
            Self::Demmel4(most) => {
                for (at, x) in a.iter_mut().enumerate() {
                    let p = (at / k + at % k) % k;
                    *x *= power(exponent(p, k, most));
                }
                for (at, x) in b.iter_mut().enumerate() {
                    let p = (at / n + at % n) % k;
                    *x *= power(-exponent(p, k, most));
                }
            }
            Self::Demmel6(most) => {
                let mut exponents: Vec<i32> = (0..PERIOD).map(|p| exponent(p, PERIOD, most)).collect();
                exponents.shuffle(rng);
                grade(&mut a, &mut b, k, |p| exponents[p % PERIOD]);
                let largest = power(i32::from(most));
                a[(m - 1) * k..].fill_with(|| rng.random_range(1.0..2.0) * largest);
                (0..k).for_each(|p| b[p * n + n - 1] = rng.random_range(1.0..2.0) * largest);
            }
            _ => {}
        }
        let case = Case::product([m, n, k], a, b);
        let mut c = || draw(m * n, || normal(rng) * (k as f64).sqrt());
        Ok(if self == Self::Scalars { case.with_c(-0.7, 1.3, c()) } else { case })
    }
}

impl Kind {
    /// Rows and columns each of another kind, drawn from a seed.
    ///
    /// # Errors
    /// Those of [`Self::case`].
    pub fn mixed([m, n, k]: [usize; 3], seed: u64) -> Result<Case, Error> {
        let mut rng = SmallRng::seed_from_u64(seed);
        let kinds: Vec<Self> = Self::all().filter(|kind| *kind != Self::Scalars).collect();
        let (mut a, mut b) = (vec![0.0; m * k], vec![0.0; k * n]);
        for i in 0..m {
            let case = kinds[rng.random_range(0..kinds.len())].case([m, 1, k], rng.random())?;
            a[i * k..(i + 1) * k].copy_from_slice(&case.a[i * k..(i + 1) * k]);
        }
        for j in 0..n {
            let case = kinds[rng.random_range(0..kinds.len())].case([1, n, k], rng.random())?;
            (0..k).for_each(|p| b[p * n + j] = case.b[p * n + j]);
        }
        // Some elements vanish, so that what is small may be all that there is.
        a.iter_mut().chain(&mut b).filter(|_| rng.random_range(0..4) == 0).for_each(|x| *x = 0.0);
        Ok(Case::product([m, n, k], a, b))
    }
}

/// One of the ten kinds.
fn measured(inputs: Inputs, sizes: [usize; 3], seed: u64) -> Result<Case, Error> {
    let [m, n, k] = sizes.map(|size| size as u32);
    let operands = inputs.operands(&Problem::new(m, n, k)?.with_seed(seed))?;
    let elements = |matrix: &host::Matrix| (0..matrix.rows()).flat_map(|i| matrix.row(i).to_vec()).collect();
    Ok(Case::product(sizes, elements(&operands.a), elements(&operands.b)))
}

fn draw(count: usize, mut element: impl FnMut() -> f64) -> Vec<f32> {
    (0..count).map(|_| element() as f32).collect()
}

/// Standard normal: G. E. P. Box and M. E. Muller, "A note on the generation of random normal deviates", 1958.
fn normal(rng: &mut SmallRng) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    radius * (TAU * rng.random::<f64>()).cos()
}

fn power(exponent: i32) -> f32 {
    2f32.powi(exponent)
}

/// Falls evenly from `most` to its negative.
fn exponent(index: usize, count: usize, most: u8) -> i32 {
    let most = i32::from(most);
    most - (index as i32 * 2 * most) / (count as i32 - 1).max(1)
}

/// Multiplies columns of A by powers of two, and divides rows of B by them.
fn grade(a: &mut [f32], b: &mut [f32], k: usize, exponent: impl Fn(usize) -> i32) {
    let n = b.len() / k;
    a.iter_mut().enumerate().for_each(|(at, x)| *x *= power(exponent(at % k)));
    b.iter_mut().enumerate().for_each(|(at, x)| *x *= power(-exponent(at / n)));
}

/// Makes half of the rows of A and as many columns of B, in pairs, zero in such places that no product of a pair is left.
fn separate(rng: &mut SmallRng, [m, n, k]: [usize; 3], a: &mut [f32], b: &mut [f32]) {
    for pair in 0..m.min(n).div_ceil(2) {
        let mut places: Vec<usize> = (0..k).collect();
        places.shuffle(rng);
        let (of_a, of_b) = places.split_at(if k == 1 { 1 } else { rng.random_range(1..k) });
        of_a.iter().for_each(|p| a[pair * k + p] = 0.0);
        of_b.iter().for_each(|p| b[p * n + pair] = 0.0);
    }
}
