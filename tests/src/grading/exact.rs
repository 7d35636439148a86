//! What an element must be, and the sum of absolute values to which its error is compared.

use super::Case;

/// An element of alpha\*A\*B + beta\*C.
#[derive(Debug, Clone, Copy)]
pub struct Element {
    /// Its value as an unevaluated sum of two f64, within 2^-100 of `products`.
    pub value: [f64; 2],
    /// |A|\*|B|.
    pub products: f64,
    /// The largest magnitude of a product.
    pub largest: f64,
    /// The magnitudes of the positive and of the negative ones.
    pub by_sign: [f64; 2],
    /// |beta\*C|.
    pub of_c: f64,
}

impl Element {
    /// The distance of a computed element from it.
    #[must_use]
    pub fn error(&self, computed: f32) -> f64 {
        let [value, rest] = self.value;
        // Exact for what is near: Sterbenz.
        ((f64::from(computed) - value) - rest).abs()
    }
}

/// Every element of C, row by row. Products of two f32 are exact in f64 and are added with compensation: T. Ogita, S. M. Rump and
/// S. Oishi, "Accurate sum and dot product", 2005. Infinities and NaN come out as those of any order of summation that does not
/// overflow on its way.
#[must_use]
pub fn reference(case: &Case) -> Vec<Element> {
    let [m, n, k] = case.sizes;
    let (alpha, beta) = (f64::from(case.alpha), f64::from(case.beta));
    let element = |i: usize, j: usize| {
        let (mut sum, mut by_sign, mut largest) = ([0.0; 2], [0.0; 2], 0.0f64);
        for p in 0..k {
            let product = f64::from(case.a[i * k + p]) * f64::from(case.b[p * n + j]);
            sum = add(sum, product);
            by_sign[usize::from(product < 0.0)] += product.abs();
            largest = largest.max(product.abs());
        }
        let of_c = if beta == 0.0 { 0.0 } else { beta * f64::from(case.c[i * n + j]) };
        let products = by_sign.iter().sum();
        Element { value: add(scaled(sum, alpha), of_c), products, largest, by_sign, of_c: of_c.abs() }
    };
    (0..m * n).map(|at| element(at / n, at % n)).collect()
}

/// `sum` + `value`, in double-double. D. E. Knuth's sum of two numbers and its error.
fn add([high, low]: [f64; 2], value: f64) -> [f64; 2] {
    let sum = high + value;
    if !sum.is_finite() {
        return [sum, 0.0];
    }
    let of_value = sum - high;
    let error = (high - (sum - of_value)) + (value - of_value);
    [sum, low + error]
}

/// `sum` times an f32, in double-double.
fn scaled([high, low]: [f64; 2], factor: f64) -> [f64; 2] {
    let product = high * factor;
    if !product.is_finite() {
        return [product, 0.0];
    }
    [product, high.mul_add(factor, -product) + low * factor]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cancels_is_left_to_the_last_bit() {
        let big = 2f32.powi(60);
        let case = Case::product([1, 1, 3], vec![big, 1.0, -big], vec![big, 2f32.powi(-30), big]);
        let [element] = reference(&case)[..] else { panic!("one element") };
        assert_eq!(element.error(2f32.powi(-30)), 0.0);
        assert_eq!(element.error(0.0), 2f64.powi(-30));
        assert_eq!(element.products, 2f64.powi(121));
    }

    #[test]
    fn alpha_beta_and_infinities_are_those_of_the_definition() {
        let case = Case::product([1, 2, 1], vec![3.0], vec![5.0, f32::INFINITY]).with_c(-2.0, 0.5, vec![8.0, 1.0]);
        let elements = reference(&case);
        assert_eq!((elements[0].value, elements[0].products, elements[0].of_c), ([-26.0, 0.0], 15.0, 4.0));
        assert_eq!(elements[1].value[0], f64::NEG_INFINITY);
        let unread = Case::product([1, 1, 1], vec![0.0], vec![f32::INFINITY]);
        assert!(reference(&unread)[0].value[0].is_nan());
    }
}
