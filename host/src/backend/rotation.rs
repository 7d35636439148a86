//! How many products a timed sequence has, and on how many copies of the operands.

/// Milliseconds that a sequence aims at: a thousand steps of the event clock, and far more than a graph takes to start.
const AIM_MS: f64 = 1.0;

/// The most products of a sequence, and the most launches.
const MOST_PRODUCTS: u32 = 256;
const MOST_LAUNCHES: usize = 4096;

/// A sequence of products such that none finds its operands in the L2 cache: they go round copies that exceed twice the cache
/// together, or each has a copy of its own and the cache is flushed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rotation {
    /// Products of the sequence: a multiple of the copies.
    pub products: u32,
    /// Copies of A, B and C.
    pub copies: u32,
    /// Whether the L2 cache is flushed before each sequence.
    pub is_flushed: bool,
}

impl Rotation {
    /// One product after a flush.
    pub const ONCE: Self = Self { products: 1, copies: 1, is_flushed: true };

    /// Of products that take so many milliseconds each, so many launches, and whose operands have so many bytes.
    #[must_use]
    pub fn new(time_ms: f64, launches: usize, bytes: u64, l2_bytes: u64) -> Self {
        let most = MOST_PRODUCTS.min((MOST_LAUNCHES / launches.max(1)) as u32).max(1);
        let wanted = ((AIM_MS / time_ms).ceil() as u32).clamp(1, most);
        let full = (2 * l2_bytes).div_ceil(bytes.max(1)).clamp(1, u64::from(u32::MAX)) as u32;
        if wanted < full {
            return Self { products: wanted, copies: wanted, is_flushed: true };
        }
        Self { products: wanted.next_multiple_of(full), copies: full, is_flushed: false }
    }

    /// The most bytes that copies of so many bytes have together.
    #[must_use]
    pub fn most_bytes(bytes: u64, l2_bytes: u64) -> u64 {
        (2 * l2_bytes).saturating_add(bytes)
    }

    /// As records name it.
    #[must_use]
    pub const fn l2(self) -> &'static str {
        if self.is_flushed { "flushed" } else { "rotated" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const L2: u64 = 50 << 20;

    #[test]
    fn no_product_finds_its_operands_in_the_cache() {
        for time_ms in [1e-4, 3e-3, 0.02, 0.3, 0.99, 5.0, 500.0, f64::INFINITY] {
            for bytes in [1, 1500, 1 << 20, 10 << 20, 33 << 20, 99 << 20, 100 << 20, 4 << 30] {
                for launches in [1, 3, 64, 100_000] {
                    let rotation = Rotation::new(time_ms, launches, bytes, L2);
                    let Rotation { products, copies, is_flushed } = rotation;
                    let together = u64::from(copies) * bytes;
                    assert!(if is_flushed { copies == products } else { together >= 2 * L2 }, "{rotation:?}");
                    assert!(products >= 1 && products.is_multiple_of(copies), "{rotation:?}");
                    assert!(together <= Rotation::most_bytes(bytes, L2), "{rotation:?}");
                    assert!(products == 1 || products as usize * launches <= 2 * MOST_LAUNCHES, "{rotation:?}");
                }
            }
        }
    }

    #[test]
    fn sequences_take_about_a_millisecond() {
        let of = |time_ms, bytes| {
            let Rotation { products, copies, is_flushed } = Rotation::new(time_ms, 1, bytes, L2);
            (products, copies, is_flushed)
        };
        assert_eq!(of(0.005, 1500), (200, 200, true));
        assert_eq!(of(0.05, 10 << 20), (20, 10, false));
        assert_eq!(of(0.3, 30 << 20), (4, 4, false));
        assert_eq!(of(30.0, 1 << 30), (1, 1, false));
        assert_eq!(of(30.0, 1 << 20), (1, 1, true));
        // A batch in one launch each.
        assert_eq!(Rotation::new(0.1, 1000, 1 << 20, L2).products, 4);
    }
}
