//! Rows of inputs: every combination of special values first, then random ones.

use super::kind::Kind;
use super::masked;
use super::rng::Rng;

/// Rows of inputs, one column for each operand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inputs {
    /// What each column holds.
    pub kinds: Vec<Kind>,
    /// The columns, all of the same length: a multiple of [`BLOCK`].
    pub columns: Vec<Vec<u64>>,
}

/// Threads of a block, each with a row.
pub const BLOCK: usize = 256;

impl Inputs {
    /// The inputs for operands of these kinds, the same each time.
    #[must_use]
    pub fn new(kinds: &[Kind]) -> Self {
        let mut rng = Rng::of(&format!("{kinds:?}"));
        let has_floats = kinds.iter().any(|kind| matches!(kind, Kind::F16 | Kind::Bf16 | Kind::F32 | Kind::F64));
        let count = if has_floats && kinds != [Kind::Bf16] { 2 * BLOCK } else { BLOCK };
        let specials: Vec<Vec<u64>> = kinds
            .iter()
            .map(|kind| {
                let mut values = kind.specials();
                let most = match kinds.len() {
                    0 | 1 => count,
                    2 => (count as f64 * 0.9).sqrt() as usize,
                    _ => (count as f64 * 0.5).cbrt() as usize,
                };
                values.truncate(most);
                values
            })
            .collect();
        let combinations: usize = specials.iter().map(Vec::len).product();
        let mut rows: Vec<Vec<u64>> = (0..combinations.min(count))
            .map(|mut index| {
                let value = |values: &Vec<u64>| {
                    let value = values[index % values.len()];
                    index /= values.len();
                    value
                };
                specials.iter().map(value).collect()
            })
            .collect();
        while rows.len() < count {
            rows.push(random_row(kinds, &mut rng));
        }
        let value = |row: &Vec<u64>, column: usize| match kinds[column] {
            // Kernels look at 32 bits of it.
            Kind::Pred => u64::from(row[column] as u32 != 0),
            kind => masked(row[column], kind.bits()),
        };
        let columns = (0..kinds.len()).map(|column| rows.iter().map(|row| value(row, column)).collect()).collect();
        Self { kinds: kinds.to_vec(), columns }
    }

    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(BLOCK, Vec::len)
    }
}

fn random_row(kinds: &[Kind], rng: &mut Rng) -> Vec<u64> {
    let mut row: Vec<u64> = kinds
        .iter()
        .map(|kind| if rng.below(5) == 0 { rng.pick(&kind.specials()) } else { kind.random(rng) })
        .collect();
    // Operands that are near each other, that nearly cancel, or whose product nearly vanishes.
    match (kinds, rng.below(5)) {
        ([first, second, ..], 4) if first == second => {
            if let Some(pair) = first.nearly_tiny(rng) {
                row[..2].copy_from_slice(&pair);
                if row.len() > 2 && rng.below(4) > 0 {
                    row[2] = rng.below(4) | rng.below(2) << (first.bits() - 1);
                }
            }
        }
        ([first, second, ..], 0) if first == second && first.bits() > 1 => {
            let mask = u64::MAX >> (64 - first.bits());
            row[1] = row[0].wrapping_add(rng.below(5)).wrapping_sub(2) & mask;
        }
        ([Kind::F32, Kind::F32, Kind::F32], 1 | 2) => {
            let product = -(single(row[0]) * single(row[1]));
            row[2] = u64::from(product.to_bits().wrapping_add(rng.below(3) as u32).wrapping_sub(1));
        }
        ([Kind::F64, Kind::F64, Kind::F64], 1 | 2) => {
            let product = -(f64::from_bits(row[0]) * f64::from_bits(row[1]));
            row[2] = product.to_bits().wrapping_add(rng.below(3)).wrapping_sub(1);
        }
        _ => {}
    }
    row
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}
