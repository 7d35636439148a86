//! A matrix that notices when somebody writes beside it, and poisons whoever reads there.

use std::borrow::Cow;
use std::ops::Range;

use gpu_kernels::Element;
use rand::{Rng, RngExt};

use super::element::{self, SENTINEL};
use super::memory;
use crate::Error;
pub use crate::error::Damage;

/// Length of the guard band before and after the elements: 64 of them, so that element (0, 0) stays 128-byte aligned.
pub const GUARD: usize = 64;

/// The shape of a row-major matrix, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// What it is made of.
    pub element: Element,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Elements from one row to the next.
    pub ld: usize,
}

/// A row-major matrix, `rows` x `columns`, with `ld` elements from one row to the next.
///
/// The host has all elements as f32; those of a matrix of 16 bits are such that they stay the same on the way to a device and
/// back. One buffer holds a guard band, `rows * ld` elements and another guard band. The bands and the padding between
/// `columns` and `ld` hold a sentinel: see [`Matrix::damage`].
///
/// ```
/// use gpu_kernels::Element;
/// use host::Matrix;
/// use host::verify::matrix::Damage;
///
/// let mut matrix = Matrix::new(Element::F16, 3, 4, 6)?; // 3 x 4, rows 6 elements apart
/// matrix.set(2, 3, 1.0 / 3.0);
/// assert_eq!(matrix.get(2, 3), 0.333_251_95, "the nearest number of 16 bits");
/// assert_eq!(matrix.damage(), None);
///
/// // Whoever writes beyond the last column is found out.
/// let start = matrix.interior_offset();
/// matrix.as_mut_slice()[start + 6 + 4] = 0.0;
/// assert_eq!(matrix.damage(), Some(Damage::Padding { row: 1, column: 4 }));
/// # Ok::<(), host::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Matrix {
    element: Element,
    rows: usize,
    columns: usize,
    ld: usize,
    buffer: Vec<f32>,
}

impl Matrix {
    /// A matrix of zeros, its guard bands and padding in place.
    ///
    /// # Errors
    /// [`Error::OutOfHostMemory`] where the buffer cannot be had.
    ///
    /// # Panics
    /// If `ld` is less than `columns`; [`crate::Problem::validate`] sees to that.
    pub fn new(element: Element, rows: u32, columns: u32, ld: u32) -> Result<Self, Error> {
        assert!(ld >= columns, "a row of {columns} elements does not fit into a leading dimension of {ld}");
        let (rows, columns, ld) = (rows as usize, columns as usize, ld as usize);
        let needed = (rows as u64).saturating_mul(ld as u64).saturating_add(2 * GUARD as u64).saturating_mul(4);
        let out_of_memory = || Error::OutOfHostMemory { needed, available: memory::available() };
        let elements = rows.checked_mul(ld).and_then(|n| n.checked_add(2 * GUARD)).ok_or_else(out_of_memory)?;
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(elements).map_err(|_| out_of_memory())?;
        buffer.resize(elements, f32::from_bits(SENTINEL));
        let mut matrix = Self { element, rows, columns, ld, buffer };
        matrix.fill(0.0);
        Ok(matrix)
    }

    /// A matrix out of its memory on a device.
    ///
    /// # Panics
    /// If there are more or fewer than the [`Self::words`] of a matrix of that shape.
    #[must_use]
    pub fn from_words(shape: Shape, words: Vec<u32>) -> Self {
        let Shape { element, rows, columns, ld } = shape;
        let buffer = element::from_words(element, words, rows * ld + 2 * GUARD);
        assert_eq!(buffer.len(), rows * ld + 2 * GUARD, "the memory of a matrix of {rows} rows, {ld} elements apart");
        Self { element, rows, columns, ld, buffer }
    }

