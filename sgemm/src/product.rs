//! One matrix product as kernels take it: row-major operands.

use gpu_kernels::{Element, MAX_SIZE, Step};

use crate::Error;

/// A value for each of A, B and C.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Abc<T> {
    /// A's.
    pub a: T,
    /// B's.
    pub b: T,
    /// C's.
    pub c: T,
}

impl<T> Abc<T> {
    /// What `f` makes of each of the three.
    #[must_use]
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> Abc<U> {
        Abc { a: f(self.a), b: f(self.b), c: f(self.c) }
    }

    /// A's, B's and C's, in this order.
    #[must_use]
    pub fn into_array(self) -> [T; 3] {
        [self.a, self.b, self.c]
    }
}

impl<T> From<[T; 3]> for Abc<T> {
    fn from([a, b, c]: [T; 3]) -> Self {
        Self { a, b, c }
    }
}

/// A row-major matrix: element (i, j) lies at `i * ld + j`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// What it is made of.
    pub element: Element,
    /// Its rows.
    pub rows: u32,
    /// Its columns.
    pub columns: u32,
    /// Elements from one row to the next.
    pub ld: u32,
}

impl Matrix {
    /// Bytes from the first element to the end of the last row's gap: `rows * ld` elements. Below 2^64, since sizes are at most
    /// [`MAX_SIZE`].
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let elements = u64::from(self.rows) * u64::from(self.ld);
        elements.saturating_mul(self.element.bytes().into())
    }
}

/// One matrix product as kernels take it, C = alpha\*A\*B + beta\*C in place, where A is m x k, B is k x n and C is m x n.
///
/// All three are row-major: element (i, j) of A lies at `i * lda + j`. Sizes and leading dimensions count elements. Other layouts are
/// a [`Problem`](crate::Problem)'s, whose plan makes such products of them.
///
/// ```
/// use sgemm::{Error, Product};
///
/// // C is a part, 100 x 20, of a matrix of 64 columns.
/// let product = Product::new(100, 20, 30)?.with_leading_dimensions(30, 20, 64)?;
/// assert_eq!(product.flops(), 2.0 * 100.0 * 20.0 * 30.0);
/// assert_eq!(product.matrices().into_array().map(|matrix| (matrix.rows, matrix.columns, matrix.ld)), [
///     (100, 30, 30),
///     (30, 20, 20),
///     (100, 20, 64)
/// ]);
///
/// // A row of C has 20 elements.
/// let error = product.with_leading_dimensions(30, 20, 16).unwrap_err();
/// assert_eq!(error.to_string(), "ldc = 16 is too small: it is at least 20, the length of a row or, by columns, a column");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Columns of A, rows of B.
    pub k: u32,
    /// Elements from one row of A to the next, at least k.
    pub lda: u32,
    /// Elements from one row of B to the next, at least n.
    pub ldb: u32,
    /// Elements from one row of C to the next, at least n.
    pub ldc: u32,
    /// What A and B are made of.
    pub input: Element,
    /// What C is made of.
    pub output: Element,
}

impl Product {
    /// C = A\*B of f32, without gaps between the rows.
    ///
    /// # Errors
    /// [`Error::TooLarge`] above [`MAX_SIZE`], [`Error::SizeOverflow`] where the bytes of the matrices cannot be counted.
    pub fn new(m: u32, n: u32, k: u32) -> Result<Self, Error> {
        // BLAS wants leading dimensions of at least 1, of empty matrices too.
        let (lda, ldb, ldc) = (k.max(1), n.max(1), n.max(1));
        let (input, output) = (Element::F32, Element::F32);
        let product = Self { m, n, k, lda, ldb, ldc, input, output };
        product.validate()?;
        Ok(product)
    }

    /// The same product with A and B made of `input`, and C of `output`.
    #[must_use]
    pub fn with_elements(self, input: Element, output: Element) -> Self {
        Self { input, output, ..self }
    }

    /// The same product with these leading dimensions.
    ///
    /// # Errors
    /// [`Error::LeadingDimension`] where one is shorter than a row, [`Error::TooLarge`] and [`Error::SizeOverflow`] as in
    /// [`Self::new`].
    pub fn with_leading_dimensions(self, lda: u32, ldb: u32, ldc: u32) -> Result<Self, Error> {
        let product = Self { lda, ldb, ldc, ..self };
        product.validate()?;
        Ok(product)
    }

