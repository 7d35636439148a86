//! The sizes and factors of one matrix product.

use gpu_kernels::{Element, MAX_SIZE};

use crate::matrix::{GUARD, Shape};
use crate::{Error, Kernel, element};

/// One matrix product: C = alpha\*A\*B + beta\*C, where A is m x k, B is k x n and C is m x n.
///
/// All three are row-major: element (i, j) of A lies at `i * lda + j`. Sizes and leading dimensions count elements.
///
/// ```
/// use host::{Error, Problem};
///
/// // C = 2*A*B - 0.5*C with C a part, 100 x 20, of a matrix of 64 columns.
/// let problem = Problem::new(100, 20, 30)?.with_scalars(2.0, -0.5)?.with_leading_dimensions(30, 20, 64)?;
/// assert_eq!(problem.flops(), 2.0 * 100.0 * 20.0 * 30.0);
/// assert!(problem.reads_inputs() && problem.reads_c());
/// assert_eq!(problem.shapes().map(|shape| (shape.rows, shape.columns, shape.ld)), [(100, 30, 30), (30, 20, 20), (100, 20, 64)]);
///
/// // A row of C has 20 elements.
/// let error = problem.with_leading_dimensions(30, 20, 16).unwrap_err();
/// assert!(matches!(error, Error::LeadingDimension { name: "ldc", .. }));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Problem {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// The factor of A\*B. At 0, A and B are not read.
    pub alpha: f32,
    /// The factor of C. At 0, C is not read.
    pub beta: f32,
    /// Elements from one row of A to the next, at least k.
    pub lda: u32,
    /// Elements from one row of B to the next, at least n.
    pub ldb: u32,
    /// Elements from one row of C to the next, at least n.
    pub ldc: u32,
    /// What the operands are drawn from.
    pub seed: u64,
    /// What A and B are made of.
    pub input: Element,
    /// What C is made of.
    pub output: Element,
}

impl Problem {
    /// C = A\*B of f32, without gaps between the rows, seed 0.
    ///
    /// # Errors
    /// [`Error::TooLarge`] above [`MAX_SIZE`], [`Error::SizeOverflow`] where the bytes of the matrices cannot be counted.
    pub fn new(m: u32, n: u32, k: u32) -> Result<Self, Error> {
        // BLAS wants leading dimensions of at least 1, of empty matrices too.
        let (lda, ldb, ldc) = (k.max(1), n.max(1), n.max(1));
        let (input, output) = (Element::F32, Element::F32);
        let problem = Self { m, n, k, alpha: 1.0, beta: 0.0, lda, ldb, ldc, seed: 0, input, output };
        problem.validate()?;
        Ok(problem)
    }

    /// The same problem with A and B made of `input`, and C of `output`.
    ///
    /// # Errors
    /// [`Error::Scalars`] where C would overflow.
    pub fn with_elements(self, input: Element, output: Element) -> Result<Self, Error> {
        let problem = Self { input, output, ..self };
        problem.validate()?;
        Ok(problem)
    }

    /// The same problem with matrices as the kernel has them.
    ///
    /// # Errors
    /// As of [`Self::with_elements`].
    pub fn for_kernel(self, kernel: Kernel) -> Result<Self, Error> {
        let [input, output] = kernel.elements();
        self.with_elements(input, output)
    }

    /// Checks that the matrices are made of what the kernel takes.
    pub(crate) fn check_kernel(&self, kernel: Kernel) -> Result<(), Error> {
        let (takes, found) = (kernel.elements(), [self.input, self.output]);
        if takes == found {
            return Ok(());
        }
        let [takes, found] = [takes, found].map(|elements| elements.map(Element::name));
        Err(Error::Elements { kernel: kernel.name(), takes, found })
    }

    /// The same problem with these factors.
    ///
    /// # Errors
    /// [`Error::Scalars`] where C would overflow.
    pub fn with_scalars(self, alpha: f32, beta: f32) -> Result<Self, Error> {
        let problem = Self { alpha, beta, ..self };
        problem.validate()?;
        Ok(problem)
    }

    /// The same problem with these leading dimensions.
    ///
    /// # Errors
    /// [`Error::LeadingDimension`] where one is shorter than a row, [`Error::SizeOverflow`] as in [`Self::new`].
    pub fn with_leading_dimensions(self, lda: u32, ldb: u32, ldc: u32) -> Result<Self, Error> {
        let problem = Self { lda, ldb, ldc, ..self };
        problem.validate()?;
        Ok(problem)
    }

