use super::*;
use crate::ops::float::{canonical, flush, output64};
use crate::ops::round::{BF16, F16};

/// The tables of the PTX ISA: -inf, -0, +0, +inf.
#[test]
fn special_inputs() {
    let inf = f32::INFINITY;
    let table = |f: fn(f32, bool) -> f32| [-inf, -0.0, 0.0, inf].map(|x| f(x, false).to_bits());
    let bits = |values: [f32; 4]| values.map(f32::to_bits);
    assert_eq!(table(rcp), bits([-0.0, -inf, inf, 0.0]));
    assert_eq!(table(sqrt)[1..], bits([0.0, -0.0, 0.0, inf])[1..]);
    assert_eq!(table(rsqrt)[1..], bits([0.0, -inf, inf, 0.0])[1..]);
    assert_eq!(table(ex2), bits([0.0, 1.0, 1.0, inf]));
    assert_eq!(table(lg2)[1..], bits([0.0, -inf, -inf, inf])[1..]);
    assert_eq!(table(sin)[1..3], bits([0.0, -0.0, 0.0, 0.0])[1..3]);
    assert_eq!(table(cos)[1..3], bits([0.0, 1.0, 1.0, 0.0])[1..3]);
    assert_eq!(table(tanh), bits([-1.0, -0.0, 0.0, 1.0]));
    assert!(sqrt(-inf, false).is_nan() && rsqrt(-1.0, false).is_nan() && lg2(-1.0, false).is_nan());
    assert!(sin(inf, false).is_nan());
    assert_eq!(div(1.0, 2f32.powi(127), false), 0.0);
    assert!(div(inf, 2f32.powi(127), false).is_nan());
    assert_eq!(div_full(1.0, 2f32.powi(127), false), 2f32.powi(-127));
    assert_eq!(rcp64(3.0).to_bits() as u32, 0);
    assert_eq!(rcp64(f64::from_bits(1)), f64::INFINITY);
}

/// One sample of a file: as many little-endian numbers of `N` bytes as an instruction has operands.
fn numbers<const N: usize>(sample: &[u8]) -> Vec<u64> {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |high, byte| high << 8 | u64::from(*byte));
    sample.chunks_exact(N).map(number).collect()
}

/// Samples of arguments and the result that an H200 gives, against what `f` makes of the arguments.
fn check<const N: usize>(name: &str, samples: &[u8], operands: usize, f: impl Fn(&[u64]) -> u64) {
    assert!(samples.len() / (N * operands) >= 2000, "{name}: {} bytes", samples.len());
    for sample in samples.chunks_exact(N * operands) {
        let sample = numbers::<N>(sample);
        let (expected, arguments) = sample.split_last().unwrap();
        let result = f(arguments);
        assert_eq!(result, *expected, "{name} of {arguments:x?}: {result:x} instead of {expected:x}");
    }
}

/// A number in or out of an instruction of single precision.
fn mode(ftz: bool, x: f32) -> f32 {
    canonical(if ftz { flush(x) } else { x })
}

macro_rules! samples {
    ($name:literal) => {
        include_bytes!(concat!("../../../tests/mufu/", $name, ".bin"))
    };
}

/// Arguments of all magnitudes, special ones, and the ends of slices.
#[test]
fn single() {
    macro_rules! check {
        ($($name:literal $f:ident $ftz:literal)*) => {$(
            check::<4>($name, samples!($name), 2, |x| {
                mode($ftz, $f(mode($ftz, f32::from_bits(x[0] as u32)), $ftz)).to_bits().into()
            });
        )*};
    }
    check! {
        "rcp" rcp false "rcp_ftz" rcp true
        "sqrt" sqrt false "sqrt_ftz" sqrt true
        "rsqrt" rsqrt false "rsqrt_ftz" rsqrt true
        "ex2" ex2 false "ex2_ftz" ex2 true
        "lg2" lg2 false "lg2_ftz" lg2 true
        "sin" sin false "sin_ftz" sin true
        "cos" cos false "cos_ftz" cos true
        "tanh" tanh false
    }
}

/// Random bits, among them many that are subnormal and many that are large.
#[test]
fn division() {
    macro_rules! check {
        ($($name:literal $f:ident $ftz:literal)*) => {$(
            check::<4>($name, samples!($name), 3, |x| {
                let [a, b] = [x[0], x[1]].map(|x| mode($ftz, f32::from_bits(x as u32)));
                mode($ftz, $f(a, b, $ftz)).to_bits().into()
            });
        )*};
    }
    check! {
        "div" div false "div_ftz" div true
        "div_full" div_full false "div_full_ftz" div_full true
    }
}

#[test]
fn double() {
    let number = |f: fn(f64) -> f64| move |x: &[u64]| f(f64::from_bits(x[0])).to_bits();
    check::<8>("rcp64", samples!("rcp64"), 2, number(rcp64));
    check::<8>("rsqrt64_ftz", samples!("rsqrt64_ftz"), 2, number(rsqrt64_ftz));
    check::<8>("rsqrt64", samples!("rsqrt64"), 2, number(|x| output64(rsqrt64(x), [x])));
}

#[test]
fn half_precision() {
    let number = |f: fn(f32, bool) -> f32, format, ftz| {
        move |x: &[u64]| half(f, Half { format, ftz, sat: false, relu: false }, x[0] as u16).into()
    };
    check::<2>("ex2_f16", samples!("ex2_f16"), 2, number(ex2, &F16, false));
    check::<2>("ex2_bf16", samples!("ex2_bf16"), 2, number(ex2, &BF16, true));
    check::<2>("tanh_f16", samples!("tanh_f16"), 2, number(tanh, &F16, false));
    check::<2>("tanh_bf16", samples!("tanh_bf16"), 2, number(tanh, &BF16, false));
}
