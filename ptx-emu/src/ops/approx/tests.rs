use super::*;
use crate::ops::float::{canonical, flush};

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

/// Pairs of an argument and what an H200 gives for it, little-endian.
fn check(name: &str, samples: &[u8], f: fn(f32, bool) -> f32, ftz: bool) {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let modes = |x: f32| canonical(if ftz { flush(x) } else { x });
    assert!(samples.len() >= 8 * 2000, "{name}");
    for pair in samples.chunks_exact(8) {
        let (argument, expected) = (word(&pair[..4]), word(&pair[4..]));
        let result = modes(f(modes(f32::from_bits(argument)), ftz)).to_bits();
        assert_eq!(result, expected, "{name} of {argument:08x}: {result:08x} instead of {expected:08x}");
    }
}

/// Arguments of all magnitudes, special ones, and the ends of the slices.
#[test]
fn as_measured() {
    macro_rules! check {
        ($($file:literal $f:ident $ftz:literal)*) => {
            $(check($file, include_bytes!(concat!("../../../tests/mufu/", $file, ".bin")), $f, $ftz);)*
        };
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
