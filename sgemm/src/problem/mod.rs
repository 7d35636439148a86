//! The whole operation: sizes, layouts, batch, elements, accuracy, epilogue.

mod determinism;
mod epilogue;
mod given;
mod layout;

use gpu_kernels::{BiasPer, Element, MAX_SIZE, Precision, SHORTEST_SPLIT_K, Step};

pub use determinism::Determinism;
pub use epilogue::{Epilogue, Scalars};
pub(crate) use given::{Given, check_count};
pub use layout::Layout;
pub(crate) use layout::Order;

use crate::{AccuracyClass, Error, LONGEST_TF32_SPLIT_K, Product};

/// D = activation(alpha\*A\*B + beta\*C + bias), once or for each problem of a strided batch. A is m x k, B is k x n, C and D are
/// m x n; D is C itself unless [`Self::with_d`] says otherwise.
///
/// Sizes and strides count elements. As BLAS has it, A and B are not read where alpha or k is 0, nor C where beta is 0.
///
/// ```
/// use sgemm::{Layout, Problem};
///
/// // Row-major matrices of f32 without gaps.
/// let problem = Problem::new(100, 20, 30);
/// assert_eq!(problem.flops(), 2.0 * 100.0 * 20.0 * 30.0);
/// // BLAS's sgemm("T", "N", ...): all column-major, A stored as k x m.
/// let blas = problem.with_layouts(
///     Layout::column_major(30).transposed(),
///     Layout::column_major(30),
///     Layout::column_major(100),
/// );
/// assert!(blas.validate().is_ok());
/// // Eight products with the same B.
/// assert!(problem.with_batch(8, [100 * 30, 0, 100 * 20]).validate().is_ok());
/// // Products that would write to the same C.
/// let error = problem.with_batch(8, [100 * 30, 0, 0]).validate().unwrap_err();
/// assert_eq!(error.to_string(), "batch stride 0 of C: matrices of 2000 elements would overlap");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Problem {
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    pub(crate) a: Layout,
    pub(crate) b: Layout,
    pub(crate) c: Layout,
    pub(crate) d: Option<Layout>,
    pub(crate) batch: Batch,
    pub(crate) input: Element,
    pub(crate) output: Element,
    pub(crate) class: AccuracyClass,
    pub(crate) alignment: Alignment,
    pub(crate) scalars: Scalars,
    pub(crate) epilogue: Epilogue,
    pub(crate) determinism: Determinism,
}

/// A strided batch: elements from one problem's matrix to the next one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Batch {
    pub count: usize,
    pub a: usize,
    pub b: usize,
    pub c: usize,
    pub d: usize,
}

/// What the addresses of A and B are multiples of, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Alignment {
    pub a: usize,
    pub b: usize,
}

/// A matrix that a problem reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct View {
    pub name: &'static str,
    pub ld_name: &'static str,
    pub rows: usize,
    pub columns: usize,
    pub layout: Layout,
    pub element: Element,
    pub batch_stride: usize,
}

impl View {
    /// Elements from the first one of the first problem to the last one of the last, both counted.
    pub fn extent(&self, count: usize) -> Result<usize, Error> {
        let overflow = Error::ExtentOverflow { operand: self.name };
        let one = self.layout.extent(self.rows, self.columns).ok_or_else(|| overflow.clone())?;
        if one == 0 || count == 0 {
            return Ok(0);
        }
        let others = (count - 1).checked_mul(self.batch_stride).and_then(|others| others.checked_add(one));
        let bytes = |elements: &usize| elements.checked_mul(self.element.bytes() as usize);
        others.filter(|others| bytes(others).is_some_and(|bytes| isize::try_from(bytes).is_ok())).ok_or(overflow)
    }

    /// Elements of a contiguous row or column, and how many of these there are.
    fn lines(&self, order: Order) -> (usize, usize) {
        match order {
            Order::RowMajor => (self.columns, self.rows),
            Order::ColumnMajor => (self.rows, self.columns),
        }
    }

    /// Checks strides: none of them makes two elements one.
    fn validate(&self) -> Result<(Order, usize), Error> {
        let (order, ld) = self.layout.order(self.name, self.rows, self.columns)?;
        let (least, lines) = self.lines(order);
        if lines > 1 && ld < least {
            return Err(Error::LeadingDimension { name: self.ld_name, value: ld, least });
        }
        Ok((order, ld))
    }

    /// Checks that the batch's matrices do not overlap: they follow each other, or lie between each other's rows.
    fn validate_disjoint(&self, count: usize) -> Result<(), Error> {
        let (order, ld) = self.layout.order(self.name, self.rows, self.columns)?;
        let (line, lines) = self.lines(order);
        let elements = self.layout.extent(self.rows, self.columns).unwrap_or(usize::MAX);
        let stride = self.batch_stride;
        let interleaved = stride >= line && count.checked_mul(stride).is_some_and(|width| width <= ld);
        if count <= 1 || elements == 0 || stride >= elements || lines > 1 && interleaved {
            return Ok(());
        }
        Err(Error::BatchStride { operand: self.name, stride, elements })
    }
}

