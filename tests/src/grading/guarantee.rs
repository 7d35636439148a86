//! The guarantee of the class fp32, and how much of it an error takes.

use super::{Case, Element, reference};

/// u, the unit roundoff of f32.
pub const UNIT_ROUNDOFF: f64 = 1.0 / (1 << 24) as f64;

/// The smallest f32.
const SMALLEST: f64 = 1.0 / (1u128 << 75) as f64 / (1u128 << 74) as f64;

/// The terms of the constant c(k) of a sum on the tensor cores: the first and the factor of sqrt(k / 32).
const TENSOR_CORES: [f64; 2] = [40.0, 3.0];

/// c(k) of a plan: k + 2, and on the tensor cores no more than those say.
#[must_use]
pub fn bound(k: usize, is_on_tensor_cores: bool) -> f64 {
    let [first, factor] = TENSOR_CORES;
    let roundings = k as f64 + 2.0;
    if is_on_tensor_cores { roundings.min(first + factor * (k as f64 / 32.0).sqrt()) } else { roundings }
}

/// The smallest c for which all elements of a computed C' meet |C - C'| <= u (c |alpha| |A||B| + 3 |beta C|) + (|alpha| k + 2) 2^-149.
/// Infinite where none is: an element is NaN or infinite and should not be, or is finite and should not be. Of an element whose terms
/// |A||B| reach the end of f32, a sum may overflow on its way: errors there are an infinity of the sign whose products do not, NaN where not
/// those of both signs do, and a finite element where a product is twice the largest f32, which no sum before it makes up for.
///
/// # Panics
/// If `computed` does not have the elements of C.
#[must_use]
pub fn grade(case: &Case, computed: &[f32]) -> f64 {
    let elements = reference(case);
    assert_eq!(elements.len(), computed.len(), "elements of C");
    elements.iter().zip(computed).map(|(element, &computed)| needed(case, element, computed)).fold(0.0, f64::max)
}

/// The c that an element needs.
fn needed(case: &Case, element: &Element, computed: f32) -> f64 {
    let [value, _] = element.value;
    if value.is_nan() || value.is_infinite() {
        let is_right = if value.is_nan() { computed.is_nan() } else { f64::from(computed) == value };
        return if is_right { 0.0 } else { f64::INFINITY };
    }
    let [_, _, k] = case.sizes;
    let alpha = f64::from(case.alpha).abs();
    // Half of the largest, so that no rounding on the way reaches the end.
    let may_overflow = |sum: f64| sum > f64::from(f32::MAX) / 2.0;
    let may_be_infinite = |products: f64| may_overflow(products.max(alpha * products + element.of_c));
    if may_be_infinite(element.products) {
        let is_negative = computed.is_sign_negative() != case.alpha.is_sign_negative();
        let is_right = if computed.is_nan() {
            element.by_sign.into_iter().all(may_overflow)
        } else if computed.is_infinite() {
            may_be_infinite(element.by_sign[usize::from(is_negative)])
        } else {
            element.largest <= 2.0 * f64::from(f32::MAX)
        };
        return if is_right { 0.0 } else { f64::INFINITY };
    }
    let error = element.error(computed);
    if error.is_nan() || error.is_infinite() {
        return f64::INFINITY;
    }
    let free = 3.0 * UNIT_ROUNDOFF * element.of_c + (alpha * k as f64 + 2.0) * SMALLEST;
    let rest = error - free;
    if rest <= 0.0 { 0.0 } else { rest / (UNIT_ROUNDOFF * alpha * element.products) }
}

/// The slope of log(error) against log(k), by least squares: at most 1 for grade A.
#[must_use]
pub fn slope(errors: &[(usize, f64)]) -> f64 {
    let points = || errors.iter().map(|&(k, error)| ((k as f64).ln(), error.ln()));
    let count = errors.len() as f64;
    let [x, y] = points().fold([0.0; 2], |[x, y], point| [x + point.0 / count, y + point.1 / count]);
    let moment = |f: fn(f64, f64) -> f64| points().map(|point| f(point.0 - x, point.1 - y)).sum::<f64>();
    moment(|x, y| x * y) / moment(|x, _| x * x)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn c_of(case: &Case, computed: f32) -> f64 {
        grade(case, &[computed])
    }

    #[test]
    fn an_error_is_counted_in_units_of_the_products() {
        let case = Case::product([1, 1, 2], vec![1.0, -1.0], vec![3.0, 1.0]);
        let off = 2.0 + 3.0 * 2f32.powi(-22);
        assert_eq!(c_of(&case, 2.0), 0.0);
        assert!((c_of(&case, off) - 3.0).abs() < 1e-9, "12 u of 4 u");
        // beta * C pays 3 u of its own.
        let with_c = case.with_c(1.0, 1.0, vec![-2.0]);
        assert!((c_of(&with_c, off - 2.0) - 1.5).abs() < 1e-9, "12 u less 6 u, of 4 u");
    }

    #[test]
    fn underflow_is_absolute_and_no_more() {
        let tiny = 2f32.powi(-149);
        let case = Case::product([1, 1, 1], vec![2f32.powi(-75)], vec![2f32.powi(-75)]);
        assert_eq!((c_of(&case, 0.0), c_of(&case, 3.0 * tiny)), (0.0, 0.0));
        assert!(c_of(&case, 4.0 * tiny) > 1.0);
    }

    #[test]
    fn what_is_not_finite_must_be_what_it_is() {
        let nan = Case::product([1, 1, 1], vec![0.0], vec![f32::INFINITY]);
        assert_eq!((c_of(&nan, f32::NAN), c_of(&nan, 0.0)), (0.0, f64::INFINITY));
        let infinite = Case::product([1, 1, 1], vec![-1.0], vec![f32::INFINITY]);
        assert_eq!((c_of(&infinite, f32::NEG_INFINITY), c_of(&infinite, f32::INFINITY)), (0.0, f64::INFINITY));
        let finite = Case::product([1, 1, 1], vec![1.0], vec![1.0]);
        assert_eq!((c_of(&finite, f32::NAN), c_of(&finite, f32::INFINITY)), (f64::INFINITY, f64::INFINITY));
        let large = Case::product([1, 1, 2], vec![1e30, 1e30], vec![1e30, 1e30]);
        assert_eq!((c_of(&large, f32::INFINITY), c_of(&large, f32::NAN)), (0.0, f64::INFINITY));
        assert_eq!(c_of(&large, 0.0), f64::INFINITY);
        assert_eq!(c_of(&large, f32::NEG_INFINITY), f64::INFINITY);
        let opposite = Case::product([1, 1, 2], vec![1e20, 1e20], vec![1e20, -1e20]);
        assert_eq!((c_of(&opposite, f32::NAN), c_of(&opposite, 0.0)), (0.0, f64::INFINITY));
        let just_below = Case::product([1, 1, 2], vec![2e19, 2e19], vec![1e19, -1e19]);
        assert_eq!((c_of(&just_below, f32::INFINITY), c_of(&just_below, 0.0)), (0.0, 0.0));
    }

    #[test]
    fn the_slope_is_the_exponent() {
        let errors = [4, 16, 64].map(|k| (k, 3.0 * (k as f64).powf(0.7)));
        assert!((slope(&errors) - 0.7).abs() < 1e-12);
        assert_eq!((bound(1, true), bound(4096, true), bound(4096, false)), (3.0, 40.0 + 3.0 * 128f64.sqrt(), 4098.0));
    }
}
