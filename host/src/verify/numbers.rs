//! Random numbers that the operands of many problems are cut out of.

use gpu_kernels::Element;
use rand::{RngExt, SeedableRng, rngs::SmallRng};
use rayon::prelude::*;

use super::element;
use super::memory;
use crate::Error;

/// How many are drawn from one seed.
const CHUNK: usize = 1 << 16;

/// Numbers drawn uniformly from [-1, 1), and rounded to what they are made of, as those of [`Operands::random`](super::Operands::random).
#[derive(Debug)]
pub struct Numbers {
    element: Element,
    values: Vec<f32>,
}

impl Numbers {
    /// So many.
    ///
    /// # Errors
    /// [`Error::OutOfHostMemory`].
    pub fn new(element: Element, count: usize) -> Result<Self, Error> {
        let mut values = Vec::new();
        let (needed, available) = (count as u64 * 4, memory::available());
        if needed > available || values.try_reserve_exact(count).is_err() {
            return Err(Error::OutOfHostMemory { needed, available });
        }
        values.resize(count, 0.0);
        values.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, values)| {
            let mut rng = SmallRng::seed_from_u64(chunk as u64);
            values.iter_mut().for_each(|value| *value = element::round(element, rng.random::<f32>() * 2.0 - 1.0));
        });
        Ok(Self { element, values })
    }

    /// What they are made of.
    #[must_use]
    pub fn element(&self) -> Element {
        self.element
    }

    /// The numbers.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_range_and_differ() {
        let numbers = Numbers::new(Element::Bf16, 2 * CHUNK + 1).unwrap();
        let values = numbers.values();
        assert_eq!(values.len(), 2 * CHUNK + 1);
        // The nearest of 8 bits may be 1 itself.
        assert!(values.iter().all(|value| value.abs() <= 1.0 && value.to_bits().trailing_zeros() >= 16));
        assert!(values[..CHUNK] != values[CHUNK..2 * CHUNK]);
        let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 0.02, "{mean}");
    }
}
