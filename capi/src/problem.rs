//! The description of a problem.
#![allow(non_camel_case_types, reason = "C's names")]

use sgemm::{Element, Epilogue, Layout, Problem};

use crate::choices::{accuracy, activation, bias, determinism, element, scalars};
use crate::constants::*;
use crate::status::{Failure, boundary};

/// Strides of a matrix: element (i, j) is at i * row_stride + j * column_stride, counted in elements. One of the two is 1.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct sgemm_layout_t {
    /// Elements from a row to the next.
    pub row_stride: usize,
    /// Elements from a column to the next.
    pub column_stride: usize,
}

impl From<sgemm_layout_t> for Layout {
    fn from(layout: sgemm_layout_t) -> Self {
        let sgemm_layout_t { row_stride, column_stride } = layout;
        Self { row_stride, column_stride }
    }
}

impl From<Layout> for sgemm_layout_t {
    fn from(layout: Layout) -> Self {
        let Layout { row_stride, column_stride } = layout;
        Self { row_stride, column_stride }
    }
}

/// D = activation(alpha*A*B + beta*C + bias), once or for each problem of a strided batch. A is m x k, B is k x n, C and D are m x n; D is
/// C itself unless has_d is set. Sizes and strides count elements. Begin with sgemm_problem_init, and change what is different.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct sgemm_problem_t {
    /// Rows of A, C and D.
    pub m: usize,
    /// Columns of B, C and D.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// The layout of A, whose strides are exchanged for op T: see sgemm_transposed.
    pub a: sgemm_layout_t,
    /// The layout of B.
    pub b: sgemm_layout_t,
    /// The layout of C.
    pub c: sgemm_layout_t,
    /// The layout of D, where has_d is set.
    pub d: sgemm_layout_t,
    /// Whether D is another matrix than C, which is only read then: 0 or 1.
    pub has_d: i32,
    /// How many such problems there are.
    pub batch_count: usize,
    /// Elements from one problem's A to the next one's; 0 gives all of them the same.
    pub batch_stride_a: usize,
    /// The same of B.
    pub batch_stride_b: usize,
    /// The same of C; 0 only where has_d is set.
    pub batch_stride_c: usize,
    /// The same of D, where has_d is set.
    pub batch_stride_d: usize,
    /// What A and B are made of.
    pub input: sgemm_element_t,
    /// What C, D and bias are made of: the same, or SGEMM_F32.
    pub output: sgemm_element_t,
    /// The accuracy class.
    pub accuracy: sgemm_accuracy_t,
    /// What bits depend on.
    pub determinism: sgemm_determinism_t,
    /// Where alpha and beta are.
    pub scalars: sgemm_scalars_t,
    /// The bias.
    pub bias: sgemm_bias_t,
    /// The activation.
    pub activation: sgemm_activation_t,
    /// What the address of A is a multiple of, in bytes: a power of two. Below 16, kernels that load with TMA read an aligned copy.
    pub alignment_a: usize,
    /// The same of B.
    pub alignment_b: usize,
}

impl sgemm_problem_t {
    /// The library's problem.
    pub(crate) fn problem(&self) -> Result<Problem, Failure> {
        let Self { m, n, k, a, b, c, d, has_d, batch_count, .. } = *self;
        let [input, output] = [element("input", self.input)?, element("output", self.output)?];
        let epilogue = Epilogue { bias: bias(self.bias)?, activation: activation(self.activation)? };
        let problem = Problem::new(m, n, k)
            .with_layouts(a.into(), b.into(), c.into())
            .with_batch(batch_count, [self.batch_stride_a, self.batch_stride_b, self.batch_stride_c])
            .with_elements(input, output)
            .with_accuracy(accuracy(self.accuracy, input)?)
            .with_alignment(self.alignment_a, self.alignment_b)
            .with_scalars(scalars(self.scalars)?)
            .with_epilogue(epilogue)
            .with_determinism(determinism(self.determinism)?);
        let problem = match has_d {
            0 => problem,
            1 => problem.with_d(d.into()).with_batch_stride_d(self.batch_stride_d),
            _ => return Err(Failure::new(SGEMM_INVALID_VALUE, format!("has_d = {has_d}: it is 0 or 1"))),
        };
        problem.validate()?;
        Ok(problem)
    }