    /// The same problem with operands drawn from this seed.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Checks what the constructors check, for a problem whose fields were set by hand.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::LeadingDimension`], [`Error::SizeOverflow`] or [`Error::Scalars`], as of the
    /// constructors.
    pub fn validate(&self) -> Result<(), Error> {
        let sizes =
            [("m", self.m), ("n", self.n), ("k", self.k), ("lda", self.lda), ("ldb", self.ldb), ("ldc", self.ldc)];
        if let Some((name, value)) = sizes.into_iter().find(|(_, value)| *value > MAX_SIZE) {
            return Err(Error::TooLarge { name, value, most: MAX_SIZE });
        }
        for (name, value, columns) in [("lda", self.lda, self.k), ("ldb", self.ldb, self.n), ("ldc", self.ldc, self.n)]
        {
            if value < columns.max(1) {
                return Err(Error::LeadingDimension { name, value, columns: columns.max(1) });
            }
        }
        if self.bytes_of(|_| Element::F32.bytes()).is_none() {
            return Err(Error::SizeOverflow { m: self.m, n: self.n, k: self.k });
        }
        // Elements are below 1 in magnitude, so that no partial sum passes this one; NaN fails the comparison as well.
        let (k, alpha, beta) = (f64::from(self.k.max(1)), f64::from(self.alpha.abs()), f64::from(self.beta.abs()));
        let fits = |sum: f64, most: f64| alpha * sum + beta <= most;
        // The result is far smaller: products have a standard deviation of 1/3, so that this is twelve of a sum's.
        let result = k.min(4.0 * k.sqrt());
        if !fits(k, f32::MAX.into()) || !fits(result, element::max(self.output)) {
            let output = if self.output == Element::F32 { "fp32" } else { self.output.name() };
            return Err(Error::Scalars { alpha: self.alpha, beta: self.beta, output });
        }
        Ok(())
    }

    /// The shapes of A, B and C.
    #[must_use]
    pub fn shapes(&self) -> [Shape; 3] {
        let shape = |element, rows, columns, ld| Shape {
            element,
            rows: rows as usize,
            columns: columns as usize,
            ld: ld as usize,
        };
        let Self { m, n, k, lda, ldb, ldc, input, output, .. } = *self;
        [shape(input, m, k, lda), shape(input, k, n, ldb), shape(output, m, n, ldc)]
    }

    /// Floating-point operations: 2\*m\*n\*k.
    #[must_use]
    pub fn flops(&self) -> f64 {
        2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k)
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

    /// Whether A\*B has any part in the result: BLAS reads neither A nor B otherwise.
    #[must_use]
    pub fn reads_inputs(&self) -> bool {
        self.alpha != 0.0 && self.k != 0
    }

    /// Whether the old C has any part in the result: BLAS does not read it otherwise.
    #[must_use]
    pub fn reads_c(&self) -> bool {
        self.beta != 0.0
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
    use super::*;

    #[test]
    fn counts_operations_and_bytes() {
        let problem = Problem::new(2, 3, 4).unwrap();
        assert_eq!(problem.flops(), 48.0);
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
    fn empty_sizes_are_valid() {
        for (m, n, k) in [(0, 5, 5), (5, 0, 5), (5, 5, 0), (0, 0, 0)] {
            assert!(Problem::new(m, n, k).is_ok());
        }
    }

    #[test]
    fn refuses_bytes_that_overflow() {
        let error = Problem::new(MAX_SIZE, 1, MAX_SIZE).unwrap_err();
        assert!(matches!(error, Error::SizeOverflow { .. }));
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn refuses_sizes_above_the_largest() {
        let error = Problem::new(1, 1, MAX_SIZE + 1).unwrap_err();
        assert!(matches!(error, Error::TooLarge { name: "k", value: 2147483648, .. }));
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn refuses_short_leading_dimensions() {
        let problem = Problem::new(4, 5, 6).unwrap();
        assert!(matches!(problem.with_leading_dimensions(5, 5, 5), Err(Error::LeadingDimension { name: "lda", .. })));
        assert!(matches!(problem.with_leading_dimensions(6, 5, 4), Err(Error::LeadingDimension { name: "ldc", .. })));
    }

    #[test]
    fn refuses_scalars_that_overflow() {
        let problem = Problem::new(4, 5, 6).unwrap();
        for (alpha, beta) in [(f32::NAN, 0.0), (1.0, f32::INFINITY), (f32::MAX, 0.0)] {
            assert!(matches!(problem.with_scalars(alpha, beta), Err(Error::Scalars { .. })));
        }
    }
}
