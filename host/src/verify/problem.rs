//! One matrix product to measure: the library's problem, and what its operands are drawn from.

use std::ops::Deref;

use gpu_kernels::Element;

use super::element;
use super::matrix::{GUARD, Shape};
use crate::Error;

/// A matrix product whose operands are random numbers, with guard bands around each matrix.
///
/// ```
/// use host::{Error, Problem};
///
/// // C = 2*A*B - 0.5*C with C a part, 100 x 20, of a matrix of 64 columns.
/// let problem = Problem::new(100, 20, 30)?.with_scalars(2.0, -0.5)?.with_leading_dimensions(30, 20, 64)?.with_seed(7);
/// assert_eq!((problem.m, problem.ldc, problem.seed), (100, 64, 7));
/// assert!(problem.reads_inputs() && problem.reads_c());
/// assert_eq!(problem.shapes().map(|shape| (shape.rows, shape.columns, shape.ld)), [(100, 30, 30), (30, 20, 20), (100, 20, 64)]);
///
/// // A result that overflows cannot be verified.
/// assert!(matches!(problem.with_scalars(f32::MAX, 0.0), Err(Error::Scalars { .. })));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Problem {
    /// The product.
    pub gemm: sgemm::Problem,
    /// What the operands are drawn from.
    pub seed: u64,
}

impl Deref for Problem {
    type Target = sgemm::Problem;

    fn deref(&self) -> &sgemm::Problem {
        &self.gemm
    }
}

impl Problem {
    /// C = A\*B of f32, without gaps between the rows, seed 0.
    ///
    /// # Errors
    /// Those of [`sgemm::Problem::new`].
    pub fn new(m: u32, n: u32, k: u32) -> Result<Self, Error> {
        Self { gemm: sgemm::Problem::new(m, n, k)?, seed: 0 }.checked()
    }

    /// The same problem with A and B made of `input`, and C of `output`.
    ///
    /// # Errors
    /// [`Error::Scalars`] where C would overflow.
    pub fn with_elements(self, input: Element, output: Element) -> Result<Self, Error> {
        Self { gemm: self.gemm.with_elements(input, output), ..self }.checked()
    }

    /// The same problem with these factors.
    ///
    /// # Errors
    /// [`Error::Scalars`] where C would overflow.
    pub fn with_scalars(self, alpha: f32, beta: f32) -> Result<Self, Error> {
        Self { gemm: self.gemm.with_scalars(alpha, beta), ..self }.checked()
    }

    /// The same problem with these leading dimensions.
    ///
    /// # Errors
    /// Those of [`sgemm::Problem::with_leading_dimensions`].
    pub fn with_leading_dimensions(self, lda: u32, ldb: u32, ldc: u32) -> Result<Self, Error> {
        Self { gemm: self.gemm.with_leading_dimensions(lda, ldb, ldc)?, ..self }.checked()
    }

