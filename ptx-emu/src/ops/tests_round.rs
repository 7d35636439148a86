//! Rounding and conversions, against the crates `half` and `rustc_apfloat` and Rust's own casts.

use half::{bf16, f16};
use rustc_apfloat::{Float, FloatConvert, Round, ieee};

use super::convert::Conversion;
use super::round::{BF16, E4M3, E5M2, F16, F32, F64, Format, TF32, from_f64, from_integer, to_f64};
use crate::types::Type;

const ROUNDS: [Round; 5] = [
    Round::NearestTiesToEven,
    Round::NearestTiesToAway,
    Round::TowardZero,
    Round::TowardPositive,
    Round::TowardNegative,
];

/// Bit patterns of all exponents, most of them near the ones where f16 and bf16 change.
fn patterns() -> impl Iterator<Item = u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

/// Doubles around a format's numbers: equal, at midpoints, and just off them.
fn near(format: &Format) -> impl Iterator<Item = f64> {
    let max = format.max;
    patterns().map(move |bits| {
        let (low, high) = (to_f64(format, bits % (max + 1)), to_f64(format, (bits % (max + 1) + 1).min(max)));
        let x = match bits >> 60 & 3 {
            0 => low,
            1 => (low + high) / 2.0,
            2 => ((low + high) / 2.0).next_up(),
            _ => ((low + high) / 2.0).next_down(),
        };
        if bits >> 63 != 0 { -x } else { x }
    })
}

fn matches_apfloat<F: Float>(format: &Format)
where
    ieee::Double: FloatConvert<F>,
{
    let wild = patterns().map(f64::from_bits).filter(|x| !x.is_nan());
    for x in near(format).take(50_000).chain(wild.take(50_000)) {
        for round in ROUNDS {
            let mut lost = false;
            let theirs: F = ieee::Double::from_bits(x.to_bits().into()).convert_r(round, &mut lost).value;
            assert_eq!(from_f64(format, round, x), theirs.to_bits() as u64, "{x:e} {round:?}");
        }
    }
}

#[test]
fn rounding_matches_apfloat() {
    matches_apfloat::<ieee::Half>(&F16);
    matches_apfloat::<ieee::BFloat>(&BF16);
    matches_apfloat::<ieee::Single>(&F32);
    matches_apfloat::<ieee::Float8E5M2>(&E5M2);
}

#[test]
fn every_half_becomes_a_double_and_back() {
    for bits in 0..=u16::MAX {
        let (ours, theirs) = (to_f64(&F16, bits.into()), f16::from_bits(bits).to_f64());
        assert!(ours == theirs || ours.is_nan() && theirs.is_nan(), "{bits:04x}");
        let (ours_b, theirs) = (to_f64(&BF16, bits.into()), bf16::from_bits(bits).to_f64());
        assert!(ours_b == theirs || ours_b.is_nan() && theirs.is_nan(), "{bits:04x}");
        for (format, x) in [(&F16, ours), (&BF16, ours_b)] {
            for round in ROUNDS {
                let back = from_f64(format, round, x);
                assert_eq!(back, if x.is_nan() { 0x7fff } else { bits.into() });
            }
        }
    }
}

#[test]
fn small_formats_round_to_the_nearest_of_their_numbers() {
    // E4M3 and TF32 are in no crate: the nearest number is searched for.
    for format in [&E4M3, &E5M2] {
        for x in near(format).take(20_000).filter(|x| x.abs() <= to_f64(format, format.max)) {
            let code = from_f64(format, Round::NearestTiesToEven, x);
            let error = (to_f64(format, code) - x).abs();
            for other in 0..=format.max {
                let other_error = (to_f64(format, other) - x.abs()).abs();
                assert!(error < other_error || error == other_error && (code & 1 == 0 || other == code & 0x7f));
            }
        }
    }
    assert_eq!(from_f64(&E4M3, Round::NearestTiesToEven, 1e9), 0x7e);
    assert_eq!(to_f64(&E4M3, 0x7e), 448.0);
    assert!(to_f64(&E4M3, 0xff).is_nan());
    assert_eq!(from_f64(&TF32, Round::NearestTiesToAway, 1.0 + 2f64.powi(-11)) << 13, 0x3f80_2000);
}

#[test]
fn integers_become_floats_as_casts_do() {
    let nearest = Round::NearestTiesToEven;
    for bits in patterns().take(200_000) {
        let x = bits >> (bits & 63);
        assert_eq!(from_integer(&F32, nearest, x.into()), u64::from((x as f32).to_bits()));
        assert_eq!(from_integer(&F64, nearest, x.into()), (x as f64).to_bits());
        assert_eq!(from_integer(&F64, nearest, (x as i64).into()), (x as i64 as f64).to_bits());
    }
}

#[test]
fn floats_become_integers_as_casts_do() {
    let to = |to, x: f64| {
        Conversion { integral: Some(Round::TowardZero), ..Conversion::plain(to, Type::F64) }.apply(x.to_bits())
    };
    let interesting = [0.0, -0.0, 0.9, -0.9, 127.5, -128.9, 1e5, -1e5, 1e10, 1e19, -1e19, 1e300, f64::INFINITY];
    let random = patterns().take(100_000).map(|bits| f64::from_bits(bits & !(1 << 62) | 0x3ff << 52 & (bits << 3)));
    for x in interesting.into_iter().chain(random).filter(|x| !x.is_nan()) {
        assert_eq!(to(Type::U8, x), u64::from(x as u8));
        assert_eq!(to(Type::S8, x), x as i8 as u64);
        assert_eq!(to(Type::U16, x), u64::from(x as u16));
        assert_eq!(to(Type::S32, x), x as i32 as u64);
        assert_eq!(to(Type::U64, x), x as u64);
        assert_eq!(to(Type::S64, x), x as i64 as u64);
    }
    assert_eq!(to(Type::S32, f64::NAN), 0xffff_ffff_8000_0000);
    assert_eq!(to(Type::U32, f64::NAN), 0x8000_0000);
    let single =
        |to| Conversion { integral: Some(Round::TowardZero), ..Conversion::plain(to, Type::F32) }.apply(0x7fc0_0000);
    assert_eq!([single(Type::S32), single(Type::U16), single(Type::U64)], [0, 0, 1 << 63]);
}