    /// Checks what the constructors check, for a product whose fields were set by hand.
    ///
    /// # Errors
    /// [`Error::TooLarge`], [`Error::LeadingDimension`] or [`Error::SizeOverflow`], as of the constructors.
    pub fn validate(&self) -> Result<(), Error> {
        let sizes =
            [("m", self.m), ("n", self.n), ("k", self.k), ("lda", self.lda), ("ldb", self.ldb), ("ldc", self.ldc)];
        if let Some((name, value)) = sizes.into_iter().find(|(_, value)| *value > MAX_SIZE) {
            return Err(Error::TooLarge { name, value: value as usize, most: MAX_SIZE as usize });
        }
        for (name, value, columns) in [("lda", self.lda, self.k), ("ldb", self.ldb, self.n), ("ldc", self.ldc, self.n)]
        {
            if value < columns.max(1) {
                return Err(Error::LeadingDimension { name, value: value as usize, least: columns.max(1) as usize });
            }
        }
        // A pointer difference counts up to `i64::MAX` bytes: of all three together, and where they are f32.
        let all_f32 = self.with_elements(Element::F32, Element::F32).matrices();
        let bytes = all_f32.map(|matrix| matrix.bytes()).into_array().into_iter().fold(0, u64::saturating_add);
        if i64::try_from(bytes).is_err() {
            return Err(Error::SizeOverflow { m: self.m, n: self.n, k: self.k });
        }
        Ok(())
    }

    /// A, B and C.
    #[must_use]
    pub fn matrices(&self) -> Abc<Matrix> {
        let Self { m, n, k, lda, ldb, ldc, input, output, .. } = *self;
        let matrix = |element, rows, columns, ld| Matrix { element, rows, columns, ld };
        Abc { a: matrix(input, m, k, lda), b: matrix(input, k, n, ldb), c: matrix(output, m, n, ldc) }
    }

    /// Checks that the matrices are made of what the step takes and gives.
    ///
    /// # Errors
    /// [`Error::Elements`] where they are not.
    pub fn check_elements(&self, step: &Step) -> Result<(), Error> {
        let (takes, found) = ([step.precision.input(), step.output], [self.input, self.output]);
        if takes == found { Ok(()) } else { Err(Error::Elements { kernel: step.slug, takes, found }) }
    }

    /// Floating-point operations: 2\*m\*n\*k.
    #[must_use]
    pub fn flops(&self) -> f64 {
        2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k)
    }

    /// Whether there is nothing to compute: C has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_operations_and_bytes() {
        let product = Product::new(2, 3, 4).unwrap();
        assert_eq!(product.flops(), 48.0);
        assert_eq!(product.matrices().map(|matrix| matrix.bytes()), Abc { a: 32, b: 48, c: 24 });
        let halves = product.with_elements(Element::F16, Element::F32);
        assert_eq!(halves.matrices().map(|matrix| matrix.bytes()), Abc { a: 16, b: 24, c: 24 });
    }

    #[test]
    fn empty_sizes_are_valid() {
        for (m, n, k) in [(0, 5, 5), (5, 0, 5), (5, 5, 0), (0, 0, 0)] {
            assert!(Product::new(m, n, k).is_ok());
        }
    }

    #[test]
    fn refuses_bytes_that_overflow() {
        let error = Product::new(MAX_SIZE, 1, MAX_SIZE).unwrap_err();
        assert!(matches!(error, Error::SizeOverflow { m: MAX_SIZE, n: 1, k: MAX_SIZE }));
        // Each of them alone can be counted.
        assert!(Product::new(MAX_SIZE, 1 << 29, 1 << 29).is_err());
        assert!(Product::new(MAX_SIZE, 1 << 28, 1 << 28).is_ok());
    }

    #[test]
    fn refuses_sizes_above_the_largest() {
        let error = Product::new(1, 1, MAX_SIZE + 1).unwrap_err();
        assert!(matches!(error, Error::TooLarge { name: "k", value: 2147483648, .. }));
    }

    #[test]
    fn refuses_short_leading_dimensions() {
        let product = Product::new(4, 5, 6).unwrap();
        assert!(matches!(product.with_leading_dimensions(5, 5, 5), Err(Error::LeadingDimension { name: "lda", .. })));
        assert!(matches!(product.with_leading_dimensions(6, 4, 5), Err(Error::LeadingDimension { name: "ldb", .. })));
        assert!(matches!(product.with_leading_dimensions(6, 5, 4), Err(Error::LeadingDimension { name: "ldc", .. })));
    }
}