    /// Its memory on a device: the whole buffer, in words of 32 bits.
    #[must_use]
    pub fn words(&self) -> Cow<'_, [u32]> {
        element::to_words(self.element, &self.buffer)
    }

    /// What it is made of.
    #[must_use]
    pub fn element(&self) -> Element {
        self.element
    }

    /// What it is made of, rows, columns and leading dimension.
    #[must_use]
    pub fn shape(&self) -> Shape {
        Shape { element: self.element, rows: self.rows, columns: self.columns, ld: self.ld }
    }

    /// Rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Elements from one row to the next.
    #[must_use]
    pub fn ld(&self) -> usize {
        self.ld
    }

    /// The whole buffer: guard band, rows with their padding, guard band.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.buffer
    }

    /// The whole buffer, to be written; [`Self::round`] then makes elements out of it.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        &mut self.buffer
    }

    /// Where element (0, 0) lies in [`Self::as_slice`], in elements.
    #[must_use]
    pub fn interior_offset(&self) -> usize {
        GUARD
    }

    /// Row `i`, without its padding.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f32] {
        &self.buffer[self.row_range(i)]
    }

    /// Row `i`, without its padding, to be written; [`Self::round`] then makes elements out of it.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        let range = self.row_range(i);
        &mut self.buffer[range]
    }

    /// Element (i, j).
    ///
    /// # Panics
    /// If there is no such element.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f32 {
        self.row(i)[j]
    }

    /// Sets element (i, j), to the nearest number that it can hold.
    ///
    /// # Panics
    /// If there is no such element.
    pub fn set(&mut self, i: usize, j: usize, value: f32) {
        self.row_mut(i)[j] = element::round(self.element, value);
    }

    /// Sets every element to `value`, or the nearest number that it can hold.
    pub fn fill(&mut self, value: f32) {
        let value = element::round(self.element, value);
        for i in 0..self.rows {
            self.row_mut(i).fill(value);
        }
    }

    /// Draws every element uniformly from [-1, 1), and takes the nearest number that it can hold.
    pub fn fill_random(&mut self, rng: &mut impl Rng) {
        let kind = self.element;
        for i in 0..self.rows {
            for element in self.row_mut(i) {
                *element = element::round(kind, rng.random::<f32>() * 2.0 - 1.0);
            }
        }
    }

    /// Replaces every element by the nearest number that it can hold.
    pub fn round(&mut self) {
        let kind = self.element;
        for i in 0..self.rows {
            self.row_mut(i).iter_mut().for_each(|element| *element = element::round(kind, *element));
        }
    }

    /// The first position outside of the elements that no longer holds its sentinel; `None` where all do.
    #[must_use]
    pub fn damage(&self) -> Option<Damage> {
        let intact = |x: &f32| x.to_bits() == SENTINEL;
        let (before, rest) = self.buffer.split_at(GUARD);
        let (interior, after) = rest.split_at(self.rows * self.ld);
        if let Some(i) = before.iter().rposition(|x| !intact(x)) {
            return Some(Damage::Before { distance: GUARD - i });
        }
        for (row, elements) in interior.chunks_exact(self.ld.max(1)).enumerate() {
            if let Some(i) = elements[self.columns..].iter().position(|x| !intact(x)) {
                return Some(Damage::Padding { row, column: self.columns + i });
            }
        }
        after.iter().position(|x| !intact(x)).map(|i| Damage::After { distance: i + 1 })
    }

    /// The first element whose bits differ from those of `other`, which has the same shape.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<(usize, usize)> {
        (0..self.rows).find_map(|i| {
            let same = |(x, y): (&f32, &f32)| x.to_bits() == y.to_bits();
            let j = self.row(i).iter().zip(other.row(i)).position(|pair| !same(pair))?;
            Some((i, j))
        })
    }

    fn row_range(&self, i: usize) -> Range<usize> {
        assert!(i < self.rows, "row {i} of a matrix of {} rows", self.rows);
        let start = GUARD + i * self.ld;
        start..start + self.columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{SeedableRng, rngs::SmallRng};

    fn matrix() -> Matrix {
        matrix_of(Element::F32)
    }

    fn matrix_of(element: Element) -> Matrix {
        let mut matrix = Matrix::new(element, 3, 4, 6).unwrap();
        matrix.fill_random(&mut SmallRng::seed_from_u64(1));
        matrix
    }

    #[test]
    fn a_device_gives_back_what_it_got() {
        for (element, ld) in [(Element::F32, 7), (Element::F16, 7), (Element::Bf16, 6)] {
            let mut matrix = Matrix::new(element, 3, 4, ld).unwrap();
            matrix.fill_random(&mut SmallRng::seed_from_u64(2));
            matrix.set(1, 1, f32::NAN);
            matrix.set(2, 3, 1e-30);
            let words = matrix.words().into_owned();
            assert_eq!(words.len(), (matrix.as_slice().len() * element.bytes() as usize).div_ceil(4));
            let back = Matrix::from_words(matrix.shape(), words);
            let bits = |matrix: &Matrix| matrix.as_slice().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!((bits(&matrix), back.damage()), (bits(&back), None));
        }
    }

    #[test]
    fn elements_of_16_bits_are_rounded() {
        for (element, most) in [(Element::F16, 11), (Element::Bf16, 8)] {
            let matrix = matrix_of(element);
            for (&rounded, &exact) in (0..3)
                .flat_map(|i| matrix.row(i))
                .zip((0..3).flat_map(|i| matrix_of(Element::F32).row(i).to_vec()).collect::<Vec<_>>().iter())
            {
                assert!(
                    rounded.to_bits().trailing_zeros() >= 24 - most
                        && (rounded - exact).abs() <= 0.5_f32.powi(most as i32)
                );
            }
        }
    }

    #[test]
    fn elements_are_in_range_and_differ() {
        let matrix = matrix();
        assert!((0..3).all(|i| matrix.row(i).iter().all(|x| (-1.0..1.0).contains(x))));
        assert_ne!(matrix.row(0), matrix.row(1));
    }

    #[test]
    fn filling_leaves_the_guards_alone() {
        assert_eq!(matrix().damage(), None);
        assert_eq!(matrix().as_slice().len(), 3 * 6 + 2 * GUARD);
    }

    #[test]
    fn finds_every_write_beside_the_elements() {
        let clean = matrix();
        for i in 0..clean.as_slice().len() {
            let inside = i.checked_sub(GUARD).is_some_and(|at| at < 18 && at % 6 < 4);
            for value in [0.0, f32::NAN] {
                let mut damaged = clean.clone();
                damaged.as_mut_slice()[i] = value;
                assert_eq!(damaged.damage().is_none(), inside, "element {i} of the buffer");
            }
        }
    }

    #[test]
    fn says_where_the_damage_is() {
        let at = |i| {
            let mut damaged = matrix();
            damaged.as_mut_slice()[i] = 0.0;
            damaged.damage()
        };
        assert_eq!(at(GUARD - 1), Some(Damage::Before { distance: 1 }));
        assert_eq!(at(GUARD + 6 + 5), Some(Damage::Padding { row: 1, column: 5 }));
        assert_eq!(at(GUARD + 18), Some(Damage::After { distance: 1 }));
    }

    #[test]
    fn empty_matrices_have_guards_only() {
        assert_eq!(Matrix::new(Element::F32, 0, 4, 4).unwrap().as_slice().len(), 2 * GUARD);
        let mut no_columns = Matrix::new(Element::F32, 2, 0, 1).unwrap();
        no_columns.fill(1.0);
        assert_eq!(no_columns.damage(), None);
    }
}