    /// Where the elements of A, B, C and D are: D's are C's where it is C. Of a problem that is valid.
    pub(crate) fn views(&self) -> Result<[View; 4], Failure> {
        let Self { m, n, k, batch_count: count, .. } = *self;
        let [input, output] = [element("input", self.input)?, element("output", self.output)?].map(Element::bytes);
        let view = |rows, columns, layout: sgemm_layout_t, batch_stride, element_bytes| View {
            rows,
            columns,
            layout: layout.into(),
            count,
            batch_stride,
            element_bytes: element_bytes as usize,
        };
        let c = view(m, n, self.c, self.batch_stride_c, output);
        let d = if self.has_d == 0 { c } else { view(m, n, self.d, self.batch_stride_d, output) };
        Ok([view(m, k, self.a, self.batch_stride_a, input), view(k, n, self.b, self.batch_stride_b, input), c, d])
    }
}

/// Where the elements of a batch of matrices are, relative to the first one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub rows: usize,
    pub columns: usize,
    pub layout: Layout,
    pub count: usize,
    pub batch_stride: usize,
    pub element_bytes: usize,
}

impl View {
    /// A vector without gaps.
    pub fn vector(elements: usize, element_bytes: usize) -> Self {
        let layout = Layout::row_major(elements);
        Self { rows: 1, columns: elements, layout, count: 1, batch_stride: 0, element_bytes }
    }

    /// Each contiguous piece of memory with elements: its first byte, and how many there are. Nothing lies beyond the bytes of the
    /// problem's extent, which were counted without overflow.
    pub fn pieces(self) -> impl Iterator<Item = (usize, usize)> {
        let Self { rows, columns, layout: Layout { row_stride, column_stride }, count, batch_stride, element_bytes } =
            self;
        // A single row whose elements lie apart is as many columns of one element.
        let by_rows = column_stride == 1 || columns <= 1;
        let (lines, length, stride) =
            if by_rows { (rows, columns, row_stride) } else { (columns, rows, column_stride) };
        let lines = if length == 0 { 0 } else { lines };
        let problems = if batch_stride == 0 { count.min(1) } else { count };
        (0..problems).flat_map(move |problem| {
            let first = problem * batch_stride;
            (0..lines).map(move |line| ((first + line * stride) * element_bytes, length * element_bytes))
        })
    }
}

/// Contiguous rows, `ld` elements from one to the next: C's order.
#[unsafe(no_mangle)]
pub extern "C" fn sgemm_row_major(ld: usize) -> sgemm_layout_t {
    Layout::row_major(ld).into()
}

/// Contiguous columns, `ld` elements from one to the next: Fortran's order, and BLAS's.
#[unsafe(no_mangle)]
pub extern "C" fn sgemm_column_major(ld: usize) -> sgemm_layout_t {
    Layout::column_major(ld).into()
}

/// The same memory read as the transpose: op T of BLAS.
#[unsafe(no_mangle)]
pub extern "C" fn sgemm_transposed(layout: sgemm_layout_t) -> sgemm_layout_t {
    Layout::from(layout).transposed().into()
}

