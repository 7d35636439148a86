//! A product in any layout, once or in a strided batch: what is measured shape by shape, beside cuBLAS.

use gpu_kernels::Element;
use sgemm::{Layout, Problem};

use crate::AccuracyClass;

/// What matrices begin at a multiple of, in bytes, as memory does that the driver gives out.
pub(crate) const CASE_ALIGNMENT: u64 = 512;

/// BLAS's op: how an operand is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// As it is.
    N,
    /// As its transpose.
    T,
}

/// What is contiguous in all three matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Rows.
    Row,
    /// Columns.
    Column,
}

impl Op {
    /// In records: `n` or `t`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::N => "n",
            Self::T => "t",
        }
    }

    /// The one of that name, in capitals or not.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        [Self::N, Self::T].into_iter().find(|op| name.eq_ignore_ascii_case(op.name()))
    }
}

impl Order {
    /// In records: `row` or `column`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Column => "column",
        }
    }

    /// The one of that name, in capitals or not.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        [Self::Row, Self::Column].into_iter().find(|order| name.eq_ignore_ascii_case(order.name()))
    }
}

/// C = op(A)\*op(B), matrices without gaps, those of a batch one after the other. No size is 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    /// m, n and k.
    pub sizes: [u32; 3],
    /// How A and B are stored.
    pub ops: [Op; 2],
    /// What is contiguous.
    pub order: Order,
    /// Products; 1 is no batch.
    pub batch: u32,
    /// How often its set has it.
    pub count: u64,
}

/// One of the matrices of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Its rows, whatever its op is.
    pub rows: u32,
    /// Its columns.
    pub columns: u32,
    /// Whether rows are contiguous, or else columns.
    pub by_rows: bool,
}

impl Stored {
    /// Elements from one contiguous row or column to the next.
    pub(crate) fn ld(self) -> u32 {
        if self.by_rows { self.columns } else { self.rows }
    }

    /// Its elements.
    pub(crate) fn elements(self) -> usize {
        self.rows as usize * self.columns as usize
    }

    fn layout(self) -> Layout {
        let ld = self.ld() as usize;
        if self.by_rows { Layout::row_major(ld) } else { Layout::column_major(ld) }
    }
}

impl Case {
    /// All row-major, no batch, once.
    #[must_use]
    pub fn new(sizes: [u32; 3]) -> Self {
        Self { sizes, ops: [Op::N; 2], order: Order::Row, batch: 1, count: 1 }
    }

    /// A, B and C.
    pub(crate) fn stored(&self) -> [Stored; 3] {
        let Self { sizes: [m, n, k], ops: [a, b], order, .. } = *self;
        let by_rows = |op| (order == Order::Row) == (op == Op::N);
        [(m, k, a), (k, n, b), (m, n, Op::N)].map(|(rows, columns, op)| Stored { rows, columns, by_rows: by_rows(op) })
    }

    /// Elements of A, B and C of one product: what lies between the matrices of a batch.
    pub(crate) fn elements(&self) -> [usize; 3] {
        self.stored().map(Stored::elements)
    }

    /// Bytes of A, B and C of the whole batch.
    #[must_use]
    pub fn bytes(&self, element: Element) -> [u64; 3] {
        let bytes = u64::from(self.batch) * u64::from(element.bytes());
        self.elements().map(|elements| (elements as u64).saturating_mul(bytes))
    }

    /// Bytes from A to B where both are cut out of one piece of memory, each at a multiple of 512 bytes.
    #[must_use]
    pub fn b_offset(&self, element: Element) -> u64 {
        let [a, ..] = self.bytes(element);
        a.checked_next_multiple_of(CASE_ALIGNMENT).unwrap_or(u64::MAX)
    }

    /// The library's problem, in that class: C is made of what A and B are made of.
    #[must_use]
    pub fn problem(&self, class: AccuracyClass) -> Problem {
        let [m, n, k] = self.sizes.map(|size| size as usize);
        let [a, b, c] = self.stored().map(Stored::layout);
        let problem = Problem::new(m, n, k).with_layouts(a, b, c).with_elements(class.input(), class.input());
        let problem = problem.with_accuracy(class);
        if self.batch == 1 { problem } else { problem.with_batch(self.batch as usize, self.elements()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ops_and_orders_say_where_elements_lie() {
        let strides = |ops, order| {
            let case = Case { ops, order, ..Case::new([2, 3, 5]) };
            case.stored().map(|stored| (stored.layout().row_stride, stored.layout().column_stride))
        };
        assert_eq!(strides([Op::N, Op::N], Order::Row), [(5, 1), (3, 1), (3, 1)]);
        assert_eq!(strides([Op::T, Op::N], Order::Row), [(1, 2), (3, 1), (3, 1)]);
        assert_eq!(strides([Op::N, Op::T], Order::Row), [(5, 1), (1, 5), (3, 1)]);
        assert_eq!(strides([Op::N, Op::N], Order::Column), [(1, 2), (1, 5), (1, 2)]);
        assert_eq!(strides([Op::T, Op::T], Order::Column), [(5, 1), (3, 1), (1, 2)]);
    }

    #[test]
    fn problems_are_what_the_library_takes() {
        let case = Case { ops: [Op::T, Op::N], order: Order::Column, batch: 7, ..Case::new([20, 30, 50]) };
        for class in AccuracyClass::ALL {
            let problem = case.problem(class);
            assert!(problem.validate().is_ok());
            assert_eq!(problem.extents().unwrap()[..3], [7 * 1000, 7 * 1500, 7 * 600]);
        }
        assert_eq!(case.bytes(Element::F16), [14_000, 21_000, 8_400]);
        assert_eq!(Case::new([20, 30, 50]).problem(AccuracyClass::F16).extents().unwrap()[..3], [1000, 1500, 600]);
    }

    #[test]
    fn names_are_found() {
        assert_eq!(["n", "T", "x", ""].map(Op::find), [Some(Op::N), Some(Op::T), None, None]);
        assert_eq!(["row", "Column", "c"].map(Order::find), [Some(Order::Row), Some(Order::Column), None]);
    }
}
