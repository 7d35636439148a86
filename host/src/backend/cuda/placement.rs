//! Where the copies of a case's operands lie: A and B in one buffer, C in another, between guard bands.

use gpu_kernels::Element;

use crate::backend::{CASE_ALIGNMENT, Case};
use crate::verify::matrix::{GUARD, Shape};

/// The bytes of one copy, and what is where in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Placement {
    /// Bytes from A of a copy to its B.
    b_offset: u64,
    /// Bytes of A and B.
    inputs: u64,
    /// Bytes of C with guard bands.
    outputs: u64,
    /// Bytes of a guard band.
    guard: u64,
    c: Shape,
}

impl Placement {
    pub(super) fn new(case: &Case, element: Element) -> Self {
        let [_, b, c] = case.bytes(element);
        let guard = GUARD as u64 * u64::from(element.bytes());
        let [.., stored] = case.stored();
        let ld = stored.ld() as usize;
        Self {
            b_offset: case.b_offset(element),
            inputs: padded(case.b_offset(element).saturating_add(b)),
            outputs: padded(c.saturating_add(2 * guard)),
            guard,
            c: Shape { element, rows: case.batch as usize * (stored.elements() / ld), columns: ld, ld },
        }
    }

    /// Bytes of one copy.
    pub(super) fn bytes(&self) -> u64 {
        self.inputs.saturating_add(self.outputs)
    }

    /// Bytes of A and B of one copy.
    pub(super) fn input_bytes(&self) -> u64 {
        self.inputs
    }

    /// Bytes of C of one copy, guard bands included.
    pub(super) fn output_bytes(&self) -> u64 {
        self.outputs
    }

    /// C of the whole batch as it lies in memory, as a row-major matrix.
    pub(super) fn c_shape(&self) -> Shape {
        self.c
    }

    /// Words of 32 bits of C with its guard bands.
    pub(super) fn c_words(&self) -> usize {
        ((self.c.rows * self.c.ld + 2 * GUARD) * self.c.element.bytes() as usize).div_ceil(4)
    }

    /// A, B and C of a copy, in buffers that begin there.
    pub(super) fn addresses(&self, inputs: u64, outputs: u64, copy: u32) -> [u64; 3] {
        let copy = u64::from(copy);
        let a = inputs + copy * self.inputs;
        [a, a + self.b_offset, outputs + copy * self.outputs + self.guard]
    }
}

fn padded(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(CASE_ALIGNMENT).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Op, Order};

    #[test]
    fn copies_lie_apart_and_aligned() {
        let case = Case { batch: 3, ops: [Op::T, Op::N], order: Order::Column, ..Case::new([70, 50, 30]) };
        for element in [Element::F32, Element::F16] {
            let placement = Placement::new(&case, element);
            let [a_bytes, b_bytes, c_bytes] = case.bytes(element);
            let guard = 64 * u64::from(element.bytes());
            for copy in 0..3 {
                let [a, b, c] = placement.addresses(1 << 20, 1 << 24, copy);
                let [next_a, _, next_c] = placement.addresses(1 << 20, 1 << 24, copy + 1);
                assert!(a + a_bytes <= b && b + b_bytes <= next_a && c + c_bytes + 2 * guard <= next_c);
                assert!([a, b].iter().all(|address| address % 512 == 0) && c % 128 == 0);
                assert_eq!(next_a, (1 << 20) + u64::from(copy + 1) * placement.input_bytes());
                assert!(
                    c >= (1 << 24) + guard
                        && c + c_bytes + guard <= (1 << 24) + u64::from(copy + 1) * placement.output_bytes()
                );
            }
            // Columns of 70, 50 of them in each of three.
            let Shape { rows, columns, ld, .. } = placement.c_shape();
            assert_eq!((rows, columns, ld), (150, 70, 70));
            assert_eq!(placement.c_words() as u64 * 4, c_bytes + 2 * guard);
        }
    }
}