impl Problem {
    /// C = alpha\*A\*B + beta\*C of f32 in [`AccuracyClass::Fp32Strict`], all row-major without gaps between the rows, pointers
    /// aligned to 16 bytes.
    #[must_use]
    pub fn new(m: usize, n: usize, k: usize) -> Self {
        let (a, c) = (Layout::row_major(k.max(1)), Layout::row_major(n.max(1)));
        Self {
            m,
            n,
            k,
            a,
            b: c,
            c,
            d: None,
            batch: Batch { count: 1, a: 0, b: 0, c: 0, d: 0 },
            input: Element::F32,
            output: Element::F32,
            class: AccuracyClass::default(),
            alignment: Alignment { a: PLAIN_ALIGNMENT, b: PLAIN_ALIGNMENT },
            scalars: Scalars::default(),
            epilogue: Epilogue::default(),
            determinism: Determinism::default(),
        }
    }

    /// The same problem with A, B and C laid out so: [`Layout::transposed`] is op T.
    #[must_use]
    pub fn with_layouts(self, a: Layout, b: Layout, c: Layout) -> Self {
        Self { a, b, c, ..self }
    }

    /// The same problem with the result in D, laid out so: another matrix than C, which is only read then.
    #[must_use]
    pub fn with_d(self, d: Layout) -> Self {
        Self { d: Some(d), ..self }
    }

    /// A batch of `count` such problems. The strides are the elements from one problem's A, B and C to the next one's: 0 gives all of
    /// them the same A or B, and with [`Self::with_d`] also the same C.
    #[must_use]
    pub fn with_batch(self, count: usize, [a, b, c]: [usize; 3]) -> Self {
        Self { batch: Batch { count, a, b, c, ..self.batch }, ..self }
    }

    /// The batch stride of D, where D is another matrix than C: elements from one problem's D to the next one's.
    #[must_use]
    pub fn with_batch_stride_d(self, d: usize) -> Self {
        Self { batch: Batch { d, ..self.batch }, ..self }
    }

    /// The same problem with A and B made of `input`, C and D of `output`, which is the same type or f32. The accuracy class becomes
    /// [`AccuracyClass::default_of`] the input.
    #[must_use]
    pub fn with_elements(self, input: Element, output: Element) -> Self {
        Self { input, output, class: AccuracyClass::default_of(input), ..self }
    }

    /// The same problem in another accuracy class, one of its input elements: TF32 and the hi/lo split are asked for here.
    #[must_use]
    pub fn with_accuracy(self, class: AccuracyClass) -> Self {
        Self { class, ..self }
    }

    /// Whether a kernel of that arithmetic meets the accuracy class for this k: a hi/lo split does not where k is short, for which its
    /// kernels compute in fp32 what others do faster, and one into TF32 not where k is very long, since its k-tiles are short.
    pub(crate) fn admits(&self, step: &Step) -> bool {
        let is_certified = || match step.precision {
            Precision::Tf32x3 => (SHORTEST_SPLIT_K as usize..=LONGEST_TF32_SPLIT_K).contains(&self.k),
            _ => !step.has_split_operands() || self.k >= SHORTEST_SPLIT_K as usize,
        };
        self.class.admits(step.precision) && is_certified()
    }

    /// The same problem for addresses of A and B that are multiples of so many bytes, such as those of views that begin in the middle
    /// of a row. The default is 16, and a run at other addresses is refused. Below 16, kernels that load with TMA read an aligned copy
    /// in the workspace. It holds for the first problem of a batch; strides between the others are taken into account. C and D need
    /// the alignment of an element only.
    #[must_use]
    pub fn with_alignment(self, a: usize, b: usize) -> Self {
        Self { alignment: Alignment { a, b }, ..self }
    }

    /// What addresses of A and B are multiples of, in bytes.
    #[must_use]
    pub fn alignment(&self) -> [usize; 2] {
        [self.alignment.a, self.alignment.b]
    }

    /// The same problem with alpha and beta by value, the default, or in device memory.
    #[must_use]
    pub fn with_scalars(self, scalars: Scalars) -> Self {
        Self { scalars, ..self }
    }

    /// The same problem with a bias or an activation.
    #[must_use]
    pub fn with_epilogue(self, epilogue: Epilogue) -> Self {
        Self { epilogue, ..self }
    }

    /// The same problem with bits that depend on less than the default's.
    #[must_use]
    pub fn with_determinism(self, determinism: Determinism) -> Self {
        Self { determinism, ..self }
    }

    /// m, n, k: rows of A and D, columns of B and D, columns of A.
    #[must_use]
    pub fn sizes(&self) -> [usize; 3] {
        [self.m, self.n, self.k]
    }

