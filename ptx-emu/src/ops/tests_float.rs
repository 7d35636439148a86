//! Directed rounding, roots and NaN, against f64 and exact integers.

use rustc_apfloat::Round;

use super::float::{self, Modes, flush, min_max, min_max64, sqrt64};

fn singles() -> impl Iterator<Item = f32> {
    let mut state = 0x2545_f491u32;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        f32::from_bits(state)
    })
}

/// x rounded from a double that holds it exactly, by the adjacent floats.
fn rounded(x: f64, round: Round) -> f32 {
    let nearest = x as f32;
    match round {
        Round::TowardPositive if f64::from(nearest) < x => nearest.next_up(),
        Round::TowardNegative if f64::from(nearest) > x => nearest.next_down(),
        Round::TowardZero if f64::from(nearest).abs() > x.abs() => f32::from_bits(nearest.to_bits() - 1),
        _ => nearest,
    }
}

#[test]
fn products_and_roots_are_rounded_as_asked() {
    let numbers: Vec<f32> = singles().filter(|x| x.is_finite()).take(20_000).collect();
    for round in [Round::NearestTiesToEven, Round::TowardZero, Round::TowardPositive, Round::TowardNegative] {
        let modes = Modes { round, ftz: false, sat: false };
        for pair in numbers.windows(2) {
            let exact = f64::from(pair[0]) * f64::from(pair[1]);
            assert_eq!(modes.mul(pair[0], pair[1]).to_bits(), rounded(exact, round).to_bits(), "{pair:?} {round:?}");
            let (low, high) =
                (Modes { round: Round::TowardNegative, ..modes }, Modes { round: Round::TowardPositive, ..modes });
            let root = pair[0].abs();
            let (low, high) = (f64::from(low.sqrt(root)), f64::from(high.sqrt(root)));
            assert!(low * low <= f64::from(root) && f64::from(root) <= high * high);
        }
    }
}

#[test]
fn double_roots_enclose_the_root() {
    for x in singles().filter(|x| x.is_finite()).take(20_000) {
        // Also subnormal doubles.
        for x in [f64::from(x.abs()), f64::from_bits(u64::from(x.to_bits()) << 3)] {
            let (low, high) = (sqrt64(Round::TowardNegative, x), sqrt64(Round::TowardPositive, x));
            assert!(low == high || low.next_up() == high, "{x:e}");
            assert!([low, high].contains(&x.sqrt()) && sqrt64(Round::NearestTiesToEven, x) == x.sqrt());
        }
    }
}

#[test]
fn fused_multiply_add_is_rounded_once() {
    let nearest = Modes { round: Round::NearestTiesToEven, ftz: false, sat: false };
    let numbers: Vec<f32> = singles().take(30_000).collect();
    for abc in numbers.windows(3) {
        let ours = float::canonical(abc[0].mul_add(abc[1], abc[2]));
        assert_eq!(nearest.fma(abc[0], abc[1], abc[2]).to_bits(), ours.to_bits(), "{abc:?}");
    }
}

#[test]
fn zeros_and_nan() {
    assert_eq!(flush(f32::from_bits(0x807f_ffff)).to_bits(), 0x8000_0000);
    assert_eq!(min_max(0.0, -0.0, true).to_bits(), 0x8000_0000);
    assert_eq!(min_max(-0.0, 0.0, false).to_bits(), 0);
    assert_eq!(min_max(f32::NAN, -f32::NAN, false).to_bits(), 0x7fff_ffff);
    assert_eq!(min_max(f32::NAN, 1.0, true), 1.0);
    assert_eq!(min_max64(1.0, f64::NAN, false), 1.0);
    assert_eq!(min_max64(-3.0, 2.0, true), -3.0);
    assert_eq!(float::mul64(Round::TowardZero, 0.0, f64::INFINITY).to_bits(), 0xfff8_0000_0000_0000);
}
