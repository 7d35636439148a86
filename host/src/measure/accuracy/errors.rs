//! The errors of one result, and whether they are larger than another's.

use results::Verdict;

use crate::Matrix;
use crate::verify::reference::Reference;

/// SGEMM's errors below this are so small that others may be a little larger.
const SMALL: f64 = 2.5e-7;

/// How much larger.
const ALLOWED: f64 = 1.2;

/// The errors of a result against f64.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// ||C - reference|| / ||reference|| in the Frobenius norm.
    pub rel_error: f64,
    /// The largest |C - reference| / (|A|\*|B|) of an element.
    pub max_error: f64,
    /// The row and column of that element, where there is an error; that of the first NaN, where there is one.
    pub largest_at: Option<(usize, usize)>,
}

impl Errors {
    /// Compares the part of C that the reference has.
    #[must_use]
    pub fn of(reference: &Reference, c: &Matrix) -> Self {
        let (mut error_squares, mut squares) = (0.0, 0.0);
        let (mut max_error, mut largest_at) = (0.0_f64, None);
        let elements = reference.expected.iter().zip(&reference.magnitude);
        let coords = reference.rows.iter().flat_map(|&row| reference.columns.clone().map(move |column| (row, column)));
        for ((row, column), (expected, magnitude)) in coords.zip(elements) {
            let error = (f64::from(c.get(row, column)) - expected).abs();
            error_squares += error * error;
            squares += expected * expected;
            // Where all products are 0, any error is infinitely large.
            let scaled = if error == 0.0 { 0.0 } else { error / magnitude };
            if (scaled > max_error || scaled.is_nan()) && !max_error.is_nan() {
                (max_error, largest_at) = (scaled, Some((row, column)));
            }
        }
        let rel_error = if error_squares == 0.0 { 0.0 } else { (error_squares / squares).sqrt() };
        Self { rel_error, max_error, largest_at }
    }

    /// Both errors as multiples of another's; 1 where both are 0.
    #[must_use]
    pub fn ratios(&self, other: &Self) -> [f64; 2] {
        self.pairs(other).map(|(own, other)| if own == other { 1.0 } else { own / other })
    }

    /// Whether one of the errors is larger than SGEMM's. NaN is.
    #[must_use]
    pub fn verdict(&self, sgemm: &Self) -> Verdict {
        let no_larger = |(own, sgemm): (f64, f64)| own <= sgemm * if sgemm < SMALL { ALLOWED } else { 1.0 };
        if self.pairs(sgemm).into_iter().all(no_larger) { Verdict::NoLarger } else { Verdict::Larger }
    }

    fn pairs(&self, other: &Self) -> [(f64, f64); 2] {
        [(self.rel_error, other.rel_error), (self.max_error, other.max_error)]
    }
}

#[cfg(test)]
mod tests {
    use gpu_kernels::Element;

    use super::*;

    /// A 2 x 2 result, and what it must be.
    fn errors(c: [f32; 4]) -> Errors {
        let reference = Reference {
            rows: vec![0, 1],
            columns: 0..2,
            expected: vec![3.0, 4.0, 0.0, 12.0],
            magnitude: vec![3.0, 8.0, 2.0, 24.0],
        };
        let mut matrix = Matrix::new(Element::F32, 2, 2, 3).unwrap();
        for (i, value) in c.into_iter().enumerate() {
            matrix.set(i / 2, i % 2, value);
        }
        Errors::of(&reference, &matrix)
    }

    #[test]
    fn errors_are_those_of_their_definitions() {
        assert_eq!(errors([3.0, 4.0, 0.0, 12.0]), Errors { rel_error: 0.0, max_error: 0.0, largest_at: None });
        // The errors' squares: 1 + 0 + 1 + 4; the reference's: 9 + 16 + 0 + 144.
        let found = errors([4.0, 4.0, -1.0, 10.0]);
        assert_eq!(found.rel_error, (6.0_f64 / 169.0).sqrt());
        assert_eq!((found.max_error, found.largest_at), (0.5, Some((1, 0))));
    }

    #[test]
    fn a_part_of_c_is_compared_where_it_is() {
        let mut matrix = Matrix::new(Element::F32, 3, 4, 4).unwrap();
        matrix.set(2, 3, 5.0);
        let reference = Reference { rows: vec![2], columns: 2..4, expected: vec![0.0, 4.0], magnitude: vec![1.0, 4.0] };
        assert_eq!(
            Errors::of(&reference, &matrix),
            Errors { rel_error: 0.25, max_error: 0.25, largest_at: Some((2, 3)) }
        );
    }

    #[test]
    fn nan_and_errors_of_nothing_are_larger() {
        let right = errors([3.0, 4.0, 0.0, 12.0]);
        let nan = errors([3.0, f32::NAN, 1.0, 12.0]);
        assert!(nan.rel_error.is_nan() && nan.max_error.is_nan());
        assert_eq!((nan.largest_at, nan.verdict(&right)), (Some((0, 1)), Verdict::Larger));
        let zero = Reference { rows: vec![0], columns: 0..1, expected: vec![0.0], magnitude: vec![0.0] };
        let mut one = Matrix::new(Element::F32, 1, 1, 1).unwrap();
        one.fill(1.0);
        let found = Errors::of(&zero, &one);
        assert!(found.rel_error.is_infinite() && found.max_error.is_infinite());
        assert_eq!(found.verdict(&right), Verdict::Larger);
        assert_eq!(right.verdict(&right), Verdict::NoLarger);
    }

    #[test]
    fn a_fifth_more_is_allowed_where_the_error_is_small() {
        let of = |rel_error, max_error| Errors { rel_error, max_error, largest_at: None };
        let small = of(2e-7, 1e-7);
        assert_eq!(of(2.4e-7, 1.2e-7).verdict(&small), Verdict::NoLarger);
        assert_eq!(of(2.41e-7, 1e-7).verdict(&small), Verdict::Larger);
        assert_eq!(of(1e-7, 1.21e-7).verdict(&small), Verdict::Larger);
        let large = of(3e-7, 2.5e-7);
        assert_eq!(of(3e-7, 2.5e-7).verdict(&large), Verdict::NoLarger);
        assert_eq!(of(3.01e-7, 2e-7).verdict(&large), Verdict::Larger);
        assert_eq!(of(2e-7, 2.51e-7).verdict(&large), Verdict::Larger);
        assert_eq!(of(6e-7, 5e-7).ratios(&large), [2.0, 2.0]);
    }
}
