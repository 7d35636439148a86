//! The MMA of a tensor core, against the rule computed in f64, one summand after the other.

use half::{bf16, f16};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::round::{E4M3, E5M2, to_f64};
use super::tensor_core::{Accumulators, Columns, Format, MAX_DEPTH, ROWS, Row, WIDTH, multiply};

const FORMATS: [Format; 5] = [Format::F16, Format::Bf16, Format::Tf32, Format::E4m3, Format::E5m2];

/// Elements of a k-step of any format.
const DEPTH: usize = 32;

/// The value of an element, and the least exponent of its type.
fn value(format: Format, bits: u32) -> (f64, i32) {
    match format {
        Format::F16 => (f16::from_bits(bits as u16).to_f64(), -14),
        Format::Bf16 => (bf16::from_bits(bits as u16).to_f64(), -126),
        Format::Tf32 => (f32::from_bits(bits & !0x1fff).into(), -126),
        Format::E4m3 => (to_f64(&E4M3, bits.into()), -6),
        Format::E5m2 => (to_f64(&E5M2, bits.into()), -14),
    }
}

fn exponent(value: f64, least: i32) -> i32 {
    let exponent = (value.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    exponent.max(least)
}

/// The rule, one summand after the other.
fn expected(format: Format, a: &[u32], b: &[u32], c: f32) -> f32 {
    let mut summands = vec![(f64::from(c), exponent(c.into(), if c == 0.0 { -133 } else { -126 }))];
    for (a, b) in a.iter().zip(b) {
        let ((a, least), (b, _)) = (value(format, *a), value(format, *b));
        let power = exponent(a, least) + exponent(b, least);
        summands.push((a * b, if a * b == 0.0 { -1000 } else { power }));
    }
    let all: f64 = summands.iter().map(|(summand, _)| summand).sum();
    if !all.is_finite() {
        return if all.is_nan() { f32::from_bits(0x7fff_ffff) } else { all as f32 };
    }
    let top = summands.iter().map(|(_, power)| *power).max().unwrap();
    let (kept, of_result) = if matches!(format, Format::E4m3 | Format::E5m2) { (13, 13) } else { (25, 23) };
    let unit = 2f64.powi(top - kept);
    let sum: f64 = summands.iter().map(|(summand, _)| (summand / unit).trunc()).sum::<f64>() * unit;
    let last = 2f64.powi(exponent(sum, -126) - of_result);
    ((sum / last).trunc() * last) as f32
}

fn run<const DEPTH: usize>(
    format: Format,
    a: &[[u32; DEPTH]; ROWS],
    b: &[[u32; WIDTH]; DEPTH],
    acc: &mut Accumulators,
    negate: bool,
) {
    let simd = pulp::Arch::new();
    let rows = a.map(|row| Row::new(format, &row, negate));
    multiply(simd, format, &rows, &Columns::new(simd, format, b), acc);
}

/// Random bits of a type, whose exponents are near each other or anywhere.
fn element(rng: &mut StdRng, format: Format, kind: u32) -> u32 {
    let (bits, fraction, middle, last): (u32, u32, u32, u32) = match format {
        Format::F16 => (16, 10, 15, 31),
        Format::Bf16 => (16, 7, 127, 255),
        Format::Tf32 => (32, 23, 127, 255),
        Format::E4m3 => (8, 3, 7, 15),
        Format::E5m2 => (8, 2, 15, 31),
    };
    let exponent = match kind {
        0 => middle,
        1 => rng.random_range(middle.saturating_sub(10)..(middle + 10).min(last)),
        2 => rng.random_range(0..last),
        3 => rng.random_range(0..middle / 2 + 4),
        _ => rng.random_range(0..=last),
    };
    let keep = rng.random_range(0..4) != 0;
    let sign: u32 = rng.random_range(0..2);
    let low = if keep { rng.random_range(0..1u32 << fraction) } else { 0 };
    sign << (bits - 1) | exponent << fraction | low
}

#[test]
fn sums_follow_the_rule() {
    let mut rng = StdRng::seed_from_u64(7);
    for round in 0..500 {
        let (format, kind) = (FORMATS[round % 5], (round / 5 % 5) as u32);
        let mut next = || element(&mut rng, format, kind);
        let a: [[u32; DEPTH]; ROWS] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
        let b: [[u32; WIDTH]; DEPTH] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
        let mut acc: Accumulators =
            std::array::from_fn(|_| std::array::from_fn(|_| f32::from_bits(element(&mut rng, Format::Tf32, kind))));
        let before = acc;
        run(format, &a, &b, &mut acc, false);
        for row in 0..ROWS {
            for column in 0..WIDTH {
                let column_of_b: Vec<u32> = b[..format.depth()].iter().map(|k| k[column]).collect();
                let expected = expected(format, &a[row][..format.depth()], &column_of_b, before[row][column]);
                let is = acc[row][column];
                assert!(is == expected || is.to_bits() == expected.to_bits(), "{format:?} {kind}: {is:e} {expected:e}");
            }
        }
    }
}

/// One sum of products of f16.
fn f16_sum(products: &[(f32, f32)], c: f32, negate: bool) -> f32 {
    let (mut a, mut b) = ([[0; MAX_DEPTH]; ROWS], [[0; WIDTH]; MAX_DEPTH]);
    for (k, (x, y)) in products.iter().enumerate() {
        a[3][k] = f16::from_f32(*x).to_bits().into();
        b[k][5] = f16::from_f32(*y).to_bits().into();
    }
    let mut acc = Accumulators::default();
    acc[3][5] = c;
    run(Format::F16, &a, &b, &mut acc, negate);
    acc[3][5]
}

#[test]
fn what_is_far_below_the_largest_is_cut_off() {
    let (one, small) = ((1.0, 1.0), 2f32.powi(-13));
    // 2^-26 is beyond the 25 bits, 2^-25 is not; the f32 has 23.
    assert_eq!(f16_sum(&[one, (small, small), (-1.0, 1.0)], 0.0, false), 0.0);
    assert_eq!(f16_sum(&[one, (2.0 * small, small), (-1.0, 1.0)], 0.0, false), 2f32.powi(-25));
    assert_eq!(f16_sum(&[one, (2.0 * small, small)], 0.0, false), 1.0);
    assert_eq!(f16_sum(&[one, (8.0 * small, small)], 0.0, false), 1.0 + f32::EPSILON);
    assert_eq!(f16_sum(&[one, (-2.0 * small, small)], 0.0, false), 1.0 - f32::EPSILON / 2.0, "toward 0");
    // 1.5 * 1.5 has the exponent 0.
    assert_eq!(f16_sum(&[(1.5, 1.5), (2.0 * small, small), (-1.5, 1.5)], 0.0, false), 2f32.powi(-25));
    assert_eq!(f16_sum(&[(2.0, 1.0), (2.0 * small, small), (-2.0, 1.0)], 0.0, false), 0.0);
    assert_eq!(f16_sum(&[(small, small)], 1.0, false), 1.0);
    assert_eq!(f16_sum(&[(3.0, 5.0)], 100.0, true), 85.0);
}

#[test]
fn infinities_are_those_of_the_summands() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    assert_eq!(f16_sum(&[(inf, -2.0), (1.0, 1.0)], 5.0, false), -inf);
    assert_eq!(f16_sum(&[(inf, -2.0)], 5.0, true), inf);
    for (products, c) in [(vec![(inf, 0.0)], 0.0), (vec![(inf, 1.0), (-inf, 1.0)], 0.0), (vec![(inf, 1.0)], -inf)] {
        assert_eq!(f16_sum(&products, c, false).to_bits(), 0x7fff_ffff);
    }
    assert_eq!(f16_sum(&[(nan, 1.0)], 0.0, false).to_bits(), 0x7fff_ffff);
    assert_eq!(f16_sum(&[(1.0, 1.0)], nan, false).to_bits(), 0x7fff_ffff);
    assert_eq!(f16_sum(&[(60_000.0, 60_000.0)], f32::MAX, false), f32::MAX, "what is too large only once it is added");
}

/// Prints the time of an MMA; `cargo test --release -p ptx-emu -- --ignored --nocapture time_of_an_mma`.
#[test]
#[ignore = "measures"]
fn time_of_an_mma() {
    let mut rng = StdRng::seed_from_u64(7);
    for format in FORMATS {
        let mut next = || element(&mut rng, format, 1);
        let a: [[u32; DEPTH]; ROWS] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
        let b: [[u32; WIDTH]; DEPTH] = std::array::from_fn(|_| std::array::from_fn(|_| next()));
        let mut acc = Accumulators::default();
        let simd = pulp::Arch::new();
        let (rows, columns) = (a.map(|row| Row::new(format, &row, false)), Columns::new(simd, format, &b));
        let rounds = 100_000;
        let start = std::time::Instant::now();
        (0..rounds).for_each(|_| multiply(simd, format, &rows, &columns, &mut acc));
        let ns = start.elapsed().as_nanos() as f64 / f64::from(rounds) / (ROWS * WIDTH * format.depth()) as f64;
        println!("{format:?}: {ns:.3} ns for each product; {}", acc[0][0]);
    }
}