    /// The same problem with operands drawn from this seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    fn checked(self) -> Result<Self, Error> {
        self.validate()?;
        Ok(self)
    }

    /// Checks what the constructors check, for a problem whose fields were set by hand.
    ///
    /// # Errors
    /// Those of [`sgemm::Problem::validate`], with the guard bands' bytes, and [`Error::Scalars`].
    pub fn validate(&self) -> Result<(), Error> {
        self.gemm.validate()?;
        let sgemm::Problem { m, n, k, alpha, beta, output, .. } = self.gemm;
        if self.bytes_of(|_| Element::F32.bytes()).is_none() {
            return Err(sgemm::Error::SizeOverflow { m, n, k }.into());
        }
        // Elements are below 1 in magnitude, so that no partial sum passes this one; NaN fails the comparison as well.
        let (k, magnitudes) = (f64::from(k.max(1)), [alpha, beta].map(|factor| f64::from(factor.abs())));
        let is_within = |sum: f64, most: f64| magnitudes[0] * sum + magnitudes[1] <= most;
        // The result is far smaller: products have a standard deviation of 1/3, so that this is twelve of a sum's.
        let result = k.min(4.0 * k.sqrt());
        if !is_within(k, f32::MAX.into()) || !is_within(result, element::max(output)) {
            let output = if output == Element::F32 { "fp32" } else { output.name() };
            return Err(Error::Scalars { alpha, beta, output });
        }
        Ok(())
    }

    /// The shapes of A, B and C.
    #[must_use]
    pub fn shapes(&self) -> [Shape; 3] {
        let shape = |layout: sgemm::Layout| Shape {
            element: layout.element,
            rows: layout.rows as usize,
            columns: layout.columns as usize,
            ld: layout.ld as usize,
        };
        self.layouts().map(shape).into_array()
    }

    /// Bytes of device memory that the operands need, guard bands included.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes_of(Element::bytes).unwrap_or(u64::MAX)
    }

    /// Bytes of the host's memory that they need, where all elements are f32.
    #[must_use]
    pub fn host_bytes(&self) -> u64 {
        self.bytes_of(|_| Element::F32.bytes()).unwrap_or(u64::MAX)
    }

    /// `None` where the bytes are more than a pointer difference (an `isize`) can count.
    fn bytes_of(&self, element_bytes: impl Fn(Element) -> u32) -> Option<u64> {
        let mut bytes: u64 = 0;
        for Shape { element, rows, ld, .. } in self.shapes() {
            let elements = (rows as u64).checked_mul(ld as u64)?.checked_add(2 * GUARD as u64)?;
            bytes = bytes.checked_add(elements.checked_mul(element_bytes(element).into())?)?;
        }
        Some(bytes).filter(|bytes| isize::try_from(*bytes).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use gpu_kernels::MAX_SIZE;

    use super::*;

    #[test]
    fn bytes_include_the_guard_bands() {
        let problem = Problem::new(2, 3, 4).unwrap();
        assert_eq!(problem.bytes(), 4 * (8 + 12 + 6 + 6 * GUARD as u64));
    }

    #[test]
    fn elements_of_16_bits_are_half_as_large_and_end_earlier() {
        let problem = Problem::new(2, 3, 4).unwrap().with_elements(Element::F16, Element::F32).unwrap();
        let elements = 8 + 12 + 4 * GUARD as u64;
        assert_eq!(problem.bytes(), 2 * elements + 4 * (6 + 2 * GUARD as u64));
        assert_eq!(problem.host_bytes(), 4 * (8 + 12 + 6 + 6 * GUARD as u64));
        let sum = |k, alpha, output| {
            let problem = Problem::new(4, 4, k).unwrap().with_scalars(alpha, 0.0).unwrap();
            problem.with_elements(Element::F16, output).is_ok()
        };
        assert!(sum(1 << 20, 1.0, Element::F16) && !sum(1 << 20, 16.0, Element::F16));
        assert!(sum(1 << 20, 1e30, Element::Bf16) && sum(1 << 20, 1e30, Element::F32));
    }

    #[test]
    fn guard_bands_count_against_what_can_be_addressed() {
        // 2^61 - 1 elements: with their guard bands, they have more than `isize::MAX` bytes.
        let largest = sgemm::Problem::new(MAX_SIZE, 1, 1).unwrap();
        let gemm = largest.with_leading_dimensions(1 << 29, (1 << 30) - 1, 1 << 29).unwrap();
        let error = Problem { gemm, seed: 0 }.validate().unwrap_err();
        assert!(matches!(error, Error::Gemm(sgemm::Error::SizeOverflow { m: MAX_SIZE, n: 1, k: 1 })));
    }

    #[test]
    fn what_the_library_refuses_is_the_command_line_s_fault() {
        let problem = Problem::new(4, 5, 6).unwrap();
        let refused = [Problem::new(MAX_SIZE, 1, MAX_SIZE), Problem::new(1, 1, MAX_SIZE + 1)];
        for refused in refused.into_iter().chain([problem.with_leading_dimensions(6, 5, 4)]) {
            let error = refused.unwrap_err();
            assert!(matches!(error, Error::Gemm(_)) && error.exit_code() == 2, "{error}");
        }
    }

    #[test]
    fn refuses_scalars_that_overflow() {
        let problem = Problem::new(4, 5, 6).unwrap();
        for (alpha, beta) in [(f32::NAN, 0.0), (1.0, f32::INFINITY), (f32::MAX, 0.0)] {
            assert!(matches!(problem.with_scalars(alpha, beta), Err(Error::Scalars { .. })));
        }
    }
}