    /// The layouts of A, B and C.
    #[must_use]
    pub fn layouts(&self) -> [Layout; 3] {
        [self.a, self.b, self.c]
    }

    /// What A and B are made of, and what C and D are.
    #[must_use]
    pub fn elements(&self) -> [Element; 2] {
        [self.input, self.output]
    }

    /// Floating-point operations of the whole batch: 2\*m\*n\*k each.
    #[must_use]
    pub fn flops(&self) -> f64 {
        2.0 * self.m as f64 * self.n as f64 * self.k as f64 * self.batch.count as f64
    }

    /// m, n and k of one product of row-major matrices without gaps, with nothing beside alpha and beta; `None` of others.
    pub(crate) fn plain_shape(&self) -> Option<[u32; 3]> {
        let sizes @ [_, n, k] = self.sizes();
        let is_in_place = self.d.is_none() && self.scalars == Scalars::Host && self.epilogue.is_plain();
        let is_plain =
            [self.a, self.b, self.c] == [k, n, n].map(Layout::row_major) && self.batch.count == 1 && is_in_place;
        is_plain.then(|| sizes.map(|size| size as u32))
    }

    /// Whether there is nothing to compute: D has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.m == 0 || self.n == 0 || self.batch.count == 0
    }

    /// The least elements of the buffers of A, B, C, D and bias, in this order, for the whole batch. D's is C's where D is C.
    ///
    /// # Errors
    /// [`Error::ExtentOverflow`] where the bytes of one are more than a pointer difference can count.
    pub fn extents(&self) -> Result<[usize; 5], Error> {
        let count = self.batch.count;
        let [a, b, c, d] = self.views().map(|view| view.extent(count));
        let bias = match self.epilogue.bias {
            None => 0,
            Some(BiasPer::Row) => self.m,
            Some(BiasPer::Column) => self.n,
        };
        Ok([a?, b?, c?, d?, bias])
    }

    /// A, B, C and D.
    pub(crate) fn views(&self) -> [View; 4] {
        let Self { m, n, k, a, b, c, d, batch, input, output, .. } = *self;
        let view = |(name, ld_name), rows, columns, layout, element, batch_stride| View {
            name,
            ld_name,
            rows,
            columns,
            layout,
            element,
            batch_stride,
        };
        let in_place = view(("C", "ldc"), m, n, c, output, batch.c);
        [
            view(("A", "lda"), m, k, a, input, batch.a),
            view(("B", "ldb"), k, n, b, input, batch.b),
            in_place,
            d.map_or(in_place, |d| view(("D", "ldd"), m, n, d, output, batch.d)),
        ]
    }

    /// Checks all that can be checked without buffers.
    ///
    /// # Errors
    /// [`Error::TooLarge`] above [`MAX_SIZE`]; [`Error::Strides`] and [`Error::LeadingDimension`] where a layout is none;
    /// [`Error::BatchStride`] where products would write to the same elements; [`Error::ExtentOverflow`]; [`Error::BadAlignment`] where
    /// an alignment is no power of two, or less than an element; [`Error::Output`] where C would be of a third type;
    /// [`Error::Accuracy`] where the class is one of other elements.
    pub fn validate(&self) -> Result<(), Error> {
        for (name, value) in [("m", self.m), ("n", self.n), ("k", self.k)] {
            if value > MAX_SIZE as usize {
                return Err(Error::TooLarge { name, value, most: MAX_SIZE as usize });
            }
        }
        let views = self.views();
        for view in &views {
            view.validate()?;
        }
        self.extents()?;
        views[3].validate_disjoint(self.batch.count)?;
        for (operand, bytes) in [("A", self.alignment.a), ("B", self.alignment.b)] {
            if !bytes.is_power_of_two() || bytes < self.input.bytes() as usize {
                return Err(Error::BadAlignment { operand, bytes, element: self.input });
            }
        }
        if self.output != self.input && self.output != Element::F32 {
            return Err(Error::Output { input: self.input, output: self.output });
        }
        if self.class.input() != self.input {
            return Err(Error::Accuracy { class: self.class, input: self.input });
        }
        Ok(())
    }
}

/// What memory is aligned to that the driver allocates, as far as it matters here: the bytes of a 128-bit access.
const PLAIN_ALIGNMENT: usize = 16;

impl From<Product> for Problem {
    /// The product in place, in the class of its elements.
    fn from(product: Product) -> Self {
        let Product { m, n, k, lda, ldb, ldc, input, output } = product;
        let [m, n, k, lda, ldb, ldc] = [m, n, k, lda, ldb, ldc].map(|size| size as usize);
        let [a, b, c] = [lda, ldb, ldc].map(Layout::row_major);
        Self::new(m, n, k).with_layouts(a, b, c).with_elements(input, output)
    }
}

#[cfg(test)]
mod tests;