/// Makes C = alpha*A*B + beta*C of f32 in SGEMM_ACCURACY_FP32_STRICT, all row-major without gaps between the rows, operands aligned to
/// 16 bytes, in one problem.
///
/// # Safety
/// `problem` is null, or a place to write a problem to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sgemm_problem_init(
    problem: *mut sgemm_problem_t,
    m: usize,
    n: usize,
    k: usize,
) -> sgemm_status_t {
    boundary(|| {
        let plain = Problem::new(m, n, k);
        let [a, b, c] = plain.layouts().map(Into::into);
        let [alignment_a, alignment_b] = plain.alignment();
        let value = sgemm_problem_t {
            m,
            n,
            k,
            a,
            b,
            c,
            d: c,
            has_d: 0,
            batch_count: 1,
            batch_stride_a: 0,
            batch_stride_b: 0,
            batch_stride_c: 0,
            batch_stride_d: 0,
            input: SGEMM_F32,
            output: SGEMM_F32,
            accuracy: SGEMM_ACCURACY_DEFAULT,
            determinism: SGEMM_PER_PROBLEM,
            scalars: SGEMM_SCALARS_HOST,
            bias: SGEMM_BIAS_NONE,
            activation: SGEMM_ACTIVATION_NONE,
            alignment_a,
            alignment_b,
        };
        if problem.is_null() {
            return Err(Failure::null("problem"));
        }
        // SAFETY: upheld by the caller: it is a place for one problem.
        unsafe { problem.write(value) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(rows: usize, columns: usize, strides: (usize, usize), count: usize, batch: usize) -> Vec<(usize, usize)> {
        let layout = Layout { row_stride: strides.0, column_stride: strides.1 };
        View { rows, columns, layout, count, batch_stride: batch, element_bytes: 2 }.pieces().collect()
    }

    #[test]
    fn pieces_are_the_lines_of_a_layout() {
        assert_eq!(pieces(2, 3, (5, 1), 1, 0), [(0, 6), (10, 6)]);
        assert_eq!(pieces(2, 3, (1, 4), 1, 0), [(0, 4), (8, 4), (16, 4)]);
        assert_eq!(pieces(3, 1, (7, 9), 1, 0), [(0, 2), (14, 2), (28, 2)]);
        assert_eq!(pieces(1, 3, (7, 9), 1, 0), [(0, 2), (18, 2), (36, 2)]);
        assert_eq!(pieces(1, 2, (2, 1), 3, 10), [(0, 4), (20, 4), (40, 4)]);
        assert_eq!(pieces(1, 2, (2, 1), 3, 0), [(0, 4)]);
        assert_eq!(pieces(0, 2, (2, 1), 3, 0), []);
        assert_eq!(pieces(2, 0, (2, 1), 3, 0), []);
        assert_eq!(pieces(2, 2, (2, 1), 0, 4), []);
        assert_eq!(View::vector(3, 4).pieces().collect::<Vec<_>>(), [(0, 12)]);
    }

    #[test]
    fn what_no_constant_stands_for_is_refused() {
        let mut plain = std::mem::MaybeUninit::uninit();
        // SAFETY: it is a place for a problem, which is written there.
        let plain = unsafe {
            assert_eq!(sgemm_problem_init(plain.as_mut_ptr(), 4, 5, 6), SGEMM_SUCCESS);
            plain.assume_init()
        };
        assert_eq!(plain.problem(), Ok(Problem::new(4, 5, 6)));
        for bad in [
            sgemm_problem_t { input: 3, ..plain },
            sgemm_problem_t { output: -1, ..plain },
            sgemm_problem_t { accuracy: 6, ..plain },
            sgemm_problem_t { determinism: 2, ..plain },
            sgemm_problem_t { scalars: 2, ..plain },
            sgemm_problem_t { bias: 3, ..plain },
            sgemm_problem_t { activation: 4, ..plain },
            sgemm_problem_t { has_d: 2, ..plain },
        ] {
            assert_eq!(bad.problem().unwrap_err().status, SGEMM_INVALID_VALUE);
        }
        let error = sgemm_problem_t { accuracy: SGEMM_ACCURACY_BF16, ..plain }.problem().unwrap_err();
        assert_eq!(error.status, SGEMM_INVALID_PROBLEM);
    }
}
